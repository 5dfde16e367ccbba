import HTTPTypes
import PushModel
import Store
import Testing
import Undisturbed

@testable import HTTPAPI

/// What a send said, and why its devices failed.
@Suite(.undisturbed) struct JobDetailTests {
    static var options: Harness.Options {
        var options = Harness.Options()
        options.hub = .onlyRegisters
        options.spec.apns = AppSpec.APNs {
            $0.authentication = .token(.init(keyFile: "/k", keyID: "K", teamID: "T"))
            $0.topic = "com.example.app"
        }
        options.spec.fcm = AppSpec.FCM { $0.serviceAccountFile = "/f" }
        return options
    }

    private static let bodies = [
        #"{"title":"Sale","body":"begins <now>","data":{"a":"1","b":"2"}}"#,
        #"{"body":"x","badge":3,"apns":{"targetContent":"t"},"fcm":{"channel":"c"},"services":["apns","fcm"],"priority":"high","ttl":60,"collapse":"k","label":"spring"}"#,
        #"{"native":{"apns":{"payload":{"aps":{"badge":3}},"headers":{"apns-priority":"5"}}},"services":["apns"]}"#,
        #"{"body":"for the others","native":{"fcm":{"message":{"notification":{"title":"é"}}}}}"#,
    ]

    /// What is shown can be sent again, and is what went out.
    @Test(arguments: Self.bodies) func aMessageIsShownAsItWasSent(body: String) async throws {
        try await Harness.run(Self.options) { api async throws in
            let backend = try await api.key(.sender, name: "shop")
            let whole = #"{"to":{"tag":"news"},"# + body.dropFirst()
            let sent = try await api.call(.post, "/api/sends", as: backend, body: whole)
            let job = try #require(sent.json["id"]?.text, "\(sent.text)")
            let shown = try await api.call(.get, "/api/jobs/\(job)/message", as: backend)
            #expect(shown.status == 200, "\(shown.text)")
            #expect(shown.json["emptied"] == .bool(false))
            let message = try #require(shown.json["message"])
            #expect(Self.sorted(message) == Self.sorted(try JSONReader.read(Array(body.utf8))))
            let again = #"{"to":{"tag":"news"},"# + String(decoding: message.bytes, as: UTF8.self).dropFirst()
            let previewed = try await api.call(.post, "/api/sends/preview", as: backend, body: again)
            #expect(previewed.status == 200, "\(previewed.text)")
            func payloads(_ answer: JSONValue) -> [JSONValue?] {
                answer["services"]?.elements.map { $0["payload"] } ?? []
            }
            #expect(payloads(shown.json) == payloads(previewed.json))
            #expect(shown.json["services"]?.elements.isEmpty == false)
        }
    }

    /// Members by their names; numbers and texts as they are.
    private static func sorted(_ value: JSONValue) -> JSONValue {
        switch value {
        case .object(let members):
            .object(members.map { .init($0.name, self.sorted($0.value)) }.sorted { $0.name < $1.name })
        case .array(let values): .array(values.map(self.sorted))
        default: value
        }
    }

    @Test func detailsAreForThoseWhoMaySeeTheJob() async throws {
        try await Harness.run(Self.options) { api async throws in
            let sent = try await api.call(
                .post,
                "/api/sends",
                as: .user("bob"),
                body: #"{"to":{"user":"bob"},"body":"x"}"#
            )
            let job = try #require(sent.json["id"]?.text)
            for part in ["message", "failures"] {
                for caller in [Harness.As.user("bob"), .user("root")] {
                    #expect(try await api.call(.get, "/api/jobs/\(job)/\(part)", as: caller).status == 200)
                }
                #expect(try await api.call(.get, "/api/jobs/\(job)/\(part)").status == 404)
                #expect(try await api.call(.get, "/api/jobs/\(JobID.make())/\(part)").status == 404)
                #expect(try await api.call(.get, "/api/jobs/\(job)/\(part)?x=1", as: .user("bob")).status == 400)
                let root = Harness.As.user("root")
                _ = try await api.register()
                let changes = try await api.call(.get, "/api/jobs?kind=register&limit=1", as: root)
                let change = try #require(changes.json["items"]?.elements.first?["id"]?.text)
                #expect(try await api.call(.get, "/api/jobs/\(change)/\(part)", as: root).status == 404)
            }
        }
    }

    @Test func aMessageOfARemovedUserIsEmptied() async throws {
        var options = Self.options
        options.hub = .takes
        try await Harness.run(options) { api async throws in
            let job = NewJob(
                app: .default,
                work: .send(
                    SendRequest(audience: .tag(try PushModel.Tag("t", .folded)), content: .message(Content.Message()))
                ),
                lifetime: .seconds(60)
            )
            _ = try await api.store.accept([job])
            let answer = try await api.call(.get, "/api/jobs/\(job.id)/message", as: .user("root"))
            #expect(answer.json == .members(["emptied": .bool(true)]))
        }
    }

    @Test func failuresAreCountedByServiceAndReason() async throws {
        try await Harness.run(Self.options) { api async throws in
            for digits in ["12", "34", "56", "78"] {
                _ = try await api.register(handle: String(repeating: digits, count: 32), tags: #"["news"]"#)
            }
            let backend = try await api.key(.sender, name: "shop")
            let send = #"{"to":{"tag":"news"},"body":"x","services":["apns"]}"#
            let accepted = try await api.call(.post, "/api/sends", as: backend, body: send)
            let job = try #require(accepted.json["id"]?.text.flatMap(JobID.init))
            let rows = try await DeadLetterTests.fanOut(api.message(in: .send), api: api).rows
            #expect(rows.count == 4)
            let failures = [
                DeviceFailure(row: rows[0], failure: .unregistered, status: 410, reason: "Unregistered"),
                DeviceFailure(row: rows[1], failure: .unregistered, status: 410, reason: "Unregistered"),
                DeviceFailure(row: rows[2], failure: .unregistered, status: 400, reason: "BadDeviceToken"),
            ]
            let outcome = BatchOutcome(
                key: BatchKey(job: job, pns: .apns, page: 0, attempt: 0),
                accepted: 1,
                failures: failures,
                at: .now
            )
            #expect(try await api.store.record([outcome]) == [true])
            let answer = try await api.call(.get, "/api/jobs/\(job)/failures", as: backend)
            #expect(answer.json["isComplete"] == .bool(true) && answer.json["looked"]?.number == 3, "\(answer.text)")
            let item = try #require(answer.json["items"]?.elements.first)
            #expect(answer.json["items"]?.elements.count == 1)
            #expect(item["service"]?.text == "apns" && item["outcome"]?.text == "unregistered")
            #expect(item["count"]?.number == 3)
            let reasons = item["reasons"]?.elements ?? []
            #expect(reasons.map { $0["reason"]?.text } == ["Unregistered", "BadDeviceToken"])
            #expect(
                reasons.map { $0["count"]?.number } == [2, 1] && reasons.map { $0["status"]?.number } == [410, 400]
            )
            #expect(reasons.first?["example"]?["outcome"]?.text == "unregistered")
            let listed = try await api.call(.get, "/api/jobs?key=shop&unfinished=true", as: .user("root"))
            #expect(listed.status == 200 && listed.json["items"]?.elements.isEmpty == true, "\(listed.text)")
            let all = try await api.call(.get, "/api/jobs?key=shop&unfinished=false", as: .user("root"))
            #expect(all.json["items"]?.elements.count == 1)
            #expect(try await api.call(.get, "/api/jobs?key=other", as: backend).status == 403)
            #expect(try await api.call(.get, "/api/jobs?key=shop", as: backend).status == 200)
            #expect(try await api.call(.get, "/api/jobs?unfinished=yes", as: backend).status == 400)
            #expect(try await api.call(.post, "/api/sends", as: backend, body: send).status == 202)
            func count(_ query: String) async throws -> Int? {
                try await api.call(.get, "/api/jobs?\(query)", as: backend).json["items"]?.elements.count
            }
            #expect(try await count("failures=true") == 1)
            #expect(try await count("failures=false") == 2)
            #expect(try await count("failures=true&unfinished=true") == 0)
            #expect(try await api.call(.get, "/api/jobs?failures=1", as: backend).wrongMembers == ["failures"])
        }
    }
}
