import Foundation
import HubWire
import InstallationSupport
import PushlineSimulator
import RawHTTP
import Synchronization
import Testing
import Undisturbed

/// What an app may do with every right that it has, at the limits of each: another app's single send does not feel it.
@Suite(
    .serialized,
    .installation([
        "PUSHLINE_API_CONNECTIONS_PER_PEER": "0", "PUSHLINE_API_REQUESTS_PER_SECOND": "1000",
        "PUSHLINE_API_REQUEST_TIME": "60",
    ]),
    .timeLimit(.minutes(10)),
    .undisturbed
)
struct NeighbourTests {
    /// Somebody of the greedy app.
    enum Right: String, CaseIterable, Sendable { case user, sender, rule, `operator` }

    /// How long a single send may take, from its request to the device, in nine of ten cases.
    private static let limit = Duration.seconds(2)
    /// Where a send takes a tenth of that alone, the machine is busy with something else: then so many times as long.
    private static let mostTimes = 10
    /// Sends that are measured for each right.
    private static let singles = 10

    /// A single send: from its request to the answer, and to the device.
    private struct Trip: CustomStringConvertible {
        let accepted: Duration
        let arrived: Duration

        var description: String { "\(self.accepted)/\(self.arrived)" }
    }

    @Test(arguments: Right.allCases) func anotherAppsSendDoesNotFeelIt(right: Right) async throws {
        let installation = try #require(EndToEndInstallation.current)
        let victim = Self.token()
        try await installation.register("alice", platform: "apns", handle: victim)
        // What is opened and learned at a first send is not a neighbour's doing.
        _ = try await Self.send(to: victim, through: installation)
        var alone: [Trip] = []
        for _ in 0..<Self.singles { alone.append(try await Self.send(to: victim, through: installation)) }
        // Pushes of a flood queue up in a simulator as they do not at the push services: the greedy app has one of its own.
        let services = Simulator()
        try await services.start()
        let greedy = try await GreedyApp(right.rawValue, in: installation, sendingTo: services)
        let flood = Flood(of: try await greedy.requests(right))
        try await Task.sleep(for: .milliseconds(500))
        var beside: [Trip] = []
        for _ in 0..<Self.singles {
            beside.append(try await Self.send(to: victim, through: installation))
            try await Task.sleep(for: .milliseconds(100))
        }
        try flood.end()
        try await greedy.end()
        try await services.stop()
        let limit = max(Self.limit, Self.slowest(of: alone, but: 0) * Self.mostTimes)
        #expect(Self.slowest(of: beside, but: 1) < limit, "beside: \(beside); alone: \(alone)")
    }

    /// The slowest but so many.
    private static func slowest(of trips: [Trip], but count: Int) -> Duration {
        trips.map(\.arrived).sorted()[trips.count - 1 - count]
    }

    private static func token() -> String {
        (0..<32).map { _ in String(format: "%02x", UInt8.random(in: .min ... .max)) }.joined()
    }

    /// From the request to the device.
    private static func send(to token: String, through installation: EndToEndInstallation) async throws -> Trip {
        let before = installation.simulator.received(token: token).count
        let start = ContinuousClock.now
        let answer = try await installation.asBackend(
            "POST",
            "/api/sends",
            body: #"{"to":{"user":"alice"},"body":"x"}"#
        )
        #expect([200, 202].contains(answer.status))
        let accepted = ContinuousClock.now - start
        while installation.simulator.received(token: token).count == before {
            guard ContinuousClock.now - start < .seconds(60) else { break }
            try await Task.sleep(for: .milliseconds(5))
        }
        return Trip(accepted: accepted, arrived: .now - start)
    }
}

/// Requests that are made again and again, each beside the others.
private final class Flood: Sendable {
    private struct State {
        var isOver = false
        var fault: (any Error)?
    }

    private let state = Mutex(State())

    init(of requests: [GreedyApp.Request]) {
        for request in requests {
            Task {
                do { while !self.state.withLock({ $0.isOver }) { try await request() } } catch {
                    self.state.withLock { if !$0.isOver { $0.fault = error } }
                }
            }
        }
    }

    /// Begins no further one; what is under way is left alone, for URLSession may block for ever where a request is cancelled while
    /// its answer comes (swift-corelibs-foundation 5412).
    ///
    /// - Throws: The error of one that failed before.
    func end() throws {
        let fault = self.state.withLock { state in
            state.isOver = true
            return state.fault
        }
        if let fault { throw fault }
    }
}

/// An app that uses all that it may; what an operator and a user send is a flood.
private struct GreedyApp {
    typealias Request = @Sendable () async throws -> Void

    private static let devices = 500
    /// What a template makes the most work of: a letter with as many accents as there is room for.
    private static let accents = "x" + String(repeating: "\u{301}", count: 29_000) + "y"
    private static let template = "{" + String(repeating: ".(a,1)+", count: 1900) + "'x'}"
    /// As many tags as are written; every device has all of them, so nobody is meant, and all of it must be read to know.
    private static let expression =
        (0..<999).map { "(t\($0 % 50)||t\(($0 + 1) % 50))&&" }.joined() + "t2&&!t3"

    private let name: String
    private let installation: EndToEndInstallation
    private let key: String

    init(_ right: String, in installation: EndToEndInstallation, sendingTo services: Simulator) async throws {
        self.name = "greedy-\(right)"
        self.installation = installation
        self.key = try await installation.addApp(self.name, try services.appSpec)
        let tags = (0..<50).map { "\"t\($0)\"" }.joined(separator: ",")
        let lines = (0..<Self.devices).map { number in
            #"{"service":"apns","handle":"\#(String(format: "%064x", number + 1))","tags":[\#(tags)]}"#
        }
        let answer = try await self.ask("POST", "registrations/import", lines.joined(separator: "\n"), lines: true)
        try #require(answer.status == 200)
    }

    /// The dearest three requests of a right.
    func requests(_ right: NeighbourTests.Right) async throws -> [Request] {
        switch right {
        case .user: try await self.ofUser()
        case .sender: try await self.ofSender()
        case .rule: try await self.ofRule()
        case .operator: try await self.ofOperator()
        }
    }

    private func ofUser() async throws -> [Request] {
        try await self.installation.add(users: ["mallory"], to: self.name)
        let users = (0..<20_000).map { "\"u\($0)\"" }.joined(separator: ",")
        let many = #"{"to":{"users":[\#(users)]},"body":"x"}"#
        let unknown = #"{"a\#(String(repeating: "\u{301}", count: 500_000))":0}"#
        let data = (0..<100_000).map { "\"m\($0)\":\"\"" }.joined(separator: ",")
        let preview = #"{"to":{"user":"u"},"body":"x","data":{\#(data)}}"#
        return [
            { _ = try await self.asUser("POST", "sends", many) },
            { _ = try await self.asUser("POST", "sends", unknown) },
            { _ = try await self.asUser("POST", "sends/preview", preview) },
        ]
    }

    private func ofSender() async throws -> [Request] {
        struct Key: Decodable { let secret: String }
        let made: Key = try await self.ask("POST", "keys", #"{"name":"greedy","role":"sender"}"#).decoded()
        let send = #"{"to":{"tags":"\#(Self.expression)"},"body":"x"}"#
        let larger = #"{"to":{"tags":"\#(String(repeating: "(a||b)&&", count: 100_000))c"},"body":"x"}"#
        return [
            { _ = try await self.ask("POST", "sends", send, key: made.secret) },
            { _ = try await self.ask("POST", "sends/count", send, key: made.secret) },
            { _ = try await self.ask("POST", "sends", larger, key: made.secret) },
        ]
    }

    private func ofRule() async throws -> [Request] {
        let hub = try await self.installation.startHub(as: "hub-\(self.name)")
        let own = hub.of(self.name, try await self.installation.addRule("greedy", of: self.name, at: hub.port))
        for number in 0..<3 {
            let token = String(format: "%064x", 100_000 + number)
            // Three templates, not one three times.
            let body = #"{\"aps\":{\"alert\":\"\#(Self.template)\",\"n\":\#(number)}}"#
            let installation = #"{"platform":"apns","pushChannel":"\#(token)","templates":{"t":{"body":"\#(body)"}}}"#
            let answer = try await Self.ask(own, own.request("PUT", "/installations/i\(number)", body: installation))
            try #require(answer.hasPrefix("HTTP/1.1 200 "), "\(answer.prefix(300))")
        }
        let properties = #"{"a":"\#(Self.accents)"}"#
        let expression = String(repeating: "(t0||t1)&&", count: 700) + "t2&&!t3"
        let handles = (0..<1000).map { "\"\(String(format: "%064x", $0))\"" }.joined(separator: ",")
        let batch =
            "--b\r\nContent-Disposition: inline; name=notification\r\n\r\n{\"aps\":{\"alert\":\"x\"}}\r\n--b\r\nContent-Disposition: inline; name=devices\r\n\r\n[\(handles)]\r\n--b--\r\n"
        let version = "?api-version=2020-06"
        return [
            {
                let request = own.request(
                    "POST",
                    "/messages" + version,
                    body: properties,
                    "ServiceBusNotification-Format: template"
                )
                try await self.settle(Self.ask(own, request))
            },
            {
                let request = own.request(
                    "POST",
                    "/messages" + version,
                    body: #"{"aps":{"alert":"x"}}"#,
                    "ServiceBusNotification-Format: apple",
                    "ServiceBusNotification-Tags: \(expression)"
                )
                try await self.settle(Self.ask(own, request))
            },
            {
                let request = own.request(
                    "POST",
                    "/messages/$batch\(version)&direct",
                    body: batch,
                    "ServiceBusNotification-Format: apple",
                    "Content-Type: multipart/mixed; boundary=b"
                )
                try await self.settle(Self.ask(own, request))
            },
        ]
    }

    private func ofOperator() async throws -> [Request] {
        let tags = (0..<50).map { "\"t\($0)\"" }.joined(separator: ",")
        let lines = (0..<1000).map { number in
            #"{"service":"apns","handle":"\#(String(format: "%064x", number + 1))","tags":[\#(tags)]}"#
        }.joined(separator: "\n")
        return [
            { _ = try await self.ask("POST", "registrations/import", lines, lines: true) },
            { _ = try await self.ask("GET", "registrations/export") },
            { _ = try await self.ask("POST", "sends", #"{"to":{"all":true},"body":"x"}"#) },
        ]
    }

    // MARK: Requests

    /// Waits for the end of a send that the hub took: a flood of them is felt, up to 9 s in a debug build, behind the answer.
    private func settle(_ answer: String) async throws {
        guard let location = answer.split(separator: "\r\n").first(where: { $0.lowercased().hasPrefix("location:") }),
            let id = location.split(separator: "?").first?.split(separator: "/").last
        else { return }
        while try await !self.ask("GET", "jobs/\(id)").decoded(EndToEndInstallation.JobAnswer.self).isFinal {
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    /// Cancels what it has under way: the next right finds the installation as this one did.
    func end() async throws {
        struct Job: Decodable {
            let id: String
            let isFinal: Bool
        }
        struct Page: Decodable {
            let items: [Job]
            let cursor: String?
        }
        var cursor: String?
        repeat {
            let query = "jobs?kind=send&limit=1000" + (cursor.map { "&cursor=\($0)" } ?? "")
            let page = try await self.ask("GET", query).decoded(Page.self)
            for job in page.items where !job.isFinal { _ = try await self.ask("DELETE", "jobs/\(job.id)") }
            cursor = page.cursor
        } while cursor != nil
    }

    private func asUser(_ method: String, _ path: String, _ body: String) async throws -> EndToEndInstallation.Answer {
        try await self.installation.asUser("mallory", method, "/api/apps/\(self.name)/\(path)", body: body)
    }

    private func ask(
        _ method: String,
        _ path: String,
        _ body: String? = nil,
        lines: Bool = false,
        key: String? = nil
    ) async throws -> EndToEndInstallation.Answer {
        try await self.installation.asBackend(
            method,
            "/api/apps/\(self.name)/\(path)",
            body: body,
            type: lines ? "application/x-ndjson" : "application/json",
            key: key ?? self.key
        )
    }

    private static func ask(_ hub: HubAccess, _ request: String) async throws -> String {
        var connection = try await RawConnection.open(port: hub.port, trusting: hub.authority)
        defer { connection.close() }
        return try await connection.exchange(request)
    }
}
