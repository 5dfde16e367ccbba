package import Broker
import FaultInjection
package import Hub
package import Logging
import Metrics
import PushModel
import ServiceLifecycle
package import Store

/// Takes register jobs and applies them to the hub.
package struct RegisterWorker: Service {
    private let hub: any NotificationHub
    private let store: any JobStore & PauseStore
    private let apps: AppDirectory
    private let broker: any MessageBroker
    private let concurrency: Int
    private let logger: Logger
    private let pauses: PauseWatch

    /// - Parameters:
    ///   - hub: Where registrations are made.
    ///   - store: Holds the jobs.
    ///   - apps: The apps' declarations.
    ///   - broker: Brings the jobs.
    ///   - concurrency: How many jobs are worked on at once.
    ///   - logger: For degraded states.
    package init(
        hub: any NotificationHub,
        store: any JobStore & PauseStore,
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
        let gate = WeightedGate(places: self.concurrency)
        try await withThrowingDiscardingTaskGroup { group in
            for priority in Priority.allCases {
                let consumer = QueueConsumer(
                    broker: self.broker,
                    queue: QueueName.jobs(.register, priority),
                    priority: priority,
                    prefetch: self.concurrency,
                    gate: gate,
                    logger: self.logger,
                    handle: { delivery, subscription in try await self.handle(delivery, subscription) }
                )
                group.addTask { try await consumer.run() }
            }
        }
    }

    private func handle(_ delivery: Delivery, _ subscription: any Subscription) async throws {
        guard let id = JobID(delivery.properties.messageID) else {
            return try await self.bury(delivery, subscription, reason: "its message-id is no job id")
        }
        var logger = self.logger
        logger[metadataKey: "job.id"] = "\(id)"
        let patience = StorePatience(logger: logger, limit: .seconds(30))
        if let app = delivery.app, self.pauses.reason(.register, app: app) != nil {
            try await patience.run { try await self.store.hold(id) }
            return await subscription.acknowledge([delivery])
        }
        if delivery.deliveryCount > 0 {
            let starts = try await patience.run { try await self.store.raiseStarts(job: id) }
            if starts > PoisonLimit.starts {
                return try await self.bury(delivery, subscription, reason: "begun \(starts) times without an end")
            }
        }
        CrashPoint.registerTaken.reach()
        if let job = try await patience.run({ try await self.store.registerJob(id) }),
            case .register(let request) = job.work,
            let result = try await self.result(of: request, job: job, logger: logger)
        {
            CrashPoint.registerApplied.reach()
            let waiter = try await patience.run { try await self.store.finishRegister(id, result: result) }
            CrashPoint.registerFinished.reach()
            await EventSender(broker: self.broker).notify(waiter, of: id)
            Counter(label: "pushline.register.jobs", dimensions: [("outcome", result.label)]).increment()
        }
        await subscription.acknowledge([delivery])
    }

    /// What the hub made of it; nil when the job is to be tried again later.
    private func result(of request: RegisterRequest, job: Job, logger: Logger) async throws -> RegisterResult? {
        guard let spec = try await self.apps.spec(of: job.app) else { return .refused("the app is not declared") }
        do {
            return try await self.hub.register(request, for: job, spec: spec)
        } catch let error as HubError where error.code == .unavailable {
            let pause = error.retryAfter ?? .seconds(2)
            logger.warning("The hub cannot answer; the job waits", metadata: ["error": "\(error)"])
            // The row is due again after the pause; the sweeper publishes it then.
            try await self.store.postpone(job.id, by: pause)
            return nil
        } catch let error as HubError {
            return .refused(error.message)
        }
    }

    private func bury(_ delivery: Delivery, _ subscription: any Subscription, reason: String) async throws {
        try await Undertaker(broker: self.broker).bury(delivery, from: "pushline.register", reason: reason)
        await subscription.acknowledge([delivery])
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
