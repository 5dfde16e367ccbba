import Broker
import HTTPTypes
import PushModel
import Store
import Testing
import Undisturbed

@testable import HTTPAPI

/// What metrics and jobs say of work that does not get on.
@Suite(.undisturbed) struct BlockedWorkTests {
    private static func send(_ api: Harness) async throws -> String {
        let answer = try await api.call(.post, "/api/sends", body: #"{"to":{"user":"bob"},"body":"x"}"#)
        return try #require(answer.json["id"]?.text)
    }

    @Test func metricsReportTheBrokerAndTheBacklog() async throws {
        var options = Harness.Options()
        options.hub = .isSilent
        try await Harness.run(options) { api async throws in
            /// The metrics, when they say that: a copy is a second old, and the store may not answer in time on a busy machine.
            func metrics(with line: String) async throws -> [String] {
                var lines: [String] = []
                for _ in 0..<100 {
                    let text = try await api.call(.get, "/metrics", as: .nobody).text
                    lines = text.split(separator: "\n").map(String.init)
                    if lines.contains(line) { break }
                    try await Task.sleep(for: .milliseconds(100))
                }
                return lines
            }
            let idle = try await metrics(with: "pushline_unfinished_jobs 0")
            for line in [
                "up 1", "# TYPE pushline_broker_connected gauge", "pushline_broker_connected 1",
                "pushline_broker_blocked 0", "pushline_dead_letters 0", "pushline_queue_jobs{queue=\"send\"} 0",
                "pushline_queue_oldest_seconds{queue=\"deliver.apns\"} 0",
            ] {
                #expect(idle.contains(line), "\(line)")
            }
            for name in ["pushline_store_bytes", "pushline_store_free_bytes"] {
                #expect(idle.contains { $0.hasPrefix("\(name) ") && $0 != "\(name) 0" }, "\(name)")
            }
            for _ in 1...2 { _ = try await Self.send(api) }
            try await api.store.deadLetter(
                IncomingDeadLetter(queue: "q", type: "t", messageID: "m", app: nil, reason: "r", body: [])
            )
            api.broker.setBlocked("low on memory")
            let blocked = try await metrics(with: "pushline_broker_blocked 1")
            for line in [
                "pushline_broker_connected 1", "pushline_broker_blocked 1", "pushline_unfinished_jobs 2",
                "pushline_dead_letters 1",
            ] {
                #expect(blocked.contains(line), "\(line)")
            }
            api.broker.setUnavailable(true)
            let away = try await metrics(with: "pushline_broker_connected 0")
            #expect(away.contains("pushline_broker_connected 0") && away.contains("pushline_broker_blocked 0"))
        }
    }

    @Test func aQueuedJobReportsWhyItWaits() async throws {
        var options = Harness.Options()
        options.hub = .isSilent
        try await Harness.run(options) { api async throws in
            let id = try await Self.send(api)
            func reason() async throws -> String? {
                let job = try await api.call(.get, "/api/jobs/\(id)").json
                #expect(job["state"]?.text == "queued")
                return job["reason"]?.text
            }
            #expect(try await reason() == nil)
            api.broker.setBlocked("low on memory")
            #expect(try await reason() == "the broker has an alarm and takes no messages: low on memory")
            api.broker.setUnavailable(true)
            #expect(try await reason()?.hasPrefix("the broker cannot be reached: ") == true)
            try await api.store.apply(.pause(.begin(.send, app: nil, by: "host:root")))
            #expect(try await reason() == "paused: send")
            api.broker.setUnavailable(false)
            api.broker.setBlocked(nil)
            #expect(try await reason() == "paused: send")
            _ = try await api.store.apply(.pause(.end(.send, app: nil)))
            #expect(try await reason() == nil)
        }
    }
}
