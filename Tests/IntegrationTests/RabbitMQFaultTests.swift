import Broker
import Foundation
import InstallationSupport
import NIOConcurrencyHelpers
import PushModel
import Testing
import Undisturbed

@testable import BrokerRabbitMQ

/// What happens to a broker in its life.
///
/// On a node of its own, one after the other.
@Suite(.serialized, .ownRabbitMQNode, .timeLimit(.minutes(5)), .undisturbed) struct RabbitMQFaultTests {
    // MARK: - Lost connections

    @Test(arguments: ["stop_app", "close_all_connections", "kill"])
    func nothingConfirmedIsLost(_ fault: String) async throws {
        let node = try Self.node()
        let queue = Self.uniqueName(fault)
        let confirmed = NIOLockedValueBox<Set<String>>([])
        let received = NIOLockedValueBox<Set<String>>([])
        try await withRabbitMQ(try Self.configuration()) { broker in
            try await broker.declare(Self.workQueue(queue))
            try await withThrowingTaskGroup { group in
                group.addTask { try await Self.consumeAll(queue, broker, into: received) }
                let isDone = NIOLockedValueBox(false)
                group.addTask { await Self.publishAll(queue, broker, into: confirmed, until: isDone) }
                try await eventually("messages flow") { received.withLockedValue { $0.count > 500 } }
                try await Self.inflict(fault, on: node)
                let before = confirmed.withLockedValue { $0.count }
                try await eventually("publishing goes on") { confirmed.withLockedValue { $0.count > before + 500 } }
                isDone.withLockedValue { $0 = true }
                try await group.next()
                try await eventually("all that was confirmed arrives") {
                    confirmed.withLockedValue { $0 }.isSubset(of: received.withLockedValue { $0 })
                }
                #expect(await broker.status == .connected)
                group.cancelAll()
            }
        }
    }

    @Test func anExclusiveQueueIsDeclaredAgainAfterALoss() async throws {
        let node = try Self.node()
        let name = Self.uniqueName("events")
        let queue = Topology.Queue(name: name, kind: .exclusive, exchange: "\(name).exchange")
        try await withRabbitMQ(try Self.configuration()) { broker in
            try await broker.declare(Topology(exchanges: [.init(name: "\(name).exchange")], queues: [queue]))
            var event = Self.message("event", to: name)
            event.exchange = "\(name).exchange"
            event.isPersistent = false
            let hint = event
            try await broker.consume(queue: name, prefetch: 10) { subscription in
                try await Self.inflict("close_all_connections", on: node)
                // A hint may be lost meanwhile, so it is said until it is heard.
                try await withThrowingTaskGroup { group in
                    group.addTask {
                        while true {
                            _ = await broker.publish([hint], deadline: .seconds(5))
                            try await Task.sleep(for: .milliseconds(100))
                        }
                    }
                    let delivery = try await subscription.next()
                    #expect(delivery?.properties.messageID == "event")
                    group.cancelAll()
                }
            }
        }
    }

    @Test func aStaleAcknowledgementIsNotSent() async throws {
        let node = try Self.node()
        let queue = Self.uniqueName("stale")
        try await withRabbitMQ(try Self.configuration()) { broker in
            try await broker.declare(Self.workQueue(queue))
            #expect(await broker.publish([Self.message("1", to: queue)], deadline: .seconds(10)) == [.published])
            try await broker.consume(queue: queue, prefetch: 10) { subscription in
                let first = try #require(try await subscription.next())
                try await Self.inflict("close_all_connections", on: node)
                let second = try #require(try await subscription.next())
                #expect(!subscription.isCurrent(first) && subscription.isCurrent(second))
                #expect(second.deliveryCount == 1)
                await subscription.acknowledge([first])
                await subscription.acknowledge([second])
            }
            #expect(try await Self.depth(of: queue, node) == 0)
        }
    }

    // MARK: - Alarms

    @Test func aResourceAlarmFailsPublishingInTime() async throws {
        let node = try Self.node()
        let queue = Self.uniqueName("alarm")
        try await withRabbitMQ(try Self.configuration()) { broker in
            try await broker.declare(Self.workQueue(queue))
            #expect(await broker.publish([Self.message("0", to: queue)], deadline: .seconds(10)) == [.published])
            try await node.control("set_vm_memory_high_watermark 0.0000001")
            // More than any socket buffer holds: a library call that waits for room would hang here.
            let big = (0..<300).map { Self.message("big-\($0)", to: queue, body: Array(repeating: 7, count: 100_000)) }
            let start = ContinuousClock.now
            let first = await broker.publish(big, deadline: .seconds(3))
            #expect(ContinuousClock.now - start < .seconds(4))
            #expect(first.contains { !$0.isPublished })
            guard case .blocked = await broker.status else {
                Issue.record("The status is \(await broker.status).")
                return
            }
            let second = await broker.publish([Self.message("1", to: queue)], deadline: .seconds(3))
            guard case .failed(let error) = second.first else {
                Issue.record("Published in spite of the alarm.")
                return
            }
            #expect(error.code == .blocked)
            // Who comes now hears of it by publishing a hint, as `pushline doctor` does.
            try await withRabbitMQ(try Self.configuration()) { other in
                try await other.declare(.pushline)
                let hint = OutgoingMessage(eventFor: .make(), waiter: "nobody")
                #expect(await other.publish([hint], deadline: .seconds(5)).contains { !$0.isPublished })
                guard case .blocked = await other.status else {
                    Issue.record("The other's status is \(await other.status).")
                    return
                }
            }
            // Consuming goes on.
            try await broker.consume(queue: queue, prefetch: 1) { subscription in
                let delivery = try #require(try await subscription.next())
                await subscription.acknowledge([delivery])
            }
            try await node.control("set_vm_memory_high_watermark 0.4")
            try await eventually("the alarm is over") { await broker.status == .connected }
            #expect(await broker.publish([Self.message("2", to: queue)], deadline: .seconds(10)) == [.published])
        }
    }

    @Test func heartbeatsDetectASilentBroker() async throws {
        let node = try Self.node()
        var configuration = try Self.configuration()
        configuration.heartbeat = .seconds(1)
        try await withRabbitMQ(configuration) { broker in
            try await eventually("connected") { await broker.status == .connected }
            // Idle for longer than the broker bears without heartbeats.
            try await Task.sleep(for: .seconds(4))
            #expect(await broker.status == .connected)
            try await node.signal("STOP")
            do {
                let start = ContinuousClock.now
                let results = await broker.publish([Self.message("1", to: "q")], deadline: .seconds(1))
                #expect(ContinuousClock.now - start < .seconds(2))
                #expect(results.allSatisfy { !$0.isPublished })
                try await eventually("the loss is noticed") { await broker.status != .connected }
            } catch {
                try await node.signal("CONT")
                throw error
            }
            try await node.signal("CONT")
            try await eventually("it is back") { await broker.status == .connected }
        }
    }

    // MARK: - Refusals

    @Test func aFullQueueRefusesMessages() async throws {
        let node = try Self.node()
        let queue = Self.uniqueName("full")
        try await node.control(
            #"set_policy -p pushline full '^\#(queue)$' '{"max-length":5}' --apply-to queues"#
        )
        try await withRabbitMQ(try Self.configuration()) { broker in
            let dead = Topology.Queue(name: "\(queue).dead", kind: .quorum(deadLetterQueue: nil, deliveryLimit: nil))
            let work = Topology.Queue(
                name: queue,
                kind: .quorum(deadLetterQueue: dead.name, deliveryLimit: 1000)
            )
            try await broker.declare(Topology(queues: [dead, work]))
            var refused = 0
            for index in 0..<20 {
                let results = await broker.publish([Self.message(String(index), to: queue)], deadline: .seconds(10))
                guard case .failed(let error) = results.first else { continue }
                #expect(error.code == .refused)
                refused += 1
            }
            #expect(refused > 5)
        }
    }

    /// The first refusal costs the channel, the second one only the queue: the others keep theirs.
    @Test func aFullQueueHoldsUpNoOther() async throws {
        let node = try Self.node()
        let (full, healthy) = (Self.uniqueName("limited"), Self.uniqueName("healthy"))
        try await node.control(
            #"set_policy -p pushline limited '^\#(full)$' '{"max-length":1}' --apply-to queues"#
        )
        try await withRabbitMQ(try Self.configuration()) { broker in
            let dead = Topology.Queue(name: "\(full).dead", kind: .quorum(deadLetterQueue: nil, deliveryLimit: nil))
            let limited = Topology.Queue(name: full, kind: .quorum(deadLetterQueue: dead.name, deliveryLimit: 1000))
            try await broker.declare(Topology(queues: [dead, limited]))
            try await broker.declare(Self.workQueue(healthy))
            @Sendable func publish(_ id: Int) async -> (full: PublishResult, healthy: PublishResult) {
                let messages = [Self.message("\(id)", to: full), Self.message("\(id)", to: healthy)]
                let results = await broker.publish(messages, deadline: .seconds(10))
                return (results[0], results[1])
            }
            // Until it has refused on one channel and on the next.
            var refusals = 0
            for id in 0..<1000 where refusals < 30 {
                guard case .failed(let error) = await publish(id).full else { continue }
                if error.code == .refused {
                    refusals += 1
                    #expect(error.retryAfter.map { QueueRefusals.retry.contains($0) } == true)
                }
            }
            #expect(refusals == 30)
            // That of all queues was the first, and was replaced once.
            #expect(try await Self.publishingChannels(node).contains("2"))
            // The other queue's channel lasts, whatever becomes of the full one's.
            for id in 1000..<1300 {
                let results = await publish(id)
                #expect(results.healthy == .published)
                #expect(results.full.refusal?.code == .refused)
            }
            try await node.control("-p pushline clear_policy limited")
            try await eventually("it accepts messages again") { await publish(2000).full == .published }
            #expect(await publish(2001).healthy == .published)
        }
    }

    /// A queue without a majority: it has a leader, which says nothing, and its messages fill the window.
    @Test func aQueueThatConfirmsNothingHoldsUpNoOther() async throws {
        let node = try Self.node()
        let (silent, healthy) = (Self.uniqueName("silent"), Self.uniqueName("healthy"))
        var configuration = try Self.configuration()
        configuration.confirmWindow = 10
        configuration.confirmTimeout = .seconds(1)
        try await withRabbitMQ(configuration) { broker in
            for queue in [silent, healthy] {
                try await broker.declare(Self.workQueue(queue))
                #expect(await broker.publish([Self.message("0", to: queue)], deadline: .seconds(10)) == [.published])
            }
            func eval(_ call: String) async throws {
                try await node.control("eval 'sys:\(call)(whereis(list_to_atom(\"pushline_\(silent)\"))).'")
            }
            try await eval("suspend")
            let many = (0..<50).map { Self.message("\($0)", to: silent) }
            #expect(await broker.publish(many, deadline: .milliseconds(200)).allSatisfy { !$0.isPublished })
            try await eventually("another queue's message is confirmed") {
                await broker.publish([Self.message("1", to: healthy)], deadline: .seconds(5)) == [.published]
            }
            for id in 0..<100 {
                let messages = [Self.message("\(id)", to: silent), Self.message("\(id)", to: healthy)]
                #expect(await broker.publish(messages, deadline: .milliseconds(20))[0] != .published)
                #expect(await broker.publish([messages[1]], deadline: .seconds(10)) == [.published])
            }
            try await eval("resume")
            try await eventually("it confirms messages again") {
                await broker.publish([Self.message("2", to: silent)], deadline: .seconds(5)) == [.published]
            }
        }
    }

    /// The numbers of the channels with confirms.
    private static func publishingChannels(_ node: RabbitMQTestNode) async throws -> Set<String> {
        let lines = try await node.control("list_channels number confirm --no-table-headers")
        var numbers: Set<String> = []
        for line in lines.split(separator: "\n") where line.hasSuffix("\ttrue") {
            numbers.insert(String(line.prefix { $0 != "\t" }))
        }
        return numbers
    }

    @Test func aPoisonMessageGoesToTheDeadQueue() async throws {
        let queue = Self.uniqueName("poison")
        try await withRabbitMQ(try Self.configuration()) { broker in
            let dead = Topology.Queue(name: "\(queue).dead", kind: .quorum(deadLetterQueue: nil, deliveryLimit: nil))
            let work = Topology.Queue(name: queue, kind: .quorum(deadLetterQueue: dead.name, deliveryLimit: 2))
            try await broker.declare(Topology(queues: [dead, work]))
            #expect(await broker.publish([Self.message("poison", to: queue)], deadline: .seconds(10)) == [.published])
            for expected in 0...2 {
                try await broker.consume(queue: queue, prefetch: 1) { subscription in
                    let delivery = try #require(try await subscription.next())
                    #expect(delivery.deliveryCount == expected)
                }
            }
            try await broker.consume(queue: dead.name, prefetch: 1) { subscription in
                let delivery = try #require(try await subscription.next())
                #expect(delivery.properties.messageID == "poison")
                #expect(delivery.firstDeathQueue == queue)
                await subscription.acknowledge([delivery])
            }
        }
    }

    // MARK: - TLS

    @Test func tlsWithClientCertificate() async throws {
        let node = try Self.node()
        let tls = Self.tls(of: node)
        let queue = Self.uniqueName("tls")
        try await withRabbitMQ(try RabbitMQConfiguration(url: node.tlsURL, tls: tls)) { broker in
            try await broker.declare(Self.workQueue(queue))
            let body = (0..<300_000).map { UInt8(truncatingIfNeeded: $0) }
            let messages = (0..<20).map { Self.message(String($0), to: queue, body: body) }
            let results = await broker.publish(messages, deadline: .seconds(30))
            #expect(results.allSatisfy { $0.isPublished })
            try await broker.consume(queue: queue, prefetch: 5) { subscription in
                for _ in 0..<20 {
                    let delivery = try #require(try await subscription.next())
                    #expect(delivery.body == body)
                    await subscription.acknowledge([delivery])
                }
            }
        }
    }

    @Test(arguments: [true, false])
    func tlsRefusesUnverifiedCertificates(withoutClientCertificate: Bool) async throws {
        let node = try Self.node()
        let files = node.directory + "/tls/"
        // Once an authority that has not signed the broker's certificate, once no certificate of ours.
        let tls = RabbitMQConfiguration.TLS(
            authorityFile: withoutClientCertificate ? files + "ca.pem" : nil,
            certificateFile: withoutClientCertificate ? nil : files + "client.pem",
            keyFile: withoutClientCertificate ? nil : files + "client.key"
        )
        try await withRabbitMQ(try RabbitMQConfiguration(url: node.tlsURL, tls: tls)) { broker in
            let results = await broker.publish([Self.message("1", to: "q")], deadline: .seconds(10))
            #expect(results.allSatisfy { !$0.isPublished })
            #expect(await broker.status != .connected)
        }
    }

    /// Each address is held to its own name, and another one of the cluster is found beside it.
    @Test func tlsRefusesACertificateOfAnotherName() async throws {
        let node = try Self.node()
        let tls = Self.tls(of: node)
        // This host by a name that every resolver knows, and that is not in the certificate.
        let name = "0x7f000001"
        let other = node.tlsURL.replacing("@localhost:", with: "@\(name):")
        #expect(other != node.tlsURL)
        try await withRabbitMQ(try RabbitMQConfiguration(url: other, tls: tls)) { broker in
            let results = await broker.publish([Self.message("1", to: "q")], deadline: .seconds(10))
            guard case .failed(let error) = results.first else {
                Issue.record("Published to another's certificate.")
                return
            }
            #expect(error.code == .untrusted)
            #expect(error.message.contains(name) && error.message.contains("hostname"), "\(error.message)")
            #expect(await broker.status != .connected)
        }
        let queue = Self.uniqueName("name")
        try await withRabbitMQ(try RabbitMQConfiguration(urls: [other, node.tlsURL], tls: tls)) { broker in
            try await broker.declare(Self.workQueue(queue))
            #expect(await broker.publish([Self.message("1", to: queue)], deadline: .seconds(30)) == [.published])
        }
    }

    @Test func aWrongPasswordIsReported() async throws {
        var configuration = try Self.configuration()
        configuration.addresses[0].password = "wrong"
        try await withRabbitMQ(configuration) { broker in
            let results = await broker.publish([Self.message("1", to: "q")], deadline: .seconds(10))
            guard case .failed(let error) = results.first else {
                Issue.record("Published with a wrong password.")
                return
            }
            #expect(error.message.contains("ACCESS_REFUSED"))
            #expect(!error.message.contains("wrong"))
        }
    }
}

// MARK: - Means

extension RabbitMQFaultTests {
    private static func node() throws -> RabbitMQTestNode { try #require(RabbitMQTestNode.current) }

    /// The authority of a node's certificate, and a certificate that the node takes.
    private static func tls(of node: RabbitMQTestNode) -> RabbitMQConfiguration.TLS {
        let files = node.directory + "/tls/"
        return RabbitMQConfiguration.TLS(
            authorityFile: files + "ca.pem",
            certificateFile: files + "client.pem",
            keyFile: files + "client.key"
        )
    }

    private static func configuration() throws -> RabbitMQConfiguration {
        try RabbitMQConfiguration(url: self.node().url)
    }

    private static func uniqueName(_ what: String) -> String { "test.\(what).\(UUID().uuidString.prefix(8))" }

    private static func workQueue(_ name: String) -> Topology {
        Topology(queues: [Topology.Queue(name: name, kind: .quorum(deadLetterQueue: nil, deliveryLimit: 1000))])
    }

    private static func message(_ id: String, to queue: String, body: [UInt8] = [1]) -> OutgoingMessage {
        OutgoingMessage(
            routingKey: queue,
            properties: MessageProperties(type: "send", messageID: id, contentType: "text/plain"),
            body: body
        )
    }

    private static func inflict(_ fault: String, on node: RabbitMQTestNode) async throws {
        switch fault {
        case "stop_app":
            try await node.control("stop_app")
            try await Task.sleep(for: .seconds(1))
            try await node.control("start_app")
        case "kill":
            // RabbitMQ 3.10 writes the name of a new quorum queue to disk only after 3 s: killed before, it forgets the queue.
            try await Task.sleep(for: .seconds(4))
            try await node.kill()
            try await node.startAgain()
        default:
            try await node.control("close_all_connections --global test")
        }
    }

    private static func depth(of queue: String, _ node: RabbitMQTestNode) async throws -> Int {
        let lines = try await node.control("-p pushline list_queues name messages --no-table-headers")
        for line in lines.split(separator: "\n") {
            let columns = line.split(separator: "\t")
            if columns.first == Substring(queue), let count = columns.last.flatMap({ Int($0) }) { return count }
        }
        throw RabbitMQTestNode.Failure(description: "The queue \(queue) is not listed: \(lines)")
    }

    private static func consumeAll(
        _ queue: String,
        _ broker: RabbitMQBroker,
        into received: NIOLockedValueBox<Set<String>>
    ) async throws {
        do {
            try await broker.consume(queue: queue, prefetch: 200) { subscription in
                while let delivery = try await subscription.next() {
                    received.withLockedValue { _ = $0.insert(delivery.properties.messageID) }
                    await subscription.acknowledge([delivery])
                }
            }
        } catch is CancellationError {
            // The test is over.
        }
    }

    private static func publishAll(
        _ queue: String,
        _ broker: RabbitMQBroker,
        into confirmed: NIOLockedValueBox<Set<String>>,
        until isDone: NIOLockedValueBox<Bool>
    ) async {
        var number = 0
        while !isDone.withLockedValue({ $0 }) {
            let ids = (0..<20).map { String(number + $0) }
            number += ids.count
            let results = await broker.publish(ids.map { Self.message($0, to: queue) }, deadline: .seconds(10))
            var failed = false
            for (id, result) in zip(ids, results) {
                if result.isPublished { confirmed.withLockedValue { _ = $0.insert(id) } } else { failed = true }
            }
            if failed { try? await Task.sleep(for: .milliseconds(20)) }
        }
    }
}
