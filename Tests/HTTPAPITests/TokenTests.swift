import Foundation
import HTTPTypes
import PushModel
import Store
import Testing
import TokenIssuer
import Undisturbed

@testable import HTTPAPI

/// Callers with tokens of the app's own issuer.
@Suite(.undisturbed) struct TokenTests {
    private let issuer: TokenIssuer

    init() throws { self.issuer = try TokenIssuer.shared.get() }

    /// Runs an API whose default app takes the issuer's tokens.
    private func run(
        _ adjust: (inout AppSpec) -> Void = { _ in },
        _ body: @Sendable @escaping (Harness, URL) async throws -> Void
    ) async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "jwks-\(UUID().uuidString).json")
        try Data(try self.issuer.keySet()).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        var options = Harness.Options()
        options.spec.tokens = TokenIssuer.settings(.file(path: file.path))
        adjust(&options.spec)
        try await Harness.run(options) { try await body($0, file) }
    }

    private func token(of user: JSONValue?) throws -> Harness.As {
        .bearer(try self.issuer.es256(TokenIssuer.claims(["sub": user])))
    }

    private func token(of user: String) throws -> Harness.As { try self.token(of: .string(user)) }

    @Test func accountsKeysAndTokensWorkSideBySide() async throws {
        try await self.run { api, _ async throws in
            let carol = try self.token(of: "carol")
            #expect(try await api.call(.get, "/api/jobs", as: carol).status == 200)
            #expect(try await api.call(.get, "/api/jobs", as: .bearer(self.issuer.rs256())).status == 200)
            #expect(try await api.call(.get, "/api/jobs", as: .user("alice")).status == 200)
            #expect(try await api.call(.get, "/api/jobs", as: api.key(.sender)).status == 200)
            let unknownKey = try await api.call(.get, "/api/jobs", as: .bearer("plk_unknown"))
            #expect(unknownKey.status == 401)
            #expect(unknownKey.json["detail"]?.text?.contains("key") == true)
            // An app without tokens takes none.
            let other = try await api.call(.get, "/api/apps/other/jobs", as: carol)
            #expect(other.status == 401)
            #expect(other.headers[.wwwAuthenticate]?.contains("invalid_token") == false)
        }
    }

    @Test func aTokensUserHasItsOwnDevicesAndNoMore() async throws {
        try await self.run { api, _ async throws in
            let (carol, dave) = (try self.token(of: "carol"), try self.token(of: "dave"))
            let id = try await api.register(as: carol)
            #expect(try await api.call(.get, "/api/registrations/\(id)", as: carol).status == 200)
            #expect(try await api.call(.get, "/api/registrations/\(id)", as: dave).status == 404)
            let send = #"{"to":{"user":"dave"},"body":"hello"}"#
            #expect(try await api.call(.post, "/api/sends", as: carol, body: send).status == 202)
            let tagged = #"{"to":{"tag":"news"},"body":"hello"}"#
            #expect(try await api.call(.post, "/api/sends", as: carol, body: tagged).status == 403)
            // A claim makes nobody more than a user.
            let claims = TokenIssuer.claims(["role": .string("operator"), "scope": .string("operator")])
            let claimed = Harness.As.bearer(try self.issuer.es256(claims))
            #expect(try await api.call(.get, "/api/keys", as: claimed).status == 403)
        }
    }

    @Test func theBoundOnRegistrationsHoldsWithoutAnAccount() async throws {
        try await self.run({ $0.registrationsPerUser = 2 }) { api, _ async throws in
            let carol = try self.token(of: "carol")
            for number in 1...4 {
                _ = try await api.register(as: carol, handle: String(repeating: "0\(number)", count: 32))
            }
            let list = try await api.call(.get, "/api/registrations?user=carol&state=live", as: api.key(.operator))
            #expect(list.json["items"]?.elements.count == 2, "\(list.text)")
        }
    }

    @Test func aTokenThatNamesAnAccountIsRefused() async throws {
        try await self.run { api, _ async throws in
            // In an app that folds names, in any letter case.
            for name in ["alice", "Alice", "root"] {
                let answer = try await api.call(.get, "/api/jobs", as: self.token(of: name))
                #expect(answer.status == 403)
                #expect(answer.json["detail"]?.text?.contains("has an account with the name") == true)
            }
            let bob = try UserName("bob", .folded)
            _ = try await api.store.apply(
                .account(.update(AccountUpdate(isDisabled: true), account: bob, app: .default))
            )
            #expect(try await api.call(.get, "/api/jobs", as: self.token(of: "bob")).status == 403)
            // An account that comes later takes the name from the token's user.
            #expect(try await api.call(.get, "/api/jobs", as: self.token(of: "zoe")).status == 200)
            let zoe = Account(
                app: .default,
                name: try UserName("zoe", .folded),
                role: .user,
                isDisabled: false,
                created: .now
            )
            try await api.store.apply(.account(.put(zoe, passwordHash: "x")))
            #expect(try await api.call(.get, "/api/jobs", as: self.token(of: "zoe")).status == 403)
        }
    }

    /// As usual identity providers have it in `sub`: any text is a user's name (decision 41).
    @Test(arguments: ["auth0|5f7c2a91d0e3", "ann+shop@example.com", "Ann Lee", "Zo\u{EB} Gr\u{F6}\u{DF}e \u{1F419}"])
    func aTokensUserHasAnyName(name: String) async throws {
        try await self.run { api, _ async throws in
            let (caller, path) = (try self.token(of: name), PercentCoding.encode(name))
            #expect(try await api.call(.get, "/api/jobs", as: caller).status == 200)
            let id = try await api.register(as: caller)
            let list = try await api.call(.get, "/api/registrations?user=\(path)", as: api.key(.operator))
            #expect(list.json["items"]?.elements.compactMap { $0["id"]?.text } == [id], "\(list.text)")
            #expect(list.json["items"]?.elements.compactMap { $0["user"]?.text } == [name], "\(list.text)")
            // Another finds the device by that name, and by no other.
            let carol = try self.token(of: "carol")
            for (user, count) in [(name, 1.0), ("\(name)x", 0)] {
                let body = JSONValue.members(["to": .members(["user": .string(user)]), "body": .string("x")])
                    .compactText
                let counted = try await api.call(.post, "/api/sends/count", as: carol, body: body)
                #expect(counted.json["total"]?.number == count, "\(counted.text)")
                let sent = try await api.call(.post, "/api/sends", as: carol, body: body)
                let job = try #require(sent.headers[.job].flatMap { JobID($0) }, "\(sent.text)")
                let work = try await api.store.job(job, app: .default)?.work
                guard case .send(let send)? = work else {
                    Issue.record("\(String(describing: work))")
                    return
                }
                #expect(send.audience.expression == .tag(Tag(user: try UserName(user, .folded))))
            }
        }
    }

    /// It would read what the key sends by the classic route.
    @Test(arguments: [false, true])
    func aTokenWithTheNameOfAKeyIsRefused(isSameUsers: Bool) async throws {
        try await self.run({ $0.tokens?.sameUsers = isSameUsers }) { api, _ async throws in
            #expect(try await api.call(.get, "/api/jobs", as: self.token(of: "backend")).status == 200)
            _ = try await api.key(.sender, name: "Backend")
            for name in ["backend", "BACKEND"] {
                let answer = try await api.call(.get, "/api/jobs", as: self.token(of: name))
                #expect(answer.status == 403)
                #expect(answer.json["detail"]?.text?.contains("has a key of that name") == true)
            }
            // What it sent is still there.
            _ = try await api.store.apply(.key(.revoke(named: "Backend", app: .default)))
            #expect(try await api.call(.get, "/api/jobs", as: self.token(of: "backend")).status == 403)
        }
    }

    @Test func exactNamesDifferByLetterCase() async throws {
        try await self.run({ $0.users = .exact }) { api, _ async throws in
            #expect(try await api.call(.get, "/api/jobs", as: self.token(of: "alice")).status == 403)
            #expect(try await api.call(.get, "/api/jobs", as: self.token(of: "Alice")).status == 200)
        }
    }

    @Test func anAppMaySayThatAccountsAndTokensNameTheSameUsers() async throws {
        try await self.run({ $0.tokens?.sameUsers = true }) { api, _ async throws in
            let id = try await api.register(as: .user("alice"))
            #expect(try await api.call(.get, "/api/registrations/\(id)", as: self.token(of: "alice")).status == 200)
            // The account's role is not the token's.
            #expect(try await api.call(.get, "/api/keys", as: self.token(of: "root")).status == 403)
            let alice = try UserName("alice", .folded)
            _ = try await api.store.apply(
                .account(.update(AccountUpdate(isDisabled: true), account: alice, app: .default))
            )
            let disabled = try await api.call(.get, "/api/jobs", as: self.token(of: "alice"))
            #expect(disabled.status == 403)
            #expect(disabled.json["detail"]?.text?.contains("disabled") == true)
        }
    }

    @Test(
        arguments: [
            (nil, "is missing or is not a string"), (.integer(7), "is missing or is not a string"),
            (.string(""), "1 to 256 bytes"),
            (.string("a\u{202E}b"), "U+202E"), (.string("a\u{85}b"), "U+0085"), (.string(".."), "cannot be . or .."),
            // What a lone surrogate in an escape became.
            (.string("a\u{FFFD}"), "U+FFFD"),
            (.string(String(repeating: "x", count: 257)), "1 to 256 bytes"),
        ] as [(JSONValue?, String)]
    )
    func aTokenWithoutALegalNameIsRefused(user: JSONValue?, reason: String) async throws {
        try await self.run { api, _ async throws in
            let answer = try await api.call(.get, "/api/jobs", as: self.token(of: user))
            #expect(answer.status == 403)
            #expect(answer.json["detail"]?.text?.contains("claim sub") == true)
            #expect(answer.json["detail"]?.text?.contains(reason) == true, "\(answer.text)")
        }
    }

    @Test func tokensThatAreNotBelievedAreAnsweredTheStandardsWay() async throws {
        let expired = TokenIssuer.claims(["exp": .integer(Int(Timestamp.now.seconds) - 3600)])
        let stranger = try TokenIssuer()
        let tokens = [
            try self.issuer.es256(expired), try stranger.es256(), "abc", "a.b.c", "",
            String(repeating: "x", count: 500),
            TokenIssuer.token(TokenIssuer.header("none", id: nil), TokenIssuer.claims()) { _ in Data() },
        ]
        try await self.run { api, _ async throws in
            for token in tokens {
                let answer = try await api.call(.get, "/api/jobs", as: .bearer(token))
                #expect(answer.status == 401, "\(token)")
                let schemes = try #require(answer.headers[.wwwAuthenticate])
                // What is empty is no Bearer token at all.
                if token.isEmpty {
                    #expect(schemes.hasPrefix("Basic realm="))
                } else {
                    #expect(schemes == #"Bearer realm="pushline", error="invalid_token""#)
                }
            }
        }
    }

    @Test func anotherDeclarationForgetsWhatTheOneBeforeLetIn() async throws {
        try await self.run { api, file async throws in
            let carol = try self.token(of: "carol")
            #expect(try await api.call(.get, "/api/jobs", as: carol).status == 200)
            var spec = try #require(try await api.store.app(.default))
            spec.tokens?.audience = "other"
            _ = try await api.store.apply(.app(.default, spec))
            #expect(try await api.call(.get, "/api/jobs", as: carol).status == 401)
            spec.tokens = nil
            _ = try await api.store.apply(.app(.default, spec))
            #expect(try await api.call(.get, "/api/jobs", as: carol).status == 401)
        }
    }

    @Test func withoutAKeySetNobodyIsLetIn() async throws {
        try await self.run({ $0.tokens?.keySet = .file(path: "/nowhere/jwks.json") }) { api, _ async throws in
            #expect(try await api.call(.get, "/api/jobs", as: self.token(of: "carol")).status == 401)
            #expect(try await api.call(.get, "/api/jobs", as: .user("alice")).status == 200)
        }
    }

    @Test func whileKeysCannotBeReadTokensAreAskedToComeBack() async throws {
        try await self.run { api, file async throws in
            try Data("<html>".utf8).write(to: file)
            let answer = try await api.call(.get, "/api/jobs", as: self.token(of: "carol"))
            #expect(answer.status == 503)
            #expect(answer.headers[.retryAfter] == "5")
            #expect(try await api.call(.get, "/api/jobs", as: .user("alice")).status == 200)
        }
    }
}
