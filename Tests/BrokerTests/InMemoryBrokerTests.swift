import Broker
import BrokerContract
import Testing

@Suite struct InMemoryBrokerTests {
    @Test(arguments: BrokerContract.allCases)
    func contract(_ contract: BrokerContract) async throws {
        try await contract.run(InMemoryBroker(), "test")
    }

    @Test func anUnavailableBrokerFailsPublishesAndRedelivers() async throws {
        let broker = InMemoryBroker()
        try await broker.declare(Self.topology())
        #expect(await broker.publish([Self.message("1")], deadline: .seconds(1)) == [.published])
        try await broker.consume(queue: "work", prefetch: 5) { subscription in
            let first = try #require(try await subscription.next())
            broker.setUnavailable(true)
            let results = await broker.publish([Self.message("2")], deadline: .seconds(1))
            guard case .failed(let error) = results.first else {
                Issue.record("Published without a broker.")
                return
            }
            #expect(error.code == .unreachable)
            guard case .disconnected = await broker.status else {
                Issue.record("The status does not say so.")
                return
            }
            #expect(!subscription.isCurrent(first))
            broker.setUnavailable(false)
            // Its connection is gone: this must not take the repeat off the queue.
            await subscription.acknowledge([first])
            let again = try #require(try await subscription.next())
            #expect(again.properties.messageID == "1")
            #expect(again.deliveryCount == 1)
            await subscription.acknowledge([again])
        }
        #expect(broker.ready(in: "work") == 0)
    }

    @Test func aBlockedBrokerRefusesMessages() async throws {
        let broker = InMemoryBroker()
        try await broker.declare(Self.topology())
        broker.setBlocked("low on memory")
        let results = await broker.publish([Self.message("1")], deadline: .seconds(1))
        guard case .failed(let error) = results.first else {
            Issue.record("Published in spite of an alarm.")
            return
        }
        #expect(error.code == .blocked)
        #expect(await broker.status == .blocked("low on memory"))
        broker.setBlocked(nil)
        #expect(await broker.publish([Self.message("1")], deadline: .seconds(1)) == [.published])
    }

    @Test func aMessageWithALostConfirmStillArrives() async throws {
        let broker = InMemoryBroker()
        try await broker.declare(Self.topology())
        broker.loseConfirms(1)
        let results = await broker.publish([Self.message("1"), Self.message("2")], deadline: .seconds(1))
        #expect(results.map(\.isPublished) == [false, true])
        #expect(broker.ready(in: "work") == 2)
    }

    @Test func deliveryLimitMovesToTheDeadQueue() async throws {
        let broker = InMemoryBroker()
        try await broker.declare(Self.topology(limit: 2))
        _ = await broker.publish([Self.message("poison"), Self.message("good")], deadline: .seconds(1))
        for expected in 0...2 {
            try await broker.consume(queue: "work", prefetch: 1) { subscription in
                let delivery = try #require(try await subscription.next())
                #expect(delivery.properties.messageID == "poison")
                #expect(delivery.deliveryCount == expected)
            }
        }
        #expect(broker.ready(in: "work") == 1)
        try await broker.consume(queue: "dead", prefetch: 1) { subscription in
            let delivery = try #require(try await subscription.next())
            #expect(delivery.properties.messageID == "poison")
            #expect(delivery.firstDeathQueue == "work")
        }
    }

    @Test func redeliveriesComeInTheirOriginalOrder() async throws {
        let broker = InMemoryBroker()
        try await broker.declare(Self.topology())
        _ = await broker.publish((0..<5).map { Self.message(String($0)) }, deadline: .seconds(1))
        try await broker.consume(queue: "work", prefetch: 3) { subscription in
            for _ in 0..<3 { _ = try await subscription.next() }
            broker.redeliver()
            #expect(broker.unacknowledged(in: "work") == 0)
            var ids: [String] = []
            for _ in 0..<5 {
                let delivery = try #require(try await subscription.next())
                ids.append(delivery.properties.messageID)
                await subscription.acknowledge([delivery])
            }
            #expect(ids == ["0", "1", "2", "3", "4"])
        }
    }

    private static func topology(limit: Int? = nil) -> Topology {
        Topology(queues: [
            Topology.Queue(name: "dead", kind: .quorum(deadLetterQueue: nil, deliveryLimit: nil)),
            Topology.Queue(name: "work", kind: .quorum(deadLetterQueue: "dead", deliveryLimit: limit)),
        ])
    }

    private static func message(_ id: String) -> OutgoingMessage {
        OutgoingMessage(
            routingKey: "work",
            properties: MessageProperties(type: "send", messageID: id, contentType: "text/plain"),
            body: Array(id.utf8)
        )
    }
}
