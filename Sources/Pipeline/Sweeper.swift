package import Broker
import FaultInjection
package import Hub
package import Logging
import Metrics
import PushModel
import ServiceLifecycle
package import Store

/// Publishes what is due and seems to be nowhere (rules 1 and 15).
///
/// That is: retries, lapsed leases, and jobs whose process died before it could publish them. It also ends jobs whose
/// time is over, prunes dead handles (rules 9 and 13), and removes what is kept no longer.
///
/// One process at a time leads: an economy, for nothing breaks when two do the same.
package struct Sweeper: Service {
    /// The store's part that sweeping needs.
    package typealias SweptStore = BundleStore & HousekeepingStore & JobStore & PlanStore

    /// The pace of sweeping.
    package struct Configuration: Sendable {
        /// How often due rows are looked for.
        package var interval: Duration = .milliseconds(250)
        /// How long past its due time a job must be: its own process comes first.
        package var overdue: Duration = .seconds(1)
        /// How long a job may be with the broker and a worker.
        package var jobLease: Duration = .seconds(60)
        /// How often expired jobs, dead handles and expired registrations are looked for.
        package var housekeeping: Duration = .seconds(1)
        /// How long each is kept that is over; what is not named is kept for good.
        package var retention: [Retained: Duration] = [:]
        /// The most rows of a kind in one step.
        package var limit = 500

        package init() {}
    }

    private let hub: any NotificationHub
    private let store: any SweptStore
    private let apps: AppDirectory
    private let broker: any MessageBroker
    private let configuration: Configuration
    private let logger: Logger

    /// - Parameters:
    ///   - hub: Publishes batches again.
    ///   - store: Knows what is due.
    ///   - apps: The apps' declarations.
    ///   - broker: Takes the messages of jobs.
    ///   - configuration: The pace.
    ///   - logger: For degraded states.
    package init(
        hub: any NotificationHub,
        store: any SweptStore,
        apps: AppDirectory,
        broker: any MessageBroker,
        configuration: Configuration = Configuration(),
        logger: Logger
    ) {
        self.hub = hub
        self.store = store
        self.apps = apps
        self.broker = broker
        self.configuration = configuration
        self.logger = logger
    }

    package func run() async throws {
        await cancelWhenGracefulShutdown {
            var nextHousekeeping = ContinuousClock.now
            var cleaner = Cleaner(store: self.store, ages: self.configuration.retention)
            var leadership: (any Leadership)?
            while !Task.isCancelled {
                if leadership == nil {
                    leadership = await self.attempt { try await self.store.lead(as: .sweeper) } ?? nil
                }
                guard leadership != nil else {
                    try? await Task.sleep(for: .seconds(1))
                    continue
                }
                // On its own: neither a broker that is away nor a row that cannot be published keeps jobs from ending.
                if nextHousekeeping <= .now {
                    _ = await self.attempt(self.keepHouse)
                    nextHousekeeping = .now + self.configuration.housekeeping
                }
                if cleaner.nextTurn <= .now {
                    let removed = await self.attempt { try await cleaner.turn() }
                    Counter(label: "pushline.retention.removed").increment(by: removed ?? 0)
                }
                guard case .connected = await self.broker.status else {
                    // Another process may reach the broker that this one cannot.
                    leadership = nil
                    try? await Task.sleep(for: .seconds(1))
                    continue
                }
                let isBusy = await self.attempt(self.sweep) ?? false
                if !isBusy {
                    let next = min(.now + self.configuration.interval, cleaner.nextTurn)
                    try? await Task.sleep(until: next, clock: .continuous)
                }
            }
        }
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
            self.logger.warning("A sweep failed; trying again", metadata: ["error": "\(error)"])
            try? await Task.sleep(for: .seconds(1))
            return nil
        }
    }

    /// Publishes what is due.
    ///
    /// - Returns: Whether there may be more.
    package func sweep() async throws -> Bool {
        let limit = self.configuration.limit
        let started = try await self.store.perform(
            .startScheduled(overdue: self.configuration.overdue),
            limit: limit
        )
        let isMoreOfJobs = try await self.publishJobs()
        // Each may wait long for a broker that confirms nothing: who is to end begins no other.
        try Task.checkCancellation()
        let isMoreOfBundles = try await self.publishBundles()
        try Task.checkCancellation()
        // Batches that nobody brought on their way together go one by one.
        let takenApart = try await self.store.takeApartParcels(limit: limit)
        // Whatever became of the jobs: the trouble of one queue is not the others'.
        let isMore = isMoreOfJobs || isMoreOfBundles || started == limit || takenApart > 0
        return try await self.publishBatches() || isMore
    }

    private func publishJobs() async throws -> Bool {
        let jobs = try await self.store.dueJobs(overdue: self.configuration.overdue, limit: self.configuration.limit)
        guard !jobs.isEmpty else { return false }
        let messages = jobs.map { job in
            OutgoingMessage(
                job: job.id,
                app: job.app,
                kind: job.kind,
                priority: job.priority,
                traceparent: job.traceparent
            )
        }
        CrashPoint.sweepRead.reach()
        let results = await self.broker.publish(messages, deadline: .seconds(10))
        CrashPoint.sweepPublished.reach()
        let published = zip(jobs, results).filter { $0.1.isPublished }.map(\.0)
        if !published.isEmpty {
            try await self.store.markPublished(due: published, lease: self.configuration.jobLease)
        }
        Counter(label: "pushline.sweeper.published", dimensions: [("what", "job")]).increment(by: published.count)
        // A broker that does not take all is not asked again at once.
        return published.count == self.configuration.limit
    }

    private func publishBundles() async throws -> Bool {
        let bundles = try await self.store.dueBundles(
            overdue: self.configuration.overdue,
            limit: self.configuration.limit
        )
        guard !bundles.isEmpty else { return false }
        let messages = bundles.map { OutgoingMessage(bundle: $0.id, app: $0.app, priority: $0.priority) }
        CrashPoint.sweepRead.reach()
        let results = await self.broker.publish(messages, deadline: .seconds(10))
        CrashPoint.sweepPublished.reach()
        let published = zip(bundles, results).filter { $0.1.isPublished }.map(\.0)
        try await self.store.markPublished(bundles: published, lease: self.configuration.jobLease)
        Counter(label: "pushline.sweeper.published", dimensions: [("what", "bundle")]).increment(by: published.count)
        return published.count == self.configuration.limit
    }

    private func publishBatches() async throws -> Bool {
        // Few at a time: each may hold a whole page of devices.
        let limit = 32
        let batches = try await self.store.dueBatches(limit: limit)
        guard !batches.isEmpty else { return false }
        var specs: [AppID: AppSpec] = [:]
        for app in Set(batches.map(\.app)) { specs[app] = try await self.apps.spec(of: app) }
        CrashPoint.sweepRead.reach()
        try await self.hub.resume(batches, specs: specs)
        Counter(label: "pushline.sweeper.published", dimensions: [("what", "batch")]).increment(by: batches.count)
        return batches.count == limit
    }

    /// Ends what is over, in small bites.
    package func keepHouse() async throws {
        // Here too: without a broker nothing is swept, and a job that never starts would never end.
        let (store, limit) = (self.store, self.configuration.limit)
        _ = try await store.perform(.startScheduled(overdue: self.configuration.overdue), limit: limit)
        _ = try await store.perform(.expireJobs(lease: self.configuration.jobLease), limit: limit)
        CrashPoint.sweepHousekeeping.reach()
        _ = try await store.perform(.pruneRegistrations, limit: limit)
        _ = try await store.perform(.expireRegistrations, limit: limit)
    }
}
