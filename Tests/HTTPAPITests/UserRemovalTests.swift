import HTTPTypes
import PushModel
import Store
import Testing
import Undisturbed

@testable import HTTPAPI

/// `DELETE /api/users/{user}`.
@Suite(.undisturbed) struct UserRemovalTests {
    private static let wait = ["Prefer": "wait=30"]

    private static func problem(_ answer: Harness.Answer) -> String? {
        answer.json["type"]?.text.map { String($0.trimmingPrefix("urn:pushline:problem:")) }
    }

    /// Waits for the job that an answer names.
    private static func end(_ answer: Harness.Answer, _ api: Harness, as caller: Harness.As) async throws -> JSONValue {
        let path = try #require(answer.headers[.location])
        while true {
            let job = try await api.call(.get, path, as: caller)
            guard job.json["isFinal"] != .bool(true) else { return job.json }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    @Test func aBackendRemovesAUserAndTheJobSaysWhenItIsDone() async throws {
        try await Harness.run { api async throws in
            let key = try await api.key(.sender)
            let body = #"{"service":"apns","handle":"\#(String(repeating: "ab", count: 32))","user":"eve"}"#
            #expect(try await api.call(.put, "/api/registrations/phone", as: key, body: body).status == 200)
            let answer = try await api.call(.delete, "/api/users/EVE", as: key)
            #expect(answer.status == 202)
            #expect(answer.headers[.job] == answer.json["id"]?.text)
            // It goes on however long its queue is paused.
            let years = ["accepted", "expires"].compactMap { answer.json[$0]?.text.flatMap { Int($0.prefix(4)) } }
            #expect(years.count == 2 && years[1] >= years[0] + 9, "\(answer.text)")
            let job = try await Self.end(answer, api, as: key)
            #expect(job["state"]?.text == "completed" && job["result"]?["status"]?.text == "done")
            #expect(try await api.call(.get, "/api/registrations/phone", as: key).status == 404)
            let jobs = try await api.call(.get, "/api/jobs", as: key)
            #expect(!jobs.text.lowercased().contains("eve\""))
            // Whoever is not there is removed as well.
            let again = try await api.call(.delete, "/api/users/eve", as: key, headers: Self.wait)
            #expect(again.status == 200 && again.json["state"]?.text == "completed")
            #expect(again.json["id"] != answer.json["id"])
        }
    }

    @Test func anAccountIsRemovedByOperatorsAloneAndAtOnce() async throws {
        var options = Harness.Options()
        options.configuration.directoryLifetime = .seconds(600)
        try await Harness.run(options) { api async throws in
            let (sender, root) = (try await api.key(.sender), Harness.As.user("root"))
            #expect(try await api.call(.get, "/api/jobs", as: .user("bob")).status == 200)
            #expect(try await api.call(.delete, "/api/users/bob", as: sender).status == 403)
            #expect(try await api.call(.get, "/api/jobs", as: .user("bob")).status == 200)
            let answer = try await api.call(.delete, "/api/users/bob", as: root)
            #expect(answer.status == 202)
            #expect(try await api.call(.get, "/api/jobs", as: .user("bob")).status == 401)
            #expect(try await Self.end(answer, api, as: root)["state"]?.text == "completed")
            let accounts = try await api.call(.get, "/api/accounts", as: root)
            #expect(accounts.json["items"]?.elements.compactMap { $0["name"]?.text } == ["alice", "desk", "root"])
            #expect(try await api.call(.delete, "/api/users/bob", as: sender, headers: Self.wait).status == 200)
        }
    }

    @Test func usersAndSendersWithAnAccountMayNot() async throws {
        try await Harness.run { api async throws in
            for caller in ["alice", "desk"] {
                #expect(try await api.call(.delete, "/api/users/\(caller)", as: .user(caller)).status == 403)
            }
            let operatorOfOther = try await api.call(.delete, "/api/apps/other/users/alice", as: .user("root"))
            #expect(operatorOfOther.status == 401)
        }
    }

    @Test func aNameThatNobodyCanHaveIsNotFound() async throws {
        try await Harness.run { api async throws in
            let root = Harness.As.user("root")
            #expect(try await api.call(.delete, "/api/users/a%0Ab", as: root).status == 404)
            let long = String(repeating: "a", count: 257)
            #expect(try await api.call(.delete, "/api/users/\(long)", as: root).status == 404)
            #expect(try await api.call(.delete, "/api/users/eve?all=true", as: root).wrongMembers == ["all"])
        }
    }

    @Test func operatorsRemoveThemselvesWhereTheySaySoAndAreNotTheLast() async throws {
        try await Harness.run { api async throws in
            let root = Harness.As.user("root")
            #expect(Self.problem(try await api.call(.delete, "/api/users/Root", as: root)) == "own-account")
            let last = try await api.call(.delete, "/api/users/root?self=true", as: root)
            #expect(last.status == 409 && Self.problem(last) == "last-operator")
            let key = try await api.key(.operator)
            let answer = try await api.call(.delete, "/api/users/root?self=true", as: root)
            #expect(answer.status == 202 && answer.json["user"] == nil)
            #expect(try await api.call(.get, "/api/jobs", as: root).status == 401)
            let job = try await Self.end(answer, api, as: key)
            #expect(job["state"]?.text == "completed" && job["user"] == nil)
        }
    }

    @Test func oneRemovalOfAUserIsUnderWayAtATime() async throws {
        var options = Harness.Options()
        options.hub = .isSilent
        try await Harness.run(options) { api async throws in
            let (key, other) = (try await api.key(.sender), try await api.key(.sender, name: "other"))
            let first = try await api.call(.delete, "/api/users/eve", as: key)
            #expect(first.status == 202)
            let again = try await api.call(.delete, "/api/users/Eve", as: key)
            #expect(again.status == 202 && again.json["id"] == first.json["id"])
            // A job of others is nobody's to see.
            #expect(try await api.call(.delete, "/api/users/eve", as: other).status == 409)
            let seen = try await api.call(.delete, "/api/users/eve", as: .user("root"))
            #expect(seen.status == 202 && seen.json["id"] == first.json["id"])
            #expect(try await api.call(.delete, "/api/users/adam", as: key).json["id"] != first.json["id"])
        }
    }
}
