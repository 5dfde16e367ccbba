import Broker
import HTTPTypes
import PushModel
import Store
import Testing
import Undisturbed

@testable import HTTPAPI

/// An app at a glance.
@Suite(.undisturbed) struct OverviewTests {
    @Test func theDeclarationHasNoPaths() async throws {
        var options = Harness.Options()
        options.spec.apns = AppSpec.APNs {
            $0.authentication = .token(.init(keyFile: "/etc/secret/key.p8", keyID: "K", teamID: "T"))
            $0.topic = "com.example.app"
            $0.devicesPerSecond = 500
        }
        options.spec.fcm = AppSpec.FCM { $0.serviceAccountFile = "/etc/secret/f.json" }
        try await Harness.run(options) { api async throws in
            let answer = try await api.call(.get, "/api/app", as: .user("root"))
            #expect(answer.status == 200 && !answer.text.contains("/etc/secret") && !answer.text.contains("_file"))
            #expect(answer.json["services"]?.elements.map { $0["service"]?.text } == ["apns", "fcm"])
            let apns = try #require(answer.json["services"]?.elements.first?["credentials"]?.elements.first)
            #expect(apns["name"]?.text == "default" && apns["topic"]?.text == "com.example.app")
            #expect(apns["devicesPerSecond"]?.number == 500)
            #expect(answer.json["declaration"]?["reserved_tags"]?.elements == [.string("vip-")])
            #expect(try await api.call(.get, "/api/app", as: .user("desk")).status == 403)
            #expect(try await api.call(.get, "/api/overview", as: .user("desk")).status == 403)
        }
    }

    @Test func theOverviewShowsWhatIsUnderWay() async throws {
        var options = Harness.Options()
        options.hub = .onlyRegisters
        try await Harness.run(options) { api async throws in
            let root = Harness.As.user("root")
            let shop = try await api.key(.sender, name: "shop")
            let sent = try await api.call(.post, "/api/sends", as: shop, body: RoleTests.toTag)
            let job = try #require(sent.json["id"]?.text)
            try await api.store.apply(.pause(.begin(.send, app: .default, by: "key:ops")))
            try await api.store.deadLetter(
                IncomingDeadLetter(queue: "q", type: "x", messageID: "m", app: .default, reason: "r", body: [])
            )
            for prefix in ["/api/", "/api/apps/default/"] {
                let answer = try await api.call(.get, "\(prefix)overview", as: root)
                #expect(answer.status == 200, "\(answer.text)")
                let sends = try #require(answer.json["sends"]?["items"]?.elements)
                #expect(sends.map { $0["id"]?.text } == [job] && sends.first?["href"]?.text == "\(prefix)jobs/\(job)")
                #expect(answer.json["sends"]?["isComplete"] == .bool(true))
                let queue = try #require(answer.json["queues"]?.elements.first { $0["name"]?.text == "send" })
                #expect(queue["paused"] == .bool(true) && queue["waiting"]?.number == 1)
                #expect(queue["oldestSeconds"] != nil && queue["pauses"]?.elements.first?["by"]?.text == "key:ops")
                #expect(answer.json["dead"]?["count"]?.number == 1 && answer.json["space"]?["free"] != nil)
            }
            let other = try await api.call(.get, "/api/apps/other/overview", as: root)
            #expect(other.status == 401)
        }
    }

    @Test func theOverviewSaysWhatIsTriedAgainAndWhatEndedBadly() async throws {
        try await Harness.run(JobDetailTests.options) { api async throws in
            let root = Harness.As.user("root")
            _ = try await api.register(tags: #"["news"]"#)
            let shop = try await api.key(.sender, name: "shop")
            func send() async throws -> (job: JobID, message: MessageID) {
                let body = #"{"to":{"tag":"news"},"body":"x","services":["apns"]}"#
                let sent = try await api.call(.post, "/api/sends", as: shop, body: body)
                return (try #require(sent.json["id"]?.text.flatMap(JobID.init)), try await api.message(in: .send))
            }
            let (retried, message) = try await send()
            let rows = try await DeadLetterTests.fanOut(message, api: api).rows
            let outcome = BatchOutcome(
                key: BatchKey(job: retried, pns: .apns, page: 0, attempt: 0),
                retries: [RetryDevice(row: try #require(rows.first), tries: 1, wait: .seconds(60))],
                retryReason: WaitReason("APNs: 503 ServiceUnavailable"),
                at: .now
            )
            #expect(try await api.store.record([outcome]) == [true])
            let (abandoned, dead) = try await send()
            try await api.store.deadLetter(
                IncomingDeadLetter(
                    queue: "q",
                    type: "send",
                    messageID: "\(dead)",
                    app: .default,
                    reason: "cannot be read",
                    body: []
                )
            )
            let now = try await api.call(.get, "/api/overview", as: root).json
            let list = try await api.call(.get, "/api/queues", as: root).json
            for queues in [now["queues"], list["items"]] {
                let queue = try #require(queues?.elements.first { $0["name"]?.text == "deliver.apns" })
                #expect(queue["delayed"]?["reason"]?.text == "APNs: 503 ServiceUnavailable")
                #expect(queue["delayed"]?["seconds"]?.number != nil)
                #expect(queues?.elements.first { $0["name"]?.text == "send" }?["delayed"] == nil)
            }
            #expect(now["ended"]?["abandoned"]?.number == 1 && now["ended"]?["expired"]?.number == 0)
            #expect(now["ended"]?["since"]?.text != nil)
            let shown = try #require(now["sends"]?["items"]?.elements.first)
            #expect(shown["id"]?.text == retried.description && shown["state"]?.text == "retrying")
            #expect(shown["reason"]?.text == "APNs: 503 ServiceUnavailable")
            let failing = try await api.call(.get, "/api/jobs?failures=true", as: root)
            #expect(failing.json["items"]?.elements.map { $0["id"]?.text } == [abandoned.description])
        }
    }

    /// However many look, the store is asked every other second for each app.
    @Test func manyWhoLookShareOneCopy() async throws {
        try await Harness.run { api async throws in
            let root = Harness.As.user("root")
            let answers = try await withThrowingTaskGroup(of: String?.self) { group in
                for _ in 0..<20 {
                    group.addTask { try await api.call(.get, "/api/overview", as: root).json["at"]?.text }
                }
                return try await group.reduce(into: [String]()) { if let at = $1 { $0.append(at) } }
            }
            #expect(answers.count == 20 && Set(answers).count < 20)
        }
    }

    /// An operator of an app sees which processes run, and what in them is the app's own.
    @Test(.timeLimit(.minutes(1))) func theProcessesAreThereWithoutWhatIsOthers() async throws {
        try await Harness.run { api async throws in
            var report = ProcessReport(id: "w", role: "delivery-worker", host: "a", pid: 7, version: "0.2.0")
            report.work = ["default": 3, "other": 9]
            for app in [AppID.default, try AppID("other")] {
                report.breakers.append(.init(app: app, service: "apns", credential: nil, reason: "of \(app)"))
                report.refusals.append(
                    .init(
                        app: app,
                        service: "fcm",
                        credential: "of-\(app)",
                        reason: "invalid_grant",
                        since: Timestamp(milliseconds: 1000)
                    )
                )
                report.endings.append(.init(app: app, setting: "\(app).file", end: Timestamp(milliseconds: 0)))
            }
            report.endings.append(.init(app: nil, setting: "api.certificate_file", end: Timestamp(milliseconds: 0)))
            let message = try OutgoingMessage(report)
            var items: [JSONValue] = []
            while items.isEmpty {
                // It is lost while nobody listens yet.
                _ = await api.broker.publish([message], deadline: .seconds(1))
                let answer = try await api.call(.get, "/api/overview", as: .user("root"))
                #expect(answer.json["broker"]?.text == "connected")
                #expect(answer.json["processes"]?["isComplete"] == .bool(false))
                items = answer.json["processes"]?["items"]?.elements ?? []
                try await Task.sleep(for: .milliseconds(20))
            }
            let item = try #require(items.first)
            #expect(item["role"]?.text == "delivery-worker" && item["state"]?.text == "running")
            #expect(item["pid"]?.number == 7 && item["inHand"]?.number == 3 && item["memory"] == nil)
            #expect(item["breakers"]?.elements.map { $0["reason"]?.text } == ["of default"])
            let refusals = item["refusals"]?.elements ?? []
            #expect(refusals.map { $0["credential"]?.text } == ["of-default"])
            #expect(refusals.first?["since"]?.text == "1970-01-01T00:00:01.000Z")
            #expect(refusals.first?["service"]?.text == "fcm" && refusals.first?["reason"]?.text == "invalid_grant")
            let settings = item["credentials"]?.elements.map { $0["setting"]?.text }
            #expect(settings == ["default.file", "api.certificate_file"])
        }
    }
}
