package import Broker
package import Hub
package import Logging
import NIOConcurrencyHelpers
import PushModel
import ServiceLifecycle
package import Store

/// Takes send jobs, claims them, and plans them slice by slice (rule 4).
package struct SendWorker: Service {
    /// The store's part that planning needs.
    package typealias SendStore = JobStore & PlanStore

    private let hub: any NotificationHub
    private let store: any SendStore
    private let apps: AppDirectory
    private let broker: any MessageBroker
    private let concurrency: Int
    private let logger: Logger
    /// Bounds the jobs that are claimed and not yet planned: they wait in memory between their slices.
    private let claims: WeightedGate
    private let inWork = JobsInWork()

    /// How long a slice may take.
    private static let slice = Duration.milliseconds(200)
    /// How long a planner may be silent (rule 1).
    private static let lease = Duration.seconds(60)
    /// A job whose planning was begun more often than any run of restarts explains, and never came to a first page, kills its
    /// planners.
    private static let epochLimit = 50
    /// How seldom a job is looked at that cannot go on.
    private static let longestPause = Duration.seconds(1)

    /// - Parameters:
    ///   - hub: Where sends go.
    ///   - store: Holds jobs and plans.
    ///   - apps: The apps' declarations.
    ///   - broker: Brings the jobs.
    ///   - concurrency: How many slices are planned at once.
    ///   - logger: For degraded states.
    package init(
        hub: any NotificationHub,
        store: any SendStore,
        apps: AppDirectory,
        broker: any MessageBroker,
        concurrency: Int = 16,
        logger: Logger
    ) {
        self.hub = hub
        self.store = store
        self.apps = apps
        self.broker = broker
        self.concurrency = concurrency
        self.logger = logger
        self.claims = WeightedGate(places: concurrency * 64)
    }

    package func run() async throws {
        let slices = WeightedGate(places: self.concurrency)
        try await withThrowingDiscardingTaskGroup { group in
            for priority in Priority.allCases {
                let consumer = QueueConsumer(
                    broker: self.broker,
                    queue: QueueName.jobs(.send, priority),
                    priority: priority,
                    prefetch: 64,
                    gate: self.claims,
                    logger: self.logger,
                    handle: { delivery, subscription in
                        try await self.handle(delivery, subscription, slices: slices, priority: priority)
                    },
                    // A place here is held until the job is planned; the first slice is what runs alone.
                    isolatesRepeats: false
                )
                group.addTask { try await consumer.run() }
            }
        }
    }

    private func handle(
        _ delivery: Delivery,
        _ subscription: any Subscription,
        slices: WeightedGate,
        priority: Priority
    ) async throws {
        guard let id = JobID(delivery.properties.messageID) else {
            try await Undertaker(broker: self.broker)
                .bury(delivery, from: QueueName.jobs(.send, priority), reason: "its message-id is no job id")
            return await subscription.acknowledge([delivery])
        }
        // A copy of the message of a job that this process is at joins the work: after long waits there may be very many.
        guard self.inWork.begin(id) else { return await subscription.acknowledge([delivery]) }
        defer { self.inWork.end(id) }
        try await self.work(on: id, delivery, subscription, slices: slices, priority: priority)
    }

    private func work(
        on id: JobID,
        _ delivery: Delivery,
        _ subscription: any Subscription,
        slices: WeightedGate,
        priority: Priority
    ) async throws {
        var logger = self.logger
        logger[metadataKey: "job.id"] = "\(id)"
        let patience = StorePatience(logger: logger, limit: .seconds(30))
        if delivery.deliveryCount > 0 {
            let starts = try await patience.run { try await self.store.raiseStarts(job: id) }
            if starts > PoisonLimit.starts {
                let reason = "begun \(starts) times without an end"
                try await Undertaker(broker: self.broker)
                    .bury(delivery, from: QueueName.jobs(.send, priority), reason: reason)
                return await subscription.acknowledge([delivery])
            }
        }
        let claim = try await patience.run { try await self.store.claim(id, lease: Self.lease) }
        // From here on the claim's lease brings the job back if this process dies (rule 1).
        await subscription.acknowledge([delivery])
        guard let claim else { return }
        if claim.epoch > Self.epochLimit, claim.lanes.allSatisfy({ $0.nextPage == 0 && !$0.isDone }) {
            let reason = "its planning was begun \(claim.epoch) times without an end"
            let waiter = try await patience.run { try await self.store.abandon(claim, reason: reason) }
            return await EventSender(broker: self.broker).notify(waiter, of: id)
        }
        let isRepeat = delivery.deliveryCount > 0 || claim.epoch > PoisonLimit.starts
        try await self.plan(claim, isRepeat: isRepeat, slices: slices, patience: patience, logger: logger)
    }

    /// Advances a claimed job until the hub has it, slice by slice, so that no job holds a place for long.
    private func plan(
        _ claim: PlannerClaim,
        isRepeat: Bool,
        slices: WeightedGate,
        patience: StorePatience,
        logger: Logger
    ) async throws {
        var claim = claim
        var extended = ContinuousClock.now
        let events = EventSender(broker: self.broker)
        var waiter = claim.waiter
        var isAlone = isRepeat
        /// Grows while the job cannot go on, so that many that wait for room cost little.
        var idle = Duration.zero
        while true {
            if Task.isShuttingDownGracefully {
                // Due at once: another planner takes over without waiting for the lease.
                let current = claim
                _ = try await patience.run { try await self.store.extend(current, lease: .zero) }
                return
            }
            let pause: Duration
            do {
                let advance = try await self.slice(of: claim, alone: isAlone, in: slices)
                isAlone = false
                // The hub's answer stands in the row now: whoever waits may look.
                await events.notify(waiter, of: claim.job.id)
                waiter = nil
                switch advance {
                case .done, .lost: return
                case .more(let next, let after):
                    idle = next.lanes == claim.lanes ? min(max(idle * 2, after), Self.longestPause) : .zero
                    pause = max(after, idle)
                    claim = next
                }
            } catch let error as HubError where error.code == .refused {
                logger.warning("The hub took nothing", metadata: ["error": "\(error)"])
                let current = claim
                let waiting = try await patience.run { try await self.store.abandon(current, reason: error.message) }
                return await events.notify(waiting, of: claim.job.id)
            } catch let error as HubError {
                logger.warning("The hub cannot answer; planning waits", metadata: ["error": "\(error)"])
                pause = error.retryAfter ?? .seconds(2)
            } catch let error as StoreError where error.code == .unavailable {
                logger.warning("The store takes nothing; planning waits", metadata: ["error": "\(error)"])
                try await Task.sleep(for: .seconds(1))
                // How far this slice came is not known here; the store knows.
                let id = claim.job.id
                guard let fresh = try await patience.run({ try await self.store.claim(id, lease: Self.lease) }) else {
                    return
                }
                claim = fresh
                pause = .zero
            }
            if pause > .zero { try await Task.sleep(for: pause) }
            if extended.duration(to: .now) > Self.lease / 4 {
                let current = claim
                guard try await patience.run({ try await self.store.extend(current, lease: Self.lease) }) else {
                    return
                }
                extended = .now
            }
        }
    }

    private func slice(of claim: PlannerClaim, alone: Bool, in slices: WeightedGate) async throws -> Advance {
        guard let spec = try await self.apps.spec(of: claim.job.app) else {
            throw HubError(.refused, "the app is not declared")
        }
        if alone {
            return try await slices.alone { try await self.hub.advance(claim, spec: spec, budget: Self.slice) }
        }
        return try await slices.withPlace(claim.job.priority) {
            try await self.hub.advance(claim, spec: spec, budget: Self.slice)
        }
    }
}
