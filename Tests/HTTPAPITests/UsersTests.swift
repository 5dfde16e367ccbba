import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import PushModel
import Settings
import Store
import Testing
import Undisturbed

@testable import HTTPAPI

/// A send to `users`: one job, however many they are.
@Suite(.undisturbed) struct UsersTests {
    private static func body(_ names: [String], _ rest: String = #","body":"x""#) -> String {
        #"{"to":{"users":[\#(names.map { "\"\($0)\"" }.joined(separator: ","))]}\#(rest)}"#
    }

    /// Names as long as they may be.
    private static func longNames(_ count: Int) -> [String] {
        (0..<count).map { number in
            let text = String(number)
            return text + String(repeating: "x", count: 111 - text.count)
        }
    }

    @Test(arguments: [TestingSetup.router, .live])
    func aSendMayHave20000UsersAndItsAnswerIsShort(setup: TestingSetup) async throws {
        var options = Harness.Options()
        options.hub = .isSilent
        options.setup = setup
        try await Harness.run(options) { api async throws in
            let names = Self.longNames(20_000)
            let answer = try await api.call(.post, "/api/sends", body: Self.body(names))
            #expect(answer.status == 202, "\(answer.text.prefix(300))")
            let id = try #require(answer.json["id"]?.text.flatMap(JobID.init))
            let shown = try await api.call(.get, "/api/jobs/\(id)")
            let list = try await api.call(.get, "/api/jobs")
            for json in [answer.json, shown.json, try #require(list.json["items"]?.elements.first)] {
                #expect(json["to"]?.elements.compactMap(\.text) == names.prefix(100).map { "username:\($0)" })
                #expect(json["toCount"]?.number == 20_000)
                #expect(json["expression"] == nil)
            }
            #expect(list.bytes.count < 20_000)
            let request = try await api.request(of: id)
            #expect(request.audience.alternatives?.map(\.name) == names.prefix(100).map { "username:\($0)" })
            #expect(request.truncatedTags == 19_900)
            #expect(try await api.store.jobs(JobQuery(app: .default)).items.count == 1)
        }
    }

    @Test(arguments: [(0, 400), (1, 202), (20_001, 400)])
    func aSendHasOneTo20000Users(count: Int, status: Int) async throws {
        try await Harness.run { api async throws in
            let body = Self.body((0..<count).map { "u\($0)" })
            let answer = try await api.call(.post, "/api/sends", body: body)
            #expect(answer.status == status)
            if status == 400 { #expect(answer.wrongMembers == ["to.users"]) }
            let counted = try await api.call(.post, "/api/sends/count", body: body)
            #expect(counted.status == (status == 202 ? 200 : status))
            let line = try await api.call(.post, "/api/sends/batch", body: body)
            #expect(line.json["status"]?.number == Double(status))
            #expect(line.json["member"]?.text == (status == 400 ? "to.users" : nil))
        }
    }

    @Test func aListOfOneUserIsASendToThatUser() async throws {
        try await Harness.run { api async throws in
            let answer = try await api.call(.post, "/api/sends", body: Self.body(["bob", "bob"]))
            #expect(answer.json["to"]?.elements.compactMap(\.text) == ["username:bob"])
            #expect(answer.json["toCount"] == nil)
        }
    }

    @Test func invalidNamesAreReportedByPosition() async throws {
        try await Harness.run { api async throws in
            var names = (0..<30).map { "\"u\($0)\"" }
            (names[3], names[17], names[18]) = ("7", "\"a\\nb\"", "\"\"")
            names[29] = "\"\(String(repeating: "é", count: 128))y\""
            let body = #"{"to":{"users":[\#(names.joined(separator: ","))]},"body":"x"}"#
            let answer = try await api.call(.post, "/api/sends", body: body)
            #expect(answer.status == 400)
            #expect(answer.wrongMembers == [3, 17, 18, 29].map { "to.users[\($0)]" })
            // Not at any length.
            let many = Self.body(Array(repeating: "a\\nb", count: 5000))
            let wrong = try await api.call(.post, "/api/sends", body: many)
            #expect(wrong.wrongMembers == (0..<10).map { "to.users[\($0)]" })
            #expect(try await api.store.jobs(JobQuery(app: .default)).items.isEmpty)
        }
    }

    @Test func aUserMaySendToManyUsersButNotToTags() async throws {
        try await Harness.run { api async throws in
            let body = Self.body(["alice", "bob"])
            for caller in [Harness.As.user("alice"), .user("desk"), .user("root")] {
                #expect(try await api.call(.post, "/api/sends", as: caller, body: body).status == 202)
                #expect(try await api.call(.post, "/api/sends/count", as: caller, body: body).status == 200)
            }
            #expect(try await api.call(.post, "/api/sends", as: .nobody, body: body).status == 401)
            let tags = #"{"to":{"tags":["a","b"]},"body":"x"}"#
            let refused = try await api.call(.post, "/api/sends", body: tags)
            #expect(refused.status == 403)
            #expect(refused.text.contains("to.users"))
        }
    }

    @Test func devicesOfManyUsersAreCounted() async throws {
        try await Harness.run { api async throws in
            let rows = try (0..<600).map { number in
                ImportedRegistration(
                    pns: number.isMultiple(of: 3) ? .fcm : .apns,
                    handle: Handle(stored: "h\(number)"),
                    user: try UserName("u\(number / 2)", .folded)
                )
            }
            _ = try await api.store.importRegistrations(rows, app: .default, sequence: 1, lifetime: nil)
            // Of users 0 to 299 those with an even number, twice, and strangers.
            let names = (0..<150).map { "u\($0 * 2)" }
            let body = Self.body(names + names + ["x1", "x2"], "")
            let answer = try await api.call(.post, "/api/sends/count", body: body)
            #expect(answer.json["total"]?.number == 300)
            #expect(answer.json["counts"]?["fcm"]?.number == 100)
            #expect(answer.json["isComplete"] == .bool(true))
            let apns = Self.body(names, #","services":["apns"]"#)
            #expect(try await api.call(.post, "/api/sends/count", body: apns).json["total"]?.number == 200)
        }
    }

    @Test func aRepeatWithItsKeyIsTheSameJob() async throws {
        try await Harness.run { api async throws in
            let names = (0..<5000).map { "u\($0)" }
            let key = ["Idempotency-Key": "k"]
            let first = try await api.call(.post, "/api/sends", body: Self.body(names), headers: key)
            let again = try await api.call(.post, "/api/sends", body: Self.body(names), headers: key)
            #expect(first.status == 202 && again.json["id"] == first.json["id"])
            #expect(again.json["toCount"]?.number == 5000)
            let other = Self.body(names.dropLast() + ["other"])
            #expect(try await api.call(.post, "/api/sends", body: other, headers: key).status == 422)
        }
    }

    /// A long line among short ones: each is accepted for itself, in its place.
    @Test func aLineMayNameManyUsers() async throws {
        var options = Harness.Options()
        options.hub = .isSilent
        try await Harness.run(options) { api async throws in
            let body = [
                Self.body(["bob"]), Self.body(Self.longNames(20_000)), Self.body(["a\\nb"]), Self.body(["ann", "bob"]),
            ].joined(separator: "\n")
            let answer = try await api.call(.post, "/api/sends/batch", body: body)
            let lines = try answer.text.split(separator: "\n").map { try JSONReader.read(Array($0.utf8)) }
            #expect(lines.map { $0["status"]?.number } == [202, 202, 400, 202])
            #expect(lines[2]["member"]?.text == "to.users[0]")
            let id = try #require(lines[1]["id"]?.text.flatMap(JobID.init))
            let request = try await api.request(of: id)
            #expect(request.truncatedTags == 19_900)
        }
    }

    // MARK: When

    @Test func aLineMayStartLater() async throws {
        try await Harness.run { api async throws in
            let start = Timestamp.now.advanced(by: .seconds(3 * 86_400)).iso8601
            let send = #"{"to":{"user":"bob"},"body":"x""#
            let body = [
                #"\#(send),"ttl":60,"at":"\#(start)"}"#, #"\#(send),"at":"tomorrow"}"#,
                #"\#(send),"at":"2020-01-01T00:00:00Z"}"#, #"\#(send)}"#, #"\#(send),"at":7}"#,
                #"{"to":{"users":["ann","bob"]},"body":"x","at":"\#(start)"}"#,
            ].joined(separator: "\n")
            let answer = try await api.call(.post, "/api/sends/batch", body: body)
            let lines = try answer.text.split(separator: "\n").map { try JSONReader.read(Array($0.utf8)) }
            #expect(lines.map { $0["line"]?.number } == [1, 2, 3, 4, 5, 6])
            #expect(lines.map { $0["status"]?.number } == [202, 400, 400, 202, 400, 202])
            for number in [1, 2, 4] { #expect(lines[number]["member"]?.text == "at") }
            for (number, state) in [(0, "scheduled"), (5, "scheduled")] {
                let id = try #require(lines[number]["id"]?.text)
                let job = try await api.call(.get, "/api/jobs/\(id)").json
                #expect(job["state"]?.text == state)
                #expect(job["at"]?.text == start)
            }
            let other = try #require(lines[3]["id"]?.text)
            let job = try await api.call(.get, "/api/jobs/\(other)").json
            #expect(job["at"] == nil && job["state"]?.text != "scheduled")
        }
    }

    /// The classic routes know neither a start nor users: what an app of theirs says there means nothing.
    @Test(arguments: ["/api/notifications", "/api/notifications?pns=apns&to_tag=alice"])
    func aClassicSendGoesOutAtOnce(path: String) async throws {
        try await Harness.run { api async throws in
            let start = Timestamp.now.advanced(by: .seconds(86_400)).iso8601
            let body = #"{"message":"x","at":"\#(start)","to":{"users":["bob"]}}"#
            let answer = try await api.call(.post, path, body: body)
            #expect(answer.status == 200, "\(answer.text)")
            let id = try #require(answer.headers[.job])
            let job = try await api.call(.get, "/api/jobs/\(id)").json
            #expect(job["state"]?.text == "completed")
            #expect(job["at"] == nil && job["toCount"] == nil)
            #expect(job["to"]?.elements.contains(.string("username:alice")) == true)
        }
    }
}
