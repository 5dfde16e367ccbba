import GRDB
package import PushModel
package import Store

extension SQLiteStore {
    /// So many registrations are written before it is asked whether somebody waits: about as many as take the time of another
    /// group of changes.
    private static let importStep = 4096
    /// The most in one transaction.
    private static let importGroup = 65_536
    /// No transaction goes on for longer: whoever begins to wait then waits for its commit too.
    private static let importTime = Duration.milliseconds(250)
    /// In KiB, negative as SQLite wants it.
    private static let importCache = -24_576
    /// An import waits while the log is longer, in bytes: it can write faster than the log is moved into the file.
    private static let longestLog = 128 << 20

    /// See ``RegistrationStore/beginImport()``.
    package func beginImport() async throws -> Int64 {
        try await self.write { context in
            // The numbers of jobs come from this table too (AUTOINCREMENT), so that jobs and imports have one order.
            let next = try context.database.first(
                "UPDATE sqlite_sequence SET seq = seq + 1 WHERE name = 'job' RETURNING seq"
            ) { $0[0] as Int64 }
            if let next { return next }
            try context.database.run("INSERT INTO sqlite_sequence(name, seq) VALUES ('job', 1)")
            return 1
        }
    }

    /// See ``RegistrationStore/importRegistrations(_:app:sequence:)``.
    package func importRegistrations(
        _ rows: [ImportedRegistration],
        app: AppID,
        sequence: Int64
    ) async throws -> [ImportResult] {
        var results = [ImportResult](repeating: .superseded, count: rows.count)
        var order = RegistrationImport.order(rows)[...]
        while !order.isEmpty {
            let some = order.prefix(Self.importGroup)
            let left = order.count
            try await self.waitForLog()
            let writer = self.writer
            let written = try await writer.write(.bulk) { context in
                // Handles, users and tags touch a page each: with less room, pages are written and read again before the commit.
                // Not with a statement that stays prepared: SQLite does this pragma when it prepares it.
                try context.database.execute(sql: "PRAGMA cache_size = \(Self.importCache)")
                var importing = try RegistrationImport(context: context, app: app, sequence: sequence)
                var results: [ImportResult] = []
                let begun = ContinuousClock.now
                // As many as there are: each page that several of them touch is written once. But nobody is to wait for all.
                repeat {
                    results += try importing.write(some.dropFirst(results.count).prefix(Self.importStep), of: rows)
                } while results.count < some.count && !writer.isAwaited && .now - begun < Self.importTime
                if results.count == left { try context.database.execute(sql: "PRAGMA cache_size = \(Self.cacheSize)") }
                return results
            }
            for (index, result) in zip(some, written) { results[index] = result }
            order = order.dropFirst(written.count)
        }
        return results
    }

    /// Gives whoever moves the log into the file time to do so; where nobody does, the log grows slowly.
    private func waitForLog() async throws {
        let start = ContinuousClock.now
        while try LogFile(of: self.configuration.path).size > Self.longestLog,
            ContinuousClock.now - start < self.configuration.patience
        {
            try await Task.sleep(for: .milliseconds(10))
        }
    }
}
