import Broker
import DequeModule
import Logging
import Metrics
import NIOConcurrencyHelpers
import PushModel
import ServiceLifecycle
import Store

/// Publishes accepted jobs behind the answer to their callers (rule 15).
///
/// What it cannot publish, or has no room for, the sweeper publishes a second later: the row is due.
final class JobPublisher: Service {
    /// Jobs that may wait to be published.
    static let capacity = 4096
    private static let batch = 256
    private static let lease = Duration.seconds(60)

    private let store: any ResultStore
    private let broker: any MessageBroker
    private let logger: Logger
    private let waiting = NIOLockedValueBox<Deque<Job>>([])
    private let wake: AsyncStream<Void>
    private let wakeUp: AsyncStream<Void>.Continuation
    private let deadline: Duration
    private let dropped = Counter(label: "push.api.publish.dropped")

    init(store: any ResultStore, broker: any MessageBroker, deadline: Duration, logger: Logger) {
        self.store = store
        self.broker = broker
        self.deadline = deadline
        self.logger = logger
        (self.wake, self.wakeUp) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Takes a job that is durable; returns at once.
    func publish(_ job: Job) {
        let hasRoom = self.waiting.withLockedValue { waiting in
            guard waiting.count < Self.capacity else { return false }
            waiting.append(job)
            return true
        }
        if hasRoom { self.wakeUp.yield() } else { self.dropped.increment() }
    }

    func run() async throws {
        let wake = self.wake
        let wakeUp = self.wakeUp
        await withTaskCancellationOrGracefulShutdownHandler {
            for await _ in wake { await self.publishWaiting() }
            await self.publishWaiting()
        } onCancelOrGracefulShutdown: {
            wakeUp.finish()
        }
    }

    /// Two batches at most are under way, so that one waits for confirms while the other is marked in the store.
    private func publishWaiting() async {
        await withTaskGroup(of: Void.self) { group in
            var running = 0
            while true {
                let jobs = self.next()
                guard !jobs.isEmpty else { break }
                if running == 2 {
                    await group.next()
                    running -= 1
                }
                group.addTask { await self.publish(jobs) }
                running += 1
            }
        }
    }

    private func next() -> [Job] {
        self.waiting.withLockedValue { waiting in
            let jobs = Array(waiting.prefix(Self.batch))
            waiting.removeFirst(jobs.count)
            return jobs
        }
    }

    private func publish(_ jobs: [Job]) async {
        let messages = jobs.map { job in
            OutgoingMessage(
                job: job.id,
                app: job.app,
                kind: job.work.kind,
                priority: job.priority,
                traceparent: job.traceparent
            )
        }
        let results = await self.broker.publish(messages, deadline: self.deadline)
        let published = zip(jobs, results).filter { $0.1.isPublished }.map(\.0.id)
        if published.count < jobs.count {
            self.logger.debug(
                "Jobs were not published; the sweeper will",
                metadata: ["push.jobs": "\(jobs.count - published.count)"]
            )
        }
        guard !published.isEmpty else { return }
        do {
            try await self.store.markPublished(jobs: published, lease: Self.lease)
        } catch {
            // They are published once more, which does no harm (rule 1).
            self.logger.debug("Published jobs were not marked", metadata: ["error": "\(error)"])
        }
    }
}
