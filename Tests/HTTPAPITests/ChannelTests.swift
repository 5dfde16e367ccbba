import HTTPTypes
import PushModel
import Settings
import Store
import Testing
import Undisturbed

@testable import HTTPAPI

/// `/api/channels`; the worker that asks Apple is ``FakeHub``.
@Suite(.undisturbed) struct ChannelTests {
    private static func run(
        _ habit: FakeHub.Habit = .takes,
        wait: Duration = .seconds(5),
        _ body: @Sendable @escaping (Harness) async throws -> Void
    ) async throws {
        var options = Harness.Options()
        options.hub = habit
        options.configuration.settings.classicWait = wait
        options.spec.apns = AppSpec.APNs {
            $0.authentication = .token(.init(keyFile: "/nowhere.p8", keyID: "K", teamID: "T"))
            $0.topic = "com.example.app"
        }
        try await Harness.run(options, body)
    }

    @Test func aChannelIsMadeShownListedAndDeleted() async throws {
        try await Self.run { api async throws in
            for caller in [Harness.As.user("desk"), .user("root"), try await api.key(.sender)] {
                let made = try await api.call(.post, "/api/channels", as: caller, body: #"{"storage":"latest"}"#)
                #expect(made.status == 201 && made.text == #"{"id":"a+/=","storage":"latest"}"#, "\(made.text)")
                let path = try #require(made.headers[.location])
                #expect(path == "/api/channels/a%2B%2F%3D")
                let shown = try await api.call(.get, path, as: caller)
                #expect(shown.status == 200 && shown.text == #"{"id":"a+/=","storage":"latest"}"#)
                let first = try await api.call(.get, "/api/channels?limit=1", as: caller)
                #expect(first.status == 200 && first.text == #"{"items":[{"id":"a+/="}],"cursor":"a+/="}"#)
                let rest = try await api.call(.get, "/api/channels?limit=1&cursor=a%2B%2F%3D", as: caller)
                #expect(rest.text == #"{"items":[{"id":"Yg=="}]}"#)
                #expect(try await api.call(.delete, path, as: caller).status == 204)
                #expect(try await api.call(.get, "/api/channels/Yg==", as: caller).status == 404)
                #expect(try await api.call(.delete, "/api/channels/Yg==", as: caller).status == 404)
                // The job has the channel, and no list.
                let job = try #require(made.headers[HTTPField.Name.job])
                let result = try await api.call(.get, "/api/jobs/\(job)", as: caller).json["result"]
                #expect(result?.compactText == #"{"status":"done","channel":{"id":"a+/=","storage":"latest"}}"#)
                let list = try #require(first.headers[HTTPField.Name.job])
                let listed = try await api.call(.get, "/api/jobs/\(list)", as: caller).json["result"]
                #expect(listed?.compactText == #"{"status":"done"}"#)
            }
        }
    }

    @Test func usersMayNot() async throws {
        try await Self.run { api async throws in
            for (method, path) in [
                (.get, "/api/channels"), (.post, "/api/channels"), (.get, "/api/channels/YQ=="),
                (.delete, "/api/channels/YQ=="),
            ] as [(HTTPRequest.Method, String)] {
                #expect(try await api.call(method, path, body: method == .post ? "{}" : nil).status == 403)
            }
        }
    }

    @Test func whatIsWrongIsNamed() async throws {
        try await Self.run { api async throws in
            let desk = Harness.As.user("desk")
            func wrong(_ method: HTTPRequest.Method, _ path: String, _ body: String? = nil) async throws -> [String] {
                let answer = try await api.call(method, path, as: desk, body: body)
                #expect(answer.status == 400, "\(answer.text)")
                return answer.wrongMembers
            }
            #expect(try await wrong(.post, "/api/channels", #"{"storage":"all"}"#) == ["storage"])
            #expect(try await wrong(.post, "/api/channels", #"{"credential":"watch"}"#) == ["credential"])
            #expect(try await wrong(.post, "/api/channels", #"{"name":"x"}"#) == ["name"])
            #expect(try await wrong(.get, "/api/channels?credential=watch") == ["credential"])
            #expect(try await wrong(.get, "/api/channels?cursor=%21") == ["cursor"])
            #expect(try await wrong(.delete, "/api/channels/YQ==?all=true") == ["all"])
            #expect(try await api.call(.get, "/api/channels/a%20b", as: desk).status == 404)
            // Apple refuses, with its reason.
            let refused = try await api.call(.get, "/api/channels/Yw==", as: desk)
            #expect(refused.status == 422 && refused.json["detail"]?.text == "403 TopicMismatch", "\(refused.text)")
        }
    }

    @Test func anAppWithoutAppleOrWithAnAzureHubHasNone() async throws {
        try await Harness.run { api async throws in
            let root = Harness.As.user("root")
            let none = try await api.call(.post, "/api/channels", as: root, body: "{}")
            #expect(none.status == 422 && none.text.contains("has no APNs credentials"), "\(none.text)")
            var spec = AppSpec()
            spec.azureHub = AppSpec.AzureHub {
                $0.connectionStringFile = "/nowhere"
                $0.name = "news"
                $0.platforms = [.apns]
            }
            _ = try await api.store.apply(.app(.default, spec))
            let hub = try await api.call(.get, "/api/channels", as: root)
            #expect(hub.status == 422 && hub.text.contains("has no broadcast channels"))
            #expect(try await api.call(.get, "/api/jobs", as: root).json["items"]?.elements.isEmpty == true)
        }
    }

    /// What waits for Apple delays no device that registers, and nothing is asked for a caller who is gone.
    @Test func jobsAreOrdinaryAndQuestionsAreShort() async throws {
        try await Self.run { api async throws in
            let desk = Harness.As.user("desk")
            _ = try await api.call(.get, "/api/channels", as: desk)
            _ = try await api.call(.get, "/api/channels/a%2B%2F%3D", as: desk, headers: ["Prefer": "wait=30"])
            _ = try await api.call(.post, "/api/channels", as: desk, body: "{}")
            let jobs = try await api.store.jobs(JobQuery(app: .default)).items
            #expect(jobs.map(\.priority) == [.normal, .normal, .normal])
            let lives = jobs.map { $0.accepted.duration(to: $0.expires) }
            #expect(lives == [.seconds(86_400), .seconds(60), .seconds(5)])
        }
    }

    /// A creation must not be repeated blindly: its caller always learns the job.
    @Test func aCreationThatTakesLongIsAJob() async throws {
        try await Self.run(.isSilent, wait: .milliseconds(50)) { api async throws in
            let desk = Harness.As.user("desk")
            let key = ["Idempotency-Key": "match-1"]
            let made = try await api.call(.post, "/api/channels", as: desk, body: "{}", headers: key)
            let job = try #require(made.headers[HTTPField.Name.job])
            #expect(made.status == 202 && made.headers[.location] == "/api/jobs/\(job)")
            let again = try await api.call(.post, "/api/channels", as: desk, body: "{}", headers: key)
            #expect(again.status == 202 && again.headers[HTTPField.Name.job] == job)
            let other = #"{"storage":"latest"}"#
            #expect(try await api.call(.post, "/api/channels", as: desk, body: other, headers: key).status == 422)
            let list = try await api.call(.get, "/api/channels", as: desk)
            #expect(list.status == 503 && list.headers[.retryAfter] != nil)
        }
    }
}
