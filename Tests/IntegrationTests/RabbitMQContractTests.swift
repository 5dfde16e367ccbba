import Broker
import BrokerContract
import BrokerRabbitMQ
import Foundation
import InstallationSupport
import Logging
import Testing
import Undisturbed

/// What any driver must do, on the broker that `deploy/test` starts.
@Suite(.serialized, .undisturbed) struct RabbitMQContractTests {
    @Test(arguments: BrokerContract.allCases)
    func contract(_ contract: BrokerContract) async throws {
        let configuration = try RabbitMQConfiguration(url: Self.brokerURL())
        try await withRabbitMQ(configuration) { broker in
            try await contract.run(broker, "test.\(contract.rawValue).\(UUID().uuidString.prefix(8))")
        }
    }

    @Test func theBrokerAcceptsThePipelinesTopology() async throws {
        try await withRabbitMQ(try RabbitMQConfiguration(url: Self.brokerURL())) { broker in
            try await broker.declare(.pushline)
            try await broker.declare(.pushline)
        }
    }

    /// Also where one exists with other arguments: the queue that is there is read.
    @Test(arguments: [false, true])
    func configuredQueuesAreDeclaredBeforeSubscriptions(existsWithOthers: Bool) async throws {
        let name = "test.configured.\(UUID().uuidString.prefix(8))"
        func topology(limit: Int) -> Topology {
            Topology(queues: [Topology.Queue(name: name, kind: .quorum(deadLetterQueue: nil, deliveryLimit: limit))])
        }
        var configuration = try RabbitMQConfiguration(url: Self.brokerURL())
        if existsWithOthers {
            let other = topology(limit: 7)
            try await withRabbitMQ(configuration) { try await $0.declare(other) }
        }
        configuration.topology = topology(limit: 1000)
        try await withRabbitMQ(configuration) { broker in
            // Nobody declares, and the connection may not be there yet.
            try await broker.consume(queue: name, prefetch: 1) { subscription in
                let message = OutgoingMessage(
                    routingKey: name,
                    properties: MessageProperties(type: "send", messageID: "1", contentType: "text/plain"),
                    body: []
                )
                try await eventually("the message is taken") {
                    await broker.publish([message], deadline: .seconds(10)) == [.published]
                }
                let delivery = try #require(try await subscription.next())
                await subscription.acknowledge([delivery])
            }
        }
    }

    @Test func anUnreachableBrokerFailsAtOnce() async throws {
        // The port of the discard service, which nobody serves here.
        let configuration = try RabbitMQConfiguration(url: "amqp://127.0.0.1:9")
        try await withRabbitMQ(configuration) { broker in
            let message = OutgoingMessage(
                routingKey: "q",
                properties: MessageProperties(type: "send", messageID: "1", contentType: "text/plain"),
                body: []
            )
            let start = ContinuousClock.now
            let results = await broker.publish([message, message], deadline: .seconds(2))
            #expect(ContinuousClock.now - start < .seconds(3))
            #expect(results.count == 2)
            #expect(results.allSatisfy { !$0.isPublished })
            await #expect(throws: BrokerError.self) { try await broker.declare(.pushline) }
            guard case .disconnected = await broker.status else {
                Issue.record("The status is \(await broker.status).")
                return
            }
        }
    }

    /// Right after a process has begun nobody is to look for a fault.
    @Test func aConnectionThatIsBeingMadeIsNoFault() async throws {
        let broker = RabbitMQBroker(try RabbitMQConfiguration(url: "amqp://127.0.0.1:9"), logger: Logger(label: "test"))
        #expect(await broker.status == .connecting)
        #expect(await broker.status.blockedReason == "the connection to the broker is being made")
    }

    @Test func publishingAfterTheEndFails() async throws {
        let broker = RabbitMQBroker(try RabbitMQConfiguration(url: "amqp://127.0.0.1:9"), logger: Logger(label: "test"))
        await withTaskGroup { group in
            group.addTask { try? await Task.sleep(for: .seconds(2)) }
            group.addTask { try? await broker.run() }
            await group.next()
            group.cancelAll()
        }
        let message = OutgoingMessage(
            routingKey: "q",
            properties: MessageProperties(type: "send", messageID: "1", contentType: "text/plain"),
            body: []
        )
        let results = await broker.publish([message], deadline: .seconds(1))
        guard case .failed(let error) = results.first else {
            Issue.record("Published after the end.")
            return
        }
        #expect(error.code == .closed)
    }

    static func brokerURL() throws -> String {
        guard let url = ProcessInfo.processInfo.environment["PUSHLINE_TEST_BROKER_URL"] else {
            throw RabbitMQTestNode.Failure(description: "PUSHLINE_TEST_BROKER_URL is not set: run deploy/test.")
        }
        return url
    }
}
