import DequeModule
import Dispatch
import GRDB
import NIOConcurrencyHelpers

/// Reads for all callers of this process, as many at a time as there are connections.
///
/// A read is one hop to a thread and one back: the pool's own asynchronous way takes several, which for the small reads that most
/// are costs more than the reading.
final class ReadQueue: Sendable {
    private let pool: DatabasePool
    private let limit: Int
    private let queue = DispatchQueue(label: "pushline.store.readers", qos: .userInitiated, attributes: .concurrent)
    private let inlineExecution: InlineExecution
    private let state = NIOLockedValueBox(State())

    private struct State {
        var waiting: Deque<@Sendable () -> Void> = []
        /// Threads that read.
        var running = 0
    }

    /// The caller of a read; it continues with the result or with its cancellation, whichever is first.
    private final class Caller<Value: Sendable>: Sendable {
        private enum State {
            case new
            case waiting(CheckedContinuation<Value, any Error>)
            case gone
        }

        private let state = NIOLockedValueBox(State.new)

        var isWaiting: Bool {
            self.state.withLockedValue { if case .waiting = $0 { true } else { false } }
        }

        /// - Returns: false if it was cancelled before it began to wait; the caller then continues at once.
        func wait(_ continuation: CheckedContinuation<Value, any Error>) -> Bool {
            let isNew = self.state.withLockedValue { state in
                guard case .new = state else { return false }
                state = .waiting(continuation)
                return true
            }
            if !isNew { continuation.resume(throwing: CancellationError()) }
            return isNew
        }

        func go(on result: Result<Value, any Error>) {
            let continuation = self.state.withLockedValue { state -> CheckedContinuation<Value, any Error>? in
                defer { state = .gone }
                guard case .waiting(let continuation) = state else { return nil }
                return continuation
            }
            continuation?.resume(with: result)
        }
    }

    init(pool: DatabasePool, limit: Int, inlineExecution: InlineExecution) {
        self.pool = pool
        self.inlineExecution = inlineExecution
        self.limit = limit
    }

    /// Reads in a transaction: all queries see one snapshot.
    ///
    /// A cancelled caller continues at once, even if the read is blocked.
    ///
    /// - Parameters:
    ///   - isShort: Whether it reads few rows: on a free connection it then runs on the caller's thread.
    ///   - body: The read.
    /// - Returns: The read's result.
    /// - Throws: The read's error; `CancellationError`.
    func read<Value: Sendable>(
        isShort: Bool,
        _ body: @escaping @Sendable (Database) throws -> Value
    ) async throws -> Value {
        if isShort, !Task.isCancelled, let result = self.readAtOnce(body) { return try result.get() }
        let caller = Caller<Value>()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                guard caller.wait(continuation) else { return }
                self.enqueue {
                    guard caller.isWaiting else { return }
                    caller.go(on: Result { try self.perform(body) })
                }
            }
        } onCancel: {
            caller.go(on: .failure(CancellationError()))
        }
    }

    private func enqueue(_ work: @escaping @Sendable () -> Void) {
        let isNew = self.state.withLockedValue { state in
            state.waiting.append(work)
            guard state.running < self.limit else { return false }
            state.running += 1
            return true
        }
        if isNew { self.queue.async { self.drain() } }
    }

    /// Reads on this thread, if a connection is free.
    ///
    /// - Returns: The result; nil without a free connection.
    private func readAtOnce<Value>(_ body: (Database) throws -> Value) -> Result<Value, any Error>? {
        self.inlineExecution.run {
            let isFree = self.state.withLockedValue { state in
                guard state.running < self.limit else { return false }
                state.running += 1
                return true
            }
            guard isFree else { return nil }
            let result = Result { try self.perform(body) }
            let hasMore = self.state.withLockedValue { state in
                if state.waiting.isEmpty { state.running -= 1 }
                return !state.waiting.isEmpty
            }
            if hasMore { self.queue.async { self.drain() } }
            return result
        } ?? nil
    }

    private func drain() {
        while true {
            let work = self.state.withLockedValue { state -> (@Sendable () -> Void)? in
                if let work = state.waiting.popFirst() { return work }
                state.running -= 1
                return nil
            }
            guard let work else { return }
            work()
        }
    }

    private func perform<Value>(_ body: (Database) throws -> Value) throws -> Value {
        try self.pool.unsafeRead { database in
            // Left open by a rollback that failed.
            if database.isInsideTransaction { try database.rollback() }
            try database.run("BEGIN DEFERRED TRANSACTION")
            do {
                let value = try body(database)
                try database.run("COMMIT TRANSACTION")
                return value
            } catch {
                // Some faults have ended the transaction; the next read ends one that is left.
                if database.isInsideTransaction { try? database.rollback() }
                throw error
            }
        }
    }
}
