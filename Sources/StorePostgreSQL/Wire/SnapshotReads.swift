import Dispatch
import NIOConcurrencyHelpers
import Store
import StoreKit
import StoreSQL

/// A few connections for what is read step by step in one snapshot, where each step depends on those before: audiences of expressions.
final class SnapshotReads: Sendable {
    private let connections: [PooledConnection]
    private let next = NIOLockedValueBox(0)

    init(_ servers: Servers, _ clock: StoreClock, size: Int) {
        self.connections = (0..<size).map { _ in PooledConnection(servers, clock) }
    }

    /// Reads in one snapshot.
    ///
    /// - Parameter body: It is run on a thread of its own, and again where its connection has ended meanwhile.
    /// - Returns: What it returns.
    /// - Throws: ``StoreError``; ``ReadIsOld``; what it throws.
    func read<Value: Sendable>(_ body: @escaping @Sendable (Snapshot) throws -> Value) async throws -> Value {
        let connection = self.connections[
            self.next.withLockedValue { next in
                next = (next + 1) % self.connections.count
                return next
            }
        ]
        return try await withCheckedThrowingContinuation { continuation in
            connection.queue.async { continuation.resume(with: Result { try connection.readInSteps(body) }) }
        }
    }
}

/// A transaction that only reads, and sees all of it as it was at its first statement.
final class Snapshot {
    static let end = PostgreSQLStatement("ROLLBACK")

    private let exchange: ([PostgreSQLStatement]) throws(WireFault) -> [SQLAnswer]
    private var isBegun = false

    init(_ exchange: @escaping ([PostgreSQLStatement]) throws(WireFault) -> [SQLAnswer]) { self.exchange = exchange }

    /// The rows of a statement: one round trip.
    ///
    /// - Throws: ``WireFault``.
    func rows(_ statement: PostgreSQLStatement) throws(WireFault) -> [SQLRow] {
        let begin = PostgreSQLStatement("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        let sent = self.isBegun ? [statement] : [begin, statement]
        let answers = try self.exchange(sent)
        self.isBegun = true
        return answers[sent.count - 1].rows
    }
}
