import Foundation
import NIOCore
import PushModel
import Testing
import Undisturbed

@testable import PushlineSimulator

@Suite("The control address and what it keeps", .undisturbed)
struct ControlTests {
    @Test func faultsAreAddedAsJSON() async throws {
        try await withClient { client in
            let control = try client.simulator.urls.control
            #expect(try await client.send("GET", control + "/healthz").status == 200)
            let added = try await client.send(
                "POST",
                control + "/faults",
                body: """
                    [{"service":"apns","status":503,"retryAfter":3,"count":1},
                     {"service":"apns","reason":"Unregistered","timestamp":7,"token":"abab","count":1,"latency":5}]
                    """
            )
            #expect(added.status == 201)
            #expect(added.json["ids"] as? [Int] == [1, 2])
            let token = try await client.providerToken()
            let first = try await client.push(authorization: token)
            #expect(first.status == 503)
            #expect(first.headers["retry-after"] == "3")
            let left = try await client.send("GET", control + "/faults")
            let faults = try #require(
                JSONSerialization.jsonObject(with: Data(left.body.utf8)) as? [[String: Any]]
            )
            #expect(faults.map { $0["left"] as? Int } == [0, 1])
            #expect(faults.map { $0["hits"] as? Int } == [1, 0])
            #expect(faults[1]["reason"] as? String == "Unregistered")
            #expect(try await client.push(authorization: token).json["timestamp"] as? Int == 7)
        }
    }

    @Test func aRemovedFaultKeepsItsCount() async throws {
        try await withClient { client in
            let control = try client.simulator.urls.control
            client.simulator.inject(SimulatorFault(.answer(status: 503), pns: .apns))
            client.simulator.inject(SimulatorFault(.delay, pns: .fcm, latency: 1))
            let token = try await client.providerToken()
            for _ in 0..<2 { _ = try await client.push(authorization: token) }
            #expect(try await client.send("DELETE", control + "/faults/1").status == 204)
            #expect(try await client.send("DELETE", control + "/faults/3").status == 404)
            #expect(try await client.push(authorization: token).status == 200)
            let reply = try await client.send("GET", control + "/faults")
            let faults = try #require(JSONSerialization.jsonObject(with: Data(reply.body.utf8)) as? [[String: Any]])
            #expect(faults.map { $0["hits"] as? Int } == [2, 0])
            #expect(faults.map { $0["left"] as? Int } == [0, nil])
        }
    }

    @Test(arguments: [
        (#"{"action":"reset"}"#, SimulatorFault.Action.reset),
        (#"{"action":"refuse"}"#, .refuse),
        (#"{"action":"close"}"#, .close),
        (#"{"action":"silence"}"#, .silence),
        (#"{"action":"swallow"}"#, .swallow),
        (#"{"action":"garbage"}"#, .garbage),
        (#"{"action":"mute"}"#, .mute),
        (#"{"action":"plain"}"#, .plain),
        (#"{"action":"expiredCertificate"}"#, .expiredCertificate),
        (#"{"latency":20}"#, .delay),
        (#"{"action":"goaway"}"#, .goAway()),
        (
            #"{"action":"goaway","reason":"IdleTimeout","graceful":true}"#,
            .goAway(reason: "IdleTimeout", graceful: true)
        ),
        (#"{"action":"settings","maxConcurrentStreams":5}"#, .settings(maxConcurrentStreams: 5)),
        (#"{"action":"tokenEndpoint"}"#, .tokenEndpoint(status: 400, error: "invalid_grant")),
        (#"{"action":"tokenEndpoint","status":500,"error":"e"}"#, .tokenEndpoint(status: 500, error: "e")),
        (#"{"reason":"dropped"}"#, .answer(reason: "dropped")),
        (
            #"{"status":429,"retryAfter":60,"retryAfterForm":"date"}"#,
            .answer(status: 429, retryAfter: .date(seconds: 60))
        ),
    ])
    func everyActionHasAJSONForm(text: String, action: SimulatorFault.Action) throws {
        let coding = try JSONDecoder().decode(FaultCoding.self, from: Data(text.utf8))
        #expect(coding.fault.action == action)
        let again = try JSONEncoder().encode(coding)
        #expect(try JSONDecoder().decode(FaultCoding.self, from: again).fault == coding.fault)
    }

    @Test(
        arguments: [
            ("{", nil), (#"{"nonsense":1}"#, "nonsense"), (#"{"id":1,"action":"reset"}"#, "id"),
            (#"{"hits":1,"action":"reset"}"#, "hits"), (#"{"action":"mute","latency":5}"#, "latency"),
            (#"{"action":"explode"}"#, "explode"), (#"{"reason":"Nope"}"#, "Nope"), ("{}", "reason"),
            (#"{"action":"settings"}"#, "maxConcurrentStreams"), (#"{"action":"reset","share":2}"#, "share"),
            (#"{"action":"reset","count":0}"#, "count"), (#"{"action":"reset","service":"mpns"}"#, "service"),
            (#"{"status":99}"#, "status"), (#"[{"action":"reset"},{"latency":-1}]"#, "latency"),
        ] as [(String, String?)]
    )
    func badFaultsAreRefusedByMember(text: String, member: String?) async throws {
        try await withClient { client in
            let reply = try await client.send("POST", try client.simulator.urls.control + "/faults", body: text)
            #expect(reply.status == 400)
            if let member { #expect(reply.body.contains(member)) }
            #expect(try await client.send("GET", try client.simulator.urls.control + "/faults").body == "[]")
        }
    }

    /// Reads `/received` with this query.
    static func received(_ client: Client, _ query: String) async throws -> [[String: Any]] {
        let reply = try await client.send("GET", try client.simulator.urls.control + "/received" + query)
        #expect(reply.status == 200)
        return try #require(JSONSerialization.jsonObject(with: Data(reply.body.utf8)) as? [[String: Any]])
    }

    @Test func receivedRequestsAreListedAndFiltered() async throws {
        try await withClient { client in
            let hostile = "a \"b\" \\ \u{7} <&> 😀 \u{2028}"
            let payload = try JSONEncoder().encode(["aps": ["alert": hostile]])
            let body = String(decoding: payload, as: UTF8.self)
            let token = try await client.providerToken()
            _ = try await client.push(headers: ["apns-collapse-id": "c"], authorization: token, body: body)
            let access = try await client.fcmToken()
            _ = try await client.message(FaultTests.message, authorization: access)
            _ = try await client.push(headers: ["apns-id": "x"], authorization: token)

            let all = try await Self.received(client, "")
            #expect(all.map { $0["service"] as? String } == ["apns", "fcm", "apns"])
            #expect(all.map { $0["status"] as? Int } == [200, 200, 400])
            #expect(all[0]["body"] as? String == body)
            #expect((all[0]["headers"] as? [String: String])?["apns-collapse-id"] == "c")
            #expect((all[0]["headers"] as? [String: String])?["authorization"] == "bearer " + token)
            #expect(all[2]["reason"] as? String == "BadMessageId")

            let suffix = Client.deviceToken.suffix(8).uppercased()
            #expect(try await Self.received(client, "?token=\(suffix)").count == 2)
            #expect(try await Self.received(client, "?token=device-1&service=fcm").count == 1)
            #expect(try await Self.received(client, "?token=device-1&service=wns").isEmpty)
            #expect(try await Self.received(client, "?since=1").count == 2)
            #expect(try await Self.received(client, "?limit=1").count == 1)
            let time = try #require(all[2]["time"] as? String)
            #expect(time.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/) != nil)
            let since = try await Self.received(client, "?since=\(time)")
            #expect(since.contains { $0["index"] as? Int == 2 })
            #expect(try await Self.received(client, "?since=2099-01-01T00:00:00Z").isEmpty)
            for bad in ["?since=x", "?service=adm", "?limit=0", "?tokens=x"] {
                let reply = try await client.send("GET", try client.simulator.urls.control + "/received" + bad)
                #expect(reply.status == 400)
            }
        }
    }

    @Test func aLargeAnswerIsWholeWhereTheConnectionEndsWithIt() async throws {
        try await withClient { client in
            let reason = String(repeating: "x", count: 12 << 20)
            client.simulator.inject(SimulatorFault(.answer(reason: reason), pns: .apns, count: 1))
            let url = try client.simulator.urls.control + "/faults"
            let reply = try await client.send("GET", url, headers: [("connection", "close")])
            #expect(reply.body.utf8.count > reason.utf8.count)
        }
    }

    @Test func deliveriesListEveryAcceptedPush() async throws {
        try await withClient { client in
            let provider = try await client.providerToken()
            let id = "0f8fad5b-d9cb-469f-a165-708677289501"
            let titled = #"{"aps":{"alert":{"title":"one \"1\"","body":"x"}}}"#
            _ = try await client.push(headers: ["apns-id": id], authorization: provider, body: titled)
            client.simulator.inject(SimulatorFault(.answer(status: 503), pns: .apns, count: 1))
            _ = try await client.push(authorization: provider)
            let access = try await client.fcmToken()
            for _ in 0..<2 { _ = try await client.message(FaultTests.message, authorization: access) }
            let token = try #require(try await client.wnsToken().json["access_token"] as? String)
            client.simulator.inject(SimulatorFault(.answer(reason: "dropped"), pns: .wns, count: 1))
            let toast = #"<toast><visual><text id="1">hi</text></visual></toast>"#
            for _ in 0..<2 { _ = try await client.toast(authorization: token, body: toast) }
            let headers = ["apns-collapse-id": "c"]
            _ = try await client.push(headers: headers, authorization: provider, body: #"{"aps":{}}"#)

            let control = try client.simulator.urls.control
            let reply = try await client.send("GET", control + "/deliveries?since=0&limit=9")
            let lines = try reply.body.split(separator: "\n").map {
                try #require(JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
            }
            #expect(lines.map { $0["index"] as? Int } == [0, 1, 2, 3, 4])
            #expect(lines.map { $0["service"] as? String } == ["apns", "fcm", "fcm", "wns", "apns"])
            #expect(lines.map { $0["marker"] as? String } == [#"one \"#, "hello", "hello", "hi", "c"])
            #expect(lines[0]["id"] as? String == id)
            #expect(lines[0]["token"] as? String == Client.deviceToken)
            #expect((lines[1]["id"] as? String)?.count == 16)
            #expect(lines[1]["id"] as? String == lines[2]["id"] as? String)
            #expect(lines[1]["token"] as? String == "device-1")
            let last = try await client.send("GET", control + "/deliveries?since=4").body
            #expect(last.hasPrefix(#"{"index":4,"#))
            #expect(try await client.send("GET", control + "/deliveries?since=5").body.isEmpty)
            #expect(try await client.send("GET", control + "/deliveries?until=5").status == 400)
            #expect(try await client.send("POST", control + "/reset").status == 204)
            #expect(try await client.send("GET", control + "/deliveries").body == "{\"dropped\":5}\n")
        }
    }

    @Test func theOldestDeliveriesAreForgottenAtTheLimit() {
        var accepted = AcceptedPushes(maximumSize: 1)
        let body = ByteBuffer(string: #"{"title":"\#(String(repeating: "t", count: 90))"}"#)
        let request = InboundRequest(method: "POST", path: "", fields: [], body: body, bodySize: 0)
        let total = 20_000
        for number in 0..<total { accepted.append(.fcm, token: "device-\(number)", request: request) }
        #expect(accepted.next == total)
        #expect(accepted.first > 0)
        let kept = accepted.pushes(since: 0, limit: .max)
        #expect(kept.map(\.index) == Array(accepted.first..<total))
        #expect(kept.allSatisfy { $0.token == "device-\($0.index)" && $0.marker.utf8.count == 64 })
        #expect(accepted.pushes(since: total - 3, limit: 2).map(\.index) == [total - 3, total - 2])
    }

    @Test func countsIncludeDuplicates() async throws {
        try await withClient { client in
            let token = try await client.providerToken()
            let ids = ["0f8fad5b-d9cb-469f-a165-708677289501", "0f8fad5b-d9cb-469f-a165-708677289502"]
            let other = String(repeating: "cd", count: 32)
            for (id, device) in [(ids[0], Client.deviceToken), (ids[1], Client.deviceToken), (ids[0], other)] {
                _ = try await client.push(token: device, headers: ["apns-id": id], authorization: token)
            }
            #expect(client.simulator.counts.apns.duplicates == 0)
            _ = try await client.push(headers: ["apns-id": ids[0]], authorization: token)
            let reply = try await client.send("GET", try client.simulator.urls.control + "/counts")
            let counts = try JSONDecoder().decode(SimulatorCounts.self, from: Data(reply.body.utf8))
            #expect(counts == client.simulator.counts)
            #expect(counts.apns.duplicates == 1)
            #expect(counts.apns.accepted == 4)
            #expect(counts.apns.distinctTokens == 2)
            #expect(counts.apns.statuses == ["200": 4])
            #expect(counts.next == 4)
        }
    }

    @Test func resetClearsEverything() async throws {
        try await withClient { client in
            let token = try await client.providerToken()
            _ = try await client.push(authorization: token)
            client.simulator.inject(SimulatorFault(.silence))
            let control = try client.simulator.urls.control
            #expect(try await client.send("POST", control + "/reset").status == 204)
            #expect(client.simulator.received().isEmpty)
            #expect(client.simulator.counts.apns == SimulatorCounts.Service())
            #expect(try await client.push(authorization: token).status == 200)
            #expect(client.simulator.received().map(\.index) == [1], "indices go on")
        }
    }

    @Test func onlyTheLatestRequestsAreKeptAndAllAreCounted() async throws {
        try await withClient(SimulatorConfiguration(keepReceived: 3)) { client in
            let token = try await client.providerToken()
            for number in 0..<5 {
                _ = try await client.push(authorization: token, body: #"{"aps":{},"n":\#(number)}"#)
            }
            let kept = client.simulator.received()
            #expect(kept.map(\.index) == [2, 3, 4])
            #expect(kept.map(\.body.last) == ["}", "}", "}"])
            #expect(kept.first?.body.contains(#""n":2"#) == true)
            #expect(client.simulator.counts.apns.requests == 5)
        }
    }

    @Test func wrongPathsAndMethodsAreRefused() async throws {
        try await withClient { client in
            let control = try client.simulator.urls.control
            #expect(try await client.send("GET", control + "/other").status == 404)
            #expect(try await client.send("GET", control + "/reset").status == 405)
            #expect(try await client.send("DELETE", control + "/faults").status == 204)
        }
    }
}

@Suite("Credentials and life", .undisturbed)
struct LifeTests {
    static func folder() -> String {
        FileManager.default.temporaryDirectory.appending(path: "simulator-test-\(UUID().uuidString)").path
    }

    @Test func secretsAreReadableByTheirOwnerOnly() async throws {
        let folder = Self.folder()
        try await withClient(SimulatorConfiguration(folder: folder)) { client in
            let credentials = try client.simulator.credentials
            for file in [
                credentials.apnsKeyFile, credentials.fcmServiceAccountFile, credentials.wnsClientSecretFile,
                folder + "/keys.json",
            ] {
                let attributes = try FileManager.default.attributesOfItem(atPath: file)
                #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600, "\(file)")
            }
            let apps = try String(contentsOfFile: credentials.appsFile, encoding: .utf8)
            #expect(apps.contains("key_file: \"\(credentials.apnsKeyFile)\""))
            #expect(apps.contains("channel_prefixes: [\"\(try client.simulator.urls.wnsChannel)\"]"))
        }
        #expect(FileManager.default.fileExists(atPath: folder + "/ca.pem"), "a folder that was given stays")
        try FileManager.default.removeItem(atPath: folder)
    }

    @Test func aRestartInTheSameFolderKeepsTheKeys() async throws {
        let folder = Self.folder()
        let first = Simulator(SimulatorConfiguration(folder: folder))
        try await first.start()
        let before = try first.credentials
        try await first.stop()
        let second = Simulator(SimulatorConfiguration(folder: folder))
        try await second.start()
        #expect(try second.credentials.apnsKeyPEM == before.apnsKeyPEM)
        #expect(try second.credentials.trustPEM == before.trustPEM)
        #expect(try second.credentials.fcmPrivateKeyPEM == before.fcmPrivateKeyPEM)
        try await second.stop()
        try FileManager.default.removeItem(atPath: folder)
    }

    @Test func stopRemovesTheTemporaryFolderAndMayBeRepeated() async throws {
        let simulator = Simulator()
        #expect(throws: SimulatorError.self) { try simulator.urls }
        try await simulator.start()
        let folder = try simulator.credentials.folder
        #expect(FileManager.default.fileExists(atPath: folder))
        try await simulator.stop()
        try await simulator.stop()
        #expect(!FileManager.default.fileExists(atPath: folder))
    }

    /// What apps declare and devices have registered stays right when the package's simulator is started again.
    @Test func thePackagesSimulatorHasAFixedPortForEverything() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let script = try String(contentsOf: root.appending(path: "deploy/package"), encoding: .utf8)
        let text = try #require(script.firstMatch(of: /--ports ([^ ]+) --control-port [1-9]/)?.1)
        let ports = try SimulatorConfiguration.ports(String(text))
        #expect(Set(ports.keys) == Set(SimulatedService.portNames))
        #expect(!ports.values.contains(0) && Set(ports.values).count == ports.count)
    }

    @Test func aFurtherPortOfAServiceCanBeGiven() async throws {
        let port = try await withSimulator { try #require(URL(string: $0.urls.apnsChannels)?.port) }
        let configuration = SimulatorConfiguration(ports: ["apnsChannels": port])
        let urls = try await withSimulator(configuration) { try $0.urls }
        #expect(urls.apnsChannels == "https://127.0.0.1:\(port)" && urls.apns != urls.apnsChannels)
    }

    @Test(arguments: ["apns", "apns=x", "apns=70000", "adm=1", "channels=1"])
    func otherPortsAreRefused(_ text: String) {
        #expect(throws: SimulatorError.self) { try SimulatorConfiguration.ports(text) }
    }

    @Test func aPortInUseIsAnError() async throws {
        try await withSimulator { simulator in
            let port = try #require(URL(string: simulator.urls.apns)?.port)
            let second = Simulator(SimulatorConfiguration(ports: ["apns": port]))
            await #expect(throws: (any Error).self) { try await second.start() }
        }
    }

    @Test func cancellationEndsAService() async throws {
        let simulator = Simulator()
        try await simulator.start()
        let folder = try simulator.credentials.folder
        await withTaskGroup { group in
            group.addTask { try? await simulator.run() }
            group.cancelAll()
        }
        #expect(!FileManager.default.fileExists(atPath: folder))
    }
}
