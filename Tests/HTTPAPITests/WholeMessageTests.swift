import HTTPTypes
import Payloads
import PushModel
import Store
import Testing
import Undisturbed
import Yams

@testable import HTTPAPI

/// The members of a message beside title, body and data, as the API takes them.
@Suite(.undisturbed) struct WholeMessageTests {
    private static func send(_ members: String) -> String { #"{"to":{"user":"bob"},\#(members)}"# }

    @Test func aJobHasTheMembers() async throws {
        try await Harness.run(NativeSendTests.options) { api async throws in
            let body = Self.send(
                #""title":"t","badge":3.0,"sound":null,"apns":{"ttl":60,"collapse":null},"fcm":{"channel":"c"}"#
            )
            let answer = try await api.call(.post, "/api/sends", as: .user("desk"), body: body)
            #expect(answer.status == 202, "\(answer.text)")
            let id = try #require(answer.json["id"]?.text.flatMap(JobID.init))
            guard case .send(let send)? = try await api.store.job(id, app: .default)?.work else {
                return #expect(Bool(false))
            }
            let members = MessageMembers([
                .init("badge", .integer(3)), .init("apns.ttl", .integer(60)), .init("fcm.channel", .string("c")),
            ])
            #expect(send.content == .message(.init(title: "t", members: members)))
            #expect(send.timeToLive(for: .apns) == .seconds(60) && send.timeToLive(for: .fcm) == nil)
        }
    }

    @Test func whatNoServiceTakesIsAWarning() async throws {
        try await Harness.run(NativeSendTests.options) { api async throws in
            let body = Self.send(#""title":"t","thread":"x","web":{"tag":"x"},"fcm":{"directBoot":false}"#)
            let answer = try await api.call(.post, "/api/sends", as: .user("desk"), body: body)
            #expect(answer.status == 202, "\(answer.text)")
            #expect(
                answer.json["warnings"]?.elements.compactMap { $0["member"]?.text } == ["web.tag"],
                "\(answer.text)"
            )
            let preview = try await api.call(.post, "/api/sends/preview", as: .user("desk"), body: body)
            #expect(preview.json["warnings"] == answer.json["warnings"], "\(preview.text)")
            let line = try await api.call(.post, "/api/sends/batch", as: .user("desk"), body: body)
            let said = try JSONReader.read(Array(line.text.utf8.prefix { $0 != 10 }))
            #expect(said["warnings"] == answer.json["warnings"], "\(line.text)")
            let plain = try await api.call(.post, "/api/sends", as: .user("desk"), body: Self.send(#""title":"t""#))
            #expect(plain.json["warnings"] == nil)
        }
    }

    @Test(arguments: [
        (#""title":"t","data":{"k":"v"},"wns":{"raw":"x"}"#, ["title", "data"]),
        (#""body":"b","link":"shop:x","wns":{"tile":true}"#, ["link"]), (#""body":"b","collapse":"c""#, ["collapse"]),
        (#""body":"b","wns":{"tag":"a"}"#, ["wns.tag"]), (#""badge":7"#, []), (#""badge":7,"title":"t""#, ["badge"]),
        (#""titleLocKey":"t","titleLocArgs":["a"]"#, ["titleLocArgs"]), (#""body":"b","sound":"x""#, ["sound"]),
    ])
    func whatWindowsAloneDoesNotGetIsAWarning(_ members: String, _ names: [String]) async throws {
        try await Harness.run(NativeSendTests.options) { api async throws in
            let answer = try await api.call(
                .post,
                "/api/sends",
                as: .user("desk"),
                body: Self.send(members + #","services":["wns"]"#)
            )
            #expect(answer.status == 202, "\(answer.text)")
            let warnings = answer.json["warnings"]?.elements.compactMap { $0["member"]?.text } ?? []
            #expect(warnings == names, "\(answer.text)")
            let all = try await api.call(
                .post,
                "/api/sends",
                as: .user("desk"),
                body: Self.send(members + #","services":["wns","apns"]"#)
            )
            let ofOneService = names.filter { $0.hasPrefix("wns.") }
            #expect(all.json["warnings"]?.elements.compactMap { $0["member"]?.text } ?? [] == ofOneService)
        }
    }

    @Test(arguments: [
        (#""wns":{"badge":7}"#, ["wns"]), (#""wns":{"raw":"x"},"services":["wns"]"#, ["wns"]),
        (#""wns":{"raw":"x"},"native":{"apns":{"payload":{"aps":{}}}}"#, ["apns", "wns"]),
    ])
    func whatStandsForAMessageGoesToItsServiceAlone(_ members: String, _ services: [String]) async throws {
        try await Harness.run(NativeSendTests.options) { api async throws in
            let answer = try await api.call(.post, "/api/sends", as: .user("desk"), body: Self.send(members))
            #expect(answer.status == 202 && answer.json["warnings"] == nil, "\(answer.text)")
            #expect(answer.json["services"]?.elements.compactMap(\.text) == services, "\(answer.text)")
            let body = try StrictMembers(JSONReader.read(Array(Self.send(members).utf8)), known: SendBody.members)
            let named = try SendTarget(body, NativeSendTests.options.spec).services
            #expect(try SendContent.services(body, named: named).map(\.rawValue) == services)
        }
    }

    @Test(
        arguments: [
            (#""title":"t","subtitel":"x""#, "subtitel"), (#""title":"t","fcm":{"chanel":"x"}"#, "fcm.chanel"),
            (#""title":"t","apns":7"#, "apns"), (#""title":"t","badge":"7""#, "badge"), (#""subtitle":"x""#, "body"),
            (#""title":"t","wns":{"raw":"x","badge":1}"#, "wns.raw"),
            (#""title":"t","web":{"renotify":true}"#, "web.renotify"),
            (#""title":"t","link":"https://a/","data":{"link":"x"}"#, "data.link"),
            (#""titleLocKey":"t","services":["web"]"#, "body"), (#""wns":{"tile":true}"#, "body"),
            (#""wns":{"raw":"x"},"services":["wns","apns"]"#, "services"), (#""wns":{"badge":null}"#, "body"),
            (#""title":"t","wns":{"sound":"ding.caf"}"#, "wns.sound"),
            (#""native":{"apns":{"payload":{"aps":{}}}},"sound":"x""#, "sound"),
            (#""title":"t","apns":{"payload":{}}"#, "apns.payload"),
        ]
    )
    func faultsNameTheMember(_ members: String, _ name: String) async throws {
        try await Harness.run(NativeSendTests.options) { api async throws in
            let answer = try await api.call(.post, "/api/sends", as: .user("desk"), body: Self.send(members))
            #expect(answer.status == 400, "\(answer.text)")
            #expect(answer.wrongMembers == [name], "\(answer.text)")
        }
    }

    /// What another service of the app would refuse is not a fault.
    @Test(arguments: [
        (#""data":{"k":"v"},"apns":{"priority":10}"#, "apns.priority"), (#""data":{"aps":"v"}"#, "data.aps"),
    ])
    func handlesAreCheckedForTheirOwnServices(_ members: String, _ name: String) async throws {
        @Sendable func send(_ pns: String, _ handle: String) -> String {
            #"{"to":{"handles":[{"service":"\#(pns)","handle":"\#(handle)"}]},\#(members)}"#
        }
        try await Harness.run(NativeSendTests.options) { api async throws in
            for path in ["/api/sends", "/api/sends/batch"] {
                let answer = try await api.call(.post, path, as: .user("desk"), body: send("fcm", "f"))
                let said = try JSONReader.read(Array(answer.text.utf8.prefix { $0 != 10 }))
                #expect(said["id"]?.text != nil, "\(answer.text)")
                let token = String(repeating: "ab", count: 32)
                let refused = try await api.call(.post, path, as: .user("desk"), body: send("apns", token))
                #expect(refused.text.contains(name), "\(refused.text)")
            }
        }
    }

    @Test(arguments: ServiceFormat.all.map(\.service.rawValue)) func usersMayNotUseWhatOneServiceHas(_ service: String)
        async throws
    {
        try await Harness.run(NativeSendTests.options) { api async throws in
            let body = Self.send(#""title":"t","badge":1,"\#(service)":{"ttl":5}"#)
            #expect(try await api.call(.post, "/api/sends", as: .user("alice"), body: body).status == 403)
            let plain = Self.send(#""title":"t","badge":1"#)
            #expect(try await api.call(.post, "/api/sends", as: .user("alice"), body: plain).status == 202)
        }
    }

    @Test func theDescriptionHasEveryMember() throws {
        let document = try #require(try Yams.compose(yaml: OpenAPIDocument.text))
        for schema in ["SendOfMessage", "SendOfForms", "SendOfLiveActivity", "SendOfBroadcast", "Count"] {
            let found = document["components"]?["schemas"]?[schema]?["properties"]?.mapping?.keys.compactMap(\.string)
            #expect(Set(try #require(found)) == Set(SendBody.members), "\(schema)")
        }
    }
}
