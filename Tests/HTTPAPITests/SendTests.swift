import Broker
import HTTPTypes
import HummingbirdTesting
import Intake
import PushModel
import Store
import Testing
import Undisturbed

@testable import HTTPAPI

@Suite(.undisturbed) struct SendTests {
    private static let valid = #"{"to":{"user":"bob"},"title":"t","body":"b","data":{"k":"v"}}"#

    @Test func anAcceptedSendIsReturnedAsAJob() async throws {
        try await Harness.run { api async throws in
            let answer = try await api.call(.post, "/api/sends", body: Self.valid)
            #expect(answer.status == 202)
            let id = try #require(answer.json["id"]?.text)
            #expect(answer.headers[.location] == "/api/jobs/\(id)")
            #expect(answer.headers[.job] == id)
            #expect(answer.json["kind"]?.text == "send")
            let job = try await api.call(.get, "/api/jobs/\(id)")
            #expect(job.status == 200)
            #expect(job.json["user"]?.text == "alice")
            #expect(job.json["to"]?.elements.compactMap(\.text) == ["username:bob"])
        }
    }

    @Test func aSendMayStartLater() async throws {
        try await Harness.run { api async throws in
            let start = Timestamp.now.advanced(by: .seconds(300 * 86_400)).iso8601
            let body = #"{"to":{"user":"bob"},"body":"b","ttl":60,"at":"\#(start)"}"#
            let headers = ["Prefer": "wait=30", "Idempotency-Key": "k"]
            let answer = try await api.call(.post, "/api/sends", body: body, headers: headers)
            // Nothing comes of it before its start, so it is not waited for.
            #expect(answer.status == 202 && answer.headers[.preferenceApplied] == nil)
            #expect(answer.json["state"]?.text == "scheduled")
            #expect(answer.json["at"]?.text == start)
            #expect(answer.json["due"]?.text == start)
            let expires = try #require(answer.json["expires"]?.text.flatMap { Timestamp(rfc3339: $0) })
            #expect(try #require(Timestamp(rfc3339: start)).duration(to: expires) == .seconds(60))
            let again = try await api.call(.post, "/api/sends", body: body, headers: headers)
            #expect(again.json["id"]?.text == answer.json["id"]?.text)
            let stopped = try await api.call(.delete, try #require(answer.headers[.location]))
            #expect(stopped.status == 200)
            #expect(stopped.json["state"]?.text == "cancelled")
            #expect(stopped.json["at"]?.text == start)
            #expect(stopped.json["started"] == nil)
        }
    }

    @Test func jobsAreListedByLabel() async throws {
        try await Harness.run { api async throws in
            let body = #"{"to":{"user":"bob"},"body":"b","label":"spring sale"}"#
            let answer = try await api.call(.post, "/api/sends", body: body)
            #expect(answer.json["label"]?.text == "spring sale")
            _ = try await api.call(.post, "/api/sends", body: Self.valid)
            let lines = #"{"to":{"user":"bob"},"body":"b","label":"spring sale"}"#
            _ = try await api.call(.post, "/api/sends/batch", body: lines)
            let found = try await api.call(.get, "/api/jobs?label=spring%20sale")
            #expect(found.json["items"]?.elements.compactMap { $0["label"]?.text } == ["spring sale", "spring sale"])
            #expect(try await api.call(.get, "/api/jobs?label=other").json["items"]?.elements.isEmpty == true)
            #expect(try await api.call(.get, "/api/jobs?label=%20").wrongMembers == ["label"])
        }
    }

    @Test(arguments: ["tomorrow", "2020-01-01T00:00:00Z", "2200-01-01T00:00:00Z", "2026-11-21"])
    func anUnusableStartTimeIsRefused(at: String) async throws {
        try await Harness.run { api async throws in
            let body = #"{"to":{"user":"bob"},"body":"b","at":"\#(at)"}"#
            let answer = try await api.call(.post, "/api/sends", body: body)
            #expect(answer.status == 400)
            #expect(answer.json["errors"]?.elements.first?["member"]?.text == "at")
        }
    }

    @Test func aStartTimeJustPassedMeansNow() async throws {
        try await Harness.run { api async throws in
            let body = #"{"to":{"user":"bob"},"body":"b","at":"\#(Timestamp.now.advanced(by: .seconds(-60)).iso8601)"}"#
            let answer = try await api.call(.post, "/api/sends", body: body)
            #expect(answer.status == 202)
            #expect(answer.json["state"]?.text == "queued")
        }
    }

    @Test func aWaitingRequestGetsTheOutcome() async throws {
        try await Harness.run { api async throws in
            let answer = try await api.call(.post, "/api/sends", body: Self.valid, headers: ["Prefer": "wait=5"])
            #expect(answer.status == 200)
            #expect(answer.headers[.preferenceApplied] == "wait=5")
            #expect(answer.json["state"]?.text == "completed" && answer.json["hubState"] == nil)
            #expect(answer.json["totals"]?["targets"]?.number == 0)
            #expect(answer.json["progress"]?.number == 1)
        }
    }

    @Test func aSendUnderAnAppsPathBelongsToThatApp() async throws {
        try await Harness.run { api async throws in
            let other = Harness.As.basic("alice", "other-password")
            let answer = try await api.call(.post, "/api/apps/other/sends", as: other, body: Self.valid)
            #expect(answer.status == 202)
            let path = try #require(answer.headers[.location])
            #expect(path.hasPrefix("/api/apps/other/jobs/"))
            #expect(try await api.call(.get, path, as: other).status == 200)
            let id = try #require(answer.json["id"]?.text)
            #expect(try await api.call(.get, "/api/jobs/\(id)").status == 404)
            #expect(try await api.call(.get, "/api/jobs/\(id)", as: .user("root")).status == 404)
        }
    }

    @Test(arguments: [
        (#"{}"#, "to"),
        (#"{"to":"bob","body":"x"}"#, "to"),
        (#"{"to":{},"body":"x"}"#, "to"),
        (#"{"to":{"user":"a","tag":"b"},"body":"x"}"#, "to"),
        (#"{"to":{"user":"a\nb"},"body":"x"}"#, "to.user"),
        (#"{"to":{"user":7},"body":"x"}"#, "to.user"),
        (#"{"to":{"usr":"a"},"body":"x"}"#, "to.usr"),
        (#"{"to":{"users":[]},"body":"x"}"#, "to.users"),
        (#"{"to":{"users":"ann"},"body":"x"}"#, "to.users"),
        (#"{"to":{"users":["a",null]},"body":"x"}"#, "to.users[1]"),
        (#"{"to":{"users":["a","b","c\nd"]},"body":"x"}"#, "to.users[2]"),
        (#"{"to":{"users":["a"],"user":"b"},"body":"x"}"#, "to"),
        (#"{"to":{"tag":"a||b"},"body":"x"}"#, "to.tag"),
        (#"{"to":{"tags":[]},"body":"x"}"#, "to.tags"),
        (#"{"to":{"tags":["a",1]},"body":"x"}"#, "to.tags[1]"),
        (#"{"to":{"tags":["a","("]},"body":"x"}"#, "to.tags[1]"),
        (#"{"to":{"tags":["a || b"]},"body":"x"}"#, "to.tags[0]"),
        (#"{"to":{"tags":"a &&"},"body":"x"}"#, "to.tags"),
        (#"{"to":{"tags":""},"body":"x"}"#, "to.tags"),
        (#"{"to":{"tags":7},"body":"x"}"#, "to.tags"),
        (#"{"to":{"tags":"a","tag":"b"},"body":"x"}"#, "to"),
        (#"{"to":{"user":"bob"}}"#, "body"),
        (#"{"to":{"user":"bob"},"body":7}"#, "body"),
        (#"{"to":{"user":"bob"},"body":"x","Body":"y"}"#, "Body"),
        (#"{"to":{"user":"bob"},"body":"x","body":"y"}"#, "body"),
        (#"{"to":{"user":"bob"},"body":"x","melody":"y"}"#, "melody"),
        (#"{"to":{"user":"bob"},"body":"x","data":{"a":1}}"#, "data.a"),
        (#"{"to":{"user":"bob"},"body":"x","data":{"aps":"1"}}"#, "data.aps"),
        (#"{"to":{"user":"bob"},"body":"x","data":{"google.x":"1"}}"#, "data.google.x"),
        (#"{"to":{"user":"bob"},"body":"x","services":"apns"}"#, "services"),
        (#"{"to":{"user":"bob"},"body":"x","services":["adm"]}"#, "services[0]"),
        (#"{"to":{"user":"bob"},"body":"x","services":[]}"#, "services"),
        (#"{"to":{"user":"bob"},"body":"x","priority":"urgent"}"#, "priority"),
        (#"{"to":{"user":"bob"},"body":"x","ttl":-1}"#, "ttl"),
        (#"{"to":{"user":"bob"},"body":"x","ttl":1.5}"#, "ttl"),
        (#"{"to":{"user":"bob"},"body":"x","ttl":1e400}"#, "ttl"),
        (#"{"to":{"user":"bob"},"body":"x","ttl":99999999999999999999999}"#, "ttl"),
        (#"{"to":{"user":"bob"},"body":"x","collapse":""}"#, "collapse"),
        (#"{"to":{"user":"bob"},"body":"x","collapse":"é"}"#, "collapse"),
        (#"{"to":{"user":"bob"},"body":"x","collapse":" a"}"#, "collapse"),
        (#"{"to":{"user":"bob"},"body":"x","collapse":"a "}"#, "collapse"),
        (#"{"to":{"user":"bob"},"body":"x","collapse":" "}"#, "collapse"),
        (#"{"to":{"user":"bob"},"body":"x","label":""}"#, "label"),
        (#"{"to":{"user":"bob"},"body":"x","label":"a\u0000"}"#, "label"),
        (#"{"to":{"user":"bob"},"body":"x","label":7}"#, "label"),
    ])
    func theRefusalNamesTheWrongMember(body: String, member: String) async throws {
        try await Harness.run { api async throws in
            let answer = try await api.call(.post, "/api/sends", as: .user("desk"), body: body)
            #expect(answer.status == 400, "\(answer.text)")
            #expect(answer.wrongMembers == [member], "\(answer.text)")
            #expect(answer.headers[.contentType] == "application/problem+json")
            #expect(try await api.store.jobs(JobQuery(app: .default)).items.isEmpty)
        }
    }

    @Test func aSendMayHaveATagExpression() async throws {
        try await Harness.run { api async throws in
            let body = #"{"to":{"tags":"beta&&!(muted || ios)"},"body":"x"}"#
            let answer = try await api.call(.post, "/api/sends", as: .user("desk"), body: body)
            #expect(answer.status == 202, "\(answer.text)")
            #expect(answer.json["expression"]?.text == "beta && !(muted || ios)")
            #expect(answer.json["to"] == nil)
            let id = try #require(answer.json["id"]?.text.flatMap(JobID.init))
            guard case .send(let send)? = try await api.store.job(id, app: .default)?.work else {
                Issue.record("no send")
                return
            }
            #expect(send.audience == .tags(try TagExpression(parsing: "beta && !(muted || ios)", .folded)))
            // What is one of some tags is told as such, however it was asked.
            let any = try await api.call(
                .post,
                "/api/sends",
                as: .user("desk"),
                body: #"{"to":{"tags":"a || b"},"body":"x"}"#
            )
            #expect(any.json["to"]?.elements.compactMap(\.text) == ["a", "b"])
            #expect(any.json["expression"] == nil)
        }
    }

    /// Of a list one tag is enough, however many there are; a text is an expression.
    @Test(arguments: [(0, 400), (21, 202), (20_000, 202), (20_001, 400)])
    func aListHasOneTo20000Tags(count: Int, status: Int) async throws {
        var options = Harness.Options()
        options.hub = .isSilent
        try await Harness.run(options) { api async throws in
            let names = (0..<count).map { "t\($0)" }
            let list = names.map { "\"\($0)\"" }.joined(separator: ",")
            let body = #"{"to":{"tags":[\#(list)]},"body":"x"}"#
            let answer = try await api.call(.post, "/api/sends", as: .user("desk"), body: body)
            #expect(answer.status == status, "\(answer.text.prefix(300))")
            let counted = try await api.call(.post, "/api/sends/count", as: .user("desk"), body: body)
            #expect(counted.status == (status == 202 ? 200 : status))
            guard status == 202 else {
                #expect(answer.wrongMembers == ["to.tags"] && answer.text.contains("must have 1 to 20000 tags"))
                return
            }
            #expect(answer.json["to"]?.elements.compactMap(\.text) == Array(names.prefix(100)))
            #expect(answer.json["toCount"]?.number == (count > 100 ? Double(count) : nil))
            let id = try #require(answer.json["id"]?.text.flatMap(JobID.init))
            let request = try await api.request(of: id)
            #expect(request.audience.alternatives?.map(\.name) == Array(names.prefix(100)))
            #expect(request.truncatedTags == max(0, count - 100))
        }
    }

    @Test func anErrorInAnExpressionHasItsColumn() async throws {
        try await Harness.run { api async throws in
            for path in ["/api/sends", "/api/sends/count"] {
                let body = #"{"to":{"tags":"beta && (ios"},"body":"x"}"#
                let answer = try await api.call(.post, path, as: .user("desk"), body: body)
                #expect(answer.status == 400)
                #expect(answer.wrongMembers == ["to.tags"])
                #expect(answer.text.contains("to.tags: column 9: this ( is not closed"), "\(answer.text)")
            }
        }
    }

    /// Those that are written, as often as they are: a list of tags has a limit of its own.
    @Test func anExpressionHasAtMost2000Tags() async throws {
        var options = Harness.Options()
        options.setup = .live
        try await Harness.run(options) { api async throws in
            let taken = Array(repeating: "a", count: 2000).joined(separator: "||")
            for (path, status) in [("/api/sends", 202), ("/api/sends/count", 200)] {
                func answer(_ text: String) async throws -> Harness.Answer {
                    let body = #"{"to":{"tags":"\#(text)"},"body":"x"}"#
                    return try await api.call(.post, path, as: .user("desk"), body: body)
                }
                #expect(try await answer(taken).status == status)
                for more in ["||a", " && !b"] {
                    let refused = try await answer(taken + more)
                    #expect(refused.status == 400)
                    #expect(refused.wrongMembers == ["to.tags"])
                    let column = (taken + more).utf8.count
                    #expect(
                        refused.text.contains("to.tags: column \(column): an expression has at most 2000 tags"),
                        "\(refused.text)"
                    )
                }
            }
            #expect(try await api.store.jobs(JobQuery(app: .default)).items.count == 1)
        }
    }

    /// As deep and long as may be.
    @Test func aHugeExpressionIsAcceptedAndShownTruncated() async throws {
        try await Harness.run { api async throws in
            let text = String(repeating: "a&&(b||(", count: 999) + "c" + String(repeating: "))", count: 999)
            let body = #"{"to":{"tags":"\#(text)"},"body":"x"}"#
            let answer = try await api.call(.post, "/api/sends", as: .user("desk"), body: body)
            #expect(answer.status == 202)
            #expect(answer.json["expression"]?.text?.count == 1001)
            let count = try await api.call(.post, "/api/sends/count", as: .user("desk"), body: body)
            #expect(count.status == 200)
        }
    }

    @Test func anAudienceIsCounted() async throws {
        try await Harness.run { api async throws in
            let rows = try (0..<300).map { number in
                ImportedRegistration(
                    pns: number < 200 ? .apns : .fcm,
                    handle: Handle(stored: "h\(number)"),
                    user: try UserName(number < 3 ? "bob" : "u\(number)", .folded),
                    tags: number.isMultiple(of: 3) ? [try Tag("third", .folded)] : []
                )
            }
            _ = try await api.store.importRegistrations(rows, app: .default, sequence: 1, lifetime: nil)
            let third = #"{"to":{"tags":"third"},"body":"as the send has it"}"#
            let answer = try await api.call(.post, "/api/sends/count", as: .user("desk"), body: third)
            #expect(answer.status == 200, "\(answer.text)")
            #expect(answer.json["total"]?.number == 100)
            #expect(answer.json["counts"]?["apns"]?.number == 67)
            #expect(answer.json["counts"]?["fcm"]?.number == 33)
            #expect(answer.json["counts"]?["wns"]?.number == 0)
            #expect(answer.json["isComplete"] == .bool(true))
            let rest = #"{"to":{"tags":"!third && !username:bob"},"services":["apns"]}"#
            let others = try await api.call(.post, "/api/sends/count", as: .user("desk"), body: rest)
            #expect(others.json["total"]?.number == 131)
            #expect(others.json["counts"]?["fcm"] == nil)
            // Nothing was sent, and a user may ask what a user may send.
            #expect(try await api.store.jobs(JobQuery(app: .default)).items.isEmpty)
            let bob = try await api.call(.post, "/api/sends/count", body: #"{"to":{"user":"bob"}}"#)
            #expect(bob.json["total"]?.number == 3)
            #expect(try await api.call(.post, "/api/sends/count", body: third).status == 403)
            let other = Harness.As.basic("alice", "other-password")
            let elsewhere = try await api.call(
                .post,
                "/api/apps/other/sends/count",
                as: other,
                body: #"{"to":{"user":"bob"}}"#
            )
            #expect(elsewhere.json["total"]?.number == 0)
        }
    }

    @Test func countingStopsAtItsTimeLimit() async throws {
        var options = Harness.Options()
        options.configuration.countTime = .zero
        try await Harness.run(options) { api async throws in
            let answer = try await api.call(
                .post,
                "/api/sends/count",
                as: .user("desk"),
                body: #"{"to":{"tags":"!a"}}"#
            )
            #expect(answer.status == 200)
            #expect(answer.json["isComplete"] == .bool(false))
        }
    }

    @Test func thePayloadLimitIsThatOfTheAppsServices() async throws {
        var options = Harness.Options()
        options.spec.wns = AppSpec.WNS {
            $0.clientID = "c"
            $0.clientSecretFile = "f"
            $0.tokenURL = "https://x"
        }
        try await Harness.run(options) { api async throws in
            // 4,500 bytes are too much for APNs, not for WNS.
            let text = String(repeating: "x", count: 4500)
            let fits = try await api.call(.post, "/api/sends", body: #"{"to":{"user":"bob"},"body":"\#(text)"}"#)
            #expect(fits.status == 202)
            let apns = #"{"to":{"user":"bob"},"body":"\#(text)","services":["apns"]}"#
            let large = try await api.call(.post, "/api/sends", body: apns)
            #expect(large.status == 400)
            #expect(large.wrongMembers == ["body"])
        }
    }

    @Test func aRepeatIsTheSameJob() async throws {
        try await Harness.run { api async throws in
            let key = ["Idempotency-Key": "order-1"]
            let first = try await api.call(.post, "/api/sends", body: Self.valid, headers: key)
            let again = try await api.call(
                .post,
                "/api/sends",
                body: Self.valid,
                headers: key.merging(["Prefer": "wait=1"]) { $1 }
            )
            #expect(first.status == 202)
            #expect(again.json["id"] == first.json["id"])
            let changed = try await api.call(.post, "/api/sends", body: Self.valid + " ", headers: key)
            #expect(changed.status == 422)
            #expect(changed.wrongMembers == ["Idempotency-Key"])
            let another = try await api.call(.post, "/api/sends", as: .user("bob"), body: Self.valid, headers: key)
            #expect(another.status == 202)
            #expect(another.json["id"] != first.json["id"])
            #expect(
                try await api.call(.post, "/api/sends", body: Self.valid, headers: ["Idempotency-Key": "a b"]).status
                    == 400
            )
        }
    }

    @Test func concurrentRepeatsAreOneJob() async throws {
        try await Harness.run { api async throws in
            let ids = try await withThrowingTaskGroup(of: String?.self) { group in
                for _ in 0..<12 {
                    group.addTask {
                        try await api.call(.post, "/api/sends", body: Self.valid, headers: ["Idempotency-Key": "k"])
                            .json["id"]?.text
                    }
                }
                return try await group.reduce(into: Set<String?>()) { $0.insert($1) }
            }
            #expect(ids.count == 1 && !ids.contains(nil))
            #expect(try await api.store.jobs(JobQuery(app: .default)).items.count == 1)
        }
    }

    @Test func aRefusedSendDoesNotUseUpItsKey() async throws {
        try await Harness.run { api async throws in
            let key = ["Idempotency-Key": "k"]
            #expect(try await api.call(.post, "/api/sends", body: "{}", headers: key).status == 400)
            #expect(try await api.call(.post, "/api/sends", body: Self.valid, headers: key).status == 202)
        }
    }

    @Test func sendsAreAcceptedAtOnceThoughTheBrokerIsDown() async throws {
        var options = Harness.Options()
        options.configuration.intake.publishTime = .seconds(60)
        try await Harness.run(options) { api async throws in
            // It takes connections and never confirms: whoever waited for it would wait for a minute.
            api.broker.setSilent(true)
            defer { api.broker.setSilent(false) }
            let start = ContinuousClock.now
            let answer = try await api.call(.post, "/api/sends", body: Self.valid)
            #expect(answer.status == 202)
            #expect(ContinuousClock.now - start < .seconds(50))
            api.broker.setUnavailable(true)
            let ready = try await api.call(.get, "/readyz", as: .nobody)
            #expect(ready.status == 200)
            #expect(ready.json["broker"]?.text == "disconnected")
            // What was not published is due for the sweeper.
            let due = try await api.store.takeDue([.send], overdue: .zero, limit: 10)
            let message = try #require(due.first)
            #expect(due.count == 1)
            let claim = try #require(try await api.store.claim(message.id, peeking: false))
            guard case .group(let sends, _) = try await api.store.work(of: claim) else {
                Issue.record("the send is no small one")
                return
            }
            #expect(sends.map(\.id.description) == [answer.json["id"]?.text])
        }
    }

    @Test func aFullBacklogIs503() async throws {
        var options = Harness.Options()
        options.hub = .isSilent
        options.backlog = 1
        try await Harness.run(options) { api async throws in
            #expect(try await api.call(.post, "/api/sends", body: Self.valid).status == 202)
            let full = try await api.call(.post, "/api/sends", body: Self.valid)
            #expect(full.status == 503)
            #expect(full.headers[.retryAfter] != nil)
        }
    }

    @Test func anotherMediaTypeIs415() async throws {
        try await Harness.run { api async throws in
            let form = ["Content-Type": "application/x-www-form-urlencoded"]
            #expect(try await api.call(.post, "/api/sends", body: Self.valid, headers: form).status == 415)
            let vendor = ["Content-Type": "application/vnd.push+json; charset=utf-8"]
            #expect(try await api.call(.post, "/api/sends", body: Self.valid, headers: vendor).status == 202)
        }
    }
}
