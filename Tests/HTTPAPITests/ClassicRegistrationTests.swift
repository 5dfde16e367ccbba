import HTTPTypes
import PushModel
import Settings
import Store
import Testing
import Undisturbed

@testable import HTTPAPI

@Suite(.undisturbed) struct ClassicRegistrationTests {
    static let token = String(repeating: "AB01", count: 16)

    @Test func anExistingAppRegistersUnchanged() async throws {
        try await Harness.run { api async throws in
            let issued = try await api.call(.post, "/api/register?handle=\(Self.token)")
            #expect(issued.status == 200)
            #expect(issued.text.first == "\"" && issued.text.last == "\"")
            let id = String(issued.text.dropFirst().dropLast())
            #expect(RegistrationID(id) != nil)
            let body = #"{"Platform":"apns","Handle":"\#(Self.token)","Tags":["news","news"]}"#
            let put = try await api.call(.put, "/api/register/\(id)", body: body)
            #expect(put.status == 200)
            #expect(put.bytes.isEmpty)
            #expect(put.headers[.job] != nil)
            let found = try await api.store.registration(try #require(RegistrationID(id)), app: .default)
            let stored = try #require(found)
            #expect(stored.user?.name == "alice")
            #expect(stored.tags.map(\.name) == ["news", "username:alice"])
            #expect(stored.handle?.text == Self.token.lowercased())
            // The same handle leads to the same id, in whatever letter case.
            let again = try await api.call(.post, "/api/register?handle=\(Self.token)")
            #expect(again.text == issued.text)
            let deleted = try await api.call(.delete, "/api/register/\(id)")
            #expect(deleted.status == 200)
            #expect(deleted.bytes.isEmpty)
            #expect(try await api.call(.delete, "/api/register/\(id)").status == 200)
            #expect(try await api.call(.put, "/api/register/\(id)", body: body).status == 410)
        }
    }

    struct Case: Sendable, CustomTestStringConvertible {
        let name: String
        let body: String
        let status: Int
        let member: String?

        init(_ name: String, _ body: String, _ status: Int, _ member: String? = nil) {
            self.name = name
            self.body = body
            self.status = status
            self.member = member
        }

        var testDescription: String { self.name }
    }

    static let channel = "https://db5.notify.windows.com/?token=Aw%2fB"

    /// The handle of a browser's subscription, as a page makes it.
    static func browser(at host: String) -> String {
        let key = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
        let keys = #"{"p256dh":"\#(key)","auth":"BTBZMqHH6r4Tts7J_aSIgg"}"#
        let text = #"{"endpoint":"https://\#(host)/fcm/send/a:b","expirationTime":null,"keys":\#(keys)}"#
        return Base64URL.encode(Array(text.utf8))
    }

    static let cases: [Case] = [
        Case("any letter case", #"{"pLATFORM":"APNS","hANDLE":"\#(token)","tAGS":null,"Extra":{}}"#, 200),
        Case("gcm", #"{"Platform":"gcm","Handle":"t:1"}"#, 200),
        Case("fcm", #"{"Platform":"fcm","Handle":"t:2","Tags":[]}"#, 200),
        Case("wns", #"{"Platform":"wns","Handle":"\#(channel)"}"#, 200),
        Case("mpns", #"{"Platform":"mpns","Handle":"http://db3.notify.live.net/x"}"#, 200),
        Case("own user tag", #"{"Platform":"fcm","Handle":"t","Tags":["username:alice"]}"#, 200),
        Case("unknown platform", #"{"Platform":"baidu","Handle":"x"}"#, 400, "Platform"),
        Case("no platform", #"{"Handle":"x"}"#, 400, "Platform"),
        Case("platform is a number", #"{"Platform":1,"Handle":"x"}"#, 400, "Platform"),
        Case("no handle", #"{"Platform":"fcm"}"#, 400, "Handle"),
        Case("printed data object", #"{"Platform":"apns","Handle":"{LENGTH=32,BYTES=0XAB}"}"#, 400, "Handle"),
        Case("web", #"{"Platform":"web","Handle":"\#(browser(at: "fcm.googleapis.com"))"}"#, 200),
        Case("forged browser", #"{"Platform":"web","Handle":"\#(browser(at: "evil.example"))"}"#, 400, "Handle"),
        Case("forged channel", #"{"Platform":"wns","Handle":"https://evil.example/"}"#, 400, "Handle"),
        Case("tags are no array", #"{"Platform":"fcm","Handle":"t","Tags":"a"}"#, 400, "Tags"),
        Case("tag is no string", #"{"Platform":"fcm","Handle":"t","Tags":[1]}"#, 400, "Tags[0]"),
        Case("illegal tag", #"{"Platform":"fcm","Handle":"t","Tags":["a","b c"]}"#, 400, "Tags[1]"),
        Case("an expression", #"{"Platform":"fcm","Handle":"t","Tags":["a||b"]}"#, 400, "Tags[0]"),
        Case("own sender tag", #"{"Platform":"fcm","Handle":"t","Tags":["from:alice"]}"#, 200),
        Case("another's sender tag", #"{"Platform":"fcm","Handle":"t","Tags":["from:bob"]}"#, 403),
        Case("another's sender tag, disguised", #"{"Platform":"fcm","Handle":"t","Tags":["FROM:bob"]}"#, 403),
        Case("own sender tag, in other letters", #"{"Platform":"fcm","Handle":"t","Tags":["From:ALICE"]}"#, 200),
        Case("nobody's sender tag", #"{"Platform":"fcm","Handle":"t","Tags":["from:"]}"#, 403),
        Case("another's user tag", #"{"Platform":"fcm","Handle":"t","Tags":["username:bob"]}"#, 403),
        Case("another's, disguised", #"{"Platform":"fcm","Handle":"t","Tags":["UserName:bob"]}"#, 403),
        Case("reserved", #"{"Platform":"fcm","Handle":"t","Tags":["VIP-1"]}"#, 403),
        Case("no JSON", #"{"Platform""#, 400),
        Case("no object", "[]", 400, ""),
    ]

    @Test func everyKindOfBodyGetsItsStatus() async throws {
        try await Harness.run { api async throws in
            for test in Self.cases {
                let id = String(try await api.call(.post, "/api/register").text.dropFirst().dropLast())
                let answer = try await api.call(.put, "/api/register/\(id)", body: test.body)
                #expect(answer.status == test.status, "\(test.name): \(answer.text)")
                if test.status == 200 {
                    #expect(answer.bytes.isEmpty, "\(test.name)")
                } else {
                    #expect(answer.headers[.contentType] == "application/problem+json")
                    #expect(answer.wrongMembers.first == test.member, "\(test.name): \(answer.text)")
                }
            }
        }
    }

    @Test func tagsAreCheckedBeforeOwnership() async throws {
        try await Harness.run { api async throws in
            let id = try await api.register(as: .user("bob"))
            let stolen = #"{"Platform":"fcm","Handle":"mine","Tags":["username:bob"]}"#
            let forbidden = try await api.call(.put, "/api/register/\(id)", body: stolen)
            #expect(forbidden.status == 403)
            #expect(forbidden.text.contains("username:bob"))
            #expect(try await api.call(.put, "/api/register/not an id", body: stolen).status == 403)
            let plain = #"{"Platform":"fcm","Handle":"mine"}"#
            #expect(try await api.call(.put, "/api/register/\(id)", body: plain).status == 404)
            #expect(try await api.call(.put, "/api/register/never-handed-out", body: stolen).status == 403)
            #expect(try await api.call(.delete, "/api/register/\(id)").status == 404)
        }
    }

    @Test(arguments: PushModel.Tag.Owned.allCases) func anOwnedTagIsRefusedForOtherUsers(owned: PushModel.Tag.Owned)
        async throws
    {
        try await Harness.run { api async throws in
            let id = try await api.register()
            for (tag, status) in [
                ("\(owned.rawValue)alice", 200), ("\(owned.rawValue)bob", 403),
                ("\(owned.rawValue.uppercased())BOB", 403),
                ("\(owned.rawValue)Alice", 200),
            ] {
                let body = #"{"Platform":"apns","Handle":"\#(Self.token)","Tags":["\#(tag)"]}"#
                let answer = try await api.call(.put, "/api/register/\(id)", body: body)
                #expect(answer.status == status, "\(tag)")
                #expect(status == 200 || answer.text.contains("\\\"\(tag.lowercased())\\\""), "\(answer.text)")
            }
        }
    }

    /// An app that moves here keeps the id that another backend gave it.
    @Test func anUnknownIDIsRegistered() async throws {
        try await Harness.run { api async throws in
            let id = "1234567890123456789-1234567890123456789-1"
            let body = #"{"Platform":"apns","Handle":"\#(Self.token)","Tags":["news"]}"#
            // To delete it first changes nothing.
            #expect(try await api.call(.delete, "/api/register/\(id)").status == 404)
            #expect(try await api.call(.put, "/api/register/\(id)", body: body).status == 200)
            let stored = try await api.store.registration(try #require(RegistrationID(id)), app: .default)
            #expect(stored?.state == .live)
            #expect(stored?.tags.map(\.name) == ["news", "username:alice"])
            #expect(try await api.call(.post, "/api/register?handle=\(Self.token)").text == "\"\(id)\"")
            let other = #"{"Platform":"fcm","Handle":"mine"}"#
            #expect(try await api.call(.put, "/api/register/\(id)", as: .user("bob"), body: other).status == 404)
            #expect(try await api.call(.delete, "/api/register/\(id)").status == 200)
            #expect(try await api.call(.put, "/api/register/\(id)", body: body).status == 410)
        }
    }

    @Test(arguments: ["/API", "/Api", "/api", "/api/apps/default", "/API/Apps/default"])
    func theClassicPathsIgnoreLetterCase(prefix: String) async throws {
        try await Harness.run { api async throws in
            let body = #"{"Platform":"apns","Handle":"\#(Self.token)"}"#
            for (method, path, status) in [
                (HTTPRequest.Method.post, "/Register", 200), (.post, "/register/", 200),
                (.post, "/REGISTER/?handle=x", 200), (.put, "/Register/one", 200), (.put, "/register/one/", 200),
                (.get, "/Register/one", 405), (.delete, "/rEGISTER/one/", 200), (.put, "/register/One", 200),
                (.delete, "/REGISTER/One/", 200), (.post, "/Notifications/?PNS=apns&To_Tag=bob", 200),
                (.post, "/register//", 404), (.post, "/registers/", 404),
            ] {
                let answer = try await api.call(method, prefix + path, body: method == .put ? body : nil)
                #expect(answer.status == status, "\(method) \(path): \(answer.text)")
            }
            #expect(try await api.call(.get, prefix + "/NOTIFICATIONS/77").text.contains("no such notification"))
            // Ids are exact, and each was deleted on purpose.
            for id in ["one", "One"] {
                #expect(try await api.call(.put, "/api/register/\(id)", body: body).status == 410)
            }
            #expect(try await api.call(.put, "/api/register/ONE", body: body).status == 200)
        }
    }

    @Test func otherPathsAndNamesAreCaseSensitive() async throws {
        try await Harness.run { api async throws in
            for path in [
                "/api/Jobs", "/api/jobs/", "/Healthz", "/healthz/", "/api/Registrations", "/api/apps/default/Jobs",
            ] {
                #expect(try await api.call(.get, path).text.contains("no such path"), "\(path)")
            }
            #expect(try await api.call(.post, "/api/apps/DEFAULT/Register").text.contains("no such app"))
        }
    }

    @Test func aRegistrationPassesToTheNextUserOfThePhone() async throws {
        try await Harness.run { api async throws in
            let id = try await api.register(as: .user("alice"), handle: Self.token, tags: #"["a"]"#)
            let body = #"{"Platform":"apns","Handle":"\#(Self.token)","Tags":["b"]}"#
            #expect(try await api.call(.put, "/api/register/\(id)", as: .user("bob"), body: body).status == 200)
            let stored = try await api.store.registration(try #require(RegistrationID(id)), app: .default)
            #expect(stored?.tags.map(\.name) == ["b", "username:bob"])
        }
    }

    @Test func anUnescapedChannelInTheQueryIsRead() async throws {
        try await Harness.run { api async throws in
            let id = try await api.register(platform: "wns", handle: Self.channel)
            let found = try await api.call(.post, "/api/register?handle=\(Self.channel)")
            #expect(found.text == "\"\(id)\"")
        }
    }

    @Test(arguments: ["/api/register?handle=%7BLENGTH=32,BYTES=0X12%7D", "/api/register?handle={LENGTH=32}"])
    func aPrintedObjectIsRefusedAsAHandle(path: String) async throws {
        try await Harness.run { api async throws in
            let answer = try await api.call(.post, path)
            #expect(answer.status == 400)
            #expect(answer.wrongMembers == ["Handle"])
        }
    }

    @Test func aRegistrationWithoutAHubAnswerIs503() async throws {
        var options = Harness.Options()
        options.hub = .isSilent
        options.configuration.settings.classicWait = .milliseconds(100)
        try await Harness.run(options) { api async throws in
            let late = try await api.call(.post, "/api/register")
            #expect(late.status == 503)
            #expect(late.headers[.retryAfter] != nil)
            #expect(late.headers[.job] != nil)
            let async = try await api.call(.post, "/api/register", headers: ["Prefer": "respond-async"])
            #expect(async.status == 202)
            #expect(async.headers[.preferenceApplied] == "respond-async")
            #expect(async.headers[.location]?.hasPrefix("/api/jobs/") == true)
            let waited = try await api.call(.delete, "/api/register/x", headers: ["Prefer": "wait=0"])
            #expect(waited.status == 202)
        }
    }

    @Test func aLostEventDelaysTheAnswerOnlyBriefly() async throws {
        var options = Harness.Options()
        options.hub = .saysNothing
        options.configuration.settings.classicWait = .seconds(60)
        try await Harness.run(options) { api async throws in
            let start = ContinuousClock.now
            #expect(try await api.call(.post, "/api/register").status == 200)
            #expect(ContinuousClock.now - start < .seconds(40))
        }
    }

    @Test func aKeyCannotRegisterDevices() async throws {
        try await Harness.run { api async throws in
            let key = try await api.key(.operator)
            #expect(try await api.call(.post, "/api/register", as: key).status == 403)
        }
    }
}
