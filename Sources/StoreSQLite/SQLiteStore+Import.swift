import GRDB
package import PushModel
package import Store

extension SQLiteStore {
    /// The most imported registrations in one transaction: about as many as take the time of another group of changes.
    private static let importGroup = 4000
    /// In KiB, negative as SQLite wants it.
    private static let importCache = -49_152

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
        let order = RegistrationImport.order(rows)
        for start in stride(from: 0, to: order.count, by: Self.importGroup) {
            let group = order[start..<min(start + Self.importGroup, order.count)]
            let some = group.map { rows[$0] }
            let isLast = group.endIndex == order.endIndex
            let written = try await self.writer.write(isBulk: true) { context in
                // Handles, users and tags touch a page each: with less room, pages are written and read again before the commit.
                // Not with a statement that stays prepared: SQLite does this pragma when it prepares it.
                try context.database.execute(sql: "PRAGMA cache_size = \(Self.importCache)")
                var importing = try RegistrationImport(context: context, app: app, sequence: sequence)
                let results = try importing.write(some)
                if isLast { try context.database.execute(sql: "PRAGMA cache_size = \(Self.cacheSize)") }
                return results
            }
            for (index, result) in zip(group, written) { results[index] = result }
        }
        return results
    }
}
