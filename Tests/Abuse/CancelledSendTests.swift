import Foundation
import HubWire
import InstallationSupport
import RawHTTP
import Testing
import Undisturbed

/// What a send costs ends with it: whoever cancels a dear one has its worker back.
@Suite(
    .serialized,
    .installation(["PUSHLINE_API_REQUEST_TIME": "60"]),
    .timeLimit(.minutes(5)),
    .undisturbed
)
struct CancelledSendTests {
    private static let worker = "send-worker"
    /// Seconds of work in a debug build, and more of them than one step has.
    private static let templates = 500

    private var installation: EndToEndInstallation {
        get throws { try #require(EndToEndInstallation.current) }
    }

    /// How many seconds of a core the send worker takes in a second.
    private func load() async throws -> Double {
        let before = try await self.seconds()
        try await Task.sleep(for: .seconds(1))
        return try await self.seconds() - before
    }

    private func seconds() async throws -> Double {
        let lines = try await self.installation.metrics(of: Self.worker).split(separator: "\n")
        let line = try #require(lines.first { $0.hasPrefix("process_cpu_seconds_total ") })
        return try #require(Double(line.split(separator: " ")[1]))
    }

    @Test func aSendToTemplatesStopsWhenItIsDeleted() async throws {
        let installation = try self.installation
        let clips = "{" + String(repeating: ".(a,1)+", count: 1900) + "'x'}"
        try await installation.importRegistrations(
            (0..<Self.templates).map { number in
                let body = #"{\"aps\":{\"alert\":\"\#(clips)\",\"n\":\#(number)}}"#
                return
                    #"{"service":"apns","handle":"\#(String(format: "%064x", number))","template":{"body":"\#(body)"}}"#
            }
        )
        let hub = try await installation.startHub()
        let value = "x" + String(repeating: "\u{301}", count: 29_000)
        var connection = try await RawConnection.open(port: hub.port, trusting: hub.authority)
        defer { connection.close() }
        let answer = try await connection.exchange(
            hub.request(
                "POST",
                "/messages?api-version=2020-06",
                body: #"{"a":"\#(value)"}"#,
                "ServiceBusNotification-Format: template"
            )
        )
        let location = try #require(answer.split(separator: "\r\n").first { $0.lowercased().hasPrefix("location:") })
        let id = String(try #require(location.split(separator: "?").first?.split(separator: "/").last))
        while try await self.load() < 0.5 {
            try #require(try await !installation.job(id).isFinal, "it was over before it was dear")
        }
        let deleted = try await installation.asBackend("DELETE", "/api/jobs/\(id)")
        #expect([200, 202].contains(deleted.status), "\(deleted.status)")
        // The step that it is in: a hundred templates.
        try await Task.sleep(for: .seconds(2))
        #expect(try await self.load() < 0.3)
        let job = try await installation.job(id)
        #expect(["cancelling", "cancelled"].contains(job.state))
        #expect(job.totals.targets < Self.templates)
    }
}
