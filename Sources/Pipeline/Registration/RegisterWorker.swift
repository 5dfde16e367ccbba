package import Broker
import FaultInjection
package import Hub
package import Logging
import Metrics
import PushModel
package import PushServices
import PushlineLogging
import PushlineMetrics
package import PushlineTracing
import ServiceLifecycle
package import Store

/// Takes messages of register jobs, and applies the jobs to the hub; what is about channels, at Apple.
package struct RegisterWorker: Service {
    /// The store's part that the worker needs.
    package typealias RegisterStore = HubCallStore & JobStore & OutboxStore & PauseStore & SuspectStore

    private let hubs: AppHubs
    private let channels: ChannelWork
    private let store: any RegisterStore
    private let apps: AppDirectory
    private let broker: any MessageBroker
    private let concurrency: Int
    private let traces: Traces
    private let logger: Logger
    private let pauses: PauseWatch
    /// Of the hubs over a wire, and of Apple's channels.
    private let breakers: Breakers
    /// What it works on.
    package let inHand = WorkInHand()

    /// - Parameters:
    ///   - hubs: The hubs of apps.
    ///   - channels: The clients of Apple's channels.
    ///   - store: The store of jobs.
    ///   - apps: The apps' declarations.
    ///   - broker: The broker.
    ///   - concurrency: The most messages in progress at once.
    ///   - breaker: When a hub over a wire, or Apple's channels, are not called.
    ///   - traces: Begins the spans of work.
    ///   - logger: For degraded states.
    package init(
        hubs: AppHubs,
        channels: APNsChannelClients,
        store: any RegisterStore,
        apps: AppDirectory,
        broker: any MessageBroker,
        concurrency: Int = 64,
        breaker: Breaker.Configuration = Breaker.Configuration(),
        traces: Traces = .off,
        logger: Logger
    ) {
        self.hubs = hubs
        self.store = store
        self.apps = apps
        self.broker = broker
        self.concurrency = concurrency
        self.traces = traces
        self.logger = logger
        self.pauses = PauseWatch(store: store, logger: logger)
        // All that this worker counts are calls.
        var breaker = breaker
        breaker.failures = breaker.failedCalls
        self.breakers = Breakers(breaker, logger: logger)
        self.channels = ChannelWork(clients: channels, store: store, breakers: self.breakers, logger: logger)
    }

    /// The breakers that are open.
    package var openBreakers: [ProcessReport.Breaker] { self.breakers.open }

    /// The credentials that were refused when they were used last.
    package var refusedCredentials: [ProcessReport.Refusal] { self.breakers.refused }

    package func run() async throws {
        try await self.pauses.around { try await self.consume() }
    }

    private func consume() async throws {
        let limiter = FairLimiter(permits: self.concurrency, slowAfter: nil)
        let deadLetters = DeadLetterPublisher(broker: self.broker)
        try await withThrowingDiscardingTaskGroup { group in
            for priority in Priority.allCases {
                let queue = QueueName.work(.register, priority)
                let consumer = QueueConsumer(
                    broker: self.broker,
                    queue: queue,
                    priority: priority,
                    prefetch: self.concurrency,
                    limiter: limiter,
                    logger: self.logger,
                    suspects: Suspects(store: self.store, queue: queue, logger: self.logger),
                    count: { delivery, subscription in
                        let retry = StoreRetry(logger: self.logger, limit: .seconds(30))
                        return try await Redeliveries(store: self.store, retry: retry)
                            .settle(delivery, subscription, deadLetters, from: queue)
                    },
                    handle: { delivery, subscription, _ in
                        try await self.handle(delivery, from: queue)
                        await subscription.acknowledge([delivery])
                    },
                    condemn: { try await deadLetters.publish($0, from: queue, reason: $1) },
                    tenant: { $0.app },
                    inHand: self.inHand
                )
                group.addTask { try await consumer.run() }
            }
        }
    }

    /// Works on a message; when this returns it may be acknowledged.
    private func handle(_ delivery: Delivery, from queue: String) async throws {
        guard let id = MessageID(delivery.properties.messageID) else {
            return try await DeadLetterPublisher(broker: self.broker).publishUnnamed(delivery, from: queue)
        }
        let retry = StoreRetry(logger: self.logger, limit: .seconds(30))
        if let app = delivery.app, self.pauses.reason(.register, app: app) != nil {
            return try await self.deferMessage(id, Deferral(), retry)
        }
        CrashPoint.registerTaken.reach()
        let began = self.traces.now
        let jobs = try await retry.run { try await self.store.registerJobs(of: id) }
        try await self.traces.process(delivery, from: queue, for: jobs.map(\.trace), since: began) { span in
            if try await !self.work(on: jobs, of: id, retry) { span?.discard() }
        }
    }

    /// Works on the jobs of a message, one after the other.
    ///
    /// - Returns: false if it only waits: nothing of it was tried.
    private func work(on jobs: [Job], of id: MessageID, _ retry: StoreRetry) async throws -> Bool {
        for (index, job) in jobs.enumerated() {
            LogContext.set(jobs: [job.trace])
            do {
                // The others are another worker's: each may wait for a hub.
                if index > 0, Task.isShuttingDownGracefully {
                    try await self.deferMessage(id, Deferral(), retry)
                    return true
                }
                guard try await self.apply(job, retry) else {
                    try await self.deferMessage(id, Deferral(), retry)
                    return true
                }
            } catch let error as HubIsResting {
                try await self.deferMessage(id, Self.deferral(error.pause, error.reason), retry)
                return index > 0
            } catch let error as HubError {
                self.logger.warning(
                    "The hub failed; the message waits and is tried again",
                    metadata: ["error": "\(error)"]
                )
                // It waits as long again as it has waited: a change that alone fails must not be the one that tries the hub each time.
                let age = min(max(.zero, job.begins.duration(to: .now)), Self.longestOwnPause)
                let deferral = Self.deferral(max(age, error.retryAfter ?? .zero), WaitReason(error.message))
                try await self.deferMessage(id, deferral, retry)
                return true
            }
        }
        return true
    }

    /// The longest wait that a hub may ask for.
    private static let longestPause = Duration.seconds(300)
    /// The longest wait of a job that was refused before.
    private static let longestOwnPause = Duration.seconds(60)
    /// Over how long messages that wait for a hub come back: its breaker lets one of them see whether it is well.
    private static let spread = Duration.seconds(5)

    /// The wait for a hub that failed: devices register again soon after it is well.
    ///
    /// - Parameters:
    ///   - asked: How long the hub or its breaker asks to wait; nil = they do not say.
    ///   - reason: Why.
    ///   - jitter: From 0 to 1.
    /// - Returns: The wait.
    static func deferral(
        _ asked: Duration?,
        _ reason: WaitReason,
        jitter: Double = .random(in: 0...1)
    ) -> Deferral {
        Deferral(pause: min(asked ?? .zero, self.longestPause) + self.spread * jitter, reason: reason)
    }

    /// Defers the unfinished part of a message: the sweeper publishes it again.
    private func deferMessage(_ id: MessageID, _ deferral: Deferral, _ retry: StoreRetry) async throws {
        _ = try await retry.run { try await self.store.defer(id, epoch: nil, deferral) }
        CrashPoint.outboxDeferred.reach()
    }

    /// Applies a job to the hub, and finishes it.
    ///
    /// - Returns: false if only a part of it is done.
    /// - Throws: ``HubError`` or ``HubIsResting`` when it is to be tried again later.
    private func apply(_ job: Job, _ retry: StoreRetry) async throws -> Bool {
        guard case .register(let request) = job.work else { return true }
        guard case .channel = request else { return try await self.carryOut(request, job, retry) }
        // Until the answer is committed.
        return try await self.channels.inTurn(job.id) { try await self.carryOut(request, job, retry) }
    }

    private func carryOut(_ request: RegisterRequest, _ job: Job, _ retry: StoreRetry) async throws -> Bool {
        guard let result = try await self.result(of: request, job: job, retry) else { return false }
        CrashPoint.registerApplied.reach()
        // Without a limit, as for outcomes: the answer to a creation would be lost.
        let waiter = try await StoreRetry(logger: retry.logger).run {
            try await self.store.finishRegister(job.id, result: result)
        }
        CrashPoint.registerFinished.reach()
        self.logger.debug("A register job is done", metadata: ["outcome": "\(result.label)"])
        await EventSender(broker: self.broker).notify(waiter, of: job.id)
        MetricDescription.registerJobs.counter([.outcome: result.label]).increment()
        return true
    }

    private func result(
        of request: RegisterRequest,
        job: Job,
        _ retry: StoreRetry
    ) async throws -> RegisterResult? {
        let spec = try await retry.run { try await self.apps.spec(of: job.app) }
        guard let spec else { return .refused("the app is not declared") }
        if case .channel(let channels) = request {
            return try await self.channels.result(of: channels, for: job, spec: spec, retry)
        }
        do {
            guard spec.azureHub != nil else { return try await self.hubs.register(request, for: job, spec: spec) }
            return try await self.breakers.through(.hub(of: job.app)) {
                try await self.hubs.register(request, for: job, spec: spec)
            }
        } catch let error as HubError where error.kind == .refused {
            return .refused(error.message)
        }
    }
}

extension RegisterResult {
    fileprivate var label: String {
        switch self {
        case .issued: "issued"
        case .done, .channels: "done"
        case .superseded: "superseded"
        case .gone: "gone"
        case .notFound: "not-found"
        case .refused: "refused"
        case .unknown: "unknown"
        }
    }
}
