import Foundation
import HubWire
import InstallationSupport
import RawHTTP
import Testing
import Undisturbed

/// What a hostile client does to `pushline-hub`: others are served meanwhile, and what is refused is refused in words.
@Suite(
    .serialized,
    .installation([
        "PUSHLINE_API_REQUEST_TIME": "3", "PUSHLINE_API_CONNECTIONS_PER_PEER": "0",
        "PUSHLINE_API_REQUESTS_PER_SECOND": "100000",
    ]),
    .timeLimit(.minutes(5)),
    .undisturbed
)
struct HubAbuseTests {
    private static let payload = #"{"aps":{"alert":"x"}}"#

    /// The hub of the suite's installation, started by whichever test is first.
    private static func hub() async throws -> HubAccess {
        let installation = try #require(EndToEndInstallation.current)
        return try await installation.startHub(as: "hub-\(UUID().uuidString.prefix(8))")
    }

    private static func open(_ hub: HubAccess) async throws -> RawConnection {
        try await RawConnection.open(port: hub.port, trusting: hub.authority)
    }

    /// One request on a connection of its own.
    private static func ask(_ hub: HubAccess, _ request: String) async throws -> String {
        var connection = try await self.open(hub)
        defer { connection.close() }
        return try await connection.exchange(request)
    }

    private static func send(_ hub: HubAccess, _ fields: String...) -> String {
        let all = ["ServiceBusNotification-Format: apple", "Content-Type: application/json"] + fields
        return hub.request("POST", "/messages?api-version=2020-06", body: self.payload, all.joined(separator: "\r\n"))
    }

    /// Expects that somebody else is served at once while the body runs.
    private static func expectServed(_ hub: HubAccess, _ body: () async throws -> Void) async throws {
        let times = try await withThrowingTaskGroup(of: [Duration].self) { group in
            group.addTask {
                var times: [Duration] = []
                while !Task.isCancelled {
                    let start = ContinuousClock.now
                    do {
                        let answer = try await self.ask(
                            hub,
                            hub.request("POST", "/registrationids?api-version=2020-06")
                        )
                        #expect(answer.hasPrefix("HTTP/1.1 201 "), "\(answer.prefix(200))")
                        times.append(.now - start)
                    } catch is RawConnection.BrokenOff where Task.isCancelled { break }
                    try? await Task.sleep(for: .milliseconds(50))
                }
                return times
            }
            try await body()
            group.cancelAll()
            return try await group.next() ?? []
        }
        let sorted = times.sorted()
        #expect(!sorted.isEmpty && sorted[sorted.count * 9 / 10] < .seconds(2), "\(sorted)")
    }

    @Test func wrongTokensOfEveryKindAre401AndDelayNobody() async throws {
        let hub = try await Self.hub()
        try await Self.expectServed(hub) {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for worker in 0..<16 {
                    group.addTask {
                        var connection = try await Self.open(hub)
                        defer { connection.close() }
                        for number in 0..<150 {
                            let sr = String(repeating: "%25", count: number * 10)
                            let token =
                                "SharedAccessSignature sr=\(sr)&sig=\(worker)\(number)AAAA&se=9999999999&skn=\(hub.connection.rule)"
                            let request =
                                "POST /default/messages HTTP/1.1\r\nHost: localhost\r\nAuthorization: \(token)\r\nContent-Length: 0\r\n\r\n"
                            let answer = try await connection.exchange(request)
                            #expect(answer.hasPrefix("HTTP/1.1 401 "), "\(answer.prefix(200))")
                        }
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    @Test func hostileBodiesAreRefusedInWordsAndCostLittle() async throws {
        let hub = try await Self.hub()
        let deep = String(repeating: "<a>", count: 20_000)
        let expansion =
            "<!DOCTYPE a [" + (0..<30).map { "<!ENTITY e\($0 + 1) \"&e\($0);&e\($0);\">" }.joined() + "]><a>&e30;</a>"
        let prefixes =
            "<a " + (0..<1400).map { "xmlns:p\($0)=\"u\"" }.joined(separator: " ") + ">"
            + String(repeating: "<b xmlns:q=\"v\"/>", count: 1500) + "</a>"
        let tags =
            "<entry><content><AppleRegistrationDescription><Tags>\((0..<9000).map { "t\($0)" }.joined(separator: ","))</Tags><DeviceToken>AB</DeviceToken></AppleRegistrationDescription></content></entry>"
        let steps =
            "[" + Array(repeating: #"{"op":"add","path":"/tags","value":"x"}"#, count: 1500).joined(separator: ",")
            + "]"
        try await Self.expectServed(hub) {
            for (method, path, body) in [
                ("POST", "/registrations", deep), ("POST", "/registrations", expansion),
                ("POST", "/registrations", prefixes),
                ("POST", "/registrations", tags), ("PATCH", "/installations/i", steps),
                ("PUT", "/installations/i", String(repeating: "[", count: 60_000)),
                ("POST", "/messages", String(repeating: "{\"a\":", count: 12_000)),
            ] {
                for _ in 0..<5 {
                    let start = ContinuousClock.now
                    let answer = try await Self.ask(
                        hub,
                        hub.request(method, path, body: body, "ServiceBusNotification-Format: apple")
                    )
                    #expect(
                        answer.hasPrefix("HTTP/1.1 400 ") && answer.contains("<Error><Code>400</Code>"),
                        "\(path): \(answer.prefix(300))"
                    )
                    #expect(ContinuousClock.now - start < .seconds(2), "\(method) \(path)")
                }
            }
            let large = try await Self.ask(
                hub,
                hub.request("POST", "/registrations", body: String(repeating: "a", count: 65_537))
            )
            #expect(large.hasPrefix("HTTP/1.1 413 "), "\(large.prefix(200))")
        }
        // Nothing of it was taken.
        let list = try await Self.ask(hub, hub.request("GET", "/registrations"))
        #expect(list.hasPrefix("HTTP/1.1 200 ") && !list.contains("<entry"))
    }

    @Test func hugeHeadersAndExpressionsEndWithAnAnswer() async throws {
        let hub = try await Self.hub()
        let many = (0..<1500).map { "t\($0)" }.joined(separator: "||")
        let nested = String(repeating: "(", count: 5000) + "a" + String(repeating: ")", count: 5000)
        try await Self.expectServed(hub) {
            for (expression, statuses) in [
                (many, [201]), (nested, [201, 400]), (String(repeating: "!", count: 8000) + "a", [201, 400]),
                (String(repeating: "a", count: 200_000), [431, 400]),
                (Array(repeating: "$UserId:{a}", count: 800).joined(separator: "||"), [201]),
            ] {
                let answer = try await Self.ask(hub, Self.send(hub, "ServiceBusNotification-Tags: \(expression)"))
                let status = try #require(Int(answer.dropFirst(9).prefix(3)))
                #expect(statuses.contains(status), "\(expression.prefix(20)): \(answer.prefix(200))")
            }
            let fields = (0..<5000).map { "X-Field-\($0): a" }.joined(separator: "\r\n")
            let answer = try await Self.ask(hub, Self.send(hub, fields))
            #expect(answer.hasPrefix("HTTP/1.1 400 ") && answer.contains("headers"), "\(answer.prefix(200))")
            #expect(answer.contains("application/xml") && answer.contains("<Error><Code>400</Code><Detail>"))
        }
    }

    @Test func whoSendsOrReadsSlowlyIsCutOff() async throws {
        let hub = try await Self.hub()
        try await Self.expectServed(hub) {
            // A body that never comes whole, and a head that does not.
            var body = try await Self.open(hub)
            let whole = Self.send(hub)
            try await body.write(Array(whole.utf8.dropLast(5)))
            var head = try await Self.open(hub)
            try await head.write(Array(whole.utf8.prefix(60)))
            // Handshakes that end in their middle.
            var handshakes: [RawConnection] = []
            for _ in 0..<50 {
                let connection = try await RawConnection.open(port: hub.port)
                try await connection.write([0x16, 0x03, 0x01, 0x02, 0x00, 0x01])
                handshakes.append(connection)
            }
            let answer = try await body.rest()
            #expect(answer.isEmpty || answer.hasPrefix("HTTP/1.1 408 "), "\(answer.prefix(200))")
            _ = try await head.rest()
            for index in handshakes.indices { _ = try? await handshakes[index].rest() }
        }
    }
}
