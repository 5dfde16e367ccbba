import Foundation
import NIOSSL
import PushModel
import PushlineClient
import RawHTTP
import Testing
import Undisturbed

@testable import PushlineCommands
@testable import PushlineSimulator

/// What the doctor says of a server that it asks over HTTP.
@Suite(.timeLimit(.minutes(2)), .undisturbed) struct ServerCheckupTests {
    /// What a Pushline server that lacks nothing answers, by path.
    private static let healthy: [String: StoppingPeer.Answer] = [
        "/healthz": .init(200, body: #"{"status":"ok","version":"\#(pushlineVersion)"}"#),
        "/readyz": .init(200, body: #"{"status":"ready","store":"reachable","broker":"connected"}"#),
        "/api/queues": .init(200, body: #"{"items":[]}"#),
        "/api/dead?limit=100": .init(200, body: #"{"items":[]}"#),
    ]

    /// Asks a server with these answers in place of the healthy ones.
    private static func ask(
        _ answers: [String: StoppingPeer.Answer] = [:],
        stopping stop: StoppingPeer.Stop? = nil,
        key: String? = "plk_secret",
        isExpired: Bool = false,
        isTrusted: Bool = true
    ) async throws -> [Finding] {
        let material = try KeyMaterial.load(folder: nil)
        let authorities = try NIOSSLCertificate.fromPEMBytes(Array(material.authorityPEM.utf8))
        let tls = try material.serverContext(protocols: ["http/1.1"], takesCertificates: false, isExpired: isExpired)
        let all = Self.healthy.merging(answers) { $1 }
        let answer: @Sendable (String) -> StoppingPeer.Answer = { all[$0] ?? .init(404, body: "none") }
        return try await StoppingPeer.run(.http1, tls: tls, stopping: stop, answer: answer) { peer in
            let client = PushlineClient(
                url: try #require(URL(string: "https://127.0.0.1:\(peer.port)/")),
                app: nil,
                credentials: key.map { .key($0) },
                deadline: .seconds(stop == nil ? 30 : 1),
                transport: ServerTransport(authorities: isTrusted ? authorities : nil)
            )
            let found = await ServerCheckup(client: client).run()
            #expect(!found.contains { $0.words.contains("plk_secret") || $0.words.contains("\n") }, "\(found)")
            return found
        }
    }

    private static func faults(_ found: [Finding]) -> [String] { found.filter { !$0.isRight }.map(\.subject) }

    @Test func aServerThatLacksNothingIsRight() async throws {
        let found = try await Self.ask()
        #expect(found.map(\.subject) == ["certificate", "server", "store", "broker", "sign-in"])
        #expect(Self.faults(found).isEmpty, "\(found)")
        #expect(found[0].words.hasPrefix("the certificate of 127.0.0.1 ends on "))
        #expect(found[1].words.hasSuffix(" answers: Pushline \(pushlineVersion)"))
        #expect(found[4].words == "the key is an operator's of app default")
    }

    @Test func withoutAKeyNobodySignsIn() async throws {
        let found = try await Self.ask(["/api/queues": .init(401)], key: nil)
        #expect(Self.faults(found).isEmpty)
        #expect(found.last?.words == "not tried: give --key, or set PUSHLINE_KEY")
    }

    @Test func anotherVersionIsSaid() async throws {
        let found = try await Self.ask(["/healthz": .init(200, body: #"{"status":"ok","version":"0.0.1"}"#)])
        #expect(found[1].isRight && found[1].words.hasSuffix("Pushline 0.0.1 (this pushline is \(pushlineVersion))"))
    }

    @Test(arguments: [
        ("unreachable", "connected", "store", "answers 503"), ("reachable", "blocked", "broker", "accepts no messages"),
        ("reachable", "disconnected", "broker", "disconnected: sends are accepted and wait; start RabbitMQ"),
    ])
    func whatIsNotReadyIsNamed(_ store: String, _ broker: String, _ subject: String, _ words: String) async throws {
        let body = #"{"status":"x","store":"\#(store)","broker":"\#(broker)"}"#
        let found = try await Self.ask(["/readyz": .init(store == "reachable" ? 200 : 503, body: body)])
        #expect(Self.faults(found) == [subject])
        #expect(found.first { !$0.isRight }?.words.contains(words) == true, "\(found)")
    }

    @Test(arguments: [
        (401, #"{"detail":"the key is not known"}"#, "the key is not known (status 401); check --key"),
        (404, #"{"detail":"there is no app"}"#, "there is no app (status 404)"), (502, "gateway", "status 502"),
    ])
    func aKeyThatDoesNotSignInIsAFault(_ status: Int, _ body: String, _ words: String) async throws {
        let found = try await Self.ask(["/api/queues": .init(status, body: body)])
        #expect(Self.faults(found) == ["sign-in"])
        #expect(found.last?.words.contains(words) == true, "\(found)")
    }

    @Test func aKeyOfAnotherRoleIsKnown() async throws {
        let found = try await Self.ask(["/api/queues": .init(403, body: #"{"detail":"for operators"}"#)])
        #expect(Self.faults(found).isEmpty)
        #expect(found.last?.words.hasPrefix("the key is known to app default; ") == true)
    }

    @Test func whatIsPausedOrDeadIsNamed() async throws {
        func pause(_ isOfAll: Bool) -> String {
            #"{"allApps":\#(isOfAll),"by":"key:k","since":"2026-11-01T00:00:00Z"}"#
        }
        func queue(_ name: String, _ pauses: [String]) -> String {
            #"{"name":"\#(name)","paused":\#(!pauses.isEmpty),"pauses":[\#(pauses.joined(separator: ","))],"waiting":1}"#
        }
        let queues = [queue("send", [pause(false)]), queue("register", [pause(true)]), queue("deliver.apns", [])]
        let letter =
            #"{"id":"1","at":"2026-11-01T00:00:00Z","queue":"q","type":"send","reason":"r","bytes":1,"canReplay":true}"#
        let found = try await Self.ask([
            "/api/queues": .init(200, body: #"{"items":[\#(queues.joined(separator: ","))]}"#),
            "/api/dead?limit=100": .init(200, body: #"{"items":[\#(letter)],"cursor":"c"}"#),
        ])
        #expect(Self.faults(found) == ["queue send", "queue register", "dead letters"], "\(found)")
        let words = found.filter { !$0.isRight }.map(\.words)
        #expect(words.first?.hasSuffix(": pushline queues resume send --app default") == true)
        #expect(words.dropFirst().first?.hasSuffix("resume register --all-apps (on the server's host)") == true)
        #expect(words.last == "100 or more to replay or discard: pushline dead --app default")
    }

    @Test func whatIsNotPushlineIsAFault() async throws {
        let gone: [String: StoppingPeer.Answer] = [
            "/healthz": .init(404), "/readyz": .init(404), "/api/queues": .init(404),
        ]
        let withoutKey = try await Self.ask(gone, key: nil)
        #expect(withoutKey.map(\.subject) == ["certificate", "server"])
        #expect(Self.faults(withoutKey) == ["server"])
        let words = withoutKey.last?.words
        #expect(words?.contains("/healthz answers 404, which is not Pushline's answer: check --url") == true)
        // A proxy may let the API through and nothing else.
        let behind = try await Self.ask(["/healthz": .init(404), "/readyz": .init(404)])
        #expect(Self.faults(behind) == ["server", "readiness"])
        #expect(behind.last?.subject == "sign-in")
    }

    @Test func aCertificateThatHasEndedIsNamed() async throws {
        let found = try await Self.ask(isExpired: true)
        #expect(Self.faults(found) == ["certificate", "server"])
        #expect(
            found[0].words.hasPrefix("the certificate of 127.0.0.1 ended on ") && found[0].words.hasSuffix(": renew it")
        )
        #expect(found[1].words.contains("is not accepted"))
    }

    @Test func anAuthorityThatIsNotTrustedIsNamed() async throws {
        let found = try await Self.ask(isTrusted: false)
        #expect(Self.faults(found) == ["server"])
        #expect(found[0].isRight && found[1].words.contains("--ca-file"))
    }

    @Test func aServerThatDoesNotAnswerIsAFault() async throws {
        let found = try await Self.ask(stopping: .silence)
        #expect(Self.faults(found) == ["server"])
        #expect(found.last?.words.contains("did not answer within") == true)
        let start = ContinuousClock.now
        #expect(await PresentedCertificate.end(host: "127.0.0.1", port: 1) == nil)
        #expect(ContinuousClock.now - start < .seconds(9))
    }

    /// Its handshake is cut off by ourselves when it does not come.
    @Test func aCertificateIsNotWaitedForLong() async throws {
        let tls = try KeyMaterial.load(folder: nil).serverContext(protocols: ["http/1.1"], takesCertificates: false)
        try await StoppingPeer.run(.http1, tls: tls, stopping: .tls, answer: { _ in .init(200) }) { peer in
            let end = await PresentedCertificate.end(host: "127.0.0.1", port: peer.port, patience: .milliseconds(300))
            #expect(end == nil)
        }
    }

    @Test(arguments: [
        (0, true, ""), (20, true, ""), (-20, true, ""), (95, false, "95 s ahead of"), (-95, false, "94 s behind"),
    ])
    func clocksAreCompared(_ offset: Int64, _ isRight: Bool, _ words: String) throws {
        let date = Timestamp(milliseconds: 1_700_000_000_000)
        let text = "Tue, 14 Nov 2023 22:13:20 GMT"
        let start = Timestamp(milliseconds: date.milliseconds - offset * 1000 - 1000)
        let found = ServerCheckup.clock(text, from: start, to: Timestamp(milliseconds: start.milliseconds + 1000))
        #expect(found.map(\.isRight) == [isRight])
        #expect(found.first?.words.contains(words) == true || words.isEmpty, "\(found)")
        #expect(ServerCheckup.clock(nil, from: start, to: start).isEmpty)
    }
}
