import DequeModule
import Dispatch
import GRDB
import NIOConcurrencyHelpers
import StoreKit

/// Reads for all callers of this process, as many at a time as there are connections.
///
/// A read is one hop to a thread and one back: the pool's own asynchronous way takes several, which for the small reads that most
/// are costs more than the reading.
final class ReadQueue: Sendable {
    private let pool: DatabasePool
    private let queue = DispatchQueue(label: "pushline.store.readers", qos: .userInitiated, attributes: .concurrent)
    private let inlineExecution: InlineExecution
    private let state: NIOLockedValueBox<State>

    private struct Read: Sendable {
        let isLong: Bool
        let perform: @Sendable () -> Void
    }

    private struct State {
        let limit: Int
        var waiting: Deque<Read> = []
        /// Threads that read, and those of them whose read is long.
        var (running, long) = (0, 0)

        init(limit: Int) { self.limit = limit }

        /// The first that waits and may be read now.
        mutating func next() -> Read? {
            let mayBeLong = self.long < max(1, self.limit - 1)
            guard let index = self.waiting.firstIndex(where: { mayBeLong || !$0.isLong }) else { return nil }
            let read = self.waiting.remove(at: index)
            if read.isLong { self.long += 1 }
            return read
        }
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
        self.state = NIOLockedValueBox(State(limit: limit))
    }

    /// Reads in a transaction: all queries see one snapshot.
    ///
    /// A cancelled caller continues at once, even if the read is blocked.
    ///
    /// - Parameters:
    ///   - size: The size of the read.
    ///   - body: The read.
    /// - Returns: The read's result.
    /// - Throws: The read's error; `CancellationError`.
    func read<Value: Sendable>(
        size: ReadSize,
        _ body: @escaping @Sendable (Database) throws -> Value
    ) async throws -> Value {
        if size == .short, !Task.isCancelled, let result = self.readAtOnce(body) { return try result.get() }
        let caller = Caller<Value>()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                guard caller.wait(continuation) else { return }
                let read = Read(isLong: size == .long) {
                    guard caller.isWaiting else { return }
                    caller.go(on: Result { try self.perform(body) })
                }
                self.enqueue(read)
            }
        } onCancel: {
            caller.go(on: .failure(CancellationError()))
        }
    }

    private func enqueue(_ read: Read) {
        let first = self.state.withLockedValue { state -> Read? in
            state.waiting.append(read)
            guard state.running < state.limit, let first = state.next() else { return nil }
            state.running += 1
            return first
        }
        if let first { self.queue.async { self.drain(first) } }
    }

    /// Reads on this thread, if a connection is free.
    ///
    /// - Returns: The result; nil without a free connection.
    private func readAtOnce<Value>(_ body: (Database) throws -> Value) -> Result<Value, any Error>? {
        self.inlineExecution.run {
            let isFree = self.state.withLockedValue { state in
                guard state.running < state.limit else { return false }
                state.running += 1
                return true
            }
            guard isFree else { return nil }
            let result = Result { try self.perform(body) }
            if let next = self.next() { self.queue.async { self.drain(next) } }
            return result
        } ?? nil
    }

    private func drain(_ first: Read) {
        var read = first
        while true {
            read.perform()
            guard let next = self.next(after: read) else { return }
            read = next
        }
    }

    /// What a thread reads next; nil if it has nothing to read any more.
    private func next(after read: Read? = nil) -> Read? {
        self.state.withLockedValue { state in
            if read?.isLong == true { state.long -= 1 }
            let next = state.next()
            if next == nil { state.running -= 1 }
            return next
        }
    }

    private func perform<Value>(_ body: (Database) throws -> Value) throws -> Value {
        try self.pool.unsafeRead { try Database($0).reading(body) }
    }
}
