import HubWire
import NIOConcurrencyHelpers
import PushModel
import RawHTTP
import Testing
import Undisturbed

@testable import HubAzure

/// The tokens of a hub's client (contract, sections 1 and 2).
@Suite("Tokens of an Azure hub", .timeLimit(.minutes(5)), .undisturbed)
struct TokenTests {
    private static let nothing = RawServer.Reply.refusal(404)

    /// Makes some call.
    private func call(_ scripted: ScriptedHub) async throws { _ = try await scripted.hub.registration("1") }

    @Test("a token is for this hub alone, and signed with the key's text")
    func form() async throws {
        try await ScriptedHub.with(Self.nothing) { scripted in
            try await self.call(scripted)
            let token = try #require(try scripted.request.token)
            #expect(token.rule == "Full")
            #expect(token.isSigned(with: ScriptedHub.key))
            let authority = scripted.connection.authority
            #expect(token.covers(authority: authority, path: "/shop/registrations/1"))
            #expect(!token.covers(authority: authority, path: "/other/registrations/1"))
            #expect(!token.covers(authority: "elsewhere", path: "/shop/registrations/1"))
            #expect(!token.hasExpired(at: scripted.now.advanced(by: .seconds(3599))))
            #expect(token.hasExpired(at: scripted.now.advanced(by: .seconds(3600))))
        }
    }

    @Test("it is kept, and renewed while a fifth of its life is left")
    func renewal() async throws {
        try await ScriptedHub.with(Self.nothing, Self.nothing, Self.nothing) { scripted in
            try await self.call(scripted)
            scripted.wait(.seconds(2879))
            try await self.call(scripted)
            scripted.wait(.seconds(1))
            try await self.call(scripted)
            let tokens = scripted.requests.map { $0["Authorization"] }
            #expect(tokens[0] == tokens[1] && tokens[1] != tokens[2])
            #expect(scripted.requests[2].token?.hasExpired(at: scripted.now.advanced(by: .seconds(3599))) == false)
        }
    }

    @Test("a clock that is set back makes no token live longer")
    func clockSetBack() async throws {
        try await ScriptedHub.with(Self.nothing, Self.nothing) { scripted in
            try await self.call(scripted)
            scripted.wait(.seconds(-7200))
            try await self.call(scripted)
            #expect(scripted.requests[1].token?.hasExpired(at: scripted.now.advanced(by: .seconds(3600))) == true)
        }
    }

    @Test("after a 401 the call is made once more, with a token of now and the same TrackingId")
    func expiredInBetween() async throws {
        try await ScriptedHub.with(Self.nothing, .refusal(401), Self.nothing) { scripted in
            try await self.call(scripted)
            scripted.wait(.seconds(60))
            try await self.call(scripted)
            let asked = scripted.requests
            #expect(asked[0]["Authorization"] == asked[1]["Authorization"])
            #expect(asked[1]["Authorization"] != asked[2]["Authorization"])
            #expect(
                asked[1]["TrackingId"] == asked[2]["TrackingId"] && asked[0]["TrackingId"] != asked[1]["TrackingId"]
            )
        }
    }

    @Test("a key that is wrong is told after one more try at most, and a new token is not tried at all")
    func wrongKey() async throws {
        try await ScriptedHub.with(Self.nothing, .refusal(401), .refusal(401, "InvalidSignature"), .refusal(401)) {
            scripted in
            try await self.call(scripted)
            scripted.wait(.seconds(60))
            let first = try await failure { try await self.call(scripted) }
            #expect(first.kind == .unauthorized && first.message.contains("InvalidSignature"))
            #expect(!first.mayHaveBeenTaken)
            let second = try await failure { try await self.call(scripted) }
            #expect(second.kind == .unauthorized)
            #expect(scripted.requests.count == 4)
        }
    }

    @Test("a hub whose clock is ahead says so by its Date, and gets tokens for its own time")
    func skew() async throws {
        // Two hours ahead: a token of ours has ended there.
        let date = ("Date", "Fri, 15 Jan 2027 10:00:00 GMT")
        try await ScriptedHub.with(.refusal(401, "", [date]), Self.nothing, Self.nothing) { scripted in
            try await self.call(scripted)
            try await self.call(scripted)
            let ahead = ScriptedHub.start.advanced(by: .seconds(7200))
            #expect(scripted.requests[0].token?.hasExpired(at: ahead) == true)
            #expect(scripted.requests[1].token?.hasExpired(at: ahead.advanced(by: .seconds(3599))) == false)
            #expect(scripted.requests[1]["Authorization"] == scripted.requests[2]["Authorization"])
        }
    }

    @Test("a Date from another year moves nothing")
    func absurdDate() async throws {
        let date = ("Date", "Fri, 15 Jan 2038 08:00:00 GMT")
        try await ScriptedHub.with(.refusal(401, "", [date])) { scripted in
            let error = try await failure { try await self.call(scripted) }
            #expect(error.kind == .unauthorized)
        }
    }

    @Test("calls that were refused at the same time share the new token")
    func together() throws {
        let now = NIOLockedValueBox(ScriptedHub.start)
        let tokens = AzureTokens(
            ConnectionString(authority: "h", rule: "Full", key: ScriptedHub.key),
            audience: "https://h/shop",
            lifetime: .seconds(3600),
            now: { now.withLockedValue(\.self) }
        )
        let used = tokens.token()
        now.withLockedValue { $0 = $0.advanced(by: .seconds(60)) }
        let fresh = try #require(tokens.token(replacing: used, date: nil))
        #expect(fresh != used)
        #expect(tokens.token(replacing: used, date: nil) == fresh)
        // The fresh one was refused as well: the next would be.
        #expect(tokens.token(replacing: fresh, date: nil) == nil)
    }

    @Test("each call has version, TrackingId and our name, and a namespace's host is spoken to over TLS")
    func everyCall() async throws {
        try await ScriptedHub.with(Self.nothing) { scripted in
            try await self.call(scripted)
            let request = try scripted.request
            #expect(request.target == "/shop/registrations/1?api-version=2020-06")
            #expect(request["TrackingId"]?.count == 36)
            #expect(request["User-Agent"] == "pushline/\(pushlineVersion)")
        }
        let azure = try ConnectionString(
            "Endpoint=sb://Shop-NS.servicebus.windows.net/;SharedAccessKeyName=DefaultFullSharedAccessSignature;SharedAccessKey=a=b="
        )
        #expect(azure.endpoint == "https://shop-ns.servicebus.windows.net/" && azure.key == "a=b=")
    }
}
