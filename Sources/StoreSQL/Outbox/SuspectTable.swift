package import Store
import StoreKit

/// The table `suspect`.
extension SuspectStore where Self: SQLEngine {
    package func suspect(_ fingerprint: [UInt8]) async throws -> Bool {
        let note: SQLStatement = """
            INSERT INTO suspect(fingerprint, at) VALUES (\(fingerprint), \(self.clock.now)) ON CONFLICT DO NOTHING
            """
        return try await !self.perform(SQLTransaction(note))
    }

    package func clear(suspect fingerprint: [UInt8]) async throws {
        _ = try await self.perform(SQLTransaction("DELETE FROM suspect WHERE fingerprint = \(fingerprint)"))
    }
}
