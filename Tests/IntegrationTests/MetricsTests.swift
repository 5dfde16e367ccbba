import Broker
import Foundation
import InstallationSupport
import PushModel
import PushlineMetrics
import TestStores
import Testing
import Undisturbed

/// What the programs expose, after some work.
@Suite(.serialized, .ownInstallation, .timeLimit(.minutes(3)), .undisturbed) struct MetricsTests {
    private struct Accepted: Decodable { let id: String }

    private var installation: EndToEndInstallation {
        get throws { try #require(EndToEndInstallation.current) }
    }

    /// Two devices that are reached, and a send to nobody.
    private func work() async throws {
        let installation = try self.installation
        try await installation.register("bob", platform: "apns", handle: String(repeating: "ab", count: 32))
        try await installation.register("carol", platform: "fcm", handle: "device:carol")
        for user in ["bob", "carol", "alice"] {
            let answer = try await installation.asBackend(
                "POST",
                "/api/sends",
                body: #"{"to":{"user":"\#(user)"},"body":"x"}"#
            )
            _ = try await installation.finished(try answer.decoded(Accepted.self).id)
        }
    }

    @Test func exposedMetricsAreInTheTableAndPassPromtool() async throws {
        try await self.work()
        var exposed: Set<String> = []
        var all = ""
        for program in EndToEndInstallation.programs {
            let text = try await self.installation.metrics(of: program)
            exposed.formUnion(try Self.check(text, of: program))
            try await Self.promtool(text, of: program)
            all += text
        }
        // What such a scenario does not show.
        var others: Set = [
            "pushline_broker_connections_failed_total", "pushline_broker_channels_replaced_total",
            "pushline_broker_refused_total", "pushline_http_connections_ended_total",
            "pushline_signin_failures_total", "pushline_signin_turned_away_total", "pushline_breakers_open",
            "pushline_breakers_opened_total", "pushline_credential_expiry_timestamp_seconds",
            "pushline_sweeper_published_total", "pushline_backup_timestamp_seconds",
            "pushline_store_unanswered_commits_total", "pushline_store_lost_commits_total",
            "pushline_trace_spans_total",
        ]
        // Of the disk of a server's store the server's own exporter tells.
        if TestStore.isAtServer {
            others.formUnion(["pushline_store_bytes", "pushline_store_free_bytes", "pushline_store_wal_bytes"])
        }
        #expect(Set(MetricDescription.all.map(\.name)).subtracting(exposed).subtracting(others) == [])
        for line in [
            #"pushline_jobs_accepted_total{kind="send"} 3"#, #"pushline_queue_jobs{queue="send"} 0"#,
            #"pushline_deliveries_total{app="default",outcome="accepted",service="apns"} 1"#,
            #"pushline_push_request_duration_seconds_count{service="fcm"} 1"#,
            #"pushline_delivery_delay_seconds_count{priority="normal",service="apns"} 1"#,
            #"pushline_push_connections{service="apns"} 1"#,
        ] {
            #expect(all.contains("\n\(line)\n"), "\(line)")
        }
        // The deliveries' ends in one program, that of the send to nobody in another, registrations in a third.
        let finished = all.split(separator: "\n").filter {
            $0.hasPrefix(#"pushline_jobs_finished_total{state="completed"} "#)
        }
        #expect(finished.compactMap { $0.split(separator: " ").last.flatMap { Int($0) } }.reduce(0, +) >= 5)
    }

    /// Compares each metric with the table.
    ///
    /// - Returns: The names.
    private static func check(_ text: String, of program: String) throws -> Set<String> {
        var names: Set<String> = []
        var known: MetricDescription?
        for line in text.split(separator: "\n") {
            if line.hasPrefix("# HELP ") || line.hasPrefix("# TYPE ") {
                let name = String(line.split(separator: " ")[2])
                known = MetricDescription.named[name]
                let metric = try #require(known, "\(program) exposes \(name), which is not in the table")
                #expect(metric.header.contains("\(line)\n"))
                #expect(metric.processes.map(\.rawValue).contains(program), "\(program) exposes \(name)")
                names.insert(name)
                continue
            }
            let metric = try #require(known)
            #expect(line.hasPrefix(metric.name))
            let labels = line.matches(of: /(\w+)="(?:[^"\\]|\\.)*"/).map { String($0.1) }.filter { $0 != "le" }
            #expect(Set(labels) == Set(metric.labels.map(\.rawValue)), "\(program): \(line)")
        }
        return names
    }

    /// Has Prometheus' own tool look at an exposition; `deploy/test` brings it.
    private static func promtool(_ text: String, of program: String) async throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let own = root.appending(path: ".pushline/promtool/usr/bin/promtool").path
        let installed = "/usr/bin/promtool"
        let path = try #require(
            [own, installed].first(where: FileManager.default.isExecutableFile),
            "promtool is missing: deploy/test fetches it"
        )
        let file = FileManager.default.temporaryDirectory.appending(path: "pushline-\(UUID().uuidString).prom")
        let words = file.appendingPathExtension("out")
        defer { for file in [file, words] { try? FileManager.default.removeItem(at: file) } }
        try Data(text.utf8).write(to: file)
        try Data().write(to: words)
        let process = Process()
        process.executableURL = URL(filePath: path)
        process.arguments = ["check", "metrics"]
        process.standardInput = try FileHandle(forReadingFrom: file)
        process.standardOutput = try FileHandle(forWritingTo: words)
        process.standardError = process.standardOutput
        let status = try await withCheckedThrowingContinuation {
            (continuation: CheckedContinuation<Int32, any Error>) in
            process.terminationHandler = { continuation.resume(returning: $0.terminationStatus) }
            do { try process.run() } catch { continuation.resume(throwing: error) }
        }
        let said = try String(contentsOf: words, encoding: .utf8)
        #expect(said.isEmpty && status == 0, "\(program): \(said)")
    }
}

/// What the broker refuses, as whoever operates it learns of it.
@Suite(.serialized, .ownInstallation, .timeLimit(.minutes(4)), .undisturbed) struct RefusalMetricsTests {
    /// A queue that an operator has limited, and nobody who empties it.
    @Test func whatAQueueRefusesIsCountedAndSaid() async throws {
        let installation = try #require(EndToEndInstallation.current)
        let node = try #require(RabbitMQTestNode.current)
        let queue = QueueName.work(.send, .normal)
        #expect(try await installation.terminate("send-worker") == 0)
        try await node.control(
            #"set_policy -p pushline limited '^\#(queue)$' '{"max-length":1}' --apply-to queues"#
        )
        var jobs: [String] = []
        for series in [
            // The first refusal costs the channel; a queue that refuses on the next one too is left alone.
            "pushline_broker_channels_replaced_total", #"pushline_broker_refused_total{queue="\#(queue)"}"#,
        ] {
            while try await Self.value(of: series, installation) < 1 {
                let send = #"{"to":{"user":"alice"},"body":"x"}"#
                let answer = try await installation.asBackend("POST", "/api/sends", body: send)
                jobs.append(try #require(answer.headers["pushline-job"]))
            }
        }
        try await eventually("it is said") {
            try await installation.log(of: "api").contains("The broker refused a message")
        }
        try await node.control("-p pushline clear_policy limited")
        try await installation.start("send-worker")
        // They were deferred.
        for job in jobs { #expect(try await installation.finished(job, within: .seconds(120)).state == "completed") }
    }

    private static func value(of series: String, _ installation: EndToEndInstallation) async throws -> Int {
        let lines = try await installation.metrics(of: "api").split(separator: "\n")
        let line = lines.first { $0.hasPrefix("\(series) ") }
        return line?.split(separator: " ").last.flatMap { Int($0) } ?? 0
    }
}
