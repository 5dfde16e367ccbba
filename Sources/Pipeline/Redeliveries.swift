import Broker
import FaultInjection
import Logging
import PushModel
import Store

/// What is to be done with a message that the broker hands out again (rule 5).
enum RedeliveryVerdict: Equatable {
    /// Nothing: all its members are done with.
    case gone
    /// It stands for several members, of which one may end its workers: it is found when each goes alone.
    case split
    /// It ends its workers.
    case dead(reason: String)
    /// It is worked on; where it came repeatedly, it may be what ended its worker.
    case work(isRepeated: Bool)
}

/// Finds the messages that end their workers (rule 5): counts how often each is handed out again.
struct Redeliveries {
    /// How often a message may be redelivered before it counts as poison.
    static let limit = 5

    let store: any OutboxStore
    let retry: StoreRetry

    /// Counts a redelivery.
    ///
    /// - Parameters:
    ///   - message: The message.
    ///   - seen: How often the broker says that it came before, where that counts too: it knows also of those that died before they
    ///     could count.
    /// - Returns: What is to be done with it.
    /// - Throws: `StoreError`, as ``StoreRetry`` does.
    func count(_ message: MessageID, seen: Int = 0) async throws -> RedeliveryVerdict {
        guard let (count, members) = try await self.retry.run({ try await self.store.redelivered(message) }) else {
            return .gone
        }
        CrashPoint.outboxRedelivered.reach()
        let isRepeated = max(count, seen) >= FairLimiter.exclusiveRedeliveries
        if members > 1, isRepeated { return .split }
        guard count <= Self.limit else { return .dead(reason: "redelivered \(count) times, never completed") }
        return .work(isRepeated: isRepeated)
    }

    /// Counts a redelivery, and does what is to be done with the message where that is not to work on it.
    ///
    /// - Parameters:
    ///   - delivery: The message, of which nothing is read but its number.
    ///   - subscription: Where it came from; told when it is done with.
    ///   - deadLetters: Takes what is dead.
    ///   - queue: The queue that it came from.
    ///   - seen: As of ``count(_:seen:)``.
    /// - Returns: What it is; what is dead is the caller's to give away.
    /// - Throws: `StoreError`, as ``StoreRetry`` does.
    func settle(
        _ delivery: Delivery,
        _ subscription: any Subscription,
        _ deadLetters: DeadLetterPublisher,
        from queue: String,
        seen: Int = 0
    ) async throws -> CountedDelivery {
        guard let id = MessageID(delivery.properties.messageID) else {
            return .dead(reason: DeadLetterPublisher.unnamed)
        }
        switch try await self.count(id, seen: seen) {
        case .work(let isRepeated): return .work(isRepeated: isRepeated)
        case .gone: break
        case .split: try await self.split(id, delivery, deadLetters, from: queue)
        case .dead(let reason): return .dead(reason: reason)
        }
        await subscription.acknowledge([delivery])
        return .over
    }

    /// Gives every member of a message a message of its own; where the store cannot do it, the message is dead.
    func split(
        _ message: MessageID,
        _ delivery: Delivery,
        _ deadLetters: DeadLetterPublisher,
        from queue: String
    ) async throws {
        self.retry.logger.warning(
            "A message was redelivered repeatedly, or fails; its members are split and go one by one"
        )
        do { try await self.split(message) } catch let error as StoreError where !error.mayPass {
            let reason = "the store cannot split it: \(error.message)"
            try await deadLetters.publish(delivery, from: queue, reason: reason)
        }
    }

    /// Gives every member of a message a message of its own.
    func split(_ message: MessageID) async throws {
        try await self.retry.run { try await self.store.split(message) }
        CrashPoint.outboxSplit.reach()
    }
}
