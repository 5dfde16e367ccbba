package import Broker
import FaultInjection
package import Logging
import OutgoingHTTP
import PushModel
package import PushServices
import PushlineLogging
package import PushlineTracing
import ServiceLifecycle
import Settings
package import Store
import Tracing

/// Takes delivery messages, sends their batches through the push services, and records the outcome of each device.
package struct DeliveryWorker: Service {
    /// The limits and waits of deliveries.
    package struct Configuration: Sendable {
        /// The most devices in progress for each push service, divided by its weight, and an urgent message and one of an idle app
        /// beyond them.
        ///
        /// This bounds the duplicates after a crash (rule 10).
        package var devices = DeliverySettings().devices
        /// The most messages in progress for each push service, however small they are.
        package var messages = 64
        /// An app whose messages take longer is slow.
        ///
        /// All slow apps share half of the permits, and their waiting messages are deferred.
        package var slowAfter: Duration = .seconds(3)
        /// For how long.
        package var slowPause: Duration = .seconds(5)
        /// The longest time to send a message before the rest is retried: no worker keeps a delivery for more than 60 s
        /// (rule 4).
        package var sendingTime: Duration = .seconds(45)
        package var retry = RetryPolicy()
        /// When an app's messages to a push service are deferred.
        package var breaker = Breaker.Configuration()

        package init() {}

        /// How many permits a message costs.
        ///
        /// Its header is believed up to all that there are: whoever may publish writes what they like.
        func cost(of delivery: Delivery, at pns: PushService) -> Int {
            let header = delivery.properties.headers[MessageProperties.devicesHeader].flatMap { Int($0) }
            let devices = min(max(0, header ?? DeliverBatch.maximumDevices), self.devices)
            return max(devices.clampedMultiplied(by: pns.descriptor.weight), self.devices / self.messages)
        }
    }

    let senders: SenderRegistry
    /// For apps whose hub is behind a wire.
    let hubs: HubCallers
    let store: any OutboxStore & OutcomeSink & PauseStore & SuspectStore
    let apps: AppDirectory
    let broker: any MessageBroker
    let configuration: Configuration
    let traces: Traces
    let logger: Logger
    let inProgress = BatchesInProgress()
    /// What it works on.
    package let inHand = WorkInHand()
    let breakers: Breakers
    let pauses: PauseWatch
    let metrics = DeliveryMetrics()
    /// Ends sends whose senders do not come back.
    let watch = DeadlineWatch()
    /// Why apps' senders cannot be made.
    let senderFaults = FaultLog()

    /// - Parameters:
    ///   - senders: The push services.
    ///   - hubs: The hubs over a wire.
    ///   - store: The store of messages and outcomes.
    ///   - apps: The apps' declarations.
    ///   - broker: The broker.
    ///   - configuration: Limits and intervals.
    ///   - traces: Begins the spans of work.
    ///   - logger: For degraded states.
    package init(
        senders: SenderRegistry,
        hubs: HubCallers,
        store: any OutboxStore & OutcomeSink & PauseStore & SuspectStore,
        apps: AppDirectory,
        broker: any MessageBroker,
        configuration: Configuration = Configuration(),
        traces: Traces = .off,
        logger: Logger
    ) {
        self.senders = senders
        self.hubs = hubs
        self.store = store
        self.apps = apps
        self.broker = broker
        self.configuration = configuration
        self.traces = traces
        self.logger = logger
        self.breakers = Breakers(configuration.breaker, logger: logger)
        self.pauses = PauseWatch(store: store, logger: logger)
    }

    /// How long a sender may take to return what has ended.
    private static let returnTime = Duration.milliseconds(200)

    package func run() async throws {
        try await withGracefulShutdownHandler {
            try await self.pauses.around { try await self.work() }
        } onGracefulShutdown: {
            self.inProgress.drain()
            // Nothing more is begun, so this is the latest deadline of what is in flight.
            self.watch.limit(to: .now + self.senders.requestTimeout + Self.returnTime)
        }
    }

    private func work() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            let services = PushService.inService
            let limiters = services.map { _ in
                FairLimiter(permits: self.configuration.devices, slowAfter: self.configuration.slowAfter)
            }
            group.addTask { try await self.watch(limiters) }
            group.addTask { await self.hubs.watch(self.breakers) }
            try await withThrowingDiscardingTaskGroup { consumers in
                for (pns, limiter) in zip(services, limiters) {
                    for priority in Priority.allCases {
                        let consumer = self.consumer(of: pns, priority, limiter)
                        consumers.addTask { try await consumer.run() }
                    }
                }
            }
            group.cancelAll()
        }
    }

    private func consumer(of pns: PushService, _ priority: Priority, _ limiter: FairLimiter) -> QueueConsumer {
        let queue = QueueName.work(.deliver(pns), priority)
        let deadLetters = DeadLetterPublisher(broker: self.broker)
        return QueueConsumer(
            broker: self.broker,
            queue: queue,
            priority: priority,
            // More than may be in progress: behind an app's slow messages the others' are still seen.
            prefetch: self.configuration.messages * 3 / 2,
            limiter: limiter,
            logger: self.logger,
            suspects: Suspects(store: self.store, queue: queue, logger: self.logger),
            count: { delivery, subscription in
                try await Redeliveries(store: self.store, retry: StoreRetry(logger: self.logger))
                    .settle(delivery, subscription, deadLetters, from: queue)
            },
            handle: { delivery, subscription, _ in try await self.handle(delivery, subscription, queue: queue) },
            inspect: { delivery in
                _ = (delivery.app, self.configuration.cost(of: delivery, at: pns))
                // What is not a delivery message is for the work to find.
                _ = try? DeliveryMessage(decoding: delivery.body)
            },
            condemn: { try await deadLetters.publish($0, from: queue, reason: $1) },
            cost: { self.configuration.cost(of: $0, at: pns) },
            tenant: { $0.app },
            isBlocked: { delivery in self.deferral(of: delivery, pns) != nil },
            deferWork: { delivery, subscription in try await self.deferWork(delivery, subscription, pns) },
            intercept: { delivery, subscription in
                guard let id = MessageID(delivery.properties.messageID) else { return false }
                return self.inProgress.join(id, delivery, subscription)
            },
            inHand: self.inHand
        )
    }

    /// Checks every 500 ms for stops of jobs whose batches are in progress (rule 13), and for apps whose messages delay
    /// others (rule 12).
    private func watch(_ limiters: [FairLimiter]) async throws {
        while true {
            do { try await Task.sleep(for: .milliseconds(500)) } catch { return }
            for limiter in limiters { limiter.rejectQueuedBehindSlowTenants() }
            let keys = self.inProgress.keys
            guard !keys.isEmpty else { continue }
            do {
                let located = try await self.store.status(of: keys, in: nil)
                for (key, located) in zip(keys, located) { self.inProgress.note(located.status, of: key) }
            } catch let error as StoreError {
                self.logger.debug("Reading the status of batches failed", metadata: ["error": "\(error)"])
            }
        }
    }

    /// Why an app's message is not to be sent now: its queue is paused, or its breaker is open.
    private func deferral(of delivery: Delivery, _ pns: PushService) -> Deferral? {
        guard let app = delivery.app else { return nil }
        // A paused message is not taken before the queue is resumed, despite its due time.
        if let reason = self.pauses.reason(.deliver(pns), app: app) { return Deferral(reason: reason) }
        guard case .rejected(let pause, let reason) = self.breakers.peek(app, pns) else { return nil }
        return Deferral(pause: pause, reason: reason)
    }

    /// Gives a message that is not to be worked on now back to its row: the sweeper publishes it again.
    ///
    /// - Returns: false when the store does not take it now, or nothing in the store is of that name.
    private func deferWork(_ delivery: Delivery, _ subscription: any Subscription, _ pns: PushService) async throws
        -> Bool
    {
        guard let id = MessageID(delivery.properties.messageID) else { return false }
        let slowness = Deferral(
            pause: self.configuration.slowPause,
            reason: WaitReason("the push service answers slowly or not at all")
        )
        do {
            // One that is not deferred by this is gone, or deferred already.
            _ = try await self.store.defer(id, epoch: nil, self.deferral(of: delivery, pns) ?? slowness)
        } catch let error as StoreError {
            self.logger.debug("Deferring a message failed", metadata: ["error": "\(error)"])
            return false
        }
        CrashPoint.outboxDeferred.reach()
        await subscription.acknowledge([delivery])
        return true
    }
}

// MARK: One message

extension DeliveryWorker {
    /// The result of work on a message.
    private enum Verdict: Equatable {
        /// Nothing: all its batches have their outcomes.
        case done
        /// The message has several batches, and one of them fails or crashes its workers: alone it is found.
        case split
        /// The body does not match the row and is published again from it.
        case publishAnew
        case dead(reason: String)
    }

    private func handle(_ delivery: Delivery, _ subscription: any Subscription, queue: String) async throws {
        let deadLetters = DeadLetterPublisher(broker: self.broker)
        guard let id = MessageID(delivery.properties.messageID) else {
            try await deadLetters.publishUnnamed(delivery, from: queue)
            return await subscription.acknowledge([delivery])
        }
        // Two copies may have waited for a permit together: the later one joins.
        guard self.inProgress.begin(id, delivery, subscription) else { return }
        let retry = StoreRetry(logger: self.logger)
        let verdict: Verdict
        do {
            verdict = try await self.work(on: id, delivery, from: queue, retry)
            switch verdict {
            case .done, .publishAnew: break
            case .split:
                try await Redeliveries(store: self.store, retry: retry).split(id, delivery, deadLetters, from: queue)
            case .dead(let reason): try await deadLetters.publish(delivery, from: queue, reason: reason)
            }
        } catch {
            let ended = self.inProgress.end(id, isDone: false)
            // A cancelled message comes again. After another error the consumer dead-letters all its deliveries.
            if !(error is CancellationError) { try await self.acknowledge(ended, retry) }
            throw error
        }
        let ended = self.inProgress.end(id, isDone: verdict == .done)
        if verdict == .publishAnew {
            // Behind the end, so that a copy published at once by the sweeper does not join, and is not acknowledged with these.
            _ = try await retry.run { try await self.store.defer(id, epoch: nil, Deferral()) }
            CrashPoint.outboxDeferred.reach()
        }
        try await self.acknowledge(ended, retry)
    }

    /// Sends a message's batches and records their outcomes, as far as they are open.
    private func work(
        on id: MessageID,
        _ delivery: Delivery,
        from queue: String,
        _ retry: StoreRetry
    ) async throws -> Verdict {
        let began = self.traces.now
        let batches: [DeliverBatch]
        do { batches = try DeliveryMessage(decoding: delivery.body).batches } catch {
            // One that came before is counted already.
            guard delivery.deliveryCount == 0 else { return .publishAnew }
            return try await self.verdict(onUnreadable: id, reason: error.description, retry)
        }
        CrashPoint.deliverTaken.reach()
        LogContext.set(jobs: batches.map { JobTrace($0.key.job) })
        do {
            let keys = batches.map(\.key)
            let located = try await retry.run { try await self.store.status(of: keys, in: id) }
            LogContext.set(jobs: located.traces(of: keys))
            let begun = self.inProgress.begin(keys, located, of: id)
            guard !begun.isEmpty else { return .done }
            try await self.traces.process(delivery, from: queue, for: located.traces(of: keys), since: began) { span in
                try await self.deliver(begun, of: batches, located, retry, as: span)
            }
            return .done
        } catch let error as StoreError {
            guard batches.count == 1 else { return .split }
            return .dead(reason: "the store cannot make sense of it: \(error.message)")
        }
    }

    /// Sends batches of one message, and records their outcomes.
    ///
    /// - Parameters:
    ///   - begun: Which of the message's batches.
    ///   - batches: All of them.
    ///   - located: How each stands.
    ///   - retry: Tries again.
    ///   - span: The span of the work on their message.
    /// - Throws: The `StoreError` of an outcome that cannot be recorded.
    private func deliver(
        _ begun: [Int],
        of batches: [DeliverBatch],
        _ located: [LocatedStatus],
        _ retry: StoreRetry,
        as span: RecordedSpan?
    ) async throws {
        let spec = try await retry.run { try await self.apps.spec(of: batches[0].app) }
        CrashPoint.deliverBegun.reach()
        let start = self.traces.now
        var outcomes = await self.send(begun.map { batches[$0] }, spec: spec ?? AppSpec(), logger: retry.logger)
        for (place, index) in begun.enumerated() {
            outcomes[place].hint = located[index].hint
            outcomes[place].began = located[index].began
        }
        if let span { self.traces.note(outcomes, of: begun.map { located[$0].request?.span }, in: span, since: start) }
        CrashPoint.deliverSent.reach()
        try await self.record(outcomes, of: batches[0], retry)
        self.logger.debug("The devices of a message have their outcomes", metadata: outcomes.metadata)
        // Each may have been the last of its job.
        let awaited = begun.compactMap { index in
            located[index].waiter.map { (job: batches[index].key.job, waiter: $0) }
        }
        await EventSender(broker: self.broker).notify(awaited)
    }

    /// Counts an unreadable body as a redelivery: the row is the truth, and the message may be forged (rule 1).
    ///
    /// The sweeper publishes the row's own body; if that is unreadable too, it is dead-lettered.
    private func verdict(
        onUnreadable id: MessageID,
        reason: String,
        _ retry: StoreRetry
    ) async throws -> Verdict {
        switch try await Redeliveries(store: self.store, retry: retry).count(id) {
        case .work: .publishAnew
        case .split: .split
        // There is no such row, or it was like that each time.
        case .gone, .dead: .dead(reason: reason)
        }
    }

    /// Records outcomes together; after a refusal, one by one.
    ///
    /// - Parameters:
    ///   - outcomes: The outcomes of a message's batches.
    ///   - batch: One of them.
    ///   - retry: Tries again.
    /// - Throws: The `StoreError` of an outcome that cannot be recorded, after all others are.
    private func record(_ outcomes: [BatchOutcome], of batch: DeliverBatch, _ retry: StoreRetry) async throws {
        do {
            return try await self.recordTogether(outcomes, of: batch, retry)
        } catch let error as StoreError where outcomes.count > 1 {
            retry.logger.warning("Outcomes cannot be recorded together", metadata: ["error": "\(error)"])
        }
        var fault: StoreError?
        for outcome in outcomes {
            do { try await self.recordTogether([outcome], of: batch, retry) } catch let error as StoreError {
                retry.logger.error(
                    "An outcome cannot be recorded",
                    metadata: ["batch": "\(outcome.key)", "error": "\(error)"]
                )
                fault = error
            }
        }
        if let fault { throw fault }
    }

    private func recordTogether(
        _ outcomes: [BatchOutcome],
        of batch: DeliverBatch,
        _ retry: StoreRetry
    ) async throws {
        let areFirst = try await retry.run { try await self.store.record(outcomes) }
        CrashPoint.deliverRecorded.reach()
        self.metrics.record(zip(outcomes, areFirst).filter(\.1).map(\.0), of: batch.app, batch.priority)
    }

    /// Acknowledges all that stands for messages that are over.
    private func acknowledge(_ ended: [BatchesInProgress.Ended], _ retry: StoreRetry) async throws {
        for message in ended {
            if message.isIncomplete {
                // A batch was in progress under another message and has no outcome: it continues under this one.
                do {
                    _ = try await retry.run { try await self.store.defer(message.message, epoch: nil, Deferral()) }
                } catch let error as StoreError {
                    retry.logger.error(
                        "Deferring a message failed; it waits for the end of its lease",
                        metadata: ["message.id": "\(message.message)", "error": "\(error)"]
                    )
                }
            }
            for (delivery, subscription) in message.deliveries { await subscription.acknowledge([delivery]) }
        }
    }
}
