import Dispatch
import PushModel
import Store
import StoreKit
import StoreSQL

/// The statements of administration over a connection to PostgreSQL.
///
/// It shows that they are one text for both engines, and that guards and locks do what they are there for; it is no driver: each statement
/// takes a round trip.
final class PostgreSQLEngine: SQLEngine, @unchecked Sendable {
    let clock: StoreClock
    let cursors: ListCursors
    let handles: HandleDigest
    /// Used only on the queue's thread.
    private let connection: PostgreSQLConnection
    private let queue = DispatchQueue(label: "pushline.test.postgres")

    init(_ connection: PostgreSQLConnection, clock: StoreClock) throws {
        self.connection = connection
        self.clock = clock
        self.cursors = try ListCursors(key: Array(repeating: 7, count: ListCursors.keySize))
        self.handles = try HandleDigest(key: Array(repeating: 7, count: 16))
    }

    func rows(_ statements: [SQLStatement], size: ReadSize) async throws -> [[SQLRow]] {
        try await self.onQueue { try self.read(statements) }
    }

    func attempt<Value: Sendable>(_ transaction: SQLTransaction<Value>) async throws -> Value {
        try await self.onQueue {
            let decision = try transaction.decide(self.read(transaction.reads))
            return try self.inTransaction("READ COMMITTED READ WRITE") { try decision.run(self.connection.answer) }
        }
    }

    func countFinished(_ state: Job.State) {}

    private func read(_ statements: [SQLStatement]) throws -> [[SQLRow]] {
        try self.inTransaction("REPEATABLE READ READ ONLY") {
            try statements.map { try self.connection.answer($0).rows }
        }
    }

    private func inTransaction<Value>(_ mode: String, _ body: () throws -> Value) throws -> Value {
        try self.connection.run("BEGIN ISOLATION LEVEL \(mode)")
        do {
            let value = try body()
            try self.connection.run("COMMIT")
            return value
        } catch {
            try self.connection.run("ROLLBACK")
            throw error
        }
    }

    private func onQueue<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            self.queue.async { continuation.resume(with: Result { try body() }) }
        }
    }
}

extension PostgreSQLEngine: AccountStore, AdministrationStore, AppStore, HubRuleStore, PauseStore, SessionStore {}

/// No dead letter of the contract's suites stands for work.
extension PostgreSQLEngine: DeadLetterStore {
    func replay(deadLetter number: Int64, app: AppID) async throws -> Replay? {
        guard let letter = try await self.deadLetter(number, app: app) else { return nil }
        guard let reason = letter.blockedReason else { throw StoreError(.corrupt, "there is work without a job") }
        return .refused(reason)
    }
}
