package import PushModel
import Store
package import StoreKit
package import StoreSQL

/// Statements that all drivers share: both halves of a transaction are one change of the writer's.
extension SQLiteStore: SQLEngine {
    package func rows(_ statements: [SQLStatement], size: ReadSize) async throws -> [[SQLRow]] {
        try await self.read(size: size) { database in try statements.map { try database.answer($0).rows } }
    }

    package func attempt<Value: Sendable>(_ transaction: SQLTransaction<Value>) async throws -> Value {
        try await self.write { try $0.perform(transaction) }
    }

    package func countFinished(_ state: Job.State) { self.writer.countFinished(state, 1) }
}
