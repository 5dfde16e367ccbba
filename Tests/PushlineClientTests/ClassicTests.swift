import Foundation
import Testing

@testable import PushlineClient

@Suite struct ClassicSendTests {
    private static func taken(_ job: String) -> HTTPAnswer { HTTPAnswer(status: 200, headers: ["pushline-job": job]) }

    @Test(arguments: [
        ("hello", #""hello""#), (#"say "hi" \ there"#, #""say \"hi\" \\ there""#), ("", #""""#),
        ("a\nb\u{1}\u{1F600}", "\"a\\nb\\u0001\u{1F600}\""), ("/", #""/""#),
    ])
    func aMessageIsOneJSONString(text: String, body: String) async throws {
        let transport = ScriptedTransport(Self.taken("0190"))
        let job = try await client(transport, app: "shop").sendMessage(
            text,
            to: "a&b+c #1",
            through: .fcm,
            idempotencyKey: "k"
        )
        #expect(job == "0190")
        let request = try #require(await transport.requests.first)
        #expect(
            await transport.lines == ["POST /api/apps/shop/notifications?pns=fcm&to_tag=a%26b%2Bc%20%231"]
        )
        #expect(request.headers["Content-Type"] == "application/json;charset=utf-8")
        #expect(request.headers["Idempotency-Key"] == "k")
        #expect(request.body == Data(body.utf8))
    }

    @Test func oneCallForEachServiceWhateverBecomesOfTheOthers() async throws {
        let transport = ScriptedTransport([
            { Self.taken("1") }, { HTTPAnswer(status: 500) },
            { throw PushlineError(.unreachable, "no connection") }, { .json("<html/>") },
        ])
        var results: [ClassicResult] = []
        try await client(transport).sendMessage("m", to: "ann", through: [.wns, .fcm, .apns, .mpns]) {
            results.append($0)
        }
        #expect(results.map(\.service) == [.wns, .fcm, .apns, .mpns])
        #expect(results.map(\.job) == ["1", nil, nil, nil])
        #expect(results.map { $0.error?.code } == [nil, .refused, .unreachable, .unexpectedAnswer])
        let keys = await transport.requests.compactMap { $0.headers["Idempotency-Key"] }
        #expect(Set(keys).count == 4)
    }

    @Test func aCancelledSendMakesNoFurtherCalls() async throws {
        let transport = ScriptedTransport([{ throw CancellationError() }, { HTTPAnswer(status: 200) }])
        await #expect(throws: CancellationError.self) {
            try await client(transport).sendMessage("m", to: "ann", through: [.wns, .fcm]) { _ in
                Issue.record("a cancelled call has no result")
            }
        }
        #expect(await transport.requests.count == 1)
    }

    @Test func aRichSendWithoutMembersHasNoBody() async throws {
        let transport = ScriptedTransport(Self.taken("1"), Self.taken("2"))
        let client = try client(transport)
        #expect(try await client.sendRich(idempotencyKey: "k") == "1")
        _ = try await client.sendRich(
            message: "m",
            richType: "url",
            content: "c",
            secure: false,
            services: [.apns, .fcm]
        )
        #expect(await transport.lines == ["POST /api/notifications", "POST /api/notifications"])
        let requests = await transport.requests
        #expect(requests[0].body == nil)
        #expect(requests[0].headers["Idempotency-Key"] == "k")
        let body = #"{"content":"c","message":"m","platforms":["apns","fcm"],"richType":"url","secure":false}"#
        #expect(requests[1].body == Data(body.utf8))
    }
}

@Suite struct RichContentTests {
    private func fetch(_ type: String?, _ body: String, status: Int = 200) async throws -> RichContent {
        let headers = type.map { ["content-type": $0] } ?? [:]
        return try await client(ScriptedTransport(.json(body, status: status, headers: headers))).fetchRich(7)
    }

    @Test func aPictureIsAFile() async throws {
        let transport = ScriptedTransport(.json("png", headers: ["content-type": "Image/PNG; x=1"]))
        #expect(try await client(transport).fetchRich(7) == .file(Data("png".utf8), mediaType: "image/png"))
        #expect(await transport.lines == ["GET /api/notifications/7"])
        #expect(await transport.requests.first?.headers["Accept"] == "*/*")
        #expect(try await self.fetch(nil, "x") == .file(Data("x".utf8), mediaType: "application/octet-stream"))
    }

    @Test func aSecureNotificationIsAText() async throws {
        let type = "application/json; charset=utf-8"
        #expect(
            try await self.fetch(type, #"{"Id":7,"Payload":"say \"hi\"","Read":true}"#)
                == .text(#"say "hi""#, wasRead: true)
        )
    }

    @Test(arguments: [
        #"{"Id":8,"Payload":"x","Read":true}"#, #"{"Id":7,"Payload":null,"Read":true}"#, #"{"a":1}"#, "[", "7",
    ])
    func otherJSONIsAFile(body: String) async throws {
        #expect(
            try await self.fetch("application/json", body)
                == .file(Data(body.utf8), mediaType: "application/json")
        )
    }

    @Test func anEmptyAnswerAndARefusalAreErrors() async throws {
        let empty = await #expect(throws: PushlineError.self) { try await self.fetch("image/png", "") }
        #expect(empty?.code == .unexpectedAnswer)
        let refusal = await #expect(throws: PushlineError.self) { try await self.fetch(nil, "", status: 404) }
        #expect(refusal?.code == .notFound)
    }
}

@Suite struct ReceivedPushTests {
    /// As a push service hands it over: read from JSON.
    private func read(_ text: String) throws -> ReceivedPush {
        let value = try JSONSerialization.jsonObject(with: Data(text.utf8))
        return ReceivedPush(payload: try #require(value as? [String: Any]))
    }

    @Test func payloadsOfTheServer() throws {
        #expect(
            try self.read(
                #"{"aps":{"content-available":1,"sound":""},"richId":"7","richMessage":"Look","richType":"url"}"#
            ) == .rich(id: 7, message: "Look", richType: "url")
        )
        #expect(
            try self.read(#"{"aps":{"content-available":1},"secureId":"2147483647"}"#) == .secure(id: 2_147_483_647)
        )
        #expect(try self.read(#"{"aps":{"alert":"From ann: hi"}}"#) == .text("From ann: hi"))
        #expect(try self.read(#"{"aps":{"alert":{"title":"T","body":"B"}}}"#) == .text("T\nB"))
    }

    @Test(arguments: [
        "{}", #"{"aps":[]}"#, #"{"aps":{"alert":7}}"#, #"{"aps":{"alert":{}}}"#, #"{"richId":"0"}"#,
        #"{"richId":"-1"}"#, #"{"secureId":"2147483648"}"#, #"{"richId":"../7"}"#, #"{"secureId":{"a":1}}"#,
        #"{"richId":null}"#,
    ])
    func anythingElseIsOther(text: String) throws {
        #expect(try self.read(text) == .other)
    }

    @Test func theAppsOwnNotificationBringsThePushAgain() {
        for push in [ReceivedPush.rich(id: 7, message: "Look", richType: "url"), .secure(id: 8)] {
            #expect(ReceivedPush(payload: push.payload) == push)
        }
        #expect(ReceivedPush.rich(id: 7, message: "", richType: "img").number == 7)
        #expect(ReceivedPush.secure(id: 8).number == 8)
        #expect(ReceivedPush.text("t").number == nil && ReceivedPush.text("t").payload.isEmpty)
        #expect(ReceivedPush.other.number == nil && ReceivedPush.other.payload.isEmpty)
    }

    @Test func missingMembersOfARichPushHaveTheClassicValues() throws {
        #expect(try self.read(#"{"richId":"7","richMessage":8}"#) == .rich(id: 7, message: "", richType: "img"))
    }
}
