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

/// There are no jobs, so that no dead letter stands for work: it is kept, listed and discarded.
extension PostgreSQLEngine: DeadLetterStore {
    func deadLetter(_ message: IncomingDeadLetter) async throws -> JobID? {
        let declared: SQLStatement = "SELECT 1 AS found FROM app WHERE name = \(message.app?.name) AND spec IS NOT NULL"
        let app = try await self.rows(declared).isEmpty ? nil : message.app
        let kept = DeadLetterTable.insertion(of: message, body: message.keptBody, app: app, at: self.clock.wall)
        let count = try await self.perform(SQLTransaction(SQLDecision(writing: [kept]) { $0[0].count }))
        guard count > 0, let id = try await self.rows("SELECT max(id) AS id FROM dead").first?["id"] as Int64? else {
            return nil
        }
        let closed = ClosedByDeadLetter()
        let rest = DeadLetterTable.completion(of: id, closing: closed)
        try await self.perform(SQLTransaction(SQLDecision(writing: rest) { _ in }))
        return closed.job
    }

    func replay(deadLetter number: Int64, app: AppID) async throws -> Replay? {
        guard let letter = try await self.deadLetter(number, app: app) else { return nil }
        guard let reason = letter.blockedReason else { throw StoreError(.corrupt, "there is work without a job") }
        return .refused(reason)
    }
}
