import Broker
import Foundation
import Testing
import Undisturbed

@testable import BrokerRabbitMQ

/// The driver's parts that need no broker.
@Suite(.undisturbed) struct RabbitMQUnitTests {
    @Test func aBrokerAddressIsParsed() throws {
        let configuration = try RabbitMQConfiguration(url: "amqps://us%40er:p%3Aa%2Fss@broker.example:1234/my%2Fhost")
        let address = try #require(configuration.addresses.first)
        #expect(address.username == "us@er")
        #expect(address.password == "p:a/ss")
        #expect(address.host == "broker.example")
        #expect(address.port == 1234)
        #expect(address.virtualHost == "my/host")
        #expect(address.isTLS && configuration.addresses.count == 1)
    }

    @Test(arguments: [
        ("amqp://localhost", "localhost", 5672, "/"),
        ("amqp://localhost/", "localhost", 5672, "/"),
        ("amqp://localhost/%2F", "localhost", 5672, "/"),
        ("amqps://localhost/v", "localhost", 5671, "v"),
        ("amqp://[::1]:7/v", "::1", 7, "v"),
    ])
    func aBrokerAddressHasDefaults(_ url: String, _ host: String, _ port: Int, _ virtualHost: String) throws {
        let address = try #require(try RabbitMQConfiguration(url: url).addresses.first)
        #expect(address.host == host)
        #expect(address.port == port)
        #expect(address.virtualHost == virtualHost)
        #expect(address.username == "guest")
    }

    @Test(arguments: [
        "http://localhost", "localhost", "amqp://", "amqp://h:0", "amqp://h:70000", "amqp://h:x", "amqp://u:%zz@h",
        "amqp://h/%00", "amqp://h/v?heartbeat=5", "amqps://127.0.0.1/v", "amqps://[::1]/v", "amqp://u:%f0@h",
        "amqp://u:%4",
    ])
    func invalidBrokerAddressesAreRefused(_ url: String) {
        #expect(throws: RabbitMQConfiguration.Invalid.self) { try RabbitMQConfiguration(url: url) }
    }

    @Test func theErrorDoesNotContainThePassword() throws {
        let error = #expect(throws: RabbitMQConfiguration.Invalid.self) {
            try RabbitMQConfiguration(url: "amqp://user:secret@host:x/")
        }
        #expect(error?.description.contains("secret") == false)
    }

    /// A broker that answers nothing, and a request with much time before one with little.
    @Test func aShortDeadlineBehindALongOneIsKept() async throws {
        let mailbox = PublisherMailbox()
        let message = OutgoingMessage(
            routingKey: "q",
            properties: MessageProperties(type: "t", messageID: "m", contentType: "text/plain"),
            body: []
        )
        let keeper = Task { await mailbox.keepDeadlines(requestTimeout: .seconds(10)) }
        async let long = mailbox.publish([message], deadline: .seconds(4))
        try await Task.sleep(for: .milliseconds(100))
        let start = ContinuousClock.now
        let results = await mailbox.publish([message], deadline: .milliseconds(200))
        #expect(start.duration(to: .now) < .seconds(2))
        guard case .failed(let error) = results.first else {
            Issue.record("a message was published without a broker")
            return
        }
        #expect(error.code == .timeout)
        mailbox.endAll(.closed)
        _ = await long
        keeper.cancel()
    }

    /// What a message counts for that comes for the first time its publisher may have written.
    @Test(arguments: [(false, 9, 0), (false, nil, 0), (true, nil, 1), (true, 9, 9), (true, -9, 1), (true, 0, 1)])
    func onlyARedeliveryHasACount(isRedelivered: Bool, header: Int?, count: Int) throws {
        var assembly = DeliveryAssembly(tag: 1, isRedelivered: isRedelivered)
        var head = MessageHeader(bodySize: 0)
        head.deliveryCount = header
        assembly.begin(head)
        #expect(try #require(assembly.delivery(generation: 1)).deliveryCount == count)
    }

    /// RabbitMQ takes messages of 128 MB, and a process has a thousand at hand.
    @Test(arguments: [0, 1, 1000]) func ofALargeBodyTheBeginningIsKept(beyond: Int) throws {
        let size = DeliveryAssembly.maximumBody + beyond
        var assembly = DeliveryAssembly(tag: 1, isRedelivered: false)
        assembly.begin(MessageHeader(bodySize: UInt64(size)))
        var left = size
        while left > 0 {
            #expect(assembly.delivery(generation: 1) == nil)
            let piece = min(left, 1 << 20)
            assembly.append([UInt8](repeating: 7, count: piece))
            left -= piece
        }
        let delivery = try #require(assembly.delivery(generation: 1))
        let kept = beyond == 0 ? size : DeliveryAssembly.keptOfLarger
        #expect(delivery.body == [UInt8](repeating: 7, count: kept))
    }

    @Test func singleAndMultipleConfirmsAreApplied() {
        var window = ConfirmWindow<String>()
        for entry in ["a", "b", "c", "d", "e"] { window.append(entry) }
        var confirmed: [String] = []
        window.confirm(2, multiple: false) { confirmed.append($0) }
        #expect(confirmed == ["b"])
        window.confirm(3, multiple: true) { confirmed.append($0) }
        #expect(confirmed == ["b", "a", "c"])
        // A repeat, and numbers that were never given.
        window.confirm(2, multiple: false) { confirmed.append($0) }
        window.confirm(9, multiple: false) { confirmed.append($0) }
        #expect(window.count == 2)
        #expect(window.nextNumber == 6)
        window.update(4) { $0 = "D" }
        window.confirm(0, multiple: true) { confirmed.append($0) }
        #expect(confirmed == ["b", "a", "c", "D", "e"])
        #expect(window.count == 0)
        window.append("f")
        window.confirm(6, multiple: false) { confirmed.append($0) }
        #expect(confirmed.last == "f")
    }

    @Test func aResetWindowReturnsUnconfirmedEntries() {
        var window = ConfirmWindow<Int>()
        for entry in 1...3 { window.append(entry) }
        window.confirm(2, multiple: false) { _ in }
        var left: [Int] = []
        window.reset { left.append($0) }
        #expect(left == [1, 3])
        #expect(window.nextNumber == 1)
        #expect(window.count == 0)
    }

    @Test func acknowledgementsAreGrouped() {
        typealias Frame = AcknowledgementWindow.Frame
        var window = AcknowledgementWindow()
        #expect(window.acknowledge([1, 2, 3]) == [Frame(tag: 3, multiple: true)])
        #expect(window.acknowledge([3, 2]) == [])
        #expect(window.acknowledge([6, 5]) == [Frame(tag: 5, multiple: false), Frame(tag: 6, multiple: false)])
        // The highest of the run is done already: the frame must name one that is not.
        #expect(window.acknowledge([4]) == [Frame(tag: 4, multiple: true)])
        #expect(window.acknowledge([7, 8, 10]) == [Frame(tag: 8, multiple: true), Frame(tag: 10, multiple: false)])
        #expect(window.release([9, 10, 11]) == [9, 11])
        #expect(window.acknowledge([9, 12]) == [Frame(tag: 12, multiple: true)])
    }

    @Test func backoffGrowsWithinItsBounds() {
        var backoff = Backoff(.milliseconds(100)...Duration.seconds(5))
        var generator = SystemRandomNumberGenerator()
        let waits = (0..<100).map { _ in backoff.next(using: &generator) }
        #expect(waits[0] >= .milliseconds(50) && waits[0] <= .milliseconds(100))
        #expect(waits[3] >= .milliseconds(400) && waits[3] <= .milliseconds(800))
        #expect(waits.allSatisfy { $0 <= .seconds(5) })
        #expect(waits[99] >= .milliseconds(2500))
        backoff.reset()
        #expect(backoff.next(using: &generator) <= .milliseconds(100))
    }

    /// A channel that has refused is followed by another soon, and a queue that goes on refusing is asked ever more rarely.
    @Test func aLaneRestsFor200MillisecondsDoubledUpToTwoSeconds() throws {
        let pause = try RabbitMQConfiguration(url: "amqp://localhost").refusalPause
        #expect(pause == .milliseconds(200)...Duration.seconds(2))
        var lane = PublishingLane(queue: "a", pause: pause)
        func rest() -> ClosedRange<Duration> {
            let before = ContinuousClock.now
            lane.rest()
            // Between what was left when it had begun, and what was left before.
            return (lane.restsUntil - .now)...(lane.restsUntil - before)
        }
        let wanted = [200, 400, 800, 1600, 2000, 2000]
        for milliseconds in wanted { #expect(rest().contains(.milliseconds(milliseconds))) }
        // A channel that has accepted nothing changes nothing.
        lane.opened(1)
        #expect(rest().contains(.seconds(2)))
        lane.opened(2)
        _ = lane.noteAccepted()
        #expect(rest().contains(.milliseconds(200)))
    }

    @Test func theNextAddressIsTriedAtOnceAndAPauseFollowsARound() {
        func fail(_ round: inout AddressRound, _ times: Int) -> [String] {
            (0..<times).map { _ in "\(round.failed()) \(round.index)" }
        }
        var round = AddressRound(count: 3)
        #expect(round.index == 0)
        let first = fail(&round, 4)
        #expect(first == ["true 1", "true 2", "false 0", "true 1"])
        // It answered: what is lost now begins a round.
        round.connected()
        let second = fail(&round, 3)
        #expect(second == ["true 2", "true 0", "false 1"])
        // Each once, wherever a round begins.
        var many = AddressRound(count: 5)
        for _ in 0..<3 {
            let tried = (0..<5).map { _ in
                defer { _ = many.failed() }
                return many.index
            }
            #expect(tried.sorted() == Array(0..<5), "\(tried)")
            _ = many.failed()
            many.connected()
        }
        var single = AddressRound(count: 1)
        let alone = fail(&single, 2)
        #expect(alone == ["false 0", "false 0"])
    }

    @Test func aChannelsNumberIsTakenUntilTheBrokerHasAnswered() throws {
        var numbers = ChannelNumbers(most: 3)
        let first = try (0..<3).map { _ in try numbers.take() }
        #expect(first == [1, 2, 3])
        #expect(throws: BrokerError.self) { try numbers.take() }
        numbers.free(1)
        #expect(throws: BrokerError.self) { try numbers.take(replacing: 1) }
        numbers.free(2)
        let other = try numbers.take(replacing: 1)
        #expect(other == 2)
        var unlimited = ChannelNumbers(most: 0)
        #expect(try unlimited.take() == 1)
    }

    @Test func aQueueIsKnownWhichRefusesOnAnotherChannelToo() {
        var refusals = QueueRefusals()
        let start = ContinuousClock.now
        #expect(refusals.note("a", channel: 1, now: start) == false)
        // The same channel refuses everything that was in flight.
        #expect(refusals.note("a", channel: 1, now: start + .seconds(1)) == false)
        #expect(refusals.note("b", channel: 2, now: start + .seconds(2)) == false)
        #expect(refusals.note("a", channel: 2, now: start + .seconds(2)) == true)
        // Tried again later, the longer it refuses.
        #expect(refusals.retry("b", now: start + .seconds(2)) == .seconds(1))
        #expect(refusals.retry("a", now: start + .seconds(9)) == .seconds(9))
        #expect(refusals.retry("a", now: start + .seconds(900)) == .seconds(30))
        // After a quiet minute it begins anew.
        #expect(refusals.note("a", channel: 3, now: start + .seconds(63)) == false)
        #expect(refusals.retry("a", now: start + .seconds(63)) == .seconds(1))
    }

    @Test func aQueueThatRefusedIsAskedWithOneMessageThenWithTwo() async {
        let message = OutgoingMessage(
            routingKey: "a",
            properties: MessageProperties(type: "t", messageID: "m", contentType: "text/plain"),
            body: []
        )
        _ = await withCheckedContinuation { continuation in
            let request = PublishRequest([message], deadline: .now, continuation)
            let pending = PublishingLane.Pending(item: PublishingLane.Item(request: request, index: 0))
            var lane = PublishingLane(queue: "a", pause: .milliseconds(200)...Duration.seconds(2))
            #expect(lane.isResting && !lane.hasRoom(100))
            lane.opened(7)
            #expect(lane.hasRoom(100))
            lane.window.append(pending)
            #expect(!lane.hasRoom(100))
            lane.window.confirm(1, multiple: false) { _ in }
            let isFirst = lane.noteAccepted()
            #expect(isFirst)
            lane.window.append(pending)
            #expect(lane.hasRoom(100) && !lane.hasRoom(1))
            lane.window.append(pending)
            #expect(!lane.hasRoom(100))
            // Refused: nothing more is sent, and the next channel begins with one again.
            lane.condemn()
            lane.window.reset { _ in }
            #expect(!lane.hasRoom(100) && !lane.isResting)
            lane.rest()
            #expect(lane.isResting && lane.restsUntil > .now)
            lane.opened(8)
            lane.window.append(pending)
            #expect(!lane.hasRoom(100))
            request.fail(.closed)
        }
    }

    /// What operators import before the processes start, so that no queue has fewer members than the cluster.
    @Test func theShippedDefinitionsAreTheQueuesOfThePipeline() throws {
        struct Definitions: Decodable {
            struct Named: Decodable, Hashable { let name: String }
            struct Queue: Decodable {
                let name: String
                let vhost: String
                let durable: Bool
                let arguments: [String: Value]
            }
            enum Value: Decodable, Equatable {
                case text(String)
                case number(Int)
                init(from decoder: any Decoder) throws {
                    let container = try decoder.singleValueContainer()
                    if let number = try? container.decode(Int.self) {
                        self = .number(number)
                    } else {
                        self = .text(try container.decode(String.self))
                    }
                }
            }
            let vhosts: [Named]
            let exchanges: [Named]
            let queues: [Queue]
        }
        let file = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "deploy/rabbitmq/definitions/pushline.json")
        let found = try JSONDecoder().decode(Definitions.self, from: Data(contentsOf: file))
        #expect(found.vhosts.map(\.name) == ["pushline"])
        #expect(found.exchanges.map(\.name) == Topology.pushline.exchanges.map(\.name))
        #expect(Set(found.queues.map(\.name)) == Set(Topology.pushline.queues.map(\.name)))
        for queue in Topology.pushline.queues {
            let arguments = QueueArguments(queue.kind)
            let other = try #require(found.queues.first { $0.name == queue.name })
            #expect(other.durable && other.vhost == "pushline")
            let wanted = arguments.texts.mapValues(Definitions.Value.text)
                .merging(arguments.numbers.mapValues(Definitions.Value.number)) { $1 }
            #expect(other.arguments == wanted, "\(queue.name)")
        }
    }

    @Test func theFrameSizeIsAsNegotiated() throws {
        #expect(try FrameSize.negotiated(8192) == 8192)
        #expect(try FrameSize.negotiated(131_072) == 131_072)
        // No limit.
        #expect(try FrameSize.negotiated(0) == 131_072)
        let error = #expect(throws: BrokerError.self) { try FrameSize.negotiated(4095) }
        #expect(error?.message.contains("raise its frame_max") == true)
    }

    /// RabbitMQ does not change a queue that is there: what has other arguments has another name (rule 7).
    @Test func theQueuesOfThePipelineDoNotChange() {
        let work: [String: String] = [
            "x-queue-type": "quorum", "x-dead-letter-exchange": "", "x-dead-letter-routing-key": "pushline.dead.v2",
            "x-dead-letter-strategy": "at-least-once", "x-overflow": "reject-publish",
        ]
        for queue in Topology.pushline.queues {
            let arguments = QueueArguments(queue.kind)
            switch queue.name {
            case "pushline.parking":
                #expect(arguments.texts == ["x-queue-type": "quorum"] && arguments.numbers.isEmpty)
            case "pushline.dead.v2":
                #expect(arguments.texts == work.merging(["x-dead-letter-routing-key": "pushline.parking"]) { $1 })
                #expect(arguments.numbers == ["x-delivery-limit": 20])
            default:
                #expect(queue.name.hasSuffix(".v2") && arguments.texts == work)
                #expect(arguments.numbers == ["x-delivery-limit": 1000])
            }
        }
    }

    @Test func workQueuesDeadLetterAtLeastOnce() {
        let arguments = QueueArguments(.quorum(deadLetterQueue: "dead", deliveryLimit: 1000))
        #expect(
            arguments.texts == [
                "x-queue-type": "quorum", "x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead",
                "x-dead-letter-strategy": "at-least-once", "x-overflow": "reject-publish",
            ]
        )
        #expect(arguments.numbers == ["x-delivery-limit": 1000])
    }
}
