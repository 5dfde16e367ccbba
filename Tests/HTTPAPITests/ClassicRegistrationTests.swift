import HTTPTypes
import PushModel
import Store
import Testing

@testable import HTTPAPI

@Suite struct ClassicRegistrationTests {
    static let token = String(repeating: "AB01", count: 16)

    @Test func anAppRegistersAsItAlwaysDid() async throws {
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
        Case("forged channel", #"{"Platform":"wns","Handle":"https://evil.example/"}"#, 400, "Handle"),
        Case("tags are no array", #"{"Platform":"fcm","Handle":"t","Tags":"a"}"#, 400, "Tags"),
        Case("tag is no string", #"{"Platform":"fcm","Handle":"t","Tags":[1]}"#, 400, "Tags[0]"),
        Case("illegal tag", #"{"Platform":"fcm","Handle":"t","Tags":["a","b c"]}"#, 400, "Tags[1]"),
        Case("an expression", #"{"Platform":"fcm","Handle":"t","Tags":["a||b"]}"#, 400, "Tags[0]"),
        Case("another's user tag", #"{"Platform":"fcm","Handle":"t","Tags":["username:bob"]}"#, 403),
        Case("another's, disguised", #"{"Platform":"fcm","Handle":"t","Tags":["UserName:bob"]}"#, 403),
        Case("reserved", #"{"Platform":"fcm","Handle":"t","Tags":["VIP-1"]}"#, 403),
        Case("no JSON", #"{"Platform""#, 400),
        Case("no object", "[]", 400, ""),
    ]

    @Test func everyBodyHasItsAnswer() async throws {
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

    @Test func tagsComeBeforeOwnership() async throws {
        try await Harness.run { api async throws in
            let id = try await api.register(as: .user("bob"))
            let stolen = #"{"Platform":"fcm","Handle":"mine","Tags":["username:bob"]}"#
            let forbidden = try await api.call(.put, "/api/register/\(id)", body: stolen)
            #expect(forbidden.status == 403)
            #expect(forbidden.text.contains("username:bob"))
            #expect(try await api.call(.put, "/api/register/not an id", body: stolen).status == 403)
            let plain = #"{"Platform":"fcm","Handle":"mine"}"#
            #expect(try await api.call(.put, "/api/register/\(id)", body: plain).status == 404)
            #expect(try await api.call(.put, "/api/register/never-handed-out", body: plain).status == 404)
            #expect(try await api.call(.delete, "/api/register/\(id)").status == 404)
        }
    }

    @Test func aRegistrationPassesToWhoSignsInOnTheSamePhone() async throws {
        try await Harness.run { api async throws in
            let id = try await api.register(as: .user("alice"), handle: Self.token, tags: #"["a"]"#)
            let body = #"{"Platform":"apns","Handle":"\#(Self.token)","Tags":["b"]}"#
            #expect(try await api.call(.put, "/api/register/\(id)", as: .user("bob"), body: body).status == 200)
            let stored = try await api.store.registration(try #require(RegistrationID(id)), app: .default)
            #expect(stored?.tags.map(\.name) == ["b", "username:bob"])
        }
    }

    @Test func aChannelPastedIntoTheQueryIsFound() async throws {
        try await Harness.run { api async throws in
            let id = try await api.register(platform: "wns", handle: Self.channel)
            let found = try await api.call(.post, "/api/register?handle=\(Self.channel)")
            #expect(found.text == "\"\(id)\"")
        }
    }

    @Test(arguments: ["/api/register?handle=%7BLENGTH=32,BYTES=0X12%7D", "/api/register?handle={LENGTH=32}"])
    func aPrintedObjectIsNoHandle(path: String) async throws {
        try await Harness.run { api async throws in
            let answer = try await api.call(.post, path)
            #expect(answer.status == 400)
            #expect(answer.wrongMembers == ["Handle"])
        }
    }

    @Test func aHubThatIsSilentIsNoSuccess() async throws {
        var options = Harness.Options()
        options.hub = .isSilent
        options.configuration.classicWait = .milliseconds(100)
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

    @Test func aLostEventCostsHalfASecond() async throws {
        var options = Harness.Options()
        options.hub = .saysNothing
        options.configuration.classicWait = .seconds(60)
        try await Harness.run(options) { api async throws in
            let start = ContinuousClock.now
            #expect(try await api.call(.post, "/api/register").status == 200)
            #expect(ContinuousClock.now - start < .seconds(40))
        }
    }

    @Test func aKeyHasNoDevices() async throws {
        try await Harness.run { api async throws in
            let key = try await api.key(.operator)
            #expect(try await api.call(.post, "/api/register", as: key).status == 403)
        }
    }
}
