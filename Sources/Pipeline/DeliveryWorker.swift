package import Broker
import FaultInjection
package import Logging
import PushModel
package import PushServices
import ServiceLifecycle
package import Store

/// Takes batches, sends them through the push services, and records what became of each device.
package struct DeliveryWorker: Service {
    /// The pace of delivery.
    package struct Configuration: Sendable {
        /// The most devices in work for each push service, and one urgent batch beyond them.
        ///
        /// This bounds the duplicates after a crash (rule 10).
        package var devices = 8 * DeliverBatch.maximumDevices
        /// The most batches in work for each push service, however small they are.
        package var batches = 64
        /// An app whose batches take longer than this shares half of the places with its like; what waits of it is given back.
        package var slowAfter: Duration = .seconds(3)
        /// How long a batch that was given back rests.
        package var rest: Duration = .seconds(5)
        /// How long a batch may be sent before what is left is carried: nobody holds a delivery for more than 60 s (rule 4).
        package var sendingTime: Duration = .seconds(45)
        package var retry = RetryPolicy()
        /// When an app's messages to a push service are held back.
        package var breaker = Breaker.Configuration()

        package init() {}
    }

    let senders: SenderRegistry
    let store: any OutcomeSink & PauseStore
    let apps: AppDirectory
    let broker: any MessageBroker
    let configuration: Configuration
    let logger: Logger
    let inWork = BatchesInWork()
    let breakers: Breakers
    let pauses: PauseWatch
    let metrics = DeliveryMetrics()

    /// - Parameters:
    ///   - senders: The push services.
    ///   - store: Takes the outcomes.
    ///   - apps: The apps' declarations.
    ///   - broker: Brings the batches.
    ///   - configuration: The pace.
    ///   - logger: For degraded states.
    package init(
        senders: SenderRegistry,
        store: any OutcomeSink & PauseStore,
        apps: AppDirectory,
        broker: any MessageBroker,
        configuration: Configuration = Configuration(),
        logger: Logger
    ) {
        self.senders = senders
        self.store = store
        self.apps = apps
        self.broker = broker
        self.configuration = configuration
        self.logger = logger
        self.breakers = Breakers(configuration.breaker, logger: logger)
        self.pauses = PauseWatch(store: store, logger: logger)
    }

    package func run() async throws {
        try await withGracefulShutdownHandler {
            try await self.pauses.around { try await self.work() }
        } onGracefulShutdown: {
            self.inWork.drain()
        }
    }

    private func work() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            let services = PNS.allCases.filter(\.isInService)
            let gates = services.map { _ in
                WeightedGate(places: self.configuration.devices, slowAfter: self.configuration.slowAfter)
            }
            group.addTask { try await self.watch(gates) }
            try await withThrowingDiscardingTaskGroup { consumers in
                for (pns, gate) in zip(services, gates) {
                    for priority in Priority.allCases {
                        let consumer = self.consumer(
                            of: QueueName.deliver(pns, priority),
                            pns: pns,
                            priority: priority,
                            gate: gate
                        )
                        consumers.addTask { try await consumer.run() }
                    }
                }
            }
            group.cancelAll()
        }
    }

    private func consumer(of queue: String, pns: PNS, priority: Priority, gate: WeightedGate) -> QueueConsumer {
        QueueConsumer(
            broker: self.broker,
            queue: queue,
            priority: priority,
            // More than may be in work: behind an app's slow batches the others' are still seen.
            prefetch: self.configuration.batches * 3 / 2,
            gate: gate,
            logger: self.logger,
            handle: { delivery, subscription in try await self.handle(delivery, subscription, queue: queue) },
            cost: { delivery in
                let count = delivery.properties.headers[MessageProperties.devicesHeader].flatMap { Int($0) }
                return max(
                    count ?? DeliverBatch.maximumDevices,
                    self.configuration.devices / self.configuration.batches
                )
            },
            app: { $0.app },
            isHeldBack: { delivery in self.refusal(of: delivery, pns: pns) != nil },
            park: { delivery, subscription in try await self.park(delivery, subscription, pns: pns) },
            intercept: { delivery, subscription in
                guard let key = BatchKey(delivery.properties.messageID) else { return false }
                return self.inWork.join(key, delivery, subscription)
            }
        )
    }

    /// Looks every 500 ms whether the jobs of the batches in work are being stopped (rule 13), and whose batches keep others
    /// waiting (rule 12).
    private func watch(_ gates: [WeightedGate]) async throws {
        while true {
            do { try await Task.sleep(for: .milliseconds(500)) } catch { return }
            for gate in gates { gate.refuse() }
            let keys = self.inWork.keys
            guard !keys.isEmpty else { continue }
            do {
                for (key, standing) in try await self.store.standing(of: keys) { self.inWork.note(standing, of: key) }
            } catch let error as StoreError {
                self.logger.debug("Cannot look for stopped jobs", metadata: ["error": "\(error)"])
            }
        }
    }

    /// Why an app's message is not to be sent now, and for how long: it is paused, or its breaker is open.
    private func refusal(of delivery: Delivery, pns: PNS) -> (rest: Duration, reason: String)? {
        guard let app = delivery.app else { return nil }
        if let reason = self.pauses.reason(.deliver(pns), app: app) { return (PauseWatch.rest, reason) }
        guard case .refused(let rest, let reason) = self.breakers.look(app, pns)
        else {
            return nil
        }
        return (rest, reason)
    }

    /// Gives what a message holds back to its rows: the sweeper publishes it again.
    ///
    /// - Returns: false when the store does not take it now, or the message is no batch's.
    private func park(_ delivery: Delivery, _ subscription: any Subscription, pns: PNS) async throws -> Bool {
        let id = delivery.properties.messageID
        let (rest, reason) =
            self.refusal(of: delivery, pns: pns)
            ?? (self.configuration.rest, "the push service answers slowly or not at all")
        do {
            if let parcel = ParcelID(id) {
                try await self.store.park(parcel, for: rest, reason: reason)
            } else if let key = BatchKey(id) {
                guard try await self.store.park(key, for: rest, reason: reason) else { return false }
            } else {
                return false
            }
        } catch let error as StoreError {
            self.logger.debug("A message cannot be given back", metadata: ["message.id": "\(id)", "error": "\(error)"])
            return false
        }
        await subscription.acknowledge([delivery])
        return true
    }

    // MARK: One message

    private func handle(_ delivery: Delivery, _ subscription: any Subscription, queue: String) async throws {
        if let parcel = ParcelID(delivery.properties.messageID) {
            return try await self.handle(parcel, delivery, subscription, queue: queue)
        }
        guard let key = BatchKey(delivery.properties.messageID) else {
            return try await self.bury(delivery, subscription, queue: queue, reason: "its message-id names no batch")
        }
        // Two copies may have waited at the gate together: the later one joins.
        guard !self.inWork.join(key, delivery, subscription) else { return }
        guard self.inWork.begin(key, delivery, subscription) else { return }
        var logger = self.logger
        logger[metadataKey: "job.id"] = "\(key.job)"
        logger[metadataKey: "push.batch"] = "\(key)"
        do {
            if let reason = try await self.work(on: key, delivery: delivery, logger: logger) {
                try await Undertaker(broker: self.broker).bury(delivery, from: queue, reason: reason)
            }
        } catch {
            await self.end([key], after: error)
            throw error
        }
        await self.end([key], after: nil)
    }

    /// Ends the work on batches; all messages that stood for them have the same end.
    ///
    /// After a cancellation they come again: nothing was recorded or buried. After another fault they are given up, as the
    /// first is by the consumer: to acknowledge it twice is harmless.
    func end(_ keys: [BatchKey], after error: (any Error)?) async {
        let messages = self.inWork.end(keys)
        guard !(error is CancellationError) else { return }
        for (delivery, subscription) in messages { await subscription.acknowledge([delivery]) }
    }

    /// Sends a batch and records its outcome.
    ///
    /// - Returns: Why the message is dead, if it is.
    private func work(on key: BatchKey, delivery: Delivery, logger: Logger) async throws -> String? {
        let patience = StorePatience(logger: logger)
        let batch: DeliverBatch
        do { batch = try DeliverBatch(decoding: delivery.body) } catch { return error.description }
        guard batch.key == key else { return "its body is of another batch than its message-id" }

        CrashPoint.deliverTaken.reach()
        do {
            let standing = try await patience.run { try await self.store.standing(of: [key]) }
            switch standing[key] ?? .closed {
            case .closed: return nil
            case .stopping(let cause): self.inWork.note(.stopping(cause), of: key)
            case .open: break
            }
            if delivery.deliveryCount > 0 {
                let starts = try await patience.run { try await self.store.raiseStarts(batch: key) }
                // Closed meanwhile: nobody is to get it twice.
                guard starts > 0 else { return nil }
                if starts > PoisonLimit.starts { return "begun \(starts) times without an end" }
            }
            let spec = try await patience.run { try await self.apps.spec(of: batch.app) }
            CrashPoint.deliverBegun.reach()
            let outcome = await self.deliver(batch, spec: spec ?? AppSpec(), logger: logger)
            CrashPoint.deliverSent.reach()
            let isFirst = try await patience.run { try await self.store.record(outcome) }
            CrashPoint.deliverRecorded.reach()
            if isFirst { self.metrics.record(outcome) }
            return nil
        } catch let error as StoreError {
            return "the store cannot make sense of it: \(error.message)"
        }
    }

    func bury(
        _ delivery: Delivery,
        _ subscription: any Subscription,
        queue: String,
        reason: String
    ) async throws {
        try await Undertaker(broker: self.broker).bury(delivery, from: queue, reason: reason)
        await subscription.acknowledge([delivery])
    }
}
