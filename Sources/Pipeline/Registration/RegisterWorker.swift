package import Broker
import FaultInjection
package import Hub
package import Logging
import Metrics
import PushModel
import PushlineMetrics
import ServiceLifecycle
package import Store

/// Takes messages of register jobs, and applies the jobs to the hub.
package struct RegisterWorker: Service {
    /// The store's part that the worker needs.
    package typealias RegisterStore = JobStore & OutboxStore & PauseStore

    private let hub: any NotificationHub
    private let store: any RegisterStore
    private let apps: AppDirectory
    private let broker: any MessageBroker
    private let concurrency: Int
    private let logger: Logger
    private let pauses: PauseWatch

    /// - Parameters:
    ///   - hub: The hub.
    ///   - store: The store of jobs.
    ///   - apps: The apps' declarations.
    ///   - broker: The broker.
    ///   - concurrency: The most messages in progress at once.
    ///   - logger: For degraded states.
    package init(
        hub: any NotificationHub,
        store: any RegisterStore,
        apps: AppDirectory,
        broker: any MessageBroker,
        concurrency: Int = 64,
        logger: Logger
    ) {
        self.hub = hub
        self.store = store
        self.apps = apps
        self.broker = broker
        self.concurrency = concurrency
        self.logger = logger
        self.pauses = PauseWatch(store: store, logger: logger)
    }

    package func run() async throws {
        try await self.pauses.around { try await self.consume() }
    }

    private func consume() async throws {
        let limiter = FairLimiter(permits: self.concurrency, slowAfter: nil)
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
                    handle: { delivery, subscription in
                        try await self.handle(delivery, from: queue)
                        await subscription.acknowledge([delivery])
                    },
                    tenant: { $0.app }
                )
                group.addTask { try await consumer.run() }
            }
        }
    }

    /// Works on a message; when this returns it may be acknowledged.
    private func handle(_ delivery: Delivery, from queue: String) async throws {
        let deadLetters = DeadLetterPublisher(broker: self.broker)
        guard let id = MessageID(delivery.properties.messageID) else {
            return try await deadLetters.publishUnnamed(delivery, from: queue)
        }
        var logger = self.logger
        logger[metadataKey: "message.id"] = "\(id)"
        let retry = StoreRetry(logger: logger, limit: .seconds(30))
        if let app = delivery.app, self.pauses.reason(.register, app: app) != nil {
            return try await self.deferMessage(id, Deferral(), retry)
        }
        if delivery.deliveryCount > 0 {
            let redeliveries = Redeliveries(store: self.store, retry: retry)
            switch try await redeliveries.count(id) {
            case .gone: return
            case .split: return try await redeliveries.split(id)
            case .dead(let reason): return try await deadLetters.publish(delivery, from: queue, reason: reason)
            case .work: break
            }
        }
        CrashPoint.registerTaken.reach()
        for job in try await retry.run({ try await self.store.registerJobs(of: id) }) {
            do {
                guard try await self.apply(job, retry) else {
                    return try await self.deferMessage(id, Deferral(), retry)
                }
            } catch let error as HubError where error.code == .unavailable {
                logger.warning("The hub failed; the message waits and is tried again", metadata: ["error": "\(error)"])
                let age = job.begins.duration(to: .now)
                let pause = Self.pause(after: error, age: age, jitter: .random(in: 0...1))
                let deferral = Deferral(pause: pause, reason: WaitReason(error.message))
                return try await self.deferMessage(id, deferral, retry)
            }
        }
    }

    /// The waits for a hub that fails: devices register again soon after it is well.
    private static let retries: RetryPolicy = {
        var policy = RetryPolicy()
        policy.cap = .seconds(60)
        return policy
    }()
    /// The longest wait that a hub may ask for.
    private static let longestPause = Duration.seconds(300)

    /// The wait before a hub that failed is asked again.
    ///
    /// Nobody counts the tries of a message; the age of its job grows as they do.
    static func pause(after error: HubError, age: Duration, jitter: Double) -> Duration {
        let seconds = max(0, age.components.seconds)
        return self.retries.wait(
            tries: 1 + Int64.bitWidth - seconds.leadingZeroBitCount,
            asked: error.retryAfter.map { min($0, Self.longestPause) },
            jitter: jitter
        )
    }

    /// Defers the unfinished part of a message: the sweeper publishes it again.
    private func deferMessage(_ id: MessageID, _ deferral: Deferral, _ retry: StoreRetry) async throws {
        _ = try await retry.run { try await self.store.defer(id, epoch: nil, deferral) }
        CrashPoint.outboxDeferred.reach()
    }

    /// Applies a job to the hub, and finishes it.
    ///
    /// - Returns: false if only a part of it is done.
    /// - Throws: ``HubError`` when it is to be tried again later.
    private func apply(_ job: Job, _ retry: StoreRetry) async throws -> Bool {
        guard case .register(let request) = job.work else { return true }
        guard let result = try await self.result(of: request, job: job, retry) else { return false }
        CrashPoint.registerApplied.reach()
        let waiter = try await retry.run { try await self.store.finishRegister(job.id, result: result) }
        CrashPoint.registerFinished.reach()
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
        do {
            return try await self.hub.register(request, for: job, spec: spec)
        } catch let error as HubError where error.code != .unavailable {
            return .refused(error.message)
        }
    }
}

extension RegisterResult {
    fileprivate var label: String {
        switch self {
        case .issued: "issued"
        case .done: "done"
        case .superseded: "superseded"
        case .gone: "gone"
        case .notFound: "not-found"
        case .refused: "refused"
        }
    }
}
