import HTTPTypes
import PushModel
import Store
import Testing
import Undisturbed

@testable import HTTPAPI

/// What requests wait for: with `Prefer: wait=N` for the outcome, and on the classic routes for the hub's answer.
@Suite(.undisturbed) struct JobWaitTests {
    private static let sends = #"{"to":{"user":"bob"},"body":"hello"}"#

    private static func run(
        _ habit: FakeHub.Habit,
        _ body: @Sendable @escaping (Harness) async throws -> Void
    ) async throws {
        var options = Harness.Options()
        options.hub = habit
        options.spec.apns = AppSpec.APNs {
            $0.authentication = .token(.init(keyFile: "/nowhere.p8", keyID: "K", teamID: "T"))
            $0.topic = "com.example.app"
        }
        try await Harness.run(options, body)
    }

    /// A request of each kind that makes a job, and the status with its outcome; each needs those before it.
    private static let requests: [(method: HTTPRequest.Method, path: String, body: String?, done: Int)] = [
        (.put, "/api/registrations/a", #"{"service":"apns","handle":"\#(handle("ab"))","user":"nina"}"#, 200),
        (.post, "/api/registrations", #"{"service":"apns","handle":"\#(handle("cd"))"}"#, 201),
        (.patch, "/api/registrations/a", #"{"tags":{"add":["news"]}}"#, 200),
        (.delete, "/api/registrations/a", nil, 204),
        (.post, "/api/channels", "{}", 201),
        (.get, "/api/channels", nil, 200),
        (.get, "/api/channels/a%2B%2F%3D", nil, 200),
        (.delete, "/api/channels/a%2B%2F%3D", nil, 204),
        (.post, "/api/sends", sends, 200),
        (.delete, "/api/users/nina", nil, 200),
    ]

    private static func handle(_ digits: String) -> String { String(repeating: digits, count: 32) }

    @Test func whatIsFinalInTimeIsTheAnswer() async throws {
        try await Self.run(.takes) { api async throws in
            for (method, path, body, done) in Self.requests {
                let prefer = ["Prefer": "wait=30"]
                let answer = try await api.call(method, path, as: .user("root"), body: body, headers: prefer)
                #expect(answer.status == done, "\(method) \(path): \(answer.text)")
                #expect(answer.headers[.preferenceApplied] == "wait=30", "\(method) \(path)")
                let job = try #require(answer.headers[.job])
                let read = try await api.call(.get, "/api/jobs/\(job)", as: .user("root"))
                #expect(read.json["isFinal"] == .bool(true), "\(method) \(path): \(read.text)")
            }
        }
    }

    @Test func whatIsNotFinalInTimeIsAJob() async throws {
        try await Self.run(.isSilent) { api async throws in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (method, path, body, _) in Self.requests {
                    group.addTask {
                        let prefer = ["Prefer": "wait=1"]
                        let answer = try await api.call(method, path, as: .user("root"), body: body, headers: prefer)
                        #expect(answer.status == 202, "\(method) \(path): \(answer.text)")
                        #expect(answer.headers[.preferenceApplied] == "wait=1", "\(method) \(path)")
                        let job = try #require(answer.headers[.location])
                        #expect(job == answer.headers[.job].map { "/api/jobs/\($0)" })
                        let read = try await api.call(.get, job, as: .user("root"))
                        #expect(read.json["isFinal"] == .bool(false), "\(method) \(path): \(read.text)")
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    /// The newest send, once a worker has found devices for it.
    private static func running(_ api: Harness, but others: [JobID] = []) async throws -> JobID {
        while true {
            let jobs = try await api.store.jobs(JobQuery(app: .default, kind: .send)).items
            if let job = jobs.first(where: { !others.contains($0.id) && $0.state == .running }) { return job.id }
            try await Task.sleep(for: .milliseconds(10))
        }
    }

    private static func record(_ job: JobID, _ api: Harness) async throws {
        let batch = BatchKey(job: job, pns: .apns, page: 0, attempt: 0)
        #expect(try await api.store.record([BatchOutcome(key: batch, accepted: 1, at: .now)]) == [true])
    }

    /// That devices were found is not an outcome.
    @Test func aSendIsWaitedForUntilItsDevicesHaveTheirs() async throws {
        try await Self.run(.begins) { api async throws in
            let short = try await api.call(.post, "/api/sends", body: Self.sends, headers: ["Prefer": "wait=1"])
            #expect(short.status == 202 && short.json["state"]?.text == "running", "\(short.text)")
            let first = try #require(short.json["id"]?.text.flatMap(JobID.init))
            async let long = api.call(.post, "/api/sends", body: Self.sends, headers: ["Prefer": "wait=60"])
            try await Self.record(try await Self.running(api, but: [first]), api)
            let answer = try await long
            #expect(answer.status == 200 && answer.json["state"]?.text == "completed", "\(answer.text)")
            #expect(answer.json["totals"]?["accepted"]?.number == 1)
        }
    }

    @Test func aClassicSendIsWaitedForUntilTheHubHasAnswered() async throws {
        try await Self.run(.begins) { api async throws in
            let path = "/api/notifications?pns=apns&to_tag=bob"
            let answer = try await api.call(.post, path, body: "\"x\"", headers: ["Prefer": "wait=60"])
            #expect(answer.status == 200 && answer.bytes.isEmpty)
            #expect(answer.headers[.preferenceApplied] == "wait=60")
            let job = try #require(answer.headers[.job])
            let read = try await api.call(.get, "/api/jobs/\(job)")
            #expect(read.json["state"]?.text == "running", "\(read.text)")
        }
    }

    @Test func aCancelledSendIsWaitedFor() async throws {
        try await Self.run(.begins) { api async throws in
            let sent = try await api.call(.post, "/api/sends", body: Self.sends)
            let path = try #require(sent.headers[.location])
            let job = try await Self.running(api)
            let short = try await api.call(.delete, path, headers: ["Prefer": "wait=1"])
            #expect(short.status == 202 && short.json["state"]?.text == "cancelling", "\(short.text)")
            #expect(short.headers[.location] == path && short.headers[.preferenceApplied] == "wait=1")
            async let long = api.call(.delete, path, headers: ["Prefer": "wait=60"])
            try await Self.record(job, api)
            let answer = try await long
            // What comes after the end is refused, as always.
            #expect([200, 409].contains(answer.status), "\(answer.text)")
            if answer.status == 200 { #expect(answer.json["state"]?.text == "cancelled") }
            #expect(try await api.call(.get, path).json["isFinal"] == .bool(true))
        }
    }
}
