import Authentication
import HTTPTypes
import NIOCore
import PushModel
import Store
import Testing
import Undisturbed

@testable import HTTPAPI

/// The console's listener: its sessions, which work nowhere else, and what is written of them.
@Suite(.undisturbed) struct ConsoleTests {
    /// With a viewer beside the operator.
    private static func run(_ body: @Sendable @escaping (Harness) async throws -> Void) async throws {
        var options = Harness.Options()
        options.front = .console
        try await Harness.run(options) { api in
            let viewer = #"{"name":"vera","role":"viewer","password":"vera-password"}"#
            #expect(try await api.call(.post, "/api/accounts", as: .user("root"), body: viewer).status == 201)
            try await body(api)
        }
    }

    private static func open(_ api: Harness, _ body: String) async throws -> Harness.Answer {
        try await api.call(.post, "/api/session", as: .nobody, body: body, headers: SessionTests.page)
    }

    @Test func aSessionHasTheRoleThatTheAccountHasNow() async throws {
        try await Self.run { api async throws in
            let root = try await SessionTests.signIn(api, "root")
            #expect(root.hasPrefix("__Host-console=pls_"))
            let seen = try await SessionTests.call(api, .get, "/api/session", root)
            #expect(seen.status == 200 && seen.json["role"]?.text == "operator")
            #expect(try await SessionTests.call(api, .post, "/api/queues/send/pause", root).status == 200)
            let vera = try await SessionTests.signIn(api, "vera")
            #expect(try await SessionTests.call(api, .get, "/api/session", vera).json["role"]?.text == "viewer")
            #expect(try await SessionTests.call(api, .get, "/api/accounts", vera).status == 200)
            #expect(try await SessionTests.call(api, .post, "/api/queues/send/resume", vera).status == 403)
            // Out at once, with the same cookie.
            let demotion = #"{"role":"user"}"#
            #expect(try await SessionTests.call(api, .patch, "/api/accounts/vera", root, body: demotion).status == 200)
            for path in ["/api/session", "/api/accounts"] {
                #expect(try await SessionTests.call(api, .get, path, vera).status == 401)
            }
            #expect(try await SessionTests.call(api, .delete, "/api/session", root).status == 204)
            #expect(try await SessionTests.call(api, .get, "/api/accounts", root).status == 401)
        }
    }

    @Test func othersAreTurnedAway() async throws {
        try await Self.run { api async throws in
            for name in ["alice", "desk"] {
                let body = #"{"user":"\#(name)","password":"\#(name)-password"}"#
                let answer = try await Self.open(api, body)
                #expect(answer.status == 403, "\(answer.text)")
            }
            let wrong = #"{"user":"root","password":"wrong"}"#
            let answer = try await Self.open(api, wrong)
            #expect(answer.status == 401 && answer.headers[.wwwAuthenticate] == nil)
            let root = try await SessionTests.signIn(api, "root")
            for headers in [
                ["Sec-Fetch-Site": "cross-site"], ["Sec-Fetch-Site": "same-site"], ["Origin": "https://evil.example"],
                ["Origin": "null"], [:],
            ] {
                let path = "/api/queues/send/pause"
                #expect(try await SessionTests.call(api, .post, path, root, headers: headers).status == 403)
            }
            // The cookie of the app's page, and a secret of its own under the console's name.
            let page = root.replacing("__Host-console", with: "__Host-pushline")
            #expect(try await SessionTests.call(api, .get, "/api/accounts", page).status == 401)
            let secret = SessionSecret.make()
            try await Self.keep(secret, for: .page, in: api)
            let stolen = "__Host-console=\(secret.text)"
            #expect(try await SessionTests.call(api, .get, "/api/accounts", stolen).status == 401)
        }
    }

    /// Whoever rules another app sees nothing of this one and does nothing in it: by session, by its secret under this app's name, by
    /// password.
    @Test func anOperatorOfAnotherAppIsNobodyHere() async throws {
        try await Self.run { api async throws in
            let other = try AppID("other")
            let account = Account(
                app: other,
                name: try UserName("otto", .folded),
                role: .operator,
                isDisabled: false,
                created: .now
            )
            let hash = try PasswordHash.make("otto-password", cost: Harness.cheap)
            try await api.store.apply(.account(.put(account, passwordHash: hash)))
            let otto = try await SessionTests.signIn(api, "otto", app: "apps/other/")
            #expect(otto.hasPrefix("__Host-console-other="))
            #expect(try await SessionTests.call(api, .get, "/api/apps/other/overview", otto).status == 200)
            let before = try await api.store.acts(ActQuery(app: .default)).items.count
            let renamed = otto.replacing("__Host-console-other", with: "__Host-console")
            for path in ["overview", "jobs", "app", "accounts", "keys", "audit", "dead/groups", "queues", "session"] {
                for cookie in [otto, renamed] {
                    #expect(try await SessionTests.call(api, .get, "/api/\(path)", cookie).status == 401, "\(path)")
                }
                guard path != "session" else { continue }
                #expect(try await api.call(.get, "/api/\(path)", as: .user("otto")).status == 401, "\(path)")
            }
            for (method, path) in [
                (HTTPRequest.Method.post, "queues/send/pause"), (.post, "keys"), (.post, "jobs/cancel"),
                (.delete, "accounts/root"), (.post, "sends"), (.post, "dead/replay"),
            ] {
                for cookie in [otto, renamed] {
                    let answer = try await SessionTests.call(api, method, "/api/\(path)", cookie, body: "{}")
                    #expect(answer.status == 401, "\(path)")
                }
            }
            #expect(try await api.store.acts(ActQuery(app: .default)).items.count == before)
        }
    }

    /// And one of the console is nothing at the API's own port.
    @Test func theApiTakesNoSessionOfTheConsole() async throws {
        try await Harness.run { api async throws in
            let secret = SessionSecret.make()
            try await Self.keep(secret, for: .console, in: api)
            for name in ["__Host-console", "__Host-pushline"] {
                let answer = try await SessionTests.call(api, .get, "/api/jobs", "\(name)=\(secret.text)")
                #expect(answer.status == 401)
            }
            #expect(try await api.call(.get, "/console/", as: .nobody).status == 404)
        }
    }

    @Test func aLinkSignsInOnce() async throws {
        try await Self.run { api async throws in
            let secret = SessionSecret.make()
            try await Self.keep(secret, for: .link, in: api)
            // It is no cookie.
            #expect(try await SessionTests.call(api, .get, "/api/jobs", "__Host-console=\(secret.text)").status == 401)
            let body = #"{"link":"\#(secret.text)"}"#
            let opened = try await Self.open(api, body)
            #expect(opened.status == 201 && opened.json["user"]?.text == "root")
            let again = try await Self.open(api, body)
            #expect(again.status == 401)
            let both = #"{"link":"\#(secret.text)","user":"root","password":"root-password"}"#
            let refused = try await Self.open(api, both)
            #expect(refused.status == 400)
        }
    }

    @Test func whatIsDoneThereIsWritten() async throws {
        try await Self.run { api async throws in
            let root = try await SessionTests.signIn(api, "root")
            let send = #"{"to":{"user":"bob"},"body":"hello","label":"by-hand"}"#
            let sent = try await SessionTests.call(api, .post, "/api/sends", root, body: send)
            #expect(sent.status == 202, "\(sent.text)")
            #expect(try await SessionTests.call(api, .post, "/api/queues/send/pause", root).status == 200)
            // A program at the same port says who it is.
            #expect(try await api.call(.post, "/api/queues/send/resume", as: .user("root")).status == 200)
            let acts = try await api.store.acts(ActQuery(app: .default)).items.prefix(4)
            #expect(acts.map(\.act.kind) == [.queueResume, .queuePause, .send, .consoleOpen])
            #expect(acts.map(\.act.via) == [.api, .console, .console, .console])
            #expect(acts.allSatisfy { $0.state == .done && $0.act.by == "account:root" })
            #expect(acts[2].result == "job \(sent.json["id"]?.text ?? "")" && acts[2].act.target == "by-hand")
        }
    }

    /// Whatever an operator of an app may have done stands in the list to choose from.
    @Test func theAuditKnowsEveryAction() throws {
        let file = try #require(PageFiles.console.all["audit.js"])
        let text = String(decoding: file.content.readableBytesView, as: UTF8.self)
        let known = text.matches(of: #/^  "([a-z.]+)": \["/#.anchorsMatchLineEndings()).map { String($0.1) }
        #expect(known == ActKind.all.map(\.rawValue).filter { !$0.hasPrefix("store.") })
    }

    @Test func itsFilesAreServedSmall() async throws {
        try await Self.run { api async throws in
            var whole = 0
            for (name, file) in PageFiles.console.all {
                for folder in ["/console/", "/console/other/"] {
                    let plain = try await api.call(.get, folder + name, as: .nobody)
                    #expect(plain.status == 200 && plain.bytes == Array(file.content.readableBytesView), "\(name)")
                    #expect(plain.headers[.contentType] == file.type)
                }
                let gzip = ["Accept-Encoding": "gzip, deflate, br"]
                let small = try await api.call(.get, "/console/\(name)", as: .nobody, headers: gzip)
                whole += small.bytes.count
                guard file.compressed != nil else { continue }
                #expect(small.headers[.contentEncoding] == "gzip" && small.headers[.vary] == "Accept-Encoding")
                let tag = try #require(small.headers[.eTag])
                let known = gzip.merging(["If-None-Match": tag]) { $1 }
                #expect(try await api.call(.get, "/console/\(name)", as: .nobody, headers: known).status == 304)
                let other = try await api.call(.get, "/console/\(name)", as: .nobody, headers: ["If-None-Match": tag])
                #expect(other.status == 200)
            }
            #expect(whole < 120_000)
            let found = try await api.call(.get, "/console/config.json", as: .nobody)
            #expect(found.json["app"]?.text == "default" && found.json["version"] != nil)
            let way = try await api.call(.get, "/console", as: .nobody)
            #expect(way.status == 308 && way.headers[.location] == "console/")
            #expect(try await api.call(.get, "/app/", as: .nobody).status == 404)
        }
    }

    /// Keeps a secret of the operator's, as for a session of that kind.
    private static func keep(_ secret: SessionSecret, for purpose: SessionSecret.Purpose, in api: Harness) async throws
    {
        let root = try UserName("root", .folded)
        let account = try #require(try await api.store.account(root, app: .default))
        let session = NewSession(
            app: .default,
            user: root,
            hash: secret.hash(for: purpose),
            passwordHash: account.passwordHash,
            lifetime: .seconds(300),
            idle: .seconds(300),
            limit: 20
        )
        _ = try #require(try await api.store.openSession(session))
    }
}
