import HTTPTypes
import PushModel
import Store
import Testing
import Undisturbed

@testable import HTTPAPI

/// Sends to Live Activities: what the device would ignore is refused, and the rest has Apple's form.
@Suite(.undisturbed) struct LiveActivitySendTests {
    private static let token = String(repeating: "ab", count: 80)

    private static func send(_ activity: String, _ others: String = "", to: String? = nil) -> String {
        let to = to ?? #"{"handles":[{"service":"apns","handle":"\#(Self.token)"}]}"#
        return #"{"to":\#(to),"liveActivity":\#(activity)\#(others)}"#
    }

    private static let start =
        #""event":"start","contentState":{"gate":7},"alert":{"title":"t"},"attributesType":"Flight","attributes":{"no":"LH1"}"#

    @Test func aStartHasApplesForm() async throws {
        try await Harness.run(NativeSendTests.options) { api async throws in
            let activity =
                "{\(Self.start),"
                + #""staleDate":"2026-11-25T08:00:00Z","relevanceScore":75.5,"timestamp":"2026-11-24T08:00:00+01:00","inputPushToken":true}"#
            let answer = try await api.call(
                .post,
                "/api/sends/preview",
                as: .user("desk"),
                body: Self.send(activity, #","ttl":60"#)
            )
            #expect(answer.status == 200, "\(answer.text)")
            let services = try #require(answer.json["services"]?.elements)
            #expect(services.compactMap { $0["service"]?.text } == ["apns"])
            let headers = services[0]["headers"]
            #expect(headers?["apns-push-type"]?.text == "liveactivity" && headers?["apns-priority"]?.text == "10")
            #expect(headers?["apns-topic"]?.text == "com.example.app.push-type.liveactivity")
            #expect(services[0]["limit"]?.number == 4096 && services[0]["errors"] == nil)
            #expect(
                services[0]["payload"]?.compactText
                    == #"{"aps":{"timestamp":1795503600,"event":"start","content-state":{"gate":7},"stale-date":1795593600,"relevance-score":75.5,"alert":{"title":"t"},"attributes-type":"Flight","attributes":{"no":"LH1"},"input-push-token":1}}"#
            )
        }
    }

    @Test(arguments: [("", "5"), (#","alert":{"body":"b"}"#, "10")])
    func anUpdateIsUrgentWithAnAlert(member: String, priority: String) async throws {
        try await Harness.run(NativeSendTests.options) { api async throws in
            let before = Timestamp.now.seconds
            let activity = #"{"event":"update","contentState":{}\#(member)}"#
            let answer = try await api.call(
                .post,
                "/api/sends/preview",
                as: .user("desk"),
                body: Self.send(activity)
            )
            let shown = try #require(answer.json["services"]?.elements.first, "\(answer.text)")
            #expect(shown["headers"]?["apns-priority"]?.text == priority)
            let time = try #require(shown["payload"]?["aps"]?["timestamp"]?.number)
            #expect((Double(before)...Double(Timestamp.now.seconds)).contains(Double(time)))
            let urgent = try await api.call(
                .post,
                "/api/sends/preview",
                as: .user("desk"),
                body: Self.send(activity, #","priority":"high""#)
            )
            #expect(urgent.json["services"]?.elements.first?["headers"]?["apns-priority"]?.text == "10")
        }
    }

    /// What goes out later must not be older than what goes out before it.
    @Test func aScheduledUpdateHasTheTimeWhenItGoesOut() async throws {
        try await Harness.run(NativeSendTests.options) { api async throws in
            let start = Timestamp.now.advanced(by: .seconds(3600))
            let answer = try await api.call(
                .post,
                "/api/sends",
                as: .user("desk"),
                body: Self.send(#"{"event":"update","contentState":{}}"#, #","at":"\#(start.iso8601)""#)
            )
            let id = try #require(answer.json["id"]?.text.flatMap(JobID.init), "\(answer.text)")
            guard case .send(let send)? = try await api.store.job(id, app: .default)?.work,
                case .native(let native) = send.content
            else { throw StoreError(.corrupt, "no native send") }
            #expect(send.platforms == [.apns] && native.message == nil)
            let body = try #require(native[.apns]).body
            #expect(try JSONReader.read(body)["aps"]?["timestamp"] == .integer(Int(start.seconds)))
        }
    }

    @Test(
        arguments: [
            (#"{"contentState":{}}"#, "", "liveActivity.event"),
            (#"{"event":"begin","contentState":{}}"#, "", "liveActivity.event"),
            (#"{"event":"update"}"#, "", "liveActivity.contentState"),
            (#"{"event":"end","contentState":7}"#, "", "liveActivity.contentState"),
            (#"{"event":"update","contentState":{},"attributes":{}}"#, "", "liveActivity.attributes"),
            (#"{"event":"update","contentState":{},"inputPushToken":true}"#, "", "liveActivity.inputPushToken"),
            (
                #"{"event":"update","contentState":{},"dismissalDate":"2026-11-25T08:00:00Z"}"#, "",
                "liveActivity.dismissalDate"
            ),
            (#"{"event":"end","dismissalDate":1795593600}"#, "", "liveActivity.dismissalDate"),
            (#"{"event":"end","staleDate":"tomorrow"}"#, "", "liveActivity.staleDate"),
            (#"{"event":"end","timestamp":"1950-01-01T00:00:00Z"}"#, "", "liveActivity.timestamp"),
            (#"{"event":"end","relevanceScore":"high"}"#, "", "liveActivity.relevanceScore"),
            (#"{"event":"end","content-state":{}}"#, "", "liveActivity.content-state"),
            (#"{"event":"start","contentState":{},"alert":{}}"#, "", "liveActivity.attributesType"),
            (
                #"{"event":"start","contentState":{},"attributesType":"A","attributes":{}}"#, "", "liveActivity.alert"
            ),
            (
                "{\(Self.start),\"inputPushToken\":true,\"inputPushChannel\":\"YQ==\"}", "",
                "liveActivity.inputPushChannel"
            ),
            ("7", "", "liveActivity"), (#"{"event":"end"}"#, #","title":"t""#, "title"),
            (#"{"event":"end"}"#, #","services":["fcm"]"#, "services"),
            (
                #"{"event":"end","contentState":{"x":"\#(String(repeating: "x", count: 4096))"}}"#, "",
                "liveActivity.contentState"
            ),
        ]
    )
    func theRefusalNamesTheWrongMember(activity: String, others: String, member: String) async throws {
        try await Harness.run(NativeSendTests.options) { api async throws in
            let answer = try await api.call(
                .post,
                "/api/sends",
                as: .user("desk"),
                body: Self.send(activity, others)
            )
            #expect(answer.status == 400, "\(answer.text)")
            #expect(answer.wrongMembers == [member], "\(answer.text)")
            #expect(try await api.store.jobs(JobQuery(app: .default)).items.isEmpty)
        }
    }

    @Test(arguments: [#"{"user":"bob"}"#, #"{"all":true}"#, #"{"handles":[{"service":"fcm","handle":"abc"}]}"#])
    func itGoesToTokensOfActivitiesAlone(to: String) async throws {
        try await Harness.run(NativeSendTests.options) { api async throws in
            let body = Self.send(#"{"event":"end"}"#, to: to)
            let answer = try await api.call(.post, "/api/sends", as: .user("desk"), body: body)
            #expect(answer.status == 400 && answer.wrongMembers == ["to"], "\(answer.text)")
        }
    }

    private static let channel = "dHN0LXNyY2gtY2hubA=="

    @Test func aChannelIsOneTarget() async throws {
        try await Harness.run(NativeSendTests.options) { api async throws in
            let state = String(repeating: "x", count: 4500)
            let body = Self.send(
                #"{"event":"update","contentState":{"x":"\#(state)"}}"#,
                #","ttl":3600"#,
                to: #"{"channel":"\#(Self.channel)"}"#
            )
            let preview = try await api.call(.post, "/api/sends/preview", as: .user("desk"), body: body)
            let shown = try #require(preview.json["services"]?.elements.first, "\(preview.text)")
            #expect(shown["limit"]?.number == 5120 && shown["errors"] == nil)
            #expect(shown["headers"]?["apns-topic"] == nil && shown["headers"]?["apns-expiration"]?.text != "0")
            #expect(shown["headers"]?["apns-push-type"]?.text == "liveactivity")
            let counted = try await api.call(.post, "/api/sends/count", as: .user("desk"), body: body)
            #expect(counted.json["total"]?.number == 1, "\(counted.text)")

            let answer = try await api.call(.post, "/api/sends", as: .user("desk"), body: body)
            #expect(answer.status == 202, "\(answer.text)")
            #expect(answer.json["recipients"]?["kind"]?.text == "handles")
            #expect(answer.json["recipients"]?["count"]?.number == 1)
            let id = try #require(answer.json["id"]?.text.flatMap(JobID.init))
            let job = try #require(try await api.store.job(id, app: .default))
            guard case .send(let send) = job.work, case .native(let native) = send.content else {
                throw StoreError(.corrupt, "no native send")
            }
            #expect(native[.apns]?.kind == .broadcast && send.platforms == [.apns])
            let page = try await api.store.audience(
                AudienceQuery(.recipients(ofJob: job.sequence), app: .default, pns: .apns, limit: 9)
            )
            #expect(page.handles == HandleList([Handle(stored: Self.channel)]))
        }
    }

    @Test(
        arguments: [
            (#"{"channel":"no id"}"#, #""liveActivity":{"event":"end"}"#, "to.channel"),
            (#"{"channel":7}"#, #""liveActivity":{"event":"end"}"#, "to.channel"),
            (#"{"channel":"YQ=="}"#, #""body":"x""#, "to.channel"),
            (#"{"channel":"YQ=="}"#, #""native":{"apns":{"payload":{"aps":{}}}}"#, "to.channel"),
            (#"{"channel":"YQ=="}"#, #""liveActivity":{\#(Self.start)}"#, "liveActivity.event"),
            (#"{"channel":"YQ=="}"#, #""liveActivity":{"event":"end"},"collapse":"c""#, "collapse"),
            (#"{"channel":"YQ==","credential":"watch"}"#, #""liveActivity":{"event":"end"}"#, "to.credential"),
            (#"{"user":"bob","credential":"default"}"#, #""body":"x""#, "to.credential"),
            (#"{"channel":"YQ==","all":true}"#, #""liveActivity":{"event":"end"}"#, "to"),
            (
                #"{"channel":"YQ=="}"#,
                #""liveActivity":{"event":"end","contentState":{"x":"\#(String(repeating: "x", count: 5120))"}}"#,
                "liveActivity.contentState"
            ),
        ]
    )
    func aChannelTakesUpdatesAndEndsAlone(to: String, members: String, member: String) async throws {
        try await Harness.run(NativeSendTests.options) { api async throws in
            let body = #"{"to":\#(to),\#(members)}"#
            let answer = try await api.call(.post, "/api/sends", as: .user("desk"), body: body)
            #expect(answer.status == 400 && answer.wrongMembers == [member], "\(answer.text)")
        }
    }

    @Test func aChannelOfAnotherCredential() async throws {
        var options = NativeSendTests.options
        options.spec.credentials[.apns, try CredentialName("watch")] = options.spec.apns
        try await Harness.run(options) { api async throws in
            let to = #"{"channel":"\#(Self.channel)","credential":"watch"}"#
            let answer = try await api.call(
                .post,
                "/api/sends",
                as: .user("desk"),
                body: Self.send(#"{"event":"end"}"#, to: to)
            )
            #expect(answer.status == 202, "\(answer.text)")
            let id = try #require(answer.json["id"]?.text.flatMap(JobID.init))
            let job = try #require(try await api.store.job(id, app: .default))
            let page = try await api.store.audience(
                AudienceQuery(.recipients(ofJob: job.sequence), app: .default, pns: .apns, limit: 9)
            )
            #expect(page.credentials.counts(of: 1).keys.map(\.name) == ["watch"])
        }
    }

    @Test(arguments: [#"{"user":"bob"}"#, #"{"channel":"YQ=="}"#])
    func usersMayNotSendThem(to: String) async throws {
        try await Harness.run(NativeSendTests.options) { api async throws in
            let body = Self.send(#"{"event":"end"}"#, to: to)
            let answer = try await api.call(.post, "/api/sends", as: .user("alice"), body: body)
            #expect(answer.status == 403, "\(answer.text)")
        }
    }
}
