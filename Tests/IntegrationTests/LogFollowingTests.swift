import Foundation
import InstallationSupport
import PushModel
import PushlineSimulator
import Testing
import Undisturbed

/// An operator who looks for one id sees its way through all programs.
@Suite(.timeLimit(.minutes(5)), .undisturbed) struct LogFollowingTests {
    private static let settings = [
        "PUSHLINE_LOG_LEVEL": "debug", "PUSHLINE_LOG_FORMAT": "json", "PUSHLINE_LOG_ACCESS": "true",
    ]

    /// The lines of a program's log that name a job.
    private static func lines(
        of job: String,
        in program: String,
        _ installation: EndToEndInstallation
    ) async throws -> [[String: String]] {
        try await installation.log(of: program).split(separator: "\n").map { line in
            // Every line of a program is one.
            try JSONDecoder().decode([String: String].self, from: Data(line.utf8))
        }.filter { $0["job.id"]?.split(separator: ",").contains { $0 == job } == true }
    }

    @Test func aJobIsFoundInTheLogOfEachProgramThatWorkedOnIt() async throws {
        try await withInstallation(environment: Self.settings) {
            let installation = try #require(EndToEndInstallation.current)
            let handle = String(repeating: "ab", count: 32)
            let device = #"{"service":"apns","handle":"\#(handle)","user":"bob"}"#
            let registered = try await installation.asBackend("PUT", "/api/registrations/r-1", body: device)
            let body = #"{"to":{"user":"bob"},"body":"x"}"#
            let sent = try await installation.asBackend("POST", "/api/sends", body: body)
            for (answer, route, workers) in [
                (registered, "/api/registrations/{id}", ["register-worker"]),
                (sent, "/api/sends", ["send-worker", "delivery-worker"]),
            ] {
                let job = try #require(answer.headers["pushline-job"])
                let request = try #require(
                    try await Self.lines(of: job, in: "api", installation).first { $0["http.route"] == route }
                )
                #expect(request["request.id"] == answer.headers["request-id"])
                #expect(request["level"] == "info" && request["http.response.status_code"] == "\(answer.status)")
                for worker in workers {
                    // It says what it did behind its commit.
                    try await eventually("the log of \(worker) names the job") {
                        try await !Self.lines(of: job, in: worker, installation).isEmpty
                    }
                    let lines = try await Self.lines(of: job, in: worker, installation)
                    #expect(lines.allSatisfy { $0["message.id"] != nil && $0["queue"] != nil }, "\(lines)")
                    // The delivery worker hears of the request when it asks how the batches stand.
                    let asked = lines.filter { $0["request.id"] != nil }
                    #expect(asked.contains { $0["level"] == "debug" }, "\(lines)")
                    #expect(asked.allSatisfy { $0["request.id"] == answer.headers["request-id"] }, "\(lines)")
                }
            }
        }
    }
}
