import Broker
import Testing

@testable import BrokerRabbitMQ

/// The driver's parts that need no broker.
@Suite struct RabbitMQUnitTests {
    @Test func aBrokerAddressIsParsed() throws {
        let configuration = try RabbitMQConfiguration(url: "amqps://us%40er:p%3Aa%2Fss@broker.example:1234/my%2Fhost")
        #expect(configuration.username == "us@er")
        #expect(configuration.password == "p:a/ss")
        #expect(configuration.host == "broker.example")
        #expect(configuration.port == 1234)
        #expect(configuration.virtualHost == "my/host")
        #expect(configuration.tls != nil)
    }

    @Test(arguments: [
        ("amqp://localhost", "localhost", 5672, "/"),
        ("amqp://localhost/", "localhost", 5672, "/"),
        ("amqp://localhost/%2F", "localhost", 5672, "/"),
        ("amqps://localhost/v", "localhost", 5671, "v"),
        ("amqp://[::1]:7/v", "::1", 7, "v"),
    ])
    func aBrokerAddressHasDefaults(_ url: String, _ host: String, _ port: Int, _ virtualHost: String) throws {
        let configuration = try RabbitMQConfiguration(url: url)
        #expect(configuration.host == host)
        #expect(configuration.port == port)
        #expect(configuration.virtualHost == virtualHost)
        #expect(configuration.username == "guest")
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
