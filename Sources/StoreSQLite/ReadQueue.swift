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
    private let state = NIOLockedValueBox(State())

    private struct State {
        var waiting: Deque<@Sendable () -> Void> = []
        /// Threads that read.
        var running = 0
    }

    init(pool: DatabasePool, limit: Int) {
        self.pool = pool
        self.limit = limit
    }

    /// Reads in a transaction of its own: all of it sees one state of the store.
    ///
    /// A cancelled caller waits all the same: a read is short.
    func read<Value: Sendable>(_ body: @escaping @Sendable (Database) throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            self.enqueue { continuation.resume(with: Result { try self.perform(body) }) }
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
