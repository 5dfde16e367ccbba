import Broker

/// A broker and a queue to try things on.
struct Bench: Sendable {
    let broker: any MessageBroker
    let name: String

    /// Long enough for a loaded machine; no case needs it when all is well.
    static let timeout = Duration.seconds(20)

    func declare() async throws {
        let kind = Topology.Queue.Kind.quorum(deadLetterQueue: nil, deliveryLimit: nil)
        try await self.broker.declare(Topology(queues: [Topology.Queue(name: self.name, kind: kind)]))
    }

    func message(_ id: String, to routingKey: String? = nil, body: [UInt8] = [1, 2, 3]) -> OutgoingMessage {
        OutgoingMessage(
            routingKey: routingKey ?? self.name,
            properties: MessageProperties(type: "send", messageID: id, contentType: "application/json"),
            body: body
        )
    }

    func publish(_ messages: [OutgoingMessage]) async throws {
        let results = await self.broker.publish(messages, deadline: Self.timeout)
        try self.expect(results.count == messages.count, "One result a message, but \(results.count).")
        for result in results { try self.expect(result.isPublished, "Not published: \(result).") }
    }

    func publish(ids: some Sequence<Int>) async throws {
        try await self.publish(ids.map { self.message(String($0)) })
    }

    func expect(_ condition: Bool, _ message: @autoclosure () -> String) throws {
        if !condition { throw BrokerContract.Violation(description: message()) }
    }

    /// Runs a body that must end in time.
    func inTime<Result: Sendable>(_ body: @escaping @Sendable () async throws -> Result) async throws -> Result {
        try await withThrowingTaskGroup(of: Result?.self) { group in
            group.addTask { try await body() }
            group.addTask {
                try await Task.sleep(for: Self.timeout)
                return nil
            }
            defer { group.cancelAll() }
            guard let first = try await group.next(), let result = first else {
                throw BrokerContract.Violation(description: "Still waiting after \(Self.timeout).")
            }
            return result
        }
    }

    /// Takes so many deliveries, and acknowledges them if asked to.
    func take(_ count: Int, prefetch: Int = 100, acknowledging: Bool = true) async throws -> [Delivery] {
        try await self.inTime {
            try await self.broker.consume(queue: self.name, prefetch: prefetch) { subscription in
                var deliveries: [Delivery] = []
                while deliveries.count < count {
                    guard let delivery = try await subscription.next() else { break }
                    deliveries.append(delivery)
                    if acknowledging { await subscription.acknowledge([delivery]) }
                }
                return deliveries
            }
        }
    }

    /// Whether nothing comes for a while.
    func isSilent(_ subscription: any Subscription, for duration: Duration = .milliseconds(300)) async throws -> Bool {
        try await withThrowingTaskGroup(of: Bool.self) { group in
            group.addTask {
                do { return try await subscription.next() == nil } catch is CancellationError { return true }
            }
            group.addTask {
                try await Task.sleep(for: duration)
                return true
            }
            defer { group.cancelAll() }
            return try await group.next() ?? true
        }
    }

    /// Whether the queue holds nothing that would be delivered.
    func isEmpty() async throws -> Bool {
        try await self.broker.consume(queue: self.name, prefetch: 1) { try await self.isSilent($0) }
    }
}

extension Array<Delivery> {
    var ids: [String] { self.map(\.properties.messageID) }
}
