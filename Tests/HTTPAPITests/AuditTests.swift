import HTTPTypes
import PushModel
import Store
import Testing
import Undisturbed

@testable import HTTPAPI

/// Every act of an operator over the API has its entry, and nothing else has one.
@Suite(.undisturbed) struct AuditTests {
    private static func entries(_ api: Harness, _ query: String = "", as caller: Harness.As) async throws -> [JSONValue]
    {
        let answer = try await api.call(.get, "/api/audit\(query)", as: caller)
        #expect(answer.status == 200, "\(answer.text)")
        return answer.json["items"]?.elements ?? []
    }

    private static func words(_ entry: JSONValue) -> String {
        ["by", "action", "user", "target", "state", "result"].compactMap { entry[$0]?.text }.joined(separator: " ")
    }

    @Test func whatAnOperatorDoesHasAnEntry() async throws {
        try await Harness.run { api async throws in
            let (root, shop) = (Harness.As.user("root"), try await api.key(.operator, name: "shop"))
            func call(_ method: HTTPRequest.Method, _ path: String, as caller: Harness.As, _ body: String? = nil)
                async throws
            {
                let answer = try await api.call(method, path, as: caller, body: body)
                #expect((200..<500).contains(answer.status), "\(path): \(answer.text)")
            }
            try await call(
                .post,
                "/api/accounts",
                as: root,
                #"{"name":"Dora","role":"sender","password":"not to be seen"}"#
            )
            try await call(
                .post,
                "/api/accounts",
                as: root,
                #"{"name":"dora","role":"user","password":"not to be seen"}"#
            )
            try await call(.patch, "/api/accounts/dora", as: shop, #"{"password":"not to be seen","disabled":true}"#)
            try await call(.delete, "/api/accounts/dora", as: root)
            try await call(.delete, "/api/accounts/dora", as: root)
            try await call(.patch, "/api/accounts/root?self=true", as: root, #"{"role":"user"}"#)
            try await call(.post, "/api/keys", as: shop, #"{"name":"batch","role":"sender"}"#)
            try await call(.post, "/api/keys", as: shop, #"{"name":"batch","role":"sender"}"#)
            try await call(.delete, "/api/keys/batch", as: shop)
            try await call(.post, "/api/queues/send/pause", as: shop)
            try await call(.post, "/api/queues/send/resume", as: shop)
            try await call(.post, "/api/queues/send/resume", as: shop)
            try await call(.delete, "/api/dead/7", as: shop)
            try await call(.get, "/api/registrations/export", as: shop)
            try await call(
                .post,
                "/api/registrations/import",
                as: shop,
                "{\"service\":\"apns\",\"handle\":\"\(String(repeating: "cd", count: 32))\"}\n"
            )
            try await call(.delete, "/api/users/alice", as: shop)
            let all = try await Self.entries(api, as: shop)
            #expect(
                all.reversed().map(Self.words)
                    == [
                        "account:root account.add Dora sender done",
                        "key:shop account.change dora password, disabled done",
                        "account:root account.remove dora done", "account:root account.remove dora refused 404",
                        "account:root account.change root role user done",
                        "key:shop key.add batch, sender done", "key:shop key.add batch, sender refused 409",
                        "key:shop key.revoke batch done", "key:shop queue.pause send done",
                        "key:shop queue.resume send done",
                        "key:shop dead.discard 7 refused 404", "key:shop devices.export done",
                        "key:shop devices.import done 1 lines", "key:shop user.remove alice done",
                    ].map { $0.replacing("Dora", with: "dora") }
            )
            #expect(
                all.allSatisfy { $0["via"]?.text == "api" && $0["from"]?.text != nil && $0["request"]?.text != nil }
            )
            #expect(all.allSatisfy { $0["ended"]?.text != nil })
            #expect(!all.map { "\($0)" }.joined().contains("not to be seen"))
            let refused = try await Self.entries(api, "?state=refused&by=account:ROOT", as: shop)
            #expect(refused.map(Self.words) == ["account:root account.remove dora refused 404"])
            let paused = try await Self.entries(api, "?action=queue.pause&since=2020-01-01T00:00:00Z&limit=1", as: shop)
            #expect(paused.count == 1)
        }
    }

    @Test func aCancelledJobIsAnActOfAnOperatorAlone() async throws {
        var options = Harness.Options()
        options.hub = .onlyRegisters
        try await Harness.run(options) { api async throws in
            let (shop, batch) = (try await api.key(.operator, name: "shop"), try await api.key(.sender, name: "batch"))
            var jobs: [String] = []
            for _ in 0..<2 {
                let sent = try await api.call(.post, "/api/sends", as: batch, body: RoleTests.toTag)
                jobs.append(try #require(sent.json["id"]?.text))
            }
            #expect(try await api.call(.delete, "/api/jobs/\(jobs[0])", as: batch).status < 300)
            #expect(try await Self.entries(api, as: shop).isEmpty)
            #expect(try await api.call(.delete, "/api/jobs/\(jobs[1])", as: shop).status < 300)
            #expect(try await Self.entries(api, as: shop).map(Self.words) == ["key:shop job.cancel \(jobs[1]) done"])
        }
    }

    /// By a bare name whoever has it is found; with its kind that one alone.
    @Test func aNameAloneIsThatOfAnAccountOrAKey() async throws {
        try await Harness.run { api async throws in
            let (root, key) = (Harness.As.user("root"), try await api.key(.operator, name: "root"))
            for (caller, queue) in [(root, "send"), (key, "register"), (root, "deliver.apns")] {
                #expect(try await api.call(.post, "/api/queues/\(queue)/pause", as: caller).status == 200)
            }
            let all = ["account:root deliver.apns", "key:root register", "account:root send"]
            func found(_ query: String) async throws -> [String] {
                try await Self.entries(api, "?action=queue.pause&by=\(query)", as: root).map {
                    "\($0["by"]?.text ?? "") \($0["target"]?.text ?? "")"
                }
            }
            #expect(try await found("root") == all)
            #expect(try await found("key:root") == [all[1]])
            // Accounts are compared without letter case here, keys with it.
            #expect(try await found("ROOT") == [all[0], all[2]])
            for nobody in ["ann", "a:b", "%C2%AD", String(repeating: "x", count: 600)] {
                #expect(try await found(nobody) == [])
            }
        }
    }

    /// Of one that was cancelled it is known by whom: by itself, or with all that matched.
    @Test func whatWasDoneToASendIsFoundByIt() async throws {
        var options = Harness.Options()
        options.hub = .onlyRegisters
        try await Harness.run(options) { api async throws in
            let (root, shop) = (Harness.As.user("root"), try await api.key(.sender, name: "shop"))
            func send(_ label: String) async throws -> String {
                let body = #"{"to":{"tag":"news"},"body":"x","label":"\#(label)"}"#
                return try #require(try await api.call(.post, "/api/sends", as: shop, body: body).json["id"]?.text)
            }
            func acts(_ id: String) async throws -> [JSONValue] { try await Self.entries(api, "?job=\(id)", as: root) }
            let (single, own, one) = try await (send("spring"), send("spring"), send("summer"))
            let (last, later) = try await (send("summer"), send("summer"))
            #expect(try await api.call(.delete, "/api/jobs/\(single)", as: root).status < 300)
            #expect(try await api.call(.delete, "/api/jobs/\(own)", as: shop).status < 300)
            let all = #"{"label":"summer","upTo":"\#(last)"}"#
            #expect(try await api.call(.post, "/api/jobs/cancel", as: root, body: all).json["cancelled"]?.number == 2)
            let found = try #require(try await acts(single).first)
            #expect(Self.words(found) == "account:root job.cancel \(single) done")
            #expect(found["job"]?["id"]?.text == single && found["job"]?["label"]?.text == "spring")
            for id in [one, last] {
                let words = "account:root job.cancel all: label summer, up to \(last) done 2 cancelled"
                #expect(try await acts(id).map(Self.words) == [words])
            }
            #expect(try await api.call(.delete, "/api/jobs/\(later)", as: shop).status < 300)
            for id in [own, later] { #expect(try await acts(id).isEmpty) }
        }
    }

    /// What stands behind a colon in a reason may be somebody's name.
    @Test func ofAReasonOurOwnWordsAreKept() async throws {
        try await Harness.run { api async throws in
            let root = Harness.As.user("root")
            let body = #"{"reason":"it cannot be read: ann","upTo":"7"}"#
            #expect(try await api.call(.post, "/api/dead/discard", as: root, body: body).status == 200)
            let words = "account:root dead.discard all: it cannot be read, up to 7 done 0 discarded"
            #expect(try await Self.entries(api, as: root).map(Self.words) == [words])
        }
    }

    @Test func entriesAreTheAppsOwnAndForOperators() async throws {
        try await Harness.run { api async throws in
            let shop = try await api.key(.operator, name: "shop")
            let act = NewAct(app: try AppID("other"), by: "host:root", via: .host, origin: "h", kind: .appApply)
            try await api.store.record(.new(act, .done))
            #expect(try await Self.entries(api, as: shop).isEmpty)
            for caller in [Harness.As.user("alice"), .user("desk"), try await api.key(.sender)] {
                #expect(try await api.call(.get, "/api/audit", as: caller).status == 403)
            }
            #expect(try await api.call(.get, "/api/audit", as: .nobody).status == 401)
            #expect(try await api.call(.get, "/api/apps/other/audit", as: shop).status == 401)
            for query in [
                "by=", "by=account:", "job=7", "action=none", "state=open", "since=now", "limit=0", "user=ann",
            ] {
                let answer = try await api.call(.get, "/api/audit?\(query)", as: shop)
                #expect(answer.status == 400, "\(query)")
            }
            #expect(try await api.call(.post, "/api/audit", as: shop, body: "{}").status == 405)
            #expect(try await api.call(.delete, "/api/audit", as: shop).status == 405)
        }
    }
}
