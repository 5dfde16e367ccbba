import Broker
import Logging
import PushModel
import PushlineLogging
import ServiceLifecycle

extension Delivery {
    /// The app that the message names.
    var app: AppID? { self.properties.headers[MessageProperties.appHeader].flatMap { try? AppID($0) } }
}

/// What a message is that came before, once that is counted.
enum CountedDelivery: Equatable {
    /// It is worked on; whether it came repeatedly.
    case work(isRepeated: Bool)
    /// It is done with and acknowledged, or will come again.
    case over
    /// It ends its workers.
    case dead(reason: String)
}

/// Reads one queue and works on its messages side by side, as many as a limiter admits.
///
/// A message that came before is counted before anything of it is read, and from its third delivery on alone (rule 5).
///
/// When the process drains it takes no more messages, returns those not begun, and finishes the others.
struct QueueConsumer: Sendable {
    let broker: any MessageBroker
    let queue: String
    let priority: Priority
    /// The most messages that are taken from the queue and not acknowledged.
    let prefetch: Int
    let limiter: FairLimiter
    let logger: Logger
    let suspects: Suspects
    /// Counts a message that came before.
    ///
    /// It reads nothing but the message's number.
    let count: @Sendable (Delivery, any Subscription) async throws -> CountedDelivery
    /// Works on one message, and acknowledges it when it is done with; told whether it came repeatedly.
    let handle: @Sendable (Delivery, any Subscription, Bool) async throws -> Void
    /// Reads what work on a message reads of it, to no end but to survive it.
    var inspect: @Sendable (Delivery) -> Void = { _ = $0.app }
    /// Takes a message that ends its workers, with the reason.
    var condemn: @Sendable (Delivery, String) async throws -> Void
    /// How many of the limiter's permits a message costs.
    var cost: @Sendable (Delivery) -> Int = { _ in 1 }
    /// The app of a message, if apps share the limiter.
    var tenant: @Sendable (Delivery) -> AppID? = { _ in nil }
    /// Whether a message is to be deferred instead of worked on.
    var isBlocked: @Sendable (Delivery) -> Bool = { _ in false }
    /// Defers a message that is blocked or whose app's share is used up; false = it cannot be deferred now.
    var deferWork: @Sendable (Delivery, any Subscription) async throws -> Bool = { _, _ in false }
    /// Whether a message that comes again and again is worked on with nothing else beside it (rule 5).
    var isolatesRedeliveries = true
    /// Whether messages that fail for good stay in their queue, because no row would bring them back.
    var keepsFailures = false
    /// Takes a message over before it waits for a permit, such as one that is being worked on already.
    var intercept: @Sendable (Delivery, any Subscription) -> Bool = { _, _ in false }
    /// Counts what is worked on; nil = nobody asks.
    var inHand: WorkInHand?

    /// Runs until the process drains or the task is cancelled.
    ///
    /// Faults of the broker end a round, not the consumer.
    func run() async throws {
        while !Task.isShuttingDownGracefully {
            do {
                return try await self.broker.consume(queue: self.queue, prefetch: self.prefetch) { subscription in
                    try await self.drainable(subscription)
                }
            } catch let error as BrokerError where error.code != .closed {
                self.logger.warning(
                    "Consuming from a queue failed; subscribing again",
                    metadata: ["queue": "\(self.queue)", "error": "\(error)"]
                )
                try await Task.sleep(for: .seconds(1))
            } catch is BrokerError {
                return
            }
        }
    }

    private func drainable(_ subscription: any Subscription) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                // Ends by cancellation when the reading below ended by itself.
                do { try await gracefulShutdown() } catch { return }
                await subscription.stop()
            }
            try await self.read(subscription)
            group.cancelAll()
        }
    }

    /// Each delivery waits for a permit in its own task; the limiter decides the order, and the prefetch bounds how
    /// many wait.
    private func read(_ subscription: any Subscription) async throws {
        try await withThrowingDiscardingTaskGroup { group in
            while let delivery = try await subscription.next() {
                if self.intercept(delivery, subscription) { continue }
                group.addTask {
                    let context = LogContext(message: delivery.properties.messageID, of: self.queue)
                    await LogContext.$current.withValue(context) {
                        do {
                            try await self.work(on: delivery, subscription)
                        } catch is CancellationError {
                            // Not acknowledged: it comes again.
                            return
                        } catch {
                            await self.giveUp(delivery, subscription, error)
                        }
                    }
                }
            }
        }
    }

    /// Counts a message that came before; from its third delivery on it is looked at alone.
    private func counted(_ delivery: Delivery, _ subscription: any Subscription) async throws -> CountedDelivery {
        guard delivery.deliveryCount > 0 else { return .work(isRepeated: false) }
        guard delivery.deliveryCount >= FairLimiter.exclusiveRedeliveries else {
            return try await self.count(delivery, subscription)
        }
        return try await self.suspects.examine(delivery) {
            // It may have waited long for its turn: what comes again is counted then.
            guard !Task.isShuttingDownGracefully, subscription.isCurrent(delivery) else { return .over }
            let counted = try await self.count(delivery, subscription)
            if case .work = counted { self.inspect(delivery) }
            return counted
        }
    }

    private func work(on delivery: Delivery, _ subscription: any Subscription) async throws {
        // Held from its count to the end of its work: what waits behind a message that ends its workers is not counted for it.
        // Its cost and its app are not known yet.
        var alone: FairLimiter.Permit?
        if self.isolatesRedeliveries, delivery.deliveryCount >= FairLimiter.exclusiveRedeliveries {
            alone = try await self.limiter.acquire(self.priority, redeliveries: delivery.deliveryCount)
        }
        defer { if let alone { self.limiter.release(alone) } }
        let isRepeated: Bool
        switch try await self.counted(delivery, subscription) {
        case .over: return
        case .work(let isOften): isRepeated = isOften
        case .dead(let reason):
            // The dead queue may take long, and nobody is to wait for it.
            if let permit = alone.take() { self.limiter.release(permit) }
            return try await self.bury(delivery, subscription, reason)
        }
        while true {
            do {
                if self.isBlocked(delivery) { throw FairLimiter.Rejection() }
                let permit: FairLimiter.Permit
                if let held = alone.take() { permit = held } else { permit = try await self.permit(for: delivery) }
                defer { self.limiter.release(permit) }
                // A message whose permit comes during a drain is not begun and returns to its queue. A message that
                // waited while its connection was lost is skipped: the broker has delivered it again (rule 10).
                guard !Task.isShuttingDownGracefully, subscription.isCurrent(delivery) else { return }
                // It may have waited long for its permit.
                if self.isBlocked(delivery) { throw FairLimiter.Rejection() }
                let app = self.tenant(delivery)
                self.inHand?.begin(app)
                defer { self.inHand?.end(app) }
                return try await self.handle(delivery, subscription, isRepeated)
            } catch is FairLimiter.Rejection {
                if let permit = alone.take() { self.limiter.release(permit) }
                // Another worker may be at its copy, and deferring would void that.
                guard subscription.isCurrent(delivery) else { return }
                if try await self.deferWork(delivery, subscription) { return }
                // A pause may last for hours: the message returns to the queue.
                guard !Task.isShuttingDownGracefully else { return }
                try await Task.sleep(for: .milliseconds(500))
            }
        }
    }

    private func permit(for delivery: Delivery) async throws -> FairLimiter.Permit {
        try await self.limiter.acquire(
            self.priority,
            cost: self.cost(delivery),
            tenant: self.tenant(delivery),
            redeliveries: self.isolatesRedeliveries ? delivery.deliveryCount : 0
        )
    }

    /// Gives a message that ends its workers to who keeps the dead.
    private func bury(_ delivery: Delivery, _ subscription: any Subscription, _ reason: String) async throws {
        guard subscription.isCurrent(delivery) else { return }
        try await self.condemn(delivery, reason)
        await subscription.acknowledge([delivery])
        await self.suspects.forget(delivery)
    }

    private func giveUp(_ delivery: Delivery, _ subscription: any Subscription, _ error: any Error) async {
        let metadata: Logger.Metadata = ["error": "\(error)"]
        guard !self.keepsFailures else {
            // Not acknowledged: it comes again with the next connection.
            return self.logger.error("Work on a message failed; it stays in its queue", metadata: metadata)
        }
        // The sweeper publishes unfinished work from its row (rule 1), so this message need not come again.
        self.logger.error(
            "Work on a message failed; it is acknowledged, and the sweeper publishes it again",
            metadata: metadata
        )
        await subscription.acknowledge([delivery])
    }
}
