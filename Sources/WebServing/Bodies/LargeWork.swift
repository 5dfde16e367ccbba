import DequeModule
import Dispatch
import NIOConcurrencyHelpers
package import PushModel

/// A thread for requests whose bodies take long to read: the threads that all requests share have no time for them.
///
/// One at a time: a flood of them takes one core, and what is small goes on beside it. Apps take turns: whatever one of them has there,
/// another's waits for one step of it at a time.
package final class LargeWork: Sendable {
    /// The most bytes of a body that is worked on where all others are: some ten milliseconds.
    package static let least = 32 << 10

    /// The work of an app.
    private final class Share: TaskExecutor {
        let app: AppID
        private let work: LargeWork

        init(of app: AppID, in work: LargeWork) { (self.app, self.work) = (app, work) }

        func enqueue(_ job: consuming ExecutorJob) { self.work.enqueue(Step(job: UnownedJob(job), share: self)) }
    }

    /// What a task does until it waits for something.
    private struct Step: Sendable {
        let job: UnownedJob
        let share: Share
    }

    private struct State {
        var steps: [AppID: Deque<Step>] = [:]
        /// The apps that have some, the next in front.
        var turns: Deque<AppID> = []

        mutating func append(_ step: Step) {
            let app = step.share.app
            if self.steps[app] == nil { self.turns.append(app) }
            self.steps[app, default: []].append(step)
        }

        mutating func next() -> Step? {
            guard let app = self.turns.popFirst(), let step = self.steps[app]?.popFirst() else { return nil }
            if self.steps[app]?.isEmpty == false { self.turns.append(app) } else { self.steps[app] = nil }
            return step
        }
    }

    private let queue = DispatchQueue(label: "pushline.large-bodies")
    private let state = NIOLockedValueBox(State())

    /// Does some work of an app there, as far as it is this task's own.
    package func run<Value: Sendable, Failure: Error>(
        for app: AppID,
        _ work: @Sendable () async throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        try await withTaskExecutorPreference(Share(of: app, in: self)) { () async throws(Failure) -> Value in
            // By itself a task stays where it is until it waits for something, and reading a body waits for nothing.
            await Task.yield()
            return try await work()
        }
    }

    private func enqueue(_ step: Step) {
        self.state.withLockedValue { $0.append(step) }
        // As often as there are steps, whosever turn it is.
        self.queue.async {
            guard let step = self.state.withLockedValue({ $0.next() }) else { return }
            unsafe step.job.runSynchronously(on: step.share.asUnownedTaskExecutor())
        }
    }
}
