package import PushModel
package import Store
import StoreKit

extension SQLiteStore {
    /// The longest transaction of an import, because a change that begins to wait also waits for its commit.
    private static let importTime = Duration.milliseconds(250)
    /// An import waits while the log is longer, in bytes: it can write faster than the log is moved into the file.
    private static let longestLog = 128 << 20

    /// Begins an import.
    private func beginImport() async throws -> Int64 {
        try await self.write { context in
            // The numbers of jobs come from this table too (AUTOINCREMENT), so that jobs and imports have one order.
            let sql = "UPDATE sqlite_sequence SET seq = seq + 1 WHERE name = 'job' RETURNING seq"
            if let next: Int64 = try context.database.value(sql) { return next }
            try context.database.run("INSERT INTO sqlite_sequence(name, seq) VALUES ('job', 1)")
            return 1
        }
    }

    /// See ``RegistrationStore/importRegistrations(_:app:sequence:lifetime:)``.
    package func importRegistrations(
        _ rows: [ImportedRegistration],
        app: AppID,
        sequence begun: Int64?,
        lifetime: Duration?
    ) async throws -> ImportedRegistrations {
        let sequence: Int64
        if let begun { sequence = begun } else { sequence = try await self.beginImport() }
        guard !rows.isEmpty else { return ImportedRegistrations(sequence: sequence, results: []) }
        let end = lifetime.map(Timestamp(milliseconds: self.clock.now).advanced)
        let rows = rows.map { $0.expiring(at: end) }
        var progress: ImportProgress?
        while true {
            let before = progress
            try await self.waitForLog()
            let writer = self.writer
            let now = try await writer.write(.bulk) { context in
                var importing = try RegistrationImport(rows, context: context, app: app, sequence: sequence)
                var now = before ?? importing.start()
                // As many rows as possible, because each page shared by several is written once; but other writers must
                // not wait for all.
                var chunk = ImportChunk(longest: Self.importTime) { writer.isAwaited }
                try importing.write(&now, &chunk)
                return now
            }
            if now.isDone { return ImportedRegistrations(sequence: sequence, results: now.results) }
            progress = now
        }
    }

    /// Gives the checkpointer time to move the log into the file; without one the log grows slowly.
    private func waitForLog() async throws {
        let start = ContinuousClock.now
        while try LogFile(of: self.configuration.path).size > Self.longestLog,
            ContinuousClock.now - start < self.configuration.timeout
        {
            try await Task.sleep(for: .milliseconds(10))
        }
    }
}
