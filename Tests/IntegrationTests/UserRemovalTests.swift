import Foundation
import InstallationSupport
import Testing
import Undisturbed

/// The removal of a user, whose worker dies at each step.
@Suite(.serialized, .ownInstallation, .timeLimit(.minutes(6)), .undisturbed) struct UserRemovalTests {
    private struct Registrations: Decodable {
        struct Item: Decodable { let id: String }
        let items: [Item]
    }

    private struct Job: Decodable {
        let state: String
        let isFinal: Bool
    }

    private var installation: EndToEndInstallation {
        get throws { try #require(EndToEndInstallation.current) }
    }

    private func registrations(of user: String) async throws -> [String] {
        let answer: Registrations = try await self.installation.asBackend(
            "GET",
            "/api/registrations?user=\(user)&limit=1000"
        )
        .decoded()
        return answer.items.map(\.id)
    }

    /// Waits until a register job is final.
    private func end(of job: String) async throws -> String {
        while true {
            let found: Job = try await self.installation.asBackend("GET", "/api/jobs/\(job)").decoded()
            if found.isFinal { return found.state }
            try await Task.sleep(for: .milliseconds(50))
        }
    }

    @Test(arguments: [
        "register.taken:1", "register.sliced:1", "register.sliced:3", "register.sliced:7", "store.committing:2",
        "store.committed:2", "register.applied:1", "register.finished:1",
    ])
    func aKilledWorkerLosesNothing(at point: String) async throws {
        let installation = try self.installation
        let user = "gone-\(point.replacing(".", with: "-").replacing(":", with: "-"))"
        try await installation.importRegistrations(
            (0..<450).map { number in
                #"{"service":"fcm","handle":"\#(user)-\#(number)-abcdefghijklmnop","user":"\#(user)","tags":["from:\#(user)"]}"#
            }
        )
        try await installation.importRegistrations([
            #"{"id":"kept-\#(user)","service":"fcm","handle":"kept-\#(user)","user":"bob"}"#
        ])
        _ = try await installation.terminate("register-worker")
        try await installation.start("register-worker", environment: ["PUSHLINE_CRASH_AT": point])
        let answer = try await installation.asBackend("DELETE", "/api/users/\(user)")
        #expect(answer.status == 202)
        let job = try #require(answer.headers["pushline-job"])
        try await eventually("the worker dies at \(point)") { await installation.hasEnded("register-worker") }
        try await installation.start("register-worker")
        #expect(try await self.end(of: job) == "completed")
        #expect(try await self.registrations(of: user).isEmpty)
        #expect(try await self.registrations(of: "bob").contains("kept-\(user)"))
        // A repeat finds nothing to do.
        let again = try await installation.asBackend("DELETE", "/api/users/\(user)")
        let second = try #require(again.headers["pushline-job"])
        #expect(second != job)
        #expect(try await self.end(of: second) == "completed")
        let jobs = try await installation.asBackend("GET", "/api/jobs?kind=register&limit=20")
        #expect(!String(decoding: jobs.body, as: UTF8.self).contains(user))
    }
}
