import Broker
import Logging
import PushModel
import ServiceLifecycle

extension Delivery {
    /// The app that the message names.
    var app: AppID? { self.properties.headers[MessageProperties.appHeader].flatMap { try? AppID($0) } }
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
    /// It reads nothing but the message's number. Its result is whether it came repeatedly, or nil when it is done with and
    /// acknowledged.
    let count: @Sendable (Delivery, any Subscription) async throws -> Bool?
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

    /// Counts a message that came before.
    ///
    /// - Returns: Whether it came repeatedly; nil when it is done with, or will come again.
    private func counted(_ delivery: Delivery, _ subscription: any Subscription) async throws -> Bool? {
        guard delivery.deliveryCount > 0 else { return false }
        guard delivery.deliveryCount >= FairLimiter.exclusiveRedeliveries else {
            return try await self.count(delivery, subscription)
        }
        // Its cost and its app are not known, for nothing of it is read yet.
        let permit =
            self.isolatesRedeliveries
            ? try await self.limiter.acquire(self.priority, redeliveries: delivery.deliveryCount) : nil
        defer { if let permit { self.limiter.release(permit) } }
        guard !Task.isShuttingDownGracefully, subscription.isCurrent(delivery) else { return nil }
        return try await self.suspects.examine(
            delivery,
            condemn: { reason in
                try await self.condemn(delivery, reason)
                await subscription.acknowledge([delivery])
            },
            look: {
                guard let isRepeated = try await self.count(delivery, subscription) else { return nil }
                self.inspect(delivery)
                return isRepeated
            }
        )
    }

    private func work(on delivery: Delivery, _ subscription: any Subscription) async throws {
        guard let isRepeated = try await self.counted(delivery, subscription) else { return }
        while true {
            do {
                if self.isBlocked(delivery) { throw FairLimiter.Rejection() }
                let permit = try await self.limiter.acquire(
                    self.priority,
                    cost: self.cost(delivery),
                    tenant: self.tenant(delivery),
                    redeliveries: self.isolatesRedeliveries ? delivery.deliveryCount : 0
                )
                defer { self.limiter.release(permit) }
                // A message whose permit comes during a drain is not begun and returns to its queue. A message that
                // waited while its connection was lost is skipped: the broker has delivered it again (rule 10).
                guard !Task.isShuttingDownGracefully, subscription.isCurrent(delivery) else { return }
                // It may have waited long for its permit.
                if self.isBlocked(delivery) { throw FairLimiter.Rejection() }
                return try await self.handle(delivery, subscription, isRepeated)
            } catch is FairLimiter.Rejection {
                // Another worker may be at its copy, and deferring would void that.
                guard subscription.isCurrent(delivery) else { return }
                if try await self.deferWork(delivery, subscription) { return }
                // A pause may last for hours: the message returns to the queue.
                guard !Task.isShuttingDownGracefully else { return }
                try await Task.sleep(for: .milliseconds(500))
            }
        }
    }

    private func giveUp(_ delivery: Delivery, _ subscription: any Subscription, _ error: any Error) async {
        let metadata: Logger.Metadata = [
            "queue": "\(self.queue)", "message.id": "\(delivery.properties.messageID)", "error": "\(error)",
        ]
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
