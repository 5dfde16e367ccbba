import GRDB
package import PushModel
package import Store

extension SQLiteStore {
    /// No transaction goes on for longer: whoever begins to wait then waits for its commit too.
    private static let importTime = Duration.milliseconds(250)
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
        var rest = RegistrationImport.stretches(of: rows)[...]
        // No more are looked at in one transaction: where others wait, few rows of a large group would be written.
        var most = rows.count
        while !rest.isEmpty {
            let (stretches, limit) = (rest, most)
            try await self.waitForLog()
            let writer = self.writer
            let written = try await writer.write(.bulk) { context in
                var importing = try RegistrationImport(rows, context: context, app: app, sequence: sequence)
                let begun = ContinuousClock.now
                // As many as there are: each page that several of them touch is written once. But nobody is to wait for all.
                let goesOn = { !writer.isAwaited && .now - begun < Self.importTime }
                var written: [RegistrationImport.Written] = []
                var room = limit
                for stretch in stretches {
                    written.append(try importing.write(stretch, atMost: room, while: goesOn))
                    room -= stretch.count
                    guard room > 0, written.last?.count == stretch.count, goesOn() else { break }
                }
                return written
            }
            let count = written.reduce(0) { $0 + $1.count }
            most = count < most ? max(count, 1) : 2 * most
            for some in written {
                for (index, result) in some { results[index] = result }
                guard let stretch = rest.popFirst(), some.count < stretch.count else { continue }
                let done = Set(some.lazy.map(\.index))
                rest = [stretch.filter { !done.contains($0) }] + rest
            }
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
