import Authentication
import HTTPTypes
import PushModel
import Settings
import Store
import Testing
import Undisturbed

@testable import HTTPAPI

/// Sessions of users in browsers.
@Suite(.undisturbed) struct SessionTests {
    /// What a browser adds to the requests of this server's own page.
    static let page = ["Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "cors"]

    /// The `Cookie` header of a browser that has signed in.
    static func signIn(
        _ api: Harness,
        _ name: String = "alice",
        password: String? = nil,
        app: String = "",
        headers: [String: String] = Self.page
    ) async throws -> String {
        let body = #"{"user":"\#(name)","password":"\#(password ?? "\(name)-password")"}"#
        let answer = try await api.call(.post, "/api/\(app)session", as: .nobody, body: body, headers: headers)
        #expect(answer.status == 201, "\(answer.text)")
        let cookie = try #require(answer.headers[.setCookie])
        return String(cookie.prefix { $0 != ";" })
    }

    /// A request of the page with a cookie.
    static func call(
        _ api: Harness,
        _ method: HTTPRequest.Method,
        _ path: String,
        _ cookie: String,
        body: String? = nil,
        headers: [String: String] = Self.page
    ) async throws -> Harness.Answer {
        try await api.call(
            method,
            path,
            as: .nobody,
            body: body,
            headers: headers.merging(["Cookie": cookie]) { $1 }
        )
    }

    @Test func aCookieStandsForTheUser() async throws {
        try await Harness.run { api async throws in
            let body = #"{"user":"Alice","password":"alice-password"}"#
            let opened = try await api.call(.post, "/api/session", as: .nobody, body: body, headers: Self.page)
            #expect(opened.status == 201)
            #expect(opened.json["user"]?.text == "alice" && opened.json["role"]?.text == "user")
            #expect(opened.headers[.cacheControl] == "no-store")
            let header = try #require(opened.headers[.setCookie])
            let parts = header.split(separator: "; ")
            #expect(parts[0].hasPrefix("__Host-pushline=pls_"))
            #expect(parts.dropFirst() == ["Path=/", "Secure", "HttpOnly", "SameSite=Strict", "Max-Age=2592000"])
            let cookie = "theme=dark; \(parts[0]); other=1"
            let seen = try await Self.call(api, .get, "/api/session", cookie)
            #expect(seen.status == 200 && seen.json == opened.json)
            // Nor is any answer to a cookie for later: a list, a problem, a refusal.
            for path in ["/api/jobs", "/api/jobs?limit=0", "/api/notifications", "/api/dead", "/api/registrations/x"] {
                let answer = try await Self.call(api, .get, path, cookie)
                #expect(answer.headers[.cacheControl] == "no-store", "\(path): \(answer.status)")
            }
            // The classic app's way, without a password.
            let id = try await Self.call(api, .post, "/api/register", cookie)
            #expect(id.status == 200)
            let send = "/api/notifications?pns=apns&to_tag=bob"
            let sent = try await Self.call(api, .post, send, cookie, body: #""hello""#)
            #expect(sent.status == 200)
            let job = try #require(sent.headers[.job])
            #expect(try await Self.call(api, .get, "/api/jobs/\(job)", cookie).json["user"]?.text == "alice")
            let ended = try await Self.call(api, .delete, "/api/session", cookie)
            #expect(ended.status == 204)
            #expect(ended.headers[.setCookie]?.hasPrefix("__Host-pushline=; ") == true)
            #expect(ended.headers[.setCookie]?.hasSuffix("Max-Age=0") == true)
            #expect(try await Self.call(api, .get, "/api/jobs/\(job)", cookie).status == 401)
            #expect(try await Self.call(api, .delete, "/api/session", cookie).status == 204)
        }
    }

    /// A script of the page must not rule the app.
    @Test func aSessionNeverHasMoreThanTheRoleUser() async throws {
        try await Harness.run { api async throws in
            let cookie = try await Self.signIn(api, "root")
            #expect(try await Self.call(api, .get, "/api/session", cookie).json["role"]?.text == "user")
            #expect(try await Self.call(api, .get, "/api/accounts", cookie).status == 403)
            #expect(try await Self.call(api, .get, "/api/jobs", cookie).status == 200)
        }
    }

    @Test func noAnswerToAScriptOpensADialog() async throws {
        try await Harness.run { api async throws in
            let wrong = #"{"user":"alice","password":"wrong"}"#
            for headers in [Self.page, [:]] {
                let answers = [
                    try await api.call(.post, "/api/session", as: .nobody, body: wrong, headers: headers),
                    try await api.call(.get, "/api/session", as: .nobody, headers: headers),
                    try await Self.call(api, .get, "/api/session", "__Host-pushline=pls_x", headers: headers),
                    try await Self.call(api, .get, "/api/jobs", "__Host-pushline=pls_x", headers: headers),
                ]
                for answer in answers {
                    #expect(answer.status == 401 && answer.headers[.wwwAuthenticate] == nil, "\(answer.text)")
                    #expect(answer.headers[.contentType] == "application/problem+json")
                }
            }
            // Other routes tell a script of the scheme that no browser asks its user about.
            for caller in [Harness.As.nobody, .basic("alice", "wrong")] {
                let answer = try await api.call(.get, "/api/jobs", as: caller, headers: Self.page)
                #expect(answer.status == 401 && answer.headers[.wwwAuthenticate] == #"Bearer realm="pushline""#)
                for headers in [[:], ["Sec-Fetch-Mode": "navigate"]] {
                    let asked = try await api.call(.get, "/api/jobs", as: caller, headers: headers)
                    #expect(asked.headers[.wwwAuthenticate]?.hasPrefix("Basic ") == true)
                }
            }
        }
    }

    @Test func aForgedRequestIsRefused() async throws {
        try await Harness.run { api async throws in
            let cookie = try await Self.signIn(api)
            func send(_ headers: [String: String]) async throws -> Int {
                let path = "/api/notifications?pns=apns&to_tag=bob"
                return try await Self.call(api, .post, path, cookie, body: #""x""#, headers: headers).status
            }
            let own = "http://localhost"
            let forged: [[String: String]] = [
                [:], ["Sec-Fetch-Site": "cross-site"], ["Sec-Fetch-Site": "same-site"], ["Sec-Fetch-Site": "none"],
                ["Sec-Fetch-Site": ""], ["Sec-Fetch-Site": "cross-site", "Origin": own],
                ["Origin": "https://evil.example"], ["Origin": "null"], ["Origin": ""],
                ["Origin": "\(own).evil.example"], ["Origin": "http://evil.example/\(own)"], ["Origin": "\(own):81"],
            ]
            for headers in forged { #expect(try await send(headers) == 403, "\(headers)") }
            for headers in [Self.page, ["Origin": own]] { #expect(try await send(headers) == 200, "\(headers)") }
            // What reads is kept from other pages alone: they could mark a notification as read.
            func read(_ headers: [String: String]) async throws -> Int {
                try await Self.call(api, .get, "/api/jobs", cookie, headers: headers).status
            }
            for site in ["same-origin", "none"] { #expect(try await read(["Sec-Fetch-Site": site]) == 200) }
            for site in ["same-site", "cross-site"] { #expect(try await read(["Sec-Fetch-Site": site]) == 403) }
            #expect(try await read([:]) == 200)
            #expect(try await Self.call(api, .delete, "/api/session", cookie, headers: [:]).status == 403)
            #expect(try await Self.call(api, .get, "/api/session", cookie).status == 200)
        }
    }

    /// Else a page could sign its visitors in as somebody else, and read what they then send.
    @Test func aForeignPageSignsNobodyIn() async throws {
        try await Harness.run { api async throws in
            let body = #"{"user":"alice","password":"alice-password"}"#
            let foreign = [
                ["Sec-Fetch-Site": "cross-site"], ["Sec-Fetch-Site": "same-site"], ["Origin": "https://evil.example"],
            ]
            for headers in foreign {
                let answer = try await api.call(.post, "/api/session", as: .nobody, body: body, headers: headers)
                #expect(answer.status == 403 && answer.headers[.setCookie] == nil)
            }
            let form = try await api.call(
                .post,
                "/api/session",
                as: .nobody,
                body: body,
                headers: ["Content-Type": "text/plain"]
            )
            #expect(form.status == 415)
            _ = try await Self.signIn(api, headers: [:])
        }
    }

    /// What somebody put into the browser before the sign-in opens nothing after it.
    @Test func aSignInTakesNoSecretFromOutside() async throws {
        try await Harness.run { api async throws in
            let planted = "__Host-pushline=pls_" + String(repeating: "A", count: 43)
            let cookie = try await Self.signIn(api, headers: Self.page.merging(["Cookie": planted]) { $1 })
            #expect(cookie != planted)
            #expect(try await Self.call(api, .get, "/api/session", planted).status == 401)
            // The browser's former session ends with the new one.
            let next = try await Self.signIn(api, "bob", headers: Self.page.merging(["Cookie": cookie]) { $1 })
            #expect(try await Self.call(api, .get, "/api/session", cookie).status == 401)
            #expect(try await Self.call(api, .get, "/api/session", next).json["user"]?.text == "bob")
        }
    }

    @Test func aHeaderWinsOverTheCookie() async throws {
        try await Harness.run { api async throws in
            let cookie = try await Self.signIn(api)
            func user(as caller: Harness.As) async throws -> (Int, String?) {
                let answer = try await api.call(
                    .post,
                    "/api/sends",
                    as: caller,
                    body: #"{"to":{"user":"bob"},"body":"x"}"#,
                    headers: ["Cookie": cookie]
                )
                return (answer.status, answer.json["user"]?.text)
            }
            #expect(try await user(as: .user("bob")) == (202, "bob"))
            for wrong in [Harness.As.basic("bob", "wrong"), .bearer("plk_x"), .header("Digest x")] {
                #expect(try await user(as: wrong).0 == 401)
            }
        }
    }

    @Test func aSessionIsOfOneApp() async throws {
        try await Harness.run { api async throws in
            let cookie = try await Self.signIn(api)
            let other = try await Self.signIn(api, password: "other-password", app: "apps/other/")
            #expect(other.hasPrefix("__Host-pushline-other=pls_"))
            #expect(try await Self.call(api, .get, "/api/apps/other/jobs", cookie).status == 401)
            #expect(try await Self.call(api, .get, "/api/jobs", other).status == 401)
            // Under the other's name it is no better.
            let renamed = other.replacing("-other", with: "")
            #expect(try await Self.call(api, .get, "/api/jobs", renamed).status == 401)
            #expect(try await Self.call(api, .delete, "/api/session", renamed).status == 204)
            let both = "\(cookie); \(other)"
            #expect(try await Self.call(api, .get, "/api/jobs", both).status == 200)
            #expect(try await Self.call(api, .get, "/api/apps/other/jobs", both).status == 200)
            #expect(try await Self.call(api, .post, "/api/apps/missing/session", "", body: "{}").status == 404)
        }
    }

    @Test func itEndsWithTheAccountsPassword() async throws {
        try await Harness.run { api async throws in
            let root = Harness.As.user("root")
            let changes: [(HTTPRequest.Method, String, String?)] = [
                (.patch, "/api/accounts/alice", #"{"password":"another-password"}"#),
                (.patch, "/api/accounts/bob", #"{"disabled":true}"#),
                (.delete, "/api/accounts/desk", nil),
            ]
            for (method, path, body) in changes {
                let name = String(path.split(separator: "/").last ?? "")
                let cookie = try await Self.signIn(api, name)
                #expect(try await api.call(method, path, as: root, body: body).status < 300)
                #expect(try await Self.call(api, .get, "/api/jobs", cookie).status == 401, "\(name)")
            }
        }
    }

    @Test func itEndsInTime() async throws {
        var options = Harness.Options()
        options.configuration.settings.sessionLifetime = .milliseconds(400)
        options.configuration.settings.sessionIdle = .seconds(60)
        try await Harness.run(options) { api async throws in
            let cookie = try await Self.signIn(api)
            try await Task.sleep(for: .milliseconds(410))
            #expect(try await Self.call(api, .get, "/api/session", cookie).status == 401)
        }
    }

    @Test func useKeepsItOpen() async throws {
        var options = Harness.Options()
        options.configuration.settings.sessionIdle = .seconds(2)
        try await Harness.run(options) { api async throws in
            let cookie = try await Self.signIn(api)
            let secret = try #require(SessionCookie.secret(in: [.cookie: cookie], of: .page, app: .default))
            try await Task.sleep(for: .milliseconds(300))
            let before = try #require(try await api.store.session(hash: secret.hash(for: .page))?.left)
            #expect(before < .milliseconds(1710))
            #expect(try await Self.call(api, .get, "/api/jobs", cookie).status == 200)
            let after = try #require(try await api.store.session(hash: secret.hash(for: .page))?.left)
            #expect(after > before)
        }
    }

    /// An app that gives the demonstration scheme up must not keep those whom it let in.
    @Test func theDemonstrationSchemeOpensSessionsOfItsOwn() async throws {
        var options = Harness.Options()
        options.spec.authentication = .demonstration
        try await Harness.run(options) { api async throws in
            let refused = try await api.call(
                .post,
                "/api/session",
                as: .nobody,
                body: #"{"user":"alice","password":"bob"}"#
            )
            #expect(refused.status == 403)
            let cookie = try await Self.signIn(api, "alice", password: "alice")
            #expect(try await Self.call(api, .get, "/api/jobs", cookie).status == 200)
            _ = try await api.store.apply(.app(.default, AppSpec()))
            #expect(try await Self.call(api, .get, "/api/jobs", cookie).status == 401)
        }
        options.configuration.isLoopback = false
        try await Harness.run(options) { api async throws in
            let body = #"{"user":"alice","password":"alice"}"#
            #expect(try await api.call(.post, "/api/session", as: .nobody, body: body).status == 403)
        }
    }

    @Test func onlyWhatASignInNeedsIsTaken() async throws {
        try await Harness.run { api async throws in
            let long = String(repeating: "x", count: 1025)
            let wrong = [
                "{}", #"{"user":"alice"}"#, #"{"user":1,"password":"x"}"#,
                #"{"user":"alice","password":"x","role":"operator"}"#,
                #"{"user":"alice","password":"\#(long)"}"#, "[]", "nonsense",
            ]
            for body in wrong {
                #expect(try await api.call(.post, "/api/session", as: .nobody, body: body).status == 400, "\(body)")
            }
            #expect(try await api.call(.get, "/api/session?x=1", as: .nobody).status == 400)
            let nobody = try await api.call(
                .post,
                "/api/session",
                as: .nobody,
                body: #"{"user":"a b","password":"alice-password"}"#
            )
            #expect(nobody.status == 401)
        }
    }
}
