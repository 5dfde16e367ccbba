import Broker
import Logging
import PushModel
import ServiceLifecycle

extension Delivery {
    /// Whose work it is, as it says itself.
    var app: AppID? { self.properties.headers[MessageProperties.appHeader].flatMap { try? AppID($0) } }
}

/// Reads one queue and works on its messages side by side, as many as a gate lets in.
///
/// When the process is asked to stop it takes no more messages, gives back what is not begun, and finishes what is.
struct QueueConsumer: Sendable {
    let broker: any MessageBroker
    let queue: String
    let priority: Priority
    /// The most messages that are taken from the queue and not acknowledged.
    let prefetch: Int
    let gate: WeightedGate
    let logger: Logger
    /// Works on one message, and acknowledges it when it is done with.
    let handle: @Sendable (Delivery, any Subscription) async throws -> Void
    /// How many of the gate's places a message takes.
    var cost: @Sendable (Delivery) -> Int = { _ in 1 }
    /// Whose work a message is, where apps share the gate.
    var app: @Sendable (Delivery) -> AppID? = { _ in nil }
    /// Whether a message's work is to be given back instead of begun.
    var isHeldBack: @Sendable (Delivery) -> Bool = { _ in false }
    /// Gives a message's work back to its row, for its app's share is used up; false = it cannot be given back.
    var park: @Sendable (Delivery, any Subscription) async throws -> Bool = { _, _ in false }
    /// Whether a message that comes again is worked on with nothing else beside it (rule 5).
    var isolatesRepeats = true
    /// Whether a message whose work fails for good stays in its queue, for there is no row that the sweeper would take up.
    var keepsFailures = false
    /// Takes a message over before it waits for a place, such as one that is being worked on already.
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
                    "Cannot take messages from the queue; trying again",
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

    /// Each message waits for its place on its own, as many as are taken from the queue: whose turn it is, is the gate's affair.
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

    private func work(on delivery: Delivery, _ subscription: any Subscription) async throws {
        let isAlone = self.isolatesRepeats && delivery.deliveryCount > 0
        while true {
            do {
                if self.isHeldBack(delivery) { throw WeightedGate.Refusal() }
                let priority = isAlone ? nil : self.priority
                let place = try await self.gate.enter(priority, cost: self.cost(delivery), app: self.app(delivery))
                defer { self.gate.leave(place) }
                // Whoever waited for the place until the process drains is not begun: it goes back to the queue.
                guard !Task.isShuttingDownGracefully else { return }
                // It may have waited long for its place.
                if self.isHeldBack(delivery) { throw WeightedGate.Refusal() }
                return try await self.handle(delivery, subscription)
            } catch is WeightedGate.Refusal {
                if try await self.park(delivery, subscription) { return }
                // What is paused may stay so for hours: it goes back to the queue.
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
            return self.logger.error("A message cannot be worked on and stays in its queue", metadata: metadata)
        }
        // The store sweeps up what its message did not finish (rule 1), so this one need not come again.
        self.logger.error("A message was given up; the sweeper takes it up again", metadata: metadata)
        await subscription.acknowledge([delivery])
    }
}
