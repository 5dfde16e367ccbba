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

@Suite(.undisturbed) struct LimitTests {
    private static let send = #"{"to":{"user":"bob"},"body":"x"}"#

    @Test(arguments: [TestingSetup.router, .live])
    func aBodyThatIsTooLargeIsRefused(setup: TestingSetup) async throws {
        var options = Harness.Options()
        options.setup = setup
        options.configuration.settings.bodySize = 500
        options.configuration.settings.sendSize = 1000
        options.configuration.settings.contentSize = 2000
        try await Harness.run(options) { api async throws in
            let large = try await api.call(.post, "/api/sends", body: String(repeating: " ", count: 1001))
            #expect(large.status == 413)
            #expect(try await api.call(.post, "/api/sends", body: String(repeating: " ", count: 1000)).status == 400)
            let notification = "/api/notifications?pns=apns&to_tag=bob"
            let long = String(repeating: " ", count: 501)
            #expect(try await api.call(.post, notification, body: long).status == 413)
            #expect(try await api.call(.post, "/api/sends/count", body: long + long).status == 413)
            #expect(try await api.call(.post, "/api/contents", body: String(repeating: "x", count: 2000)).status == 201)
            #expect(try await api.call(.post, "/api/contents", body: String(repeating: "x", count: 2001)).status == 413)
            #expect(try await api.call(.post, "/api/contents", body: "").status == 400)
        }
    }

    @Test func tooManyRequestsASecondAre429() async throws {
        var options = Harness.Options()
        options.configuration.settings.requestsPerSecond = 3
        try await Harness.run(options) { api async throws in
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<40 { group.addTask { try await api.call(.get, "/api/jobs").status } }
                return try await group.reduce(into: [Int]()) { $0.append($1) }
            }
            #expect(statuses.count { $0 == 200 } >= 3)
            #expect(statuses.contains(429))
            let late = try await api.call(.get, "/api/jobs")
            if late.status == 429 { #expect(late.headers[.retryAfter] == "1") }
            // Another account has a bucket of its own.
            #expect(try await api.call(.get, "/api/jobs", as: .user("bob")).status == 200)
        }
    }

    @Test func tooManyConcurrentRequestsAre503AndHealthStillAnswers() async throws {
        var options = Harness.Options()
        options.hub = .isSilent
        // One of them is kept for others.
        options.configuration.settings.inFlight = 3
        options.configuration.settings.classicWait = .seconds(10)
        try await Harness.run(options) { api async throws in
            try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<2 { group.addTask { try await api.call(.post, "/api/register").status } }
                // When both wait for the hub.
                while try await api.store.state().jobs < 2 { try await Task.sleep(for: .milliseconds(20)) }
                let full = try await api.call(.get, "/api/jobs")
                #expect(full.status == 503)
                #expect(full.headers[.retryAfter] == "1")
                #expect(try await api.call(.get, "/api/jobs", as: .user("bob")).status == 200)
                #expect(try await api.call(.get, "/healthz", as: .nobody).status == 200)
                for try await status in group { #expect(status == 503) }
            }
            #expect(try await api.call(.get, "/api/jobs").status == 200)
        }
    }

    @Test func unknownPathsAre404AndUnknownMethods405() async throws {
        try await Harness.run { api async throws in
            for path in [
                "/", "/api", "/api/", "/api/nothing", "/api/jobs/", "//api/jobs", "/api/apps/default", "/API/jobs",
            ] {
                let answer = try await api.call(.get, path)
                #expect(answer.status == 404, "\(path)")
                #expect(answer.json["status"]?.number == 404)
            }
            let wrong = try await api.call(.put, "/api/jobs")
            #expect(wrong.status == 405)
            #expect(wrong.headers[.allow] == "GET, HEAD")
            #expect(try await api.call(.get, "/api/register").headers[.allow] == "POST")
            #expect(
                try await api.call(HTTPRequest.Method("BREW") ?? .trace, "/api/register/x").headers[.allow]
                    == "DELETE, PUT"
            )
            let head = try await api.call(.head, "/api/jobs")
            #expect(head.status == 200)
            #expect(head.bytes.isEmpty)
        }
    }

    @Test func healthNeedsNoCredentials() async throws {
        try await Harness.run { api async throws in
            for path in ["/healthz", "/metrics", "/openapi.yaml"] {
                #expect(try await api.call(.get, path, as: .nobody).status == 200, "\(path)")
            }
            // The store has two seconds to answer, which a busy machine may not keep at once.
            var tries = 0
            while try await api.call(.get, "/readyz", as: .nobody).status != 200, tries < 20 { tries += 1 }
            #expect(tries < 20)
            #expect(try await api.call(.get, "/readyz", as: .nobody).json["broker"]?.text == "connected")
        }
    }
}
