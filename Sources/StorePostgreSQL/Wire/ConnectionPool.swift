import DequeModule
import Dispatch
import NIOConcurrencyHelpers
import Store
import StoreKit
import StoreSQL

/// A few connections, and those who wait for one.
///
/// A caller that is cancelled waits nevertheless: what it sent may be in its commit. One that writes, and has a ``CommitDeadline``, waits
/// for the beginning of its commit until then.
final class ConnectionPool: Sendable {
    private struct Request: AwaitsCommit, Sendable {
        let deadline: CommitDeadline?
        /// Until when it waits for a connection.
        let patience: ContinuousClock.Instant
        let serve: @Sendable (PooledConnection) -> Void
        let refuse: @Sendable (StoreError) -> Void

        /// Why it is not served, if it is too late for that.
        var refusal: StoreError? {
            if self.isOver { return .overdue }
            return self.patience > .now
                ? nil : StoreError(.unavailable, "no connection to PostgreSQL was free in time")
        }
    }

    private struct State {
        var waiting: Deque<Request> = []
        var idle: [PooledConnection]
    }

    /// The most that may wait.
    private static let maximumWaiting = 20_000

    private let deadlines: Deadlines
    private let state: NIOLockedValueBox<State>
    private let watch = CommitWatch()

    init(_ servers: Servers, _ clock: StoreClock, size: Int) {
        self.deadlines = servers.deadlines
        self.state = NIOLockedValueBox(State(idle: (0..<size).map { _ in PooledConnection(servers, clock) }))
    }

    /// Reads.
    ///
    /// - Returns: The answers to the statements.
    /// - Throws: ``StoreError``; ``ReadIsOld``.
    func read(_ statements: [PostgreSQLStatement]) async throws -> PooledConnection.Reading {
        let end = ContinuousClock.now + self.deadlines.read
        // One that begins just before its end would be given up, and its connection with it.
        return try await self.serve(until: end - self.deadlines.read / 10, nil) { try $0.read(statements, until: end) }
    }

    /// Commits.
    ///
    /// - Parameters:
    ///   - statements: The statements of a transaction.
    ///   - generation: Of the connection over which was read what they were decided by; nil = nothing was read.
    ///   - awaitsAnswers: Whether the answers are there before it is committed, and so are never lost.
    /// - Returns: The answers, when all is durable; nil = they are lost.
    /// - Throws: ``StoreError``; ``GuardFails``; ``ReadIsOld``.
    func commit(
        _ statements: [PostgreSQLStatement],
        decidedBy generation: Int? = nil,
        awaitsAnswers: Bool
    ) async throws -> [SQLAnswer]? {
        let (now, deadline) = (ContinuousClock.now, CommitDeadline.current)
        let patience = now + self.deadlines.read
        let transaction = PooledConnection.Transaction(
            statements: statements,
            generation: generation,
            awaitsAnswers: awaitsAnswers,
            deadline: deadline,
            patience: min(patience, deadline?.limit ?? patience),
            end: now + self.deadlines.resolution
        )
        return try await self.serve(until: transaction.patience, deadline) { try $0.commit(transaction) }
    }

    private func serve<Value: Sendable>(
        until patience: ContinuousClock.Instant,
        _ deadline: CommitDeadline?,
        _ body: @escaping @Sendable (PooledConnection) throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            self.enqueue(
                Request(
                    deadline: deadline,
                    patience: patience,
                    serve: { connection in continuation.resume(with: Result { try body(connection) }) },
                    refuse: { continuation.resume(throwing: $0) }
                )
            )
        }
    }

    private func enqueue(_ request: Request) {
        if let refusal = request.refusal { return request.refuse(refusal) }
        let (connection, mayWait) = self.state.withLockedValue { state -> (PooledConnection?, Bool) in
            if let connection = state.idle.popLast() { return (connection, true) }
            guard state.waiting.count < Self.maximumWaiting else { return (nil, false) }
            state.waiting.append(request)
            return (nil, true)
        }
        if let connection { return connection.queue.async { self.serve(request, over: connection) } }
        guard mayWait else { return request.refuse(StoreError(.unavailable, "too many requests wait for PostgreSQL")) }
        self.watch.begin(self.refuseLate)
    }

    /// Serves a request, and all that wait behind it.
    private func serve(_ first: Request, over connection: PooledConnection) {
        var next: Request? = first
        while let request = next {
            if let refusal = request.refusal { request.refuse(refusal) } else { request.serve(connection) }
            next = self.state.withLockedValue { state in
                let request = state.waiting.popFirst()
                if request == nil { state.idle.append(connection) }
                return request
            }
        }
    }

    /// - Returns: Whether others wait.
    private func refuseLate() -> Bool {
        let (late, hasMore) = self.state.withLockedValue { state -> ([(Request, StoreError)], Bool) in
            var late: [(Request, StoreError)] = []
            state.waiting.removeAll { request in
                guard let refusal = request.refusal else { return false }
                late.append((request, refusal))
                return true
            }
            return (late, !state.waiting.isEmpty)
        }
        for (request, refusal) in late { request.refuse(refusal) }
        return hasMore
    }
}
