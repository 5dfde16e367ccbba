import Dispatch

/// A thread for requests whose bodies take long to read: the threads that all requests share have no time for them.
///
/// One at a time: a flood of them takes one core, and what is small goes on beside it.
final class LargeWork: TaskExecutor {
    /// The most bytes of a body that is worked on where all others are: some ten milliseconds.
    static let least = 32 << 10

    private let queue = DispatchQueue(label: "pushline.large-bodies")

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        self.queue.async { unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }

    /// Does some work there, as far as it is this task's own.
    func run<Value: Sendable, Failure: Error>(
        _ work: @Sendable () async throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        try await withTaskExecutorPreference(self) { () async throws(Failure) -> Value in try await work() }
    }
}
