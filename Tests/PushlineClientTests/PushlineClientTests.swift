import Foundation
import Testing
import Undisturbed

@testable import PushlineClient

@Suite(.undisturbed) struct PushlineClientTests {
    @Test func sends() async throws {
        let transport = ScriptedTransport(job("queued", isFinal: false))
        let notification = PushNotification(to: .user("ann"), title: "T", data: ["k": "v"], services: [.apns], ttl: 60)
        let found = try await client(transport).send(notification, idempotencyKey: "once")
        #expect(found.id == "0190-x")
        #expect(found.totals?.failed == ["unregistered": 1])
        #expect(abs(found.accepted.timeIntervalSince1970 - 1_795_249_800.123) < 0.0005)
        let request = try #require(await transport.requests.first)
        #expect(await transport.lines == ["POST /api/sends"])
        #expect(request.headers["Authorization"] == "Bearer plk_x")
        #expect(request.headers["Idempotency-Key"] == "once")
        #expect(request.headers["Content-Type"] == "application/json")
        let body = #"{"data":{"k":"v"},"services":["apns"],"title":"T","to":{"user":"ann"},"ttl":60}"#
        #expect(request.body == Data(body.utf8))
    }

    @Test(arguments: [
        (PushNotification.Audience.tag("a"), #"{"tag":"a"}"#), (.users(["ann", "bob"]), #"{"users":["ann","bob"]}"#),
        (.tags(["a", "b"]), #"{"tags":["a","b"]}"#),
        (.matching("a && !b"), #"{"tags":"a && !b"}"#),
        (
            .handles([.init(service: .fcm, handle: "f", reference: "r"), .init(service: .apns, handle: "a")]),
            #"{"handles":[{"handle":"f","reference":"r","service":"fcm"},{"handle":"a","service":"apns"}]}"#
        ),
        (.registrations(["x"]), #"{"registrations":["x"]}"#), (.all, #"{"all":true}"#),
        (.channel("YQ=="), #"{"channel":"YQ=="}"#),
        (.channel("YQ==", credential: "watch"), #"{"channel":"YQ==","credential":"watch"}"#),
    ])
    func audiences(audience: PushNotification.Audience, text: String) throws {
        #expect(try Coding.body(audience) == Data(text.utf8))
    }

    @Test func countsAnAudience() async throws {
        let transport = ScriptedTransport(.json(#"{"total":3,"counts":{"apns":2,"fcm":1},"isComplete":true}"#))
        let count = try await client(transport).count(.matching("a && !b"), services: [.apns, .fcm])
        #expect(count == AudienceCount(total: 3, counts: ["apns": 2, "fcm": 1], isComplete: true))
        #expect(await transport.lines == ["POST /api/sends/count"])
        let body = #"{"services":["apns","fcm"],"to":{"tags":"a && !b"}}"#
        #expect(await transport.requests.first?.body == Data(body.utf8))
    }

    @Test func deadLetters() async throws {
        let letter = #"""
            {"id":"7","href":"/api/dead/7","at":"2026-11-21T08:30:00.123Z","queue":"q","type":"deliver","message":"m",
            "reason":"r","bytes":9,"job":"0190","canReplay":true,"contents":{"devices":2,"handles":["abab…abab"]}}
            """#
        let transport = ScriptedTransport(
            .json(#"{"items":[\#(letter)],"cursor":"7"}"#),
            .json(letter),
            .json(#"{"job":"0190","href":"/api/jobs/0190","devices":2}"#, status: 202),
            HTTPAnswer(status: 204)
        )
        let client = try client(transport)
        #expect(try await client.deadLetters(limit: 5, cursor: "9").items.map(\.id) == ["7"])
        #expect(try await client.deadLetter("7").contents?.devices == 2)
        #expect(try await client.replay(deadLetter: "7").devices == 2)
        try await client.discard(deadLetter: "7")
        #expect(
            await transport.lines == [
                "GET /api/dead?limit=5&cursor=9", "GET /api/dead/7", "POST /api/dead/7/replay", "DELETE /api/dead/7",
            ]
        )
    }

    @Test func queues() async throws {
        let queue = #"""
            {"name":"deliver.apns","paused":true,"pauses":[{"allApps":false,"by":"key:k","since":"2026-11-21T08:30:00.123Z"}],
            "waiting":1,"open":2,"deferred":3}
            """#
        let transport = ScriptedTransport(
            .json(#"{"items":[\#(queue)],"brokerFault":"the broker cannot be reached: no"}"#),
            .json(queue),
            .json(queue)
        )
        let client = try client(transport, app: "shop")
        let found = try await client.queues()
        #expect(found.items.map(\.name) == ["deliver.apns"])
        #expect(found.items[0].open == 2)
        #expect(found.brokerFault == "the broker cannot be reached: no")
        #expect(try await client.pause(queue: "deliver.apns").pauses.first?.by == "key:k")
        _ = try await client.resume(queue: "deliver.apns")
        #expect(
            await transport.lines == [
                "GET /api/apps/shop/queues", "POST /api/apps/shop/queues/deliver.apns/pause",
                "POST /api/apps/shop/queues/deliver.apns/resume",
            ]
        )
    }

    @Test func registersUnderAFreshID() async throws {
        let transport = ScriptedTransport(.json(#""id1""#), HTTPAnswer(status: 200))
        let account = PushlineClient.Credentials.account(name: "ann", password: "p:ä")
        let client = try client(transport, credentials: account)
        let device = Device(service: .wns, handle: "https://x/?a=b&c=+ %", tags: ["t"])
        #expect(try await client.register(device) == "id1")
        #expect(
            await transport.lines == [
                "POST /api/register?handle=https%3A%2F%2Fx%2F%3Fa%3Db%26c%3D%2B%20%25", "PUT /api/register/id1",
            ]
        )
        let request = try #require(await transport.requests.last)
        #expect(request.headers["Authorization"] == "Basic " + Data("ann:p:ä".utf8).base64EncodedString())
        #expect(request.body == Data(#"{"Handle":"https://x/?a=b&c=+ %","Platform":"wns","Tags":["t"]}"#.utf8))
    }

    @Test func registersUnderTheStoredID() async throws {
        let transport = ScriptedTransport(HTTPAnswer(status: 200))
        let id = try await client(transport).register(Device(service: .fcm, handle: "t"), storedID: "old")
        #expect(id == "old")
        #expect(await transport.lines == ["PUT /api/register/old"])
    }

    /// It was deleted on purpose, or is another user's.
    @Test(arguments: [410, 404]) func requestsANewIDWhenTheStoredOneIsRefused(status: Int) async throws {
        let transport = ScriptedTransport(HTTPAnswer(status: status), .json(#""new""#), HTTPAnswer(status: 200))
        let id = try await client(transport).register(Device(service: .fcm, handle: "t"), storedID: "old")
        #expect(id == "new")
        #expect(
            await transport.lines == ["PUT /api/register/old", "POST /api/register?handle=t", "PUT /api/register/new"]
        )
    }

    @Test func retriesARefusedRegistrationOnce() async throws {
        let transport = ScriptedTransport(HTTPAnswer(status: 410), .json(#""new""#), HTTPAnswer(status: 410))
        let error = await #expect(throws: PushlineError.self) {
            try await client(transport).register(Device(service: .fcm, handle: "t"), storedID: "old")
        }
        #expect(error?.code == .gone)
        #expect(await transport.requests.count == 3)
    }

    @Test func aNotificationHasNativePayloads() throws {
        let native: [PushNotification.Service: NativePayload] = [
            .apns: .init(
                payload: ["aps": ["badge": 3, "x": [1.5, true, nil, "é"]]],
                headers: ["apns-push-type": "alert"]
            ),
            .fcm: .init(message: ["data": ["k": "v"]]), .wns: .init(body: "<toast/>"),
        ]
        let notification = PushNotification(to: .user("ann"), native: native, label: "sale")
        let text = String(decoding: try Coding.body(notification), as: UTF8.self)
        #expect(
            text == #"{"label":"sale","native":{"apns":{"headers":{"apns-push-type":"alert"},"#
                + #""payload":{"aps":{"badge":3,"x":[1.5,true,null,"é"]}}},"fcm":{"message":{"data":{"k":"v"}}},"#
                + #""wns":{"body":"<toast/>"}},"to":{"user":"ann"}}"#
        )
        let encoder = JSONEncoder()
        #expect(
            try JSONDecoder().decode([PushNotification.Service: NativePayload].self, from: encoder.encode(native))
                == native
        )
    }

    /// No reader of JSON comes between a file and the request: it would round numbers, and sort members.
    @Test func nativePayloadsThatAreJSONAlreadyAreSentAsTheyAre() async throws {
        let native = #"{ "apns": {"payload": {"z": 12345678901234567890, "aps": {}, "a": 1.0}} }"#
        let transport = ScriptedTransport(job("queued", isFinal: false), .json(#"{"services":[]}"#))
        let notification = PushNotification(to: .user("ann"), label: "sale")
        let client = try client(transport)
        _ = try await client.send(notification, adding: Data(#"{"native":\#(native)}"#.utf8), idempotencyKey: "k")
        _ = try await client.preview(notification, adding: Data(#"{"native":\#(native)}"#.utf8))
        for request in await transport.requests {
            let body = String(decoding: try #require(request.body), as: UTF8.self)
            #expect(body == #"{"label":"sale","to":{"user":"ann"},"native":\#(native)}"#)
        }
    }

    @Test func previews() async throws {
        let transport = ScriptedTransport(
            .json(
                #"{"services":[{"service":"wns","headers":{"X-WNS-Type":"wns/raw"},"payload":"x","size":1,"limit":5000,"credential":"shop"},"#
                    + #"{"service":"mpns","errors":[{"reason":"retired"}]}],"warnings":[{"member":"thread","reason":"is dropped"}]}"#
            )
        )
        let preview = try await client(transport).preview(PushNotification(to: .user("ann"), body: "b"))
        let found = preview.services
        #expect(preview.warnings?.map(\.member) == ["thread"])
        #expect(found.map(\.service) == [.wns, .mpns])
        #expect(found[0].payload == .string("x") && found[0].size == 1 && found[0].errors == nil)
        #expect(found.map(\.credential) == ["shop", nil])
        #expect(found[1].payload == nil && found[1].errors?.map(\.reason) == ["retired"])
        #expect(await transport.lines == ["POST /api/sends/preview"])
    }

    @Test func aNotificationHasMembersOfServices() throws {
        var notification = PushNotification(to: .user("ann"), title: "t")
        notification.badge = 3
        notification.interruptionLevel = .timeSensitive
        notification.actions = [.init(id: "yes", title: "Yes")]
        notification.apns = .init()
        notification.apns?.priority = 5
        notification.fcm = .init()
        notification.fcm?.visibility = .secret
        notification.wns = .init()
        notification.wns?.badge = .glyph("alert")
        notification.web = .init()
        notification.web?.urgency = .veryLow
        let text = String(decoding: try Coding.body(notification), as: UTF8.self)
        #expect(
            text
                == #"{"actions":[{"id":"yes","title":"Yes"}],"apns":{"priority":5},"badge":3,"fcm":{"visibility":"secret"},"#
                + #""interruptionLevel":"time-sensitive","title":"t","to":{"user":"ann"},"web":{"urgency":"very-low"},"#
                + #""wns":{"badge":"alert"}}"#
        )
    }

    @Test func listsWithFilters() async throws {
        let notification =
            #"{"id":7,"user":"ann","richType":"img","isSecure":true,"created":"2026-11-21T08:30:00.000Z","isRead":false}"#
        let transport = ScriptedTransport(
            .json(#"{"items":[],"cursor":"c"}"#),
            .json(#"{"items":[]}"#),
            .json(#"{"items":[\#(notification)]}"#)
        )
        let client = try client(transport, app: "shop")
        let since = Date(timeIntervalSince1970: 1_795_249_800)
        #expect(
            try await client.jobs(
                state: "running",
                user: "a b",
                label: "été",
                failures: true,
                since: since,
                limit: 5
            ).cursor == "c"
        )
        #expect(try await client.deliveries(of: "../x", outcome: "accepted").cursor == nil)
        let found = try await client.richNotifications(user: "ann", sender: "bob", since: since).items
        #expect(found.map(\.id) == [7] && found.allSatisfy { !$0.isRead })
        #expect(
            await transport.lines == [
                "GET /api/apps/shop/jobs?state=running&user=a%20b&label=%C3%A9t%C3%A9&failures=true&since=2026-11-21T08%3A30%3A00.000Z&limit=5",
                "GET /api/apps/shop/jobs/..%2Fx/deliveries?outcome=accepted",
                "GET /api/apps/shop/notifications?user=ann&sender=bob&since=2026-11-21T08%3A30%3A00.000Z",
            ]
        )
    }

    @Test func aUserIsRemovedByAJob() async throws {
        let transport = ScriptedTransport([{ job("queued", isFinal: false) }])
        let client = try client(transport)
        #expect(try await client.removeUser("a#b", isSelf: true).state == "queued")
        #expect(await transport.lines == ["DELETE /api/users/a%23b?self=true"])
    }

    @Test func accountsAndKeys() async throws {
        let created = #""created":"2026-11-21T08:30:00.000Z""#
        let transport = ScriptedTransport(
            .json(#"{"items":[{"name":"ann","role":"user","disabled":false,\#(created)}],"cursor":"1"}"#),
            .json(#"{"name":"ann","role":"user","disabled":false,\#(created)}"#, status: 201),
            .json(#"{"name":"ann","role":"user","disabled":true,\#(created)}"#),
            HTTPAnswer(status: 204),
            .json(#"{"name":"k","role":"sender","secret":"plk_1",\#(created)}"#, status: 201),
            HTTPAnswer(status: 204),
            HTTPAnswer(status: 204)
        )
        let client = try client(transport)
        #expect(try await client.accounts(limit: 1).cursor == "1")
        #expect(try await !client.createAccount(named: "ann", role: "user", password: "long enough").disabled)
        #expect(try await client.changeAccount("ann", disabled: true).disabled)
        try await client.removeAccount("ann", isSelf: true)
        #expect(try await client.createKey(named: "k", role: "sender").secret == "plk_1")
        try await client.revokeKey(named: "k")
        try await client.deleteRegistration("r")
        #expect(
            await transport.lines == [
                "GET /api/accounts?limit=1", "POST /api/accounts", "PATCH /api/accounts/ann",
                "DELETE /api/accounts/ann?self=true", "POST /api/keys", "DELETE /api/keys/k",
                "DELETE /api/registrations/r",
            ]
        )
    }

    @Test func waitsUntilFinal() async throws {
        let transport = ScriptedTransport([
            { job("queued", isFinal: false) },
            { throw PushlineError(.unreachable, "gone for a moment") },
            { HTTPAnswer(status: 503) },
            { job("queued", isFinal: false) },
            { job("completed", isFinal: true) },
        ])
        var states: [String] = []
        let last = try await client(transport).waitForOutcome(of: "0190-x") { states.append($0.state) }
        #expect(last.state == "completed")
        #expect(states == ["queued", "completed"])
    }

    @Test func waitingEndsInTime() async throws {
        let transport = ScriptedTransport(answers: Array(repeating: job("running", isFinal: false), count: 100))
        let last = try await client(transport).waitForOutcome(of: "0190-x", within: .milliseconds(300))
        #expect(last.state == "running")
    }

    @Test func waitingForAnUnknownJobFails() async throws {
        let transport = ScriptedTransport(HTTPAnswer(status: 404))
        let error = await #expect(throws: PushlineError.self) { try await client(transport).waitForOutcome(of: "x") }
        #expect(error?.code == .notFound)
    }

    @Test func manySendsAreAnsweredLineByLine() async throws {
        let text = """
            {"line":1,"status":202,"id":"0190-a"}
            {"line":2,"status":202,"id":"0190-b","repeated":true}
            {"line":3,"status":400,"member":"to.user","detail":"a user name is required","of a later version":1}
            {"line":4,"status":503,"detail":"later"}

            """
        let transport = ScriptedTransport(.json(text))
        let notification = PushNotification(to: .user("ann"), body: "b")
        let lines = try await client(transport).send([notification, notification], idempotencyKey: "k")
        #expect(lines.map(\.isAccepted) == [true, true, false, false])
        #expect(lines.map(\.isPassing) == [false, false, false, true])
        #expect(lines[2].member == "to.user")
        let request = try #require(await transport.requests.first)
        #expect(request.url.path == "/api/sends/batch")
        #expect(request.headers["Idempotency-Key"] == "k")
        #expect(request.headers["Content-Type"] == "application/x-ndjson")
        let line = #"{"body":"b","to":{"user":"ann"}}"# + "\n"
        #expect(request.body == Data((line + line).utf8))
        await #expect(throws: PushlineError.self) {
            try await client(ScriptedTransport(.json("{"))).send([notification], idempotencyKey: "k")
        }
    }
}
