import Broker
import BrokerRabbitMQ
import Foundation
import InstallationSupport
import PushModel
import PushlineSimulator
import Testing
import Undisturbed

/// A message that no client of ours would write.
enum HostileMessage: String, CaseIterable {
    /// Each level costs whoever decodes it a place on its stack.
    case nestedHeaders
    case largeHeaders
    /// Properties that grow when they are read as text.
    case propertiesThatAreNoText
    /// Numbers that are reckoned with.
    case numbersAtTheirEnd

    var message: RawAMQP.Message {
        var message = RawAMQP.Message()
        // The same message twice is one dead letter.
        message.body = Array(self.rawValue.utf8)
        switch self {
        case .nestedHeaders:
            message.headers = RawAMQP.nested(levels: 26_000)
        case .largeHeaders:
            let text = [UInt8](repeating: UInt8(ascii: "a"), count: 60_000)
            message.headers = RawAMQP.text("app", text) + RawAMQP.text("note", text)
        case .propertiesThatAreNoText:
            let octets = [UInt8](repeating: 0xFF, count: 255)
            (message.type, message.messageID, message.contentType) = (octets, octets, octets)
            message.headers = RawAMQP.text("app", octets) + RawAMQP.text("traceparent", octets)
        case .numbersAtTheirEnd:
            let number = Array("9223372036854775807".utf8)
            message.headers = RawAMQP.text("devices", number) + RawAMQP.text("x-delivery-count", number)
        }
        return message
    }
}

/// What whoever may publish to the broker can do: nothing to anybody else's work.
@Suite(.serialized, .installation(), .timeLimit(.minutes(3)), .undisturbed) struct HostileMessageTests {
    private static let queues = [
        QueueName.work(.send, .normal), QueueName.work(.register, .normal), QueueName.work(.deliver(.apns), .normal),
        QueueName.dead,
    ]

    private var installation: EndToEndInstallation { get throws { try #require(EndToEndInstallation.current) } }
    private var node: RabbitMQTestNode { get throws { try #require(RabbitMQTestNode.current) } }

    @Test(arguments: HostileMessage.allCases) func aHostileMessageIsDeadLettered(_ kind: HostileMessage) async throws {
        let installation = try self.installation
        try await installation.register("alice", platform: "apns", handle: String(repeating: "a", count: 64))
        let before = try await Self.deadLetters(installation)
        for queue in Self.queues {
            try await RawAMQP.publish(kind.message, to: [queue], at: try self.node.url)
        }
        try await eventually("each is dead-lettered") {
            try await Self.deadLetters(installation) == before + Self.queues.count
        }
        for program in EndToEndInstallation.programs {
            #expect(await installation.isRunning(program), "\(program) has ended")
            let lost = try await installation.log(of: program).matches(of: /connection to the broker is lost.*/)
            #expect(lost.isEmpty, "\(program): \(lost.map { $0.output })")
        }
        try await self.sendArrives()
    }

    /// What ends whoever reads the dead queue is put aside by the broker.
    @Test func aMessageThatCrashesTheDeadLetterConsumerIsParkedAndReported() async throws {
        let installation = try self.installation
        let before = try await Self.deadLetters(installation)
        _ = try await installation.terminate("send-worker")
        try await RawAMQP.publish(RawAMQP.Message(), to: [QueueName.dead], at: try self.node.url)
        // As a worker that ends while it reads it, again and again.
        try await withRabbitMQ(.init(url: try self.node.url)) { broker in
            for _ in 0...20 {
                try await broker.consume(queue: QueueName.dead, prefetch: 1) { subscription in
                    _ = try #require(try await subscription.next())
                }
            }
        }
        let url = try self.node.url
        try await eventually("it is parked") { try await Self.parked(url) == 1 }
        try await installation.start("send-worker")
        try await eventually("the send worker tells") {
            try await installation.log(of: "send-worker").contains("are in the parking queue")
        }
        #expect(try await Self.deadLetters(installation) == before)
        #expect(try await Self.parked(url) == 1)
        try await self.sendArrives()
    }

    // MARK: - Means

    private func sendArrives() async throws {
        let installation = try self.installation
        let sent = try await installation.asBackend("POST", "/api/sends", body: #"{"to":{"user":"alice"},"body":"x"}"#)
        #expect(sent.status == 202)
        struct Accepted: Decodable { let id: String }
        let job = try await installation.finished(try sent.decoded(Accepted.self).id, within: .seconds(20))
        #expect(job.totals.accepted == 1)
    }

    /// How many dead letters there are, of the app and of none: what a stranger publishes names no app.
    private static func deadLetters(_ installation: EndToEndInstallation) async throws -> Int {
        try await installation.deadLetters()
    }

    private static func parked(_ url: String) async throws -> Int {
        try await withRabbitMQ(.init(url: url)) { try await $0.depth(of: QueueName.parking).ready }
    }
}
