import Broker
import BrokerRabbitMQ
import Foundation
import InstallationSupport
import NIOConcurrencyHelpers
import PushModel
import Testing
import Undisturbed

/// What happens to a cluster of three nodes in its life.
@Suite(.serialized, .ownRabbitMQCluster, .timeLimit(.minutes(30)), .undisturbed) struct RabbitMQClusterTests {
    private static let queue = QueueName.work(.send, .normal)

    /// How often a leader is killed.
    private static let kills = Int(ProcessInfo.processInfo.environment["PUSHLINE_TEST_LEADER_KILLS"] ?? "") ?? 3

    /// The publisher is on the node that is killed, and a fresh channel on another one is refused for ever by RabbitMQ 3.10.
    @Test func aLeaderIsKilledUnderThePublisher() async throws {
        let cluster = try #require(RabbitMQTestCluster.current)
        let confirmed = NIOLockedValueBox<Set<String>>([])
        for number in 1...Self.kills {
            let leader = try await Self.leader(of: Self.queue, cluster)
            let ids = (0..<20).map { "\(number)-\($0)" }
            let gap = try await withRabbitMQ(try cluster.configuration(first: leader)) { broker in
                try await eventually("messages are published") {
                    await Self.publish(ids.map { "\($0)-before" }, broker, into: confirmed)
                }
                let isKilled = NIOLockedValueBox(false)
                async let killing: Void = {
                    try await cluster.kill(leader)
                    isKilled.withLockedValue { $0 = true }
                }()
                let gap = try await Self.longestGap(number, broker, confirmed, isKilled)
                try await killing
                return gap
            }
            print("kill \(number): node \(leader), publishing again after \(gap)")
            #expect(gap < .seconds(2), "kill \(number)")
            try await cluster.startAgain(leader)
        }
        try await Self.expectNothingLost(cluster, confirmed.withLockedValue { $0 })
    }

    /// Declaring a queue waits for a node that is there and says nothing, until it is taken for dead; work does not.
    @Test func aNodeThatIsCutOffHoldsUpNoConsumer() async throws {
        let cluster = try #require(RabbitMQTestCluster.current)
        let queue = QueueName.work(.send, .high)
        let leader = try await Self.leader(of: queue, cluster)
        let silent = leader % 3 + 1
        let isDeclared = NIOLockedValueBox(false)
        try await withRabbitMQ(try cluster.configuration(first: leader)) { broker in
            try await broker.consume(queue: queue, prefetch: 10) { subscription in
                try await Self.roundTrip("before", queue, broker, subscription)
                try await cluster.signal("STOP", to: silent)
                async let declaring: Void = eventually("the queue for events is declared") {
                    try? await broker.declare(.events(to: QueueName.newEventQueue()))
                    isDeclared.withLockedValue { $0 = true }
                    return true
                }
                for number in 0..<20 { try await Self.roundTrip("\(number)", queue, broker, subscription) }
                #expect(!isDeclared.withLockedValue { $0 }, "nothing waited for the silent node")
                #expect(await broker.status == .connected)
                try await cluster.signal("CONT", to: silent)
                try await declaring
            }
        }
    }

    /// Publishes a message, and waits until it comes.
    private static func roundTrip(
        _ id: String,
        _ queue: String,
        _ broker: RabbitMQBroker,
        _ subscription: any Subscription
    ) async throws {
        try await eventually("a message is published") {
            await broker.publish([Self.message(id, to: queue)], deadline: .seconds(10)) == [.published]
        }
        while let delivery = try await subscription.next() {
            await subscription.acknowledge([delivery])
            if delivery.properties.messageID == id { return }
        }
    }

    private static func message(_ id: String, to queue: String) -> OutgoingMessage {
        OutgoingMessage(
            routingKey: queue,
            properties: MessageProperties(type: "send", messageID: id, contentType: "text/plain"),
            body: [1]
        )
    }

    /// Publishes one message after the other until the kill is over and messages flow again.
    ///
    /// - Returns: The longest time between two confirmed messages.
    private static func longestGap(
        _ number: Int,
        _ broker: RabbitMQBroker,
        _ confirmed: NIOLockedValueBox<Set<String>>,
        _ isKilled: NIOLockedValueBox<Bool>
    ) async throws -> Duration {
        var (gap, last, after, index) = (Duration.zero, ContinuousClock.now, 0, 0)
        let end = ContinuousClock.now + .seconds(30)
        while after < 1000, ContinuousClock.now < end {
            index += 1
            let isAfter = isKilled.withLockedValue { $0 }
            if await Self.publish(["\(number)-\(index)"], broker, into: confirmed) {
                gap = max(gap, ContinuousClock.now - last)
                last = .now
                after = isAfter ? after + 1 : 0
            } else {
                after = 0
                try await Task.sleep(for: .milliseconds(10))
            }
        }
        #expect(after == 1000, "messages do not flow again")
        return gap
    }

    /// - Returns: Whether all were confirmed.
    private static func publish(
        _ ids: [String],
        _ broker: RabbitMQBroker,
        into confirmed: NIOLockedValueBox<Set<String>>
    ) async -> Bool {
        let results = await broker.publish(ids.map { Self.message($0, to: Self.queue) }, deadline: .seconds(10))
        for (id, result) in zip(ids, results) where result.isPublished {
            confirmed.withLockedValue { _ = $0.insert(id) }
        }
        return results.allSatisfy(\.isPublished)
    }

    /// The node with the queue's leader, once all members are there.
    private static func leader(of queue: String, _ cluster: RabbitMQTestCluster) async throws -> Int {
        let found = NIOLockedValueBox(0)
        try await eventually("all members are there") {
            for node in 1...3 {
                guard let state = try await cluster.state(of: queue, asking: node), state.online == 3 else {
                    return false
                }
                found.withLockedValue { $0 = state.leader }
            }
            return true
        }
        return found.withLockedValue { $0 }
    }

    private static func expectNothingLost(_ cluster: RabbitMQTestCluster, _ confirmed: Set<String>) async throws {
        let missing = try await withRabbitMQ(try cluster.configuration()) { broker in
            try await broker.consume(queue: Self.queue, prefetch: 500) { subscription in
                async let _: Void = {
                    try await Task.sleep(for: .seconds(60))
                    await subscription.stop()
                }()
                var missing = confirmed
                while !missing.isEmpty, let delivery = try await subscription.next() {
                    missing.remove(delivery.properties.messageID)
                    await subscription.acknowledge([delivery])
                }
                return missing
            }
        }
        print("confirmed \(confirmed.count), lost \(missing.count)")
        #expect(missing.isEmpty)
    }
}
