import NIOConcurrencyHelpers
package import NIOCore
package import PushModel

/// One who watches a job: holds the newest state that it has not been sent, and no other.
package final class JobWatcher: Sendable {
    /// What let a watcher in.
    package struct Admission: Sendable {
        /// The same for all who come with it: one look is enough for them.
        let credential: [String]
        /// Finds out again who it is, and throws where that cannot be known; nil = it would be refused by now.
        let again: @Sendable () async throws -> Caller?

        package init(_ credential: [String], again: @escaping @Sendable () async throws -> Caller?) {
            self.credential = credential
            self.again = again
        }
    }

    let job: JobID
    /// Which form of the job it is told.
    package let form: String
    let caller: Caller
    let admission: Admission
    /// Ends when the watching does.
    private let wakes: AsyncStream<Void>
    private let wake: AsyncStream<Void>.Continuation
    private let newest = NIOLockedValueBox<ByteBuffer?>(nil)

    /// - Parameters:
    ///   - job: The job.
    ///   - form: Which form of the job it is told: a word of whoever makes the events.
    ///   - caller: Who watches.
    ///   - admission: What let the caller in.
    package init(of job: JobID, form: String, caller: Caller, admission: Admission) {
        self.job = job
        self.form = form
        self.caller = caller
        self.admission = admission
        (self.wakes, self.wake) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    func tell(_ event: ByteBuffer) {
        self.newest.withLockedValue { $0 = event }
        self.wake.yield()
    }

    /// Has something sent, so that a client that is gone is noticed, and one that is there knows that we are.
    func beat() { self.wake.yield() }

    /// Ends the events behind what was told.
    func end() { self.wake.finish() }

    /// Writes what is told, until it ends or the task is cancelled.
    ///
    /// - Parameter body: Writes an event, or where it is nil a sign of life.
    /// - Throws: What `body` throws.
    package func write(_ body: (ByteBuffer?) async throws -> Void) async rethrows {
        for await _ in self.wakes {
            let event = self.newest.withLockedValue { newest in
                defer { newest = nil }
                return newest
            }
            try await body(event)
        }
    }
}
