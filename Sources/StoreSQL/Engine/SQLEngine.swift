package import PushModel
import Store
package import StoreKit

/// What a driver does for the statements that all drivers share.
package protocol SQLEngine: Sendable {
    var clock: StoreClock { get }
    /// Seals the cursors of lists.
    var cursors: ListCursors { get }
    /// Makes the numbers by which handles are found.
    var handles: HandleDigest { get }

    /// Reads from one snapshot; the statements are sent together.
    ///
    /// - Returns: The rows of each.
    /// - Throws: ``StoreError``.
    func rows(_ statements: [SQLStatement], size: ReadSize) async throws -> [[SQLRow]]

    /// Runs a transaction once.
    ///
    /// - Returns: Its value, when that is durable.
    /// - Throws: ``ReadIsOld`` where nothing was written, because what was read has changed; what the transaction throws;
    ///   ``StoreError``.
    func attempt<Value: Sendable>(_ transaction: SQLTransaction<Value>) async throws -> Value

    /// Counts a job that came to its end, for the metrics.
    func countFinished(_ state: Job.State)
}

extension SQLEngine {
    /// The few rows of each statement.
    ///
    /// - Throws: ``StoreError``.
    package func rows(_ statements: [SQLStatement]) async throws -> [[SQLRow]] {
        try await self.rows(statements, size: .ordinary)
    }

    /// The rows of one statement.
    ///
    /// - Throws: ``StoreError``.
    package func rows(_ statement: SQLStatement, size: ReadSize = .ordinary) async throws -> [SQLRow] {
        try await self.rows([statement], size: size)[0]
    }

    /// Runs a transaction, again where what it has read has changed.
    ///
    /// - Returns: Its value, when that is durable.
    /// - Throws: What the transaction throws; ``StoreError``.
    package func perform<Value: Sendable>(_ transaction: SQLTransaction<Value>) async throws -> Value {
        for _ in 0..<6 {
            do { return try await self.attempt(transaction) } catch is ReadIsOld { continue }
        }
        throw StoreError(.unavailable, "others change the same rows all the time")
    }

    /// Runs a transaction by which jobs may end, and counts those.
    package func end<Value: Sendable>(_ transaction: SQLTransaction<Ended<Value>>) async throws -> Value {
        let ended = try await self.perform(transaction)
        for state in ended.states { self.countFinished(state) }
        return ended.value
    }
}
