import Broker
import DequeModule
import FaultInjection
import Logging
import Metrics
import NIOConcurrencyHelpers
import PushModel
import ServiceLifecycle
import Store

/// Publishes accepted jobs, and bundles of them, behind the answer to their callers (rule 15).
///
/// What it cannot publish, or has no room for, the sweeper publishes a second later: the row is due.
final class JobPublisher: Service {
    /// Jobs and bundles that may wait to be published.
    static let capacity = 4096
    private static let batch = 256
    private static let lease = Duration.seconds(60)
    /// How long what was published is gathered before it is marked so: well before the sweeper would look at it.
    ///
    /// Most of it has been taken by then and needs no mark; and a commit at once would stand in the way of the workers.
    private static let gathering = Duration.milliseconds(250)
    /// How long a bundle waits that grows: what it costs the workers is shared by all who join it.
    private static let growingTime = Duration.milliseconds(100)
    /// How long what is left at the end of the process may take, a batch.
    private static let farewell = Duration.seconds(1)

    private let store: any ResultStore
    private let broker: any MessageBroker
    private let logger: Logger
    private let waiting = NIOLockedValueBox<Deque<Hint>>([])
    private let wake: AsyncStream<Void>
    private let wakeUp: AsyncStream<Void>.Continuation
    private let deadline: Duration
    private let dropped = Counter(label: "push.api.publish.dropped")
    private let published = NIOLockedValueBox(Published())
    /// Bundles that grow, by their ids.
    private let growing = NIOLockedValueBox<[BundleID: SendBundle]>([:])
    private let growth: AsyncStream<Void>
    private let growSoon: AsyncStream<Void>.Continuation
    private let marks: AsyncStream<Void>
    private let markSoon: AsyncStream<Void>.Continuation

    /// What is at the broker, and not marked so yet.
    private struct Published {
        var jobs: [JobID] = []
        var bundles: [SendBundle] = []
    }

    init(store: any ResultStore, broker: any MessageBroker, deadline: Duration, logger: Logger) {
        self.store = store
        self.broker = broker
        self.deadline = deadline
        self.logger = logger
        (self.wake, self.wakeUp) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        (self.growth, self.growSoon) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        (self.marks, self.markSoon) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// What is to be published.
    private enum Hint {
        case job(Job)
        case bundle(SendBundle)

        var message: OutgoingMessage {
            switch self {
            case .job(let job):
                OutgoingMessage(
                    job: job.id,
                    app: job.app,
                    kind: job.work.kind,
                    priority: job.priority,
                    traceparent: job.traceparent
                )
            case .bundle(let bundle):
                OutgoingMessage(bundle: bundle.id, app: bundle.app, priority: bundle.priority)
            }
        }
    }

    /// Takes a job that is durable; returns at once.
    func publish(_ job: Job) { self.publish([.job(job)]) }

    /// Takes what was accepted together; returns at once.
    func publish(_ bundles: [SendBundle], and jobs: [Job]) {
        self.publish(bundles.map(Hint.bundle) + jobs.map(Hint.job))
    }

    /// Takes bundles that others may be added to for a moment; returns at once.
    func publishSoon(_ bundles: [SendBundle]) {
        let isFirst = self.growing.withLockedValue { growing in
            let isFirst = growing.isEmpty
            for bundle in bundles { growing[bundle.id] = bundle }
            return isFirst && !growing.isEmpty
        }
        if isFirst { self.growSoon.yield() }
    }

    private func publishGrown() {
        let grown = self.growing.withLockedValue { growing in
            defer { growing = [:] }
            return Array(growing.values)
        }
        self.publish(grown, and: [])
    }

    private func publish(_ hints: [Hint]) {
        let hasRoom = self.waiting.withLockedValue { waiting in
            guard waiting.count + hints.count <= Self.capacity else { return false }
            waiting.append(contentsOf: hints)
            return true
        }
        if hasRoom { self.wakeUp.yield() } else { self.dropped.increment() }
    }

    func run() async throws {
        let wake = self.wake
        let wakeUp = self.wakeUp
        await withTaskCancellationOrGracefulShutdownHandler {
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await self.markPublished() }
                group.addTask { await self.publishGrowing() }
                for await _ in wake { await self.publishWaiting(within: self.deadline) }
                self.publishGrown()
                // A process that ends does not wait for a broker that confirms nothing: the sweeper has the rows.
                await self.publishWaiting(within: min(self.deadline, Self.farewell))
                self.markSoon.finish()
                self.growSoon.finish()
            }
        } onCancelOrGracefulShutdown: {
            wakeUp.finish()
        }
    }

    private func publishGrowing() async {
        for await _ in self.growth {
            // Cut short when the process ends: then what there is is published at once.
            try? await Task.sleep(for: Self.growingTime)
            self.publishGrown()
        }
    }

    /// Says in the store from time to time what is at the broker.
    private func markPublished() async {
        for await _ in self.marks {
            // Cut short when the process ends: then what there is is marked at once.
            try? await Task.sleep(for: Self.gathering)
            let published = self.published.withLockedValue { published in
                defer { published = Published() }
                return published
            }
            do {
                try await self.store.markPublished(jobs: published.jobs, lease: Self.lease)
                try await self.store.markPublished(bundles: published.bundles, lease: Self.lease)
            } catch {
                // They are published once more, which does no harm (rule 1).
                self.logger.debug("Published jobs were not marked", metadata: ["error": "\(error)"])
            }
        }
    }

    /// Two batches at most are under way, so that one is sent while the other waits for its confirms.
    private func publishWaiting(within deadline: Duration) async {
        await withTaskGroup(of: Void.self) { group in
            var running = 0
            while true {
                let hints = self.next()
                guard !hints.isEmpty else { break }
                if running == 2 {
                    await group.next()
                    running -= 1
                }
                group.addTask { await self.bring(hints, within: deadline) }
                running += 1
            }
        }
    }

    private func next() -> [Hint] {
        self.waiting.withLockedValue { waiting in
            let hints = Array(waiting.prefix(Self.batch))
            waiting.removeFirst(hints.count)
            return hints
        }
    }

    private func bring(_ hints: [Hint], within deadline: Duration) async {
        let results = await self.broker.publish(hints.map(\.message), deadline: deadline)
        CrashPoint.apiPublished.reach()
        var jobs: [JobID] = []
        var bundles: [SendBundle] = []
        for (hint, result) in zip(hints, results) where result.isPublished {
            switch hint {
            case .job(let job): jobs.append(job.id)
            case .bundle(let bundle): bundles.append(bundle)
            }
        }
        if jobs.count + bundles.count < hints.count {
            self.logger.debug(
                "Jobs were not published; the sweeper will",
                metadata: ["push.jobs": "\(hints.count - jobs.count - bundles.count)"]
            )
        }
        self.published.withLockedValue { published in
            // A store that takes no marks keeps them from growing: those that are left out are published once more.
            guard published.jobs.count + published.bundles.count < Self.capacity else { return }
            published.jobs += jobs
            published.bundles += bundles
        }
        self.markSoon.yield()
    }
}
