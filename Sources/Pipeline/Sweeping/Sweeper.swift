package import Broker
import FaultInjection
package import Hub
package import Logging
import Metrics
import Outbox
import PushModel
import PushlineMetrics
import ServiceLifecycle
package import Store

/// Publishes due messages that are probably not at the broker (rules 1 and 15).
///
/// That is: retries, lapsed leases, and messages whose process died before it could publish them. It also ends jobs whose
/// time is over, prunes dead handles (rules 9 and 13), and removes what is kept no longer.
///
/// Only one process leads, to save work: two leaders do no harm. If it leaves due work undone, because it is stopped or
/// hangs, the others take over.
package struct Sweeper: Service {
    /// The store's part that sweeping needs.
    package typealias SweptStore = HousekeepingStore & OutboxStore

    /// How often is swept, and how much at a time.
    package struct Configuration: Sendable {
        /// How often due rows are looked for.
        package var interval: Duration = .milliseconds(250)
        /// How soon again, after messages were published for the first time: more may wait until their app's window has room.
        package var refill: Duration = .milliseconds(50)
        /// How long past its due time a message of jobs must be: its own process comes first.
        package var overdue: Duration = .seconds(1)
        /// How often expired jobs, dead handles and expired registrations are looked for.
        package var housekeeping: Duration = .seconds(1)
        /// How often a process that does not lead looks whether the sweep is late, and by how much it must be.
        package var timeout: Duration = .seconds(10)
        /// The retention time of each kind of finished data; others are kept for ever.
        package var retention: [Retained: Duration] = [:]
        /// The most rows of a kind in one step.
        package var limit = 500
        /// The most delivery messages in one step: each may hold a whole page of devices.
        package var deliveryLimit = 32

        package init() {}
    }

    /// How often dead handles are pruned in one go, while there are more.
    private static let prunings = 10

    private let fanOut: any SendFanOut
    private let store: any SweptStore
    private let apps: AppDirectory
    private let broker: any MessageBroker
    private let publisher: OutboxPublisher
    private let configuration: Configuration
    private let logger: Logger

    /// - Parameters:
    ///   - fanOut: Publishes delivery messages again.
    ///   - store: Knows what is due.
    ///   - apps: The apps' declarations.
    ///   - broker: Takes the messages.
    ///   - configuration: Limits and intervals.
    ///   - logger: For degraded states.
    package init(
        fanOut: any SendFanOut,
        store: any SweptStore,
        apps: AppDirectory,
        broker: any MessageBroker,
        configuration: Configuration = Configuration(),
        logger: Logger
    ) {
        self.fanOut = fanOut
        self.store = store
        self.apps = apps
        self.broker = broker
        self.publisher = OutboxPublisher(store: store, broker: broker, logger: logger)
        self.configuration = configuration
        self.logger = logger
    }

    package func run() async throws {
        await cancelWhenGracefulShutdown {
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await self.publisher.run() }
                await self.sweepUntilCancelled()
                group.cancelAll()
            }
        }
    }

    private func sweepUntilCancelled() async {
        var nextHousekeeping = ContinuousClock.now
        var nextStandIn = ContinuousClock.now + self.configuration.timeout
        var cleaner = Cleaner(store: self.store, ages: self.configuration.retention)
        var leadership: (any Leadership)?
        while !Task.isCancelled {
            if leadership?.isHeld != true {
                leadership = await self.attempt { try await self.store.lead(as: .sweeper) } ?? nil
            }
            guard leadership != nil else {
                if nextStandIn <= .now {
                    _ = await self.attempt(self.standIn)
                    nextStandIn = .now + self.configuration.timeout
                }
                try? await Task.sleep(for: .seconds(1))
                continue
            }
            nextStandIn = .now + self.configuration.timeout
            // Separate: neither an unreachable broker nor an unpublishable row stops jobs from ending.
            if nextHousekeeping <= .now {
                _ = await self.attempt(self.keepHouse)
                nextHousekeeping = .now + self.configuration.housekeeping
            }
            if cleaner.nextPass <= .now {
                let removed = await self.attempt { try await cleaner.pass() }
                MetricDescription.retentionRemoved.counter().increment(by: removed ?? 0)
            }
            guard case .connected = await self.broker.status else {
                // Another process may reach the broker that this one cannot.
                leadership = nil
                try? await Task.sleep(for: .seconds(1))
                continue
            }
            let pause = await self.attempt(self.sweep) ?? self.configuration.interval
            if pause > .zero {
                try? await Task.sleep(until: min(.now + pause, cleaner.nextPass), clock: .continuous)
            }
        }
    }

    /// Does the leader's overdue work, but publishes nothing while the leader is in time.
    private func standIn() async throws {
        try await self.keepHouse()
        guard case .connected = await self.broker.status,
            try await self.store.isSweepLate(by: self.configuration.timeout)
        else { return }
        self.logger.warning("The process that leads the sweep is late; this one does its work")
        // Until the next look: jobs that wait for room in their app's window are published by nobody else.
        let end = ContinuousClock.now + self.configuration.timeout
        repeat {
            let pause = try await self.sweep()
            if pause > .zero { try await Task.sleep(for: pause) }
            try Task.checkCancellation()
        } while ContinuousClock.now < end
    }

    /// Does a step of the sweep; after a failure it pauses.
    ///
    /// - Returns: nil when it failed.
    private func attempt<Result>(_ step: () async throws -> Result) async -> Result? {
        do {
            return try await step()
        } catch {
            // Cancelled = shutdown: the loop ends.
            if Task.isCancelled { return nil }
            self.logger.warning("A sweep failed; it is repeated in a second", metadata: ["error": "\(error)"])
            try? await Task.sleep(for: .seconds(1))
            return nil
        }
    }

    /// Publishes what is due.
    ///
    /// - Returns: How soon to sweep again; zero = there may be more.
    package func sweep() async throws -> Duration {
        let configuration = self.configuration
        let started = try await self.store.perform(.startScheduled, limit: configuration.limit).rows
        let jobs = try await self.sweep(
            [.register, .send],
            overdue: configuration.overdue,
            limit: configuration.limit
        ) { await self.publisher.publish(hints: $0, deadline: .seconds(10)) }
        // Each may wait long for a broker without confirms: a cancelled sweep begins no other.
        try Task.checkCancellation()
        let deliveries = try await self.sweep(
            // Retired services too: the hub closes their batches.
            Set(PushService.allCases.map(WorkQueue.deliver)),
            overdue: .zero,
            limit: configuration.deliveryLimit,
            publish: self.resume
        )
        // Where several apps have something due, each has its share of the limit.
        if started > 0 || jobs.isMore || deliveries.isMore { return .zero }
        return jobs.isNew ? min(configuration.refill, configuration.interval) : configuration.interval
    }

    private func resume(_ messages: [OutboxMessage]) async throws -> Bool {
        var specs: [AppID: AppSpec] = [:]
        for app in Set(messages.map(\.app)) {
            do {
                specs[app] = try await self.apps.spec(of: app) ?? AppSpec()
            } catch let error as StoreError {
                // Its messages come again when their grace ends; those of others go on.
                self.logger.warning("An app cannot be read", metadata: ["app": "\(app)", "error": "\(error)"])
            }
        }
        try await self.fanOut.resume(messages.filter { specs[$0.app] != nil }, specs: specs)
        return true
    }

    /// Takes due messages of some queues, and publishes them.
    ///
    /// - Returns: Whether there may be more, and whether some were published for the first time.
    private func sweep(
        _ queues: Set<WorkQueue>,
        overdue: Duration,
        limit: Int,
        publish: ([OutboxMessage]) async throws -> Bool
    ) async throws -> (isMore: Bool, isNew: Bool) {
        let messages = try await self.store.takeDue(queues, overdue: overdue, limit: limit)
        guard !messages.isEmpty else { return (false, false) }
        CrashPoint.sweepTaken.reach()
        // A broker that does not take all is not asked again at once.
        guard try await publish(messages) else { return (false, false) }
        for (kind, taken) in Dictionary(grouping: messages, by: \.queue.kind) {
            MetricDescription.sweeperPublished.counter([.kind: kind]).increment(by: taken.count)
        }
        // A part of the limit is kept for each priority.
        return (messages.count * 2 >= limit, messages.contains { $0.epoch == OutboxMessage.firstTaking })
    }

    /// Ends overdue jobs and registrations, in small chunks.
    package func keepHouse() async throws {
        // Here too: without a broker nothing is swept, and a job that never starts would never end.
        let (store, limit) = (self.store, self.configuration.limit)
        try await store.perform(.startScheduled, limit: limit)
        try await store.perform(.expireJobs, limit: limit)
        CrashPoint.sweepHousekeeping.reach()
        // Several: dead handles of one app do not delay others for long.
        for _ in 0..<Self.prunings where try await store.perform(.pruneRegistrations, limit: limit).rows < limit {
            break
        }
        try await store.perform(.expireRegistrations, limit: limit)
    }
}
