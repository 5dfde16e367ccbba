import Foundation
import InstallationSupport
import PushModel
import PushlineSimulator
import Testing

#if canImport(FoundationXML)
import FoundationXML
import Undisturbed
#endif

/// The way of a send through all programs, a real broker and simulated push services.
@Suite(.serialized, .ownInstallation, .timeLimit(.minutes(6)), .undisturbed) struct EndToEndTests {
    /// Quotes, markup, a line separator and an emoji, as no payload may break on.
    private static let hostile = "a \"b\" <c> & </toast> \\ \u{2028} 🍜 {\"aps\":{}}"

    var installation: EndToEndInstallation {
        get throws { try #require(EndToEndInstallation.current) }
    }

    static func hexadecimal(_ count: Int) -> String {
        (0..<count).map { _ in String(format: "%02x", UInt8.random(in: .min ... .max)) }.joined()
    }

    private static func json(_ value: some Encodable) throws -> String {
        String(decoding: try JSONEncoder().encode(value), as: UTF8.self)
    }

    /// The text that a device would show.
    private static func text(_ push: ReceivedPush) throws -> String {
        struct APNs: Decodable {
            struct Aps: Decodable { let alert: String }
            let aps: Aps
        }
        struct FCM: Decodable {
            struct Message: Decodable { let data: [String: String] }
            let message: Message
        }
        switch push.pns {
        case .apns: return try JSONDecoder().decode(APNs.self, from: Data(push.body.utf8)).aps.alert
        case .fcm:
            let message = try JSONDecoder().decode(FCM.self, from: Data(push.body.utf8)).message
            return try #require(message.data["message"])
        case .wns:
            let document = try XMLDocument(data: Data(push.body.utf8), options: [.nodePreserveAll])
            return try #require(document.nodes(forXPath: "/toast/visual/binding/text").first?.stringValue)
        case .web:
            return try #require(JSONDecoder().decode([String: String].self, from: Data(push.body.utf8))["message"])
        default:
            Issue.record("a push to \(push.pns)")
            return ""
        }
    }

    @Test(arguments: [("apns", "apns"), ("fcm", "fcm"), ("gcm", "gcm"), ("wns", "wns"), ("web", "web")])
    func anExistingAppSendsUnchanged(_ platform: String, _ pns: String) async throws {
        let installation = try self.installation
        let service = try #require(PushService(platformName: platform))
        let device = try installation.simulator.device(Self.hexadecimal(16), of: service)
        let handle = service == .apns ? device.uppercased() : device
        try await installation.register("bob", platform: platform, handle: handle)

        let answer = try await installation.asUser(
            "alice",
            "POST",
            "/api/notifications?pns=\(pns)&to_tag=bob",
            body: Self.json(Self.hostile)
        )
        #expect(answer.status == 200)
        #expect(answer.body.isEmpty)
        let job = try await installation.finished(try #require(answer.headers["pushline-job"]))
        #expect(job.state == "completed")
        #expect(job.totals.targets == job.totals.outcomes)
        #expect(job.totals.targets == job.totals.accepted)

        let received = installation.simulator.received(token: handle)
        #expect(received.map(\.status) == [platform == "web" ? 201 : 200])
        #expect(try Self.text(try #require(received.first)) == "From alice: \(Self.hostile)")
    }

    /// Whichever services there are: what the preview shows is what the service gets.
    @Test(arguments: PushService.inService) func everyServiceGetsASend(_ pns: PushService) async throws {
        let installation = try self.installation
        let user = "every-\(pns.rawValue)"
        let handle = try installation.simulator.device(user, of: pns)
        try await installation.importRegistrations([
            #"{"service":"\#(pns.rawValue)","handle":"\#(handle)","user":"\#(user)"}"#
        ])
        let send = #"{"to":{"user":"\#(user)"},"title":"Sale","body":"begins","data":{"order":"4711"}}"#
        struct Preview: Decodable {
            struct Service: Decodable {
                let service: String
                let headers: [String: String]
                let size: Int
                let errors: [[String: String]]?
            }
            let services: [Service]
        }
        let answer = try await installation.asBackend("POST", "/api/sends/preview", body: send)
        let preview = try #require(answer.decoded(Preview.self).services.first { $0.service == pns.rawValue })
        #expect(preview.errors == nil && preview.size > 0)

        let job = try await installation.finished(try await self.send(send))
        #expect(job.state == "completed")
        #expect(job.totals.targets == 1 && job.totals.accepted == 1)
        let push = try #require(installation.simulator.received(token: handle).first)
        #expect(push.pns == pns && (200..<300).contains(push.status))
        for word in ["Sale", "begins", "4711"] { #expect(push.body.contains(word)) }
        for (name, value) in preview.headers { #expect(push.headers[name.lowercased()] == value, "\(name)") }
    }

    @Test func aBusyDeviceIsRetriedAfterRetryAfter() async throws {
        let installation = try self.installation
        let handle = Self.hexadecimal(32)
        try await installation.register("carol", platform: "apns", handle: handle, tags: ["busy"])
        installation.simulator.inject(
            SimulatorFault(.answer(status: 503, retryAfter: .seconds(2)), pns: .apns, token: handle, count: 2)
        )
        let id = try await self.send(#"{"to": {"tag": "busy"}, "body": "again"}"#)
        try await eventually("the job waits, and says until when") {
            let job = try await installation.job(id)
            return job.state == "retrying" && job.due != nil
        }
        let job = try await installation.finished(id)
        #expect(job.state == "completed")
        #expect(job.totals.accepted == 1)
        let received = installation.simulator.received(token: handle)
        #expect(received.map(\.status) == [503, 503, 200])
        // The same notification each time, and never sooner than the push service asked.
        #expect(Set(received.map { $0.headers["apns-id"] }).count == 1)
        for (earlier, later) in zip(received, received.dropFirst()) {
            #expect(later.time.timeIntervalSince(earlier.time) >= 1.9)
        }
    }

    @Test func aDeadDeviceIsCountedAndPruned() async throws {
        let installation = try self.installation
        let handle = Self.hexadecimal(32)
        try await installation.register("carol", platform: "apns", handle: handle, tags: ["dying"])
        installation.simulator.inject(
            SimulatorFault(.answer(reason: "Unregistered"), pns: .apns, token: handle)
        )
        let job = try await installation.finished(try await self.send(#"{"to": {"tag": "dying"}, "body": "one"}"#))
        #expect(job.totals.failed == ["unregistered": 1])
        try await eventually("nobody is left") {
            let job = try await installation.finished(
                try await self.send(#"{"to": {"tag": "dying"}, "body": "two"}"#)
            )
            return job.state == "completed" && job.totals.targets == 0
        }
    }

    @Test func killedProcessesLoseNothing() async throws {
        let installation = try self.installation
        try await installation.register("alice", platform: "apns", handle: Self.hexadecimal(32), tags: ["all"])
        try await installation.register("alice", platform: "fcm", handle: "d:\(Self.hexadecimal(16))", tags: ["all"])
        installation.simulator.inject(SimulatorFault(.delay, share: 1, latency: 20))
        defer { installation.simulator.clearFaults() }
        var jobs: [String] = []
        for number in 0..<120 {
            jobs.append(try await self.send(#"{"to": {"tag": "all"}, "body": "\#(number)"}"#))
            switch number {
            case 30: try await self.restart("delivery-worker")
            case 60: try await self.restart("api")
            case 90: try await self.restart("register-worker")
            default: break
            }
        }
        for id in jobs {
            let job = try await installation.finished(id, within: .seconds(120))
            #expect(job.state == "completed")
            #expect(job.totals.targets == 2)
            #expect(job.totals.outcomes == 2)
        }
    }

    @Test(arguments: ["send-worker", "register-worker", "delivery-worker", "api"])
    func aProcessShutsDownCleanly(_ program: String) async throws {
        let installation = try self.installation
        let start = ContinuousClock.now
        let status = try await installation.terminate(program)
        #expect(status == 0)
        #expect(ContinuousClock.now - start < .seconds(10))
        let log = try await installation.log(of: program)
        #expect(log.hasSuffix("Ended\n"))
        #expect(!log.split(separator: "\n").contains { $0.split(separator: " ").dropFirst().first == "error" })
        #expect(!log.contains(installation.senderKey))
        #expect(!log.contains(EndToEndInstallation.password))
        try await self.start(program)
    }

    func send(_ body: String) async throws -> String {
        struct Accepted: Decodable { let id: String }
        let answer = try await self.installation.asBackend("POST", "/api/sends", body: body)
        #expect(answer.status == 202)
        return try answer.decoded(Accepted.self).id
    }

    private func restart(_ program: String) async throws {
        try await self.installation.kill(program)
        try await self.start(program)
    }

    private func start(_ program: String) async throws {
        let installation = try self.installation
        try await installation.start(program)
        guard program == "api" else { return }
        try await eventually("the API serves again") { try await installation.isServing() }
    }
}
