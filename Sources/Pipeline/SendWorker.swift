package import Broker
import FaultInjection
package import Hub
package import Logging
import NIOConcurrencyHelpers
import PushModel
import ServiceLifecycle
package import Store

/// Takes send jobs, claims them, and plans them slice by slice (rule 4).
package struct SendWorker: Service {
    /// The store's part that planning needs.
    package typealias SendStore = BundleStore & JobStore & PauseStore & PlanStore

    let hub: any NotificationHub
    let store: any SendStore
    let apps: AppDirectory
    let broker: any MessageBroker
    private let concurrency: Int
    let logger: Logger
    /// Bounds the jobs that are claimed and not yet planned: they wait in memory between their slices.
    private let claims: WeightedGate
    private let inWork = JobsInWork()
    private let waiting: WaitingPlanners
    private let largeClaims = LargeClaims()
    let bundlesInWork = BundlesInWork()
    let pauses: PauseWatch

    /// How long a slice may take.
    static let slice = Duration.milliseconds(200)
    /// How long a planner may be silent (rule 1).
    static let lease = Duration.seconds(60)
    /// A job whose planning was begun more often than any run of restarts explains, and came nowhere, kills its planners.
    private static let claimLimit = 50
    /// A send that names more is large: 20,000 names take some 2 MB.
    private static let largeAudience = 1000
    /// The longest that a job which was given back rests before it is looked at again.
    private static let longestRest = Duration.seconds(5)

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
        self.waiting = WaitingPlanners(places: concurrency * 8)
        self.pauses = PauseWatch(store: store, logger: logger)
    }

    package func run() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await self.hub.run() }
            try await self.pauses.around { try await self.consume() }
            group.cancelAll()
        }
    }

    private func consume() async throws {
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
        if let bundle = BundleID(delivery.properties.messageID) {
            return try await self.handle(bundle, delivery, subscription, slices: slices, priority: priority)
        }
        guard let id = JobID(delivery.properties.messageID) else {
            try await Undertaker(broker: self.broker)
                .bury(delivery, from: QueueName.jobs(.send, priority), reason: "its message-id names no job")
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
        if let app = delivery.app, self.pauses.reason(.send, app: app) != nil {
            try await patience.run { try await self.store.hold(id) }
            return await subscription.acknowledge([delivery])
        }
        if delivery.deliveryCount > 0 {
            let starts = try await patience.run { try await self.store.raiseStarts(job: id) }
            if starts > PoisonLimit.starts {
                let reason = "begun \(starts) times without an end"
                try await Undertaker(broker: self.broker)
                    .bury(delivery, from: QueueName.jobs(.send, priority), reason: reason)
                return await subscription.acknowledge([delivery])
            }
        }
        CrashPoint.sendTaken.reach()
        let claim = try await patience.run { try await self.store.claim(id, lease: Self.lease) }
        CrashPoint.sendClaimed.reach()
        // From here on the claim's lease brings the job back if this process dies (rule 1).
        await subscription.acknowledge([delivery])
        CrashPoint.sendAcknowledged.reach()
        guard let claim else { return }
        if claim.claims > Self.claimLimit {
            let reason = "its planning was begun \(claim.claims) times without an end"
            let waiter = try await patience.run { try await self.store.abandon(claim, reason: reason) }
            return await EventSender(broker: self.broker).notify(waiter, of: id)
        }
        // Its names are kept until it is planned: beyond a few such sends the others come again.
        let isLarge = claim.request.audience.tags.count > Self.largeAudience
        guard !isLarge || self.largeClaims.enter() else {
            return try await self.release(claim, waitingFor: [], pause: Self.longestRest, patience: patience)
        }
        defer { if isLarge { self.largeClaims.leave() } }
        let isRepeat = delivery.deliveryCount > 0 || claim.claims > PoisonLimit.starts
        try await self.plan(claim, isRepeat: isRepeat, slices: slices, patience: patience, logger: logger)
    }

    /// Advances a claimed job until the hub has it, slice by slice, so that no job holds a place for long; one that cannot go on
    /// is given back.
    private func plan(
        _ claim: PlannerClaim,
        isRepeat: Bool,
        slices: WeightedGate,
        patience: StorePatience,
        logger: Logger
    ) async throws {
        var claim = claim
        var extended = ContinuousClock.now
        var stay = self.waiting.stay(app: claim.job.app, priority: claim.job.priority)
        defer { stay.end() }
        let events = EventSender(broker: self.broker)
        var waiter = claim.waiter
        var isAlone = isRepeat
        while true {
            if Task.isShuttingDownGracefully {
                // Due at once: another planner takes over without waiting for the lease.
                return try await self.release(claim, waitingFor: [], pause: .zero, patience: patience)
            }
            if self.pauses.reason(.send, app: claim.job.app) != nil {
                let id = claim.job.id
                return try await patience.run { try await self.store.hold(id) }
            }
            var pause = Duration.zero
            /// What the job waits for where it came no further.
            var obstacles: [PNS]?
            do {
                let advance = try await self.slice(of: claim, alone: isAlone, in: slices)
                isAlone = false
                // The hub's answer stands in the row now: whoever waits may look.
                await events.notify(waiter, of: claim.job.id)
                waiter = nil
                let next: PlannerClaim
                switch advance {
                case .done, .lost: return
                case .more(let after, let wait): (next, pause) = (after, wait)
                case .full(let after, let services, let wait): (next, pause, obstacles) = (after, wait, services)
                }
                if next.lanes != claim.lanes {
                    stay.end()
                } else if pause > .zero, obstacles == nil {
                    obstacles = []
                }
                claim = next
            } catch let error as HubError where error.code == .refused {
                logger.warning("The hub took nothing", metadata: ["error": "\(error)"])
                let current = claim
                let waiting = try await patience.run { try await self.store.abandon(current, reason: error.message) }
                return await events.notify(waiting, of: claim.job.id)
            } catch let error as HubError {
                logger.warning("The hub cannot answer; planning waits", metadata: ["error": "\(error)"])
                (pause, obstacles) = (error.retryAfter ?? .seconds(2), [])
            } catch let error as StoreError where error.code == .unavailable {
                logger.warning("The store takes nothing; planning waits", metadata: ["error": "\(error)"])
                // How far this slice came is not known here; whoever claims the job next is told by the store.
                return try await self.release(claim, waitingFor: [], pause: .seconds(1), patience: patience)
            }
            if let obstacles {
                guard let longer = stay.prolong(pause) else {
                    return try await self.release(claim, waitingFor: obstacles, pause: pause, patience: patience)
                }
                pause = longer
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

    /// Gives a job back, and forgets it.
    private func release(
        _ claim: PlannerClaim,
        waitingFor services: [PNS],
        pause: Duration,
        patience: StorePatience
    ) async throws {
        // Room in a window is noticed when it comes; for all else the pause is kept.
        let pause = services.isEmpty ? min(pause, Self.longestRest) : .zero
        _ = try await patience.run {
            try await self.store.release(claim, waitingFor: services, pause: pause)
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
