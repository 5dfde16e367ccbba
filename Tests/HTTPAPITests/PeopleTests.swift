import Authentication
import Callers
import HTTPTypes
import PushModel
import Store
import Testing
import Undisturbed

@testable import HTTPAPI

/// Users as other systems name them: by any text, compared by its bytes (decision 41).
@Suite(.undisturbed) struct PeopleTests {
    /// An account whose password is `NAME-password`.
    private static func add(_ name: String, _ role: Role = .user, _ api: Harness) async throws -> Harness.As {
        let user = try UserName(name, .folded)
        let account = Account(app: .default, name: user, role: role, isDisabled: false, created: .now)
        let hash = try PasswordHash.make("\(name)-password", cost: Harness.cheap)
        try await api.store.apply(.account(.put(account, passwordHash: hash)))
        return .user(name)
    }

    private static func send(_ answer: Harness.Answer, _ api: Harness) async throws -> SendRequest {
        let text = answer.headers[.job] ?? answer.json["id"]?.text ?? ""
        let id = try #require(JobID(text), "\(answer.text)")
        guard case .send(let send)? = try await api.store.job(id, app: .default)?.work else {
            throw InvalidValue("not a send")
        }
        return send
    }

    private static func count(_ to: JSONValue, _ api: Harness) async throws -> Double? {
        let body = JSONValue.members(["to": to]).compactText
        return try await api.call(.post, "/api/sends/count", as: .user("desk"), body: body).json["total"]?.number
    }

    private static func count(user: String, _ api: Harness) async throws -> Double? {
        try await Self.count(.members(["user": .string(user)]), api)
    }

    /// é as one character, and as e with an accent: the same to Swift's own texts, and two people.
    @Test func namesThatDifferByNormalizationAloneSeeAndReachNothingOfEachOther() async throws {
        var options = Harness.Options()
        // So that what is remembered of one is there when the other comes.
        options.configuration.directoryLifetime = .seconds(600)
        try await Harness.run(options) { api async throws in
            let names = ["zo\u{E9}", "zoe\u{301}"]
            let callers = [try await Self.add(names[0], .user, api), try await Self.add(names[1], .user, api)]
            let id = try await api.register(as: callers[0], tags: "[\"t\"]")
            #expect(try await Self.count(user: names[0], api) == 1)
            #expect(try await Self.count(user: names[1], api) == 0)
            #expect(try await Self.count(.members(["users": .strings([names[1], "bob"])]), api) == 0)
            #expect(try await Self.count(.members(["tags": .string("t && !user('\(names[1])')")]), api) == 1)
            #expect(try await Self.count(.members(["tags": .string("t && user('\(names[1])')")]), api) == 0)
            // A password is that of its account, and so are failures.
            let stolen = Harness.As.basic(names[1], "\(names[0])-password")
            #expect(try await api.call(.get, "/api/jobs", as: stolen).status == 401)
            // The one's repeat is not the other's.
            let key = ["Idempotency-Key": "k"]
            let body = #"{"to":{"user":"bob"},"body":"x"}"#
            var jobs: [String] = []
            for caller in callers {
                let answer = try await api.call(.post, "/api/sends", as: caller, body: body, headers: key)
                jobs.append(try #require(answer.headers[.job]))
            }
            #expect(jobs[0] != jobs[1])
            for (caller, (own, foreign)) in zip(callers, [(jobs[0], jobs[1]), (jobs[1], jobs[0])]) {
                #expect(try await api.call(.get, "/api/jobs/\(own)", as: caller).status == 200)
                #expect(try await api.call(.get, "/api/jobs/\(foreign)", as: caller).status == 404)
                let list = try await api.call(.get, "/api/jobs?kind=send", as: caller).json["items"]?.elements
                #expect(list?.compactMap { $0["id"]?.text } == [own])
            }
            let rich = try await api.call(.post, "/api/notifications", as: callers[0])
            guard case .rich(let push) = try await Self.send(rich, api).content else { throw InvalidValue("not rich") }
            #expect(try await api.call(.get, "/api/notifications/\(push.id)", as: callers[1]).status == 404)
            #expect(try await api.call(.get, "/api/notifications/\(push.id)", as: callers[0]).status == 200)
            // Neither sees, takes or ends the other's device.
            #expect(try await api.call(.get, "/api/registrations/\(id)", as: callers[1]).status == 404)
            let list = try await api.call(.get, "/api/registrations", as: callers[1])
            #expect(list.json["items"]?.elements.isEmpty == true)
            #expect(try await api.call(.delete, "/api/registrations/\(id)", as: callers[1]).status == 404)
            let path = "/api/users/\(PercentCoding.encode(names[1]))"
            let removal = try await api.call(.delete, path, as: .user("root"), headers: ["Prefer": "wait=30"])
            #expect(removal.json["state"]?.text == "completed", "\(removal.text)")
            #expect(try await api.call(.get, "/api/registrations/\(id)", as: callers[0]).status == 200)
            #expect(try await api.call(.get, "/api/jobs", as: callers[1]).status == 401)
        }
    }

    /// Repeats that are accepted in one commit are told apart in memory.
    @Test func repeatsOfOneCommitAreEachCallersOwn() async throws {
        try await Harness.run { api async throws in
            let jobs = ["zo\u{E9}", "zoe\u{301}"].map { name in
                NewJob(
                    app: .default,
                    work: .send(
                        SendRequest(
                            audience: .tag(Tag(user: Caller.user("bob").user!)),
                            platforms: [],
                            content: .message(.init(body: "b"))
                        )
                    ),
                    lifetime: .seconds(60),
                    idempotency: .init(caller: Caller.user(name).description, route: "r", key: "k", hash: [1])
                )
            }
            let answers = try await api.store.accept(jobs, joining: nil).answers
            #expect(answers.count == 2 && answers.allSatisfy { if case .accepted = $0 { true } else { false } })
        }
    }

    /// An expression is stored as a text and read again: a name must not become a part of it.
    @Test(arguments: ["x||vip", "a') || all('", "vip", "!vip", "$UserId:{vip}", "a'b\\\"/ü 🐙"])
    func aSendToAUserReachesThatUserAlone(name: String) async throws {
        var options = Harness.Options()
        options.hub = .isSilent
        try await Harness.run(options) { api async throws in
            let (key, user) = (try await api.key(.sender), try UserName(name, .folded))
            let rows = try [(name, [] as [String]), ("bob", ["vip", "x", "all"])].enumerated().map { index, row in
                ImportedRegistration(
                    pns: .apns,
                    handle: Handle(stored: "h\(index)"),
                    user: try UserName(row.0, .folded),
                    tags: try row.1.map { try Tag($0, .folded) }
                )
            }
            _ = try await api.store.importRegistrations(rows, app: .default, sequence: 1, lifetime: nil)
            #expect(try await Self.count(user: name, api) == 1)
            let quoted = "user('\(name.replacing("'", with: "''"))')"
            let users = JSONValue.members(["users": .strings([name, "nobody"])])
            for (to, count) in [
                (JSONValue.members(["user": .string(name)]), 1), (users, 1), (.members(["tags": .string(quoted)]), 1),
                (.members(["tags": .string("vip && !\(quoted)")]), 1),
                (.members(["tags": .string("vip && \(quoted)")]), 0),
            ] {
                #expect(try await Self.count(to, api) == Double(count), "\(to)")
                let body = JSONValue.members(["to": to, "body": .string("x")]).compactText
                let answer = try await api.call(.post, "/api/sends", as: key, body: body)
                #expect(answer.status == 202, "\(answer.text)")
                // As it is read from the store.
                let kept = try await Self.send(answer, api)
                let expression = try #require(kept.audience.expression)
                #expect(expression.tags.contains(Tag(user: user)))
                #expect(try TagExpression(parsing: expression.description, .exact) == expression)
                let shown = answer.json["to"]?.elements.compactMap(\.text) ?? [answer.json["expression"]?.text ?? ""]
                #expect(shown.contains { $0.contains(Tag(user: user).name) }, "\(shown)")
            }
        }
    }

    /// No tag can name such a sender, so no device listens.
    @Test func theClassicRouteLeavesSuchASenderOut() async throws {
        try await Harness.run { api async throws in
            let sender = try await Self.add("x||vip", .user, api)
            _ = try await api.register(as: .user("bob"), tags: #"["vip","from:bob"]"#)
            let answer = try await api.call(
                .post,
                "/api/notifications?pns=apns&to_tag=x%7C%7Cvip",
                as: sender,
                body: #""hi""#
            )
            #expect(answer.status == 200, "\(answer.text)")
            let send = try await Self.send(answer, api)
            #expect(send.audience.expression == .tag(Tag(user: try UserName("x||vip", .folded))))
            #expect(send.content == .classic(sender: "x||vip", text: "hi"))
            let others = try await api.call(.post, "/api/notifications?pns=apns&to_tag=bob", as: sender, body: #""hi""#)
            #expect(try await Self.send(others, api).audience.expression?.description == "username:bob")
            // Nor can anybody claim one.
            for tag in ["from:x||vip", "username:x||vip", "user('x||vip')"] {
                let body = #"{"service":"fcm","handle":"h","tags":["\#(tag)"]}"#
                #expect(
                    try await api.call(.put, "/api/registrations/r", as: sender, body: body).wrongMembers == ["tags[0]"]
                )
            }
            let own = try await api.call(
                .put,
                "/api/registrations/r",
                as: sender,
                body: #"{"service":"fcm","handle":"h","tags":["t"]}"#
            )
            #expect(own.json["user"]?.text == "x||vip", "\(own.text)")
            #expect(own.json["tags"]?.elements.compactMap(\.text) == ["t"])
        }
    }

    @Test func anAppWithAnAzureHubHasNoSuchUsers() async throws {
        var options = Harness.Options()
        options.hub = .isSilent
        options.spec.azureHub = AppSpec.AzureHub {
            $0.connectionStringFile = "/nowhere"
            $0.name = "news"
            $0.platforms = [.apns, .fcm]
        }
        try await Harness.run(options) { api async throws in
            for name in ["auth0|5f7c", "b=", "zo\u{E9}"] {
                let (key, user) = (Harness.As.user("desk"), try await Self.add(name, .user, api))
                let quoted = JSONValue.string(name).compactText
                let classic = #"{"Platform":"fcm","Handle":"h","Tags":[]}"#
                for answer in [
                    try await api.call(.put, "/api/register/r", as: user, body: classic),
                    try await api.call(.post, "/api/register", as: user),
                    try await api.call(.post, "/api/registrations", as: user, body: #"{"service":"fcm","handle":"h"}"#),
                    try await api.call(
                        .put,
                        "/api/registrations/r",
                        as: .user("root"),
                        body: #"{"service":"fcm","handle":"h","user":\#(quoted)}"#
                    ),
                    try await api.call(.post, "/api/sends", as: key, body: #"{"to":{"user":\#(quoted)},"body":"x"}"#),
                    try await api.call(
                        .post,
                        "/api/sends",
                        as: key,
                        body: #"{"to":{"users":["bob",\#(quoted)]},"body":"x"}"#
                    ),
                    try await api.call(
                        .post,
                        "/api/notifications?pns=fcm&to_tag=\(PercentCoding.encode(name))",
                        body: #""x""#
                    ),
                    try await api.call(.post, "/api/notifications", as: user),
                ] {
                    #expect(answer.status == 422 && answer.text.contains("letters, digits"), "\(name): \(answer.text)")
                }
                // They write to others as everybody does, and are removed.
                let other = try await api.call(
                    .post,
                    "/api/notifications?pns=fcm&to_tag=bob",
                    as: user,
                    body: #""x""#,
                    headers: ["Prefer": "wait=0"]
                )
                #expect(other.status == 202, "\(other.text)")
                let removal = try await api.call(.delete, "/api/users/\(PercentCoding.encode(name))", as: .user("root"))
                #expect(removal.status == 202, "\(removal.text)")
            }
        }
    }

    // MARK: Paths

    @Test(arguments: ["a/b", "a%2Fb", "a?b#c", "auth0|5f7c", "ann+shop@example.com", "Größe 🐙", "..a", "/", "\u{301}"])
    func aPathIsDividedBeforeItIsDecoded(name: String) async throws {
        try await Harness.run { api async throws in
            let root = Harness.As.user("root")
            _ = try await Self.add(name, .user, api)
            _ = try await api.register(as: .user(name))
            let path = PercentCoding.encode(name)
            let change = try await api.call(.patch, "/api/accounts/\(path)", as: root, body: #"{"role":"sender"}"#)
            #expect(change.json["name"]?.text == name, "\(change.text)")
            let list = try await api.call(.get, "/api/registrations?user=\(path)", as: root)
            #expect(list.json["items"]?.elements.count == 1)
            let removal = try await api.call(.delete, "/api/users/\(path)", as: root, headers: ["Prefer": "wait=30"])
            #expect(removal.json["state"]?.text == "completed", "\(removal.text)")
            if path.count > 3 {
                #expect(!removal.headers.contains { $0.value.contains(name) || $0.value.contains(path) })
            }
            #expect(try await Self.count(user: name, api) == 0)
        }
    }

    @Test(arguments: [".", "..", "%2e", "%2E%2e", ".%2e", "a%0Ab", "%E2%80%AE", "%FF", "", "a/b"])
    func theseAreNoUsersInAPath(part: String) async throws {
        try await Harness.run { api async throws in
            let root = Harness.As.user("root")
            #expect(try await api.call(.delete, "/api/users/\(part)", as: root).status == 404)
            #expect(try await api.call(.delete, "/api/accounts/\(part)", as: root).status == 404)
        }
    }

    // MARK: Tags

    @Test(arguments: [(nil, 200), (1000, 1000), (7, 7)] as [(Int?, Int)])
    func aDeviceHasAsManyTagsAsItsAppSays(setting: Int?, most: Int) async throws {
        var options = Harness.Options()
        if let setting { options.spec.tagsPerRegistration = setting }
        try await Harness.run(options) { api async throws in
            func tags(_ count: Int, _ begin: String = "t") -> String {
                JSONValue.strings((0..<count).map { "\(begin)\($0)" }).compactText
            }
            func body(_ count: Int) -> String { #"{"service":"fcm","handle":"h","tags":\#(tags(count))}"# }
            let path = "/api/registrations/r"
            let put = try await api.call(.put, path, body: body(most))
            #expect(put.json["tags"]?.elements.count == most + 1, "\(put.text.prefix(300))")
            let over = try await api.call(.put, path, body: body(most + 1))
            #expect(over.status == 400 && over.wrongMembers == ["tags"] && over.text.contains("at most \(most) tags"))
            #expect(try await Self.count(.members(["tag": .string("t\(most - 1)")]), api) == 1)
            // A patch counts what stays.
            let full = try await api.call(.patch, path, body: #"{"tags":{"add":["one"]}}"#)
            #expect(full.status == 409 && full.text.contains("at most \(most) tags"), "\(full.text)")
            let swap = try await api.call(.patch, path, body: #"{"tags":{"add":["one"],"remove":["t0"]}}"#)
            #expect(swap.json["tags"]?.elements.count == most + 1, "\(swap.text.prefix(300))")
            let lines = try await api.call(
                .post,
                "/api/registrations/import",
                as: .user("root"),
                body: "\(body(most))\n\(body(most + 1))\n"
            )
            #expect(lines.json["failed"]?.number == 1, "\(lines.text)")
            let classic = #"{"Platform":"fcm","Handle":"h","Tags":\#(tags(most + 1))}"#
            #expect(try await api.call(.put, "/api/register/r", body: classic).wrongMembers == ["Tags"])
        }
    }

    @Test func aListOfTagsIsBoundedAsItIsWritten() async throws {
        try await Harness.run { api async throws in
            func repeated(_ count: Int) -> String { JSONValue.strings(Array(repeating: "t", count: count)).compactText }
            func body(_ count: Int) -> String { #"{"service":"fcm","handle":"h","tags":\#(repeated(count))}"# }
            let path = "/api/registrations/r"
            let put = try await api.call(.put, path, body: body(1000))
            #expect(put.json["tags"]?.elements.count == 2, "\(put.text.prefix(300))")
            let over = try await api.call(.put, path, body: body(1001))
            #expect(over.status == 400 && over.wrongMembers == ["tags"], "\(over.text.prefix(300))")
            let patch = try await api.call(.patch, path, body: #"{"tags":{"add":\#(repeated(1001))}}"#)
            #expect(patch.status == 400 && patch.wrongMembers == ["tags.add"], "\(patch.text.prefix(300))")
        }
    }
}
