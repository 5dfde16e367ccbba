import Authentication
import HTTPTypes
import PushModel
import Store
import Testing
import Undisturbed

@testable import HTTPAPI

/// Accounts that operators make, change and remove over the API.
@Suite(.undisturbed) struct AccountTests {
    private static let root = Harness.As.user("root")

    private static func problem(_ answer: Harness.Answer) -> String? {
        answer.json["type"]?.text.map { String($0.trimmingPrefix("urn:pushline:problem:")) }
    }

    /// An installation whose processes remember accounts for longer than a test takes.
    private static var remembering: Harness.Options {
        var options = Harness.Options()
        options.configuration.directoryLifetime = .seconds(600)
        return options
    }

    @Test func anAccountIsMadeAndSignsIn() async throws {
        try await Harness.run { api async throws in
            let body = #"{"name":"Dora","role":"sender","password":"long enough"}"#
            let made = try await api.call(.post, "/api/accounts", as: Self.root, body: body)
            #expect(made.status == 201)
            #expect(made.json["name"]?.text == "Dora" && made.json["role"]?.text == "sender")
            #expect(!made.text.contains("long enough") && !made.text.contains("scrypt"))
            let send = #"{"to":{"tag":"news"},"body":"x"}"#
            let sent = try await api.call(.post, "/api/sends", as: .basic("dora", "long enough"), body: send)
            #expect(sent.status == 202)
            #expect(try await api.call(.get, "/api/jobs", as: .basic("dora", "long enougH")).status == 401)
        }
    }

    @Test func aNameIsTakenAlsoInOtherLetters() async throws {
        try await Harness.run { api async throws in
            for name in ["alice", "ALICE"] {
                let body = #"{"name":"\#(name)","role":"operator","password":"long enough"}"#
                let answer = try await api.call(.post, "/api/accounts", as: Self.root, body: body)
                #expect(answer.status == 409 && Self.problem(answer) == "name-taken")
            }
            // Nothing of the account was changed.
            #expect(try await api.call(.get, "/api/jobs").status == 200)
            #expect(try await api.call(.get, "/api/accounts").status == 403)
        }
    }

    @Test(arguments: [
        (#"{"role":"user","password":"long enough"}"#, "name"),
        (#"{"name":"a\nb","role":"user","password":"long enough"}"#, "name"),
        (#"{"name":"a:b","role":"user","password":"long enough"}"#, "name"),
        (#"{"name":"dora","password":"long enough"}"#, "role"),
        (#"{"name":"dora","role":"king","password":"long enough"}"#, "role"),
        (#"{"name":"dora","role":"user"}"#, "password"),
        (#"{"name":"dora","role":"user","password":"1234567"}"#, "password"),
        (#"{"name":"dora","role":"user","password":"long enough","hash":"x"}"#, "hash"),
    ])
    func whatIsWrongIsNamed(body: String, member: String) async throws {
        try await Harness.run { api async throws in
            let answer = try await api.call(.post, "/api/accounts", as: Self.root, body: body)
            #expect(answer.status == 400 && answer.wrongMembers == [member], "\(answer.text)")
            #expect(try await api.call(.get, "/api/accounts", as: Self.root).json["items"]?.elements.count == 4)
        }
    }

    @Test func aPasswordHasAtMost1024Characters() async throws {
        try await Harness.run { api async throws in
            func change(_ length: Int) async throws -> Int {
                let body = #"{"password":"\#(String(repeating: "é", count: length))"}"#
                return try await api.call(.patch, "/api/accounts/bob", as: Self.root, body: body).status
            }
            #expect(try await change(1025) == 400)
            #expect(try await change(1024) == 200)
            let password = String(repeating: "é", count: 1024)
            #expect(try await api.call(.get, "/api/jobs", as: .basic("bob", password)).status == 200)
        }
    }

    @Test func aChangedAccountIsForgottenAtOnce() async throws {
        try await Harness.run(Self.remembering) { api async throws in
            #expect(try await api.call(.get, "/api/jobs", as: .user("bob")).status == 200)
            let password = #"{"password":"another one"}"#
            let changed = try await api.call(.patch, "/api/accounts/bob", as: Self.root, body: password)
            #expect(changed.status == 200 && changed.json["role"]?.text == "user")
            #expect(try await api.call(.get, "/api/jobs", as: .user("bob")).status == 401)
            #expect(try await api.call(.get, "/api/jobs", as: .basic("bob", "another one")).status == 200)
            let role = #"{"role":"operator"}"#
            #expect(try await api.call(.patch, "/api/accounts/bob", as: Self.root, body: role).status == 200)
            #expect(try await api.call(.get, "/api/accounts", as: .basic("bob", "another one")).status == 200)
            #expect(try await api.call(.delete, "/api/accounts/bob", as: Self.root).status == 204)
            #expect(try await api.call(.get, "/api/jobs", as: .basic("bob", "another one")).status == 401)
            #expect(try await api.call(.delete, "/api/accounts/bob", as: Self.root).status == 404)
            // And one that is new is not taken for missing.
            let body = #"{"name":"bob","role":"user","password":"a third one"}"#
            #expect(try await api.call(.post, "/api/accounts", as: Self.root, body: body).status == 201)
            #expect(try await api.call(.get, "/api/jobs", as: .basic("bob", "a third one")).status == 200)
        }
    }

    @Test(arguments: [
        ("DELETE", ""), ("PATCH", #"{"role":"sender"}"#), ("PATCH", #"{"disabled":true}"#),
    ])
    func theLastOperatorStays(method: String, body: String) async throws {
        try await Harness.run { api async throws in
            let method: HTTPRequest.Method = method == "DELETE" ? .delete : .patch
            func end(_ query: String) async throws -> Harness.Answer {
                try await api.call(method, "/api/accounts/root\(query)", as: Self.root, body: body.isEmpty ? nil : body)
            }
            #expect(Self.problem(try await end("")) == "own-account")
            #expect(Self.problem(try await end("?self=false")) == "own-account")
            #expect(try await end("?self=perhaps").wrongMembers == ["self"])
            // Also where nothing is ended.
            let path = "/api/accounts/root?self=perhaps"
            let harmless = try await api.call(.patch, path, as: Self.root, body: #"{"disabled":false}"#)
            #expect(harmless.wrongMembers == ["self"])
            let last = try await end("?self=true")
            #expect(last.status == 409 && Self.problem(last) == "last-operator")
            #expect(try await api.call(.get, "/api/accounts", as: Self.root).status == 200)
            // A key is an operator too.
            _ = try await api.key(.operator)
            #expect([200, 204].contains(try await end("?self=true").status))
            #expect([401, 403].contains(try await api.call(.get, "/api/accounts", as: Self.root).status))
        }
    }

    @Test func anotherOperatorIsRemovedWithoutMoreWords() async throws {
        try await Harness.run { api async throws in
            let key = try await api.key(.operator)
            #expect(try await api.call(.delete, "/api/accounts/root", as: key).status == 204)
        }
    }

    @Test func accountsAreListedInPages() async throws {
        try await Harness.run { api async throws in
            let first = try await api.call(.get, "/api/accounts?limit=3", as: Self.root)
            #expect(first.json["items"]?.elements.compactMap { $0["name"]?.text } == ["alice", "bob", "desk"])
            let cursor = try #require(first.json["cursor"]?.text)
            let rest = try await api.call(.get, "/api/accounts?limit=3&cursor=\(cursor)", as: Self.root)
            #expect(rest.json["items"]?.elements.compactMap { $0["name"]?.text } == ["root"])
            #expect(rest.json["cursor"] == nil)
        }
    }
}
