import Broker
import BrokerRabbitMQ
import Foundation
import InstallationSupport
import PushlineSimulator
import Testing
import Undisturbed

/// A broker whose frames are smaller than ours.
@Suite(.serialized, .installation(broker: ["frame_max = 8192"]), .timeLimit(.minutes(3)), .undisturbed)
struct FrameSizeTests {
    @Test func batchesAreSplitAtTheNegotiatedFrameSize() async throws {
        let installation = try #require(EndToEndInstallation.current)
        let lines = (0..<1000).map { #"{"service":"fcm","handle":"\#($0):frames","user":"alice","tags":["frames"]}"# }
        try await installation.importRegistrations(lines)
        let body = String(repeating: "x", count: 2000)
        let sent = try await installation.asBackend(
            "POST",
            "/api/sends",
            body: #"{"to":{"tag":"frames"},"body":"\#(body)","ttl":60}"#
        )
        struct Accepted: Decodable { let id: String }
        let job = try await installation.finished(try sent.decoded(Accepted.self).id, within: .seconds(30))
        #expect(job.totals.accepted == 1000)
        for program in EndToEndInstallation.programs {
            #expect(try await !installation.log(of: program).contains("connection to the broker is lost"))
        }
    }
}

/// A broker that is configured against the protocol.
@Suite(.timeLimit(.minutes(5)), .undisturbed) struct SmallestFrameTests {
    @Test func aFrameLimitBelowTheProtocolsMinimumIsReported() async throws {
        let node = try await RabbitMQTestNode.start(settings: ["frame_max = 2048"])
        let text: Result<String?, any Error>
        do {
            text = .success(
                try await withRabbitMQ(.init(url: node.url)) { broker in
                    try await eventually("the first attempt is over") {
                        await broker.status.blockedReason?.contains("being made") == false
                    }
                    return await broker.status.blockedReason
                }
            )
        } catch {
            text = .failure(error)
        }
        try await node.kill()
        try await node.stop()
        #expect(try text.get()?.contains("raise its frame_max to 4096 or more") == true)
    }
}

/// What the driver takes, whatever the kernel lets it send at once.
@Suite(.serialized, .installation(), .timeLimit(.minutes(3)), .undisturbed) struct LargeHeaderTests {
    /// As where `net.core.wmem_max` is Debian's.
    @Test(arguments: [60_000, 130_900]) func headersOfAnySizeAreReadWithASmallSendBuffer(size: Int) async throws {
        let url = try #require(RabbitMQTestNode.current).url
        var configuration = try RabbitMQConfiguration(url: url)
        configuration.sendBuffer = 212_992
        let name = "test.headers.\(size)"
        let queue = Topology.Queue(name: name, kind: .quorum(deadLetterQueue: nil, deliveryLimit: nil))
        try await withRabbitMQ(configuration) { broker in
            try await broker.declare(Topology(queues: [queue]))
            var message = RawAMQP.Message()
            message.headers = RawAMQP.text("note", [UInt8](repeating: UInt8(ascii: "a"), count: size))
            try await RawAMQP.publish(message, to: [name], at: url)
            // The broker adds how often it came before, so the second time it is larger than any publisher may make it.
            for count in 0...1 {
                try await broker.consume(queue: name, prefetch: 1) { subscription in
                    let delivery = try #require(try await Self.inTime { try await subscription.next() })
                    #expect(delivery.properties.headers["note"]?.utf8.count == size)
                    #expect(delivery.deliveryCount == count)
                }
            }
        }
    }

    private static func inTime(_ body: @escaping @Sendable () async throws -> Delivery?) async throws -> Delivery? {
        try await withThrowingTaskGroup(of: Delivery?.self) { group in
            group.addTask { try await body() }
            group.addTask {
                try await Task.sleep(for: .seconds(10))
                return nil
            }
            defer { group.cancelAll() }
            return try await group.next() ?? nil
        }
    }
}
