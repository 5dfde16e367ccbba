import Store

extension SQLiteStore: SuspectStore {
    package func suspect(_ fingerprint: [UInt8]) async throws -> Bool {
        try await self.write { context in
            let noted = try context.database.change(
                "INSERT INTO suspect(fingerprint, at) VALUES (?, ?) ON CONFLICT DO NOTHING",
                [fingerprint, context.now]
            )
            return noted == 0
        }
    }

    package func clear(suspect fingerprint: [UInt8]) async throws {
        try await self.write { try $0.database.run("DELETE FROM suspect WHERE fingerprint = ?", [fingerprint]) }
    }
}
