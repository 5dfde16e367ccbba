import Authentication
import Foundation
import HTTPTypes
import HummingbirdTesting
import PushModel
import RawHTTP
import Store
import Testing
import Undisturbed

@testable import HTTPAPI

@Suite(.undisturbed) struct AuthenticationTests {
    @Test func unknownCredentialsAreRefused() async throws {
        try await Harness.run { api async throws in
            let unknown = Harness.As.bearer(APIKeySecret.make().text)
            let refused: [Harness.As] = [
                .nobody, .basic("alice", "wrong"), .basic("nobody", "x"), .basic("", ""), .basic("alice", ""),
                .basic("al ice", "x"), .basic("alice", "other-password"), .header("Basic"), .header("Basic !!!"),
                .header("Basic \(Data("no colon".utf8).base64EncodedString())"),
                .header("Basic \(Data([0x61, 0x3A, 0xFF]).base64EncodedString())"), .header("Digest x"),
                .header("Bearer"),
                .header("Bearer plk_"), .bearer("abc"), unknown,
            ]
            for caller in refused {
                let answer = try await api.call(.get, "/api/jobs", as: caller)
                #expect(answer.status == 401, "\(caller)")
                #expect(answer.headers[.wwwAuthenticate]?.contains("Basic realm") == true)
            }
            #expect(try await api.call(.get, "/api/jobs").status == 200)
            let lowerCase = try #require(Harness.As.user("alice").header).replacing("Basic", with: "bAsIc")
            #expect(try await api.call(.get, "/api/jobs", as: .header(lowerCase)).status == 200)
        }
    }

    /// A revoked key, one of another app and one that never was are answered alike.
    @Test func aKeyThatIsNotTheAppsSaysSo() async throws {
        try await Harness.run { api async throws in
            let other = APIKeySecret.make()
            let key = APIKey(app: try AppID("other"), name: "k", role: .sender, created: .now, revoked: nil)
            try await api.store.apply(.key(.add(key, hash: other.hash)))
            let words = "app default has no such key, or it was revoked"
            for secret in [other.text, APIKeySecret.make().text] {
                let answer = try await api.call(.get, "/api/jobs", as: .bearer(secret))
                #expect(answer.status == 401 && answer.json["detail"]?.text?.hasPrefix(words) == true, "\(answer.text)")
            }
            let foreign = try await api.call(.get, "/api/jobs", as: .bearer("abc"))
            #expect(foreign.json["detail"]?.text == "unknown key; keys begin with plk_")
        }
    }

    @Test func aRefusalDoesNotRevealWhetherTheAccountExists() async throws {
        try await Harness.run { api async throws in
            let before = api.passwords.computations
            let wrong = try await api.call(.get, "/api/jobs", as: .basic("alice", "wrong"))
            #expect(api.passwords.computations == before + 1)
            let unknown = try await api.call(.get, "/api/jobs", as: .basic("zoe", "wrong"))
            // The same work: a hash was computed for nobody too.
            #expect(api.passwords.computations == before + 2)
            #expect(wrong.text == unknown.text)
            _ = try await api.store.apply(
                .account(.update(AccountUpdate(isDisabled: true), account: try UserName("bob", .folded), app: .default))
            )
            let disabled = try await api.call(.get, "/api/jobs", as: .user("bob"))
            #expect(api.passwords.computations == before + 3)
            #expect(disabled.text == wrong.text)
        }
    }

    @Test func correctPasswordsAreCachedAndWrongOnesAreNot() async throws {
        try await Harness.run { api async throws in
            for _ in 0..<5 { #expect(try await api.call(.get, "/api/jobs").status == 200) }
            #expect(api.passwords.computations == 1)
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<8 { group.addTask { _ = try? await api.call(.get, "/api/jobs", as: .user("bob")) } }
            }
            #expect(api.passwords.computations == 2)
            // A new password makes the old one worthless at once.
            let account = Account(
                app: .default,
                name: try UserName("bob", .folded),
                role: .user,
                isDisabled: false,
                created: .now
            )
            try await api.store.apply(
                .account(.put(account, passwordHash: PasswordHash.make("new-password", cost: Harness.cheap)))
            )
            #expect(try await api.call(.get, "/api/jobs", as: .user("bob")).status == 401)
            #expect(try await api.call(.get, "/api/jobs", as: .basic("bob", "new-password")).status == 200)
        }
    }

    @Test func accountsAndKeysBelongToTheirApp() async throws {
        try await Harness.run { api async throws in
            #expect(try await api.call(.get, "/api/apps/other/jobs").status == 401)
            #expect(
                try await api.call(.get, "/api/apps/other/jobs", as: .basic("alice", "other-password")).status == 200
            )
            let key = try await api.key(.operator)
            #expect(try await api.call(.get, "/api/jobs", as: key).status == 200)
            #expect(try await api.call(.get, "/api/apps/default/jobs", as: key).status == 200)
            #expect(try await api.call(.get, "/api/apps/other/jobs", as: key).status == 401)
            #expect(try await api.call(.get, "/api/apps/missing/jobs", as: key).status == 404)
            #expect(try await api.call(.get, "/api/apps/No%20App/jobs", as: key).status == 404)
        }
    }

    @Test func aRevokedKeyIsRefused() async throws {
        try await Harness.run { api async throws in
            let key = try await api.key(.sender, name: "shop")
            #expect(try await api.call(.get, "/api/jobs", as: key).status == 200)
            #expect(try await api.call(.delete, "/api/keys/shop", as: .user("root")).status == 204)
            #expect(try await api.call(.get, "/api/jobs", as: key).status == 401)
            #expect(try await api.call(.delete, "/api/keys/shop", as: .user("root")).status == 404)
        }
    }

    @Test(arguments: [
        ("Basic", "dave:dave", 200), ("bAsIc", "dave:dave", 200), ("Basic", "dave:dave:more", 200),
        ("Basic", "dave:Dave", 403), ("Basic", "dave:", 403), ("Basic", ":", 403), ("Basic", "dave", 403),
        ("Digest", "dave:dave", 403), ("Basic", "da ve:da ve", 200), ("Basic", "da\nve:da\nve", 403),
    ])
    func theDemonstrationSchemeAcceptsTheNameAsThePassword(scheme: String, credentials: String, status: Int)
        async throws
    {
        var options = Harness.Options()
        options.spec.authentication = .demonstration
        try await Harness.run(options) { api async throws in
            let header = "\(scheme) \(Data(credentials.utf8).base64EncodedString())"
            #expect(try await api.call(.get, "/api/jobs", as: .header(header)).status == status)
            #expect(try await api.call(.get, "/api/jobs", as: .nobody).status == 403)
            // The other app keeps the real scheme.
            #expect(try await api.call(.get, "/api/apps/other/jobs", as: .header(header)).status == 401)
        }
    }

    @Test func theDemonstrationSchemeIsRefusedBeyondTheLoopback() async throws {
        var options = Harness.Options()
        options.spec.authentication = .demonstration
        options.configuration.isLoopback = false
        try await Harness.run(options) { api async throws in
            #expect(try await api.call(.get, "/api/jobs", as: .basic("dave", "dave")).status == 403)
        }
    }

    /// A page of `evil.example` whose name leads to 127.0.0.1 is to a browser of that origin, wherever it is.
    @Test(arguments: [
        ("localhost", true), ("LOCALHOST:8080", true), ("localhost.:8080", true), ("127.0.0.1:8080", true),
        ("127.8.9.10", true), ("[::1]:8080", true), ("evil.example", false), ("evil.example:8080", false),
        ("127.0.0.1.evil.example", false), ("localhost.evil.example", false), ("10.0.0.1", false), ("[::2]", false),
        ("", false), ("[", false),
    ])
    func theDemonstrationKnowsItsOwnNamesOnly(host: String, isOwn: Bool) async throws {
        #expect(LoopbackName.isLoopback(authority: host) == isOwn)
    }

    @Test func theDemonstrationIsNoOtherHosts() async throws {
        var options = Harness.Options()
        options.spec.authentication = .demonstration
        options.setup = .live
        try await Harness.run(options) { api async throws in
            let password = try #require(Harness.As.basic("dave", "dave").header)
            let account = try #require(Harness.As.basic("alice", "other-password").header)
            let session = #"{"user":"dave","password":"dave"}"#
            let requests: [(host: String, request: String, status: Int)] = [
                ("evil.example", "GET /api/jobs HTTP/1.1\r\nAuthorization: \(password)\r\n", 421),
                ("localhost", "GET /api/jobs HTTP/1.1\r\nAuthorization: \(password)\r\n", 200),
                ("evil.example", "POST /api/session HTTP/1.1\r\nContent-Length: \(session.utf8.count)\r\n", 421),
                ("[::1]", "POST /api/session HTTP/1.1\r\nContent-Length: \(session.utf8.count)\r\n", 201),
                // The other app has accounts.
                ("evil.example", "GET /api/apps/other/jobs HTTP/1.1\r\nAuthorization: \(account)\r\n", 200),
            ]
            for (host, request, status) in requests {
                var connection = try await RawConnection.open(port: try #require(api.client.port))
                defer { connection.close() }
                let body = request.hasPrefix("POST") ? session : ""
                let answer = try await connection.exchange("\(request)Host: \(host)\r\n\r\n\(body)")
                #expect(answer.hasPrefix("HTTP/1.1 \(status) "), "\(host): \(answer)")
            }
        }
    }

    @Test func theDecoyHashCostsAsMuchAsAnAccounts() throws {
        let decoy = try #require(PasswordHash(PasswordVerifier.standardDecoy))
        #expect(decoy.cost == .standard)
    }

    @Test func theCacheIsBoundedAndExpires() {
        let cache = ExpiringCache<Int, Int>(lifetime: .seconds(60), capacity: 3)
        for number in 0..<10 { cache.store(number, for: number) }
        #expect((0..<10).filter { cache[$0] != nil } == [7, 8, 9])
        cache.store(70, for: 7)
        cache.store(11, for: 11)
        #expect(cache[7] == 70)
        let forgetful = ExpiringCache<Int, Int>(lifetime: .zero, capacity: 3)
        forgetful.store(1, for: 1)
        #expect(forgetful[1] == nil)
    }
}
