import Foundation
import InstallationSupport
import NIOConcurrencyHelpers
import PushlineSimulator
import RawHTTP
import TestStores
import Testing
import Undisturbed

/// Every program is replaced by another of its kind while sends come in.
@Suite(.serialized, .ownInstallation, .timeLimit(.minutes(6)), .undisturbed) struct RollingRestartTests {
    /// What the clients met.
    private final class Book: Sendable {
        private struct State {
            var isOver = false
            var jobs: [String: String] = [:]
            var failures: [String] = []
            var retries = 0
        }

        private let state = NIOLockedValueBox(State())

        var isOver: Bool {
            get { self.state.withLockedValue { $0.isOver } }
            set { self.state.withLockedValue { $0.isOver = newValue } }
        }

        /// The ids of accepted sends by the text that each delivers.
        var jobs: [String: String] { self.state.withLockedValue { $0.jobs } }
        var failures: [String] { self.state.withLockedValue { $0.failures } }
        /// How often a connection that had been used before was closed instead of answered.
        var retries: Int { self.state.withLockedValue { $0.retries } }

        func accept(_ id: String, text: String) { self.state.withLockedValue { $0.jobs[text] = id } }
        func fail(_ what: String) { self.state.withLockedValue { $0.failures.append(what) } }
        func retry() { self.state.withLockedValue { $0.retries += 1 } }
    }

    /// Sends one after the other until the book is closed; keeps connections as long as the server lets it, where it shall.
    private static func client(_ name: String, keepsAlive: Bool, port: Int, key: String, book: Book) async {
        struct Accepted: Decodable { let id: String }
        var connection: RawConnection?
        var number = 0
        while !book.isOver {
            number += 1
            let text = "\(name)-\(number)."
            let body = #"{"to":{"user":"alice"},"body":"\#(text)"}"#
            let request =
                "POST /api/sends HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer \(key)\r\nIdempotency-Key: \(text)\r\n"
                + "Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
            var isAnswered = false
            while !isAnswered {
                let isUsed = connection != nil
                do {
                    var open: RawConnection
                    if let connection { open = connection } else { open = try await RawConnection.open(port: port) }
                    let answer = try await open.exchange(request)
                    isAnswered = true
                    let mayStay = keepsAlive && !answer.lowercased().contains("\r\nconnection: close\r\n")
                    if mayStay {
                        connection = open
                    } else {
                        open.close()
                        connection = nil
                    }
                    guard answer.hasPrefix("HTTP/1.1 202 "), let start = answer.range(of: "\r\n\r\n"),
                        let accepted = try? JSONDecoder().decode(
                            Accepted.self,
                            from: Data(answer[start.upperBound...].utf8)
                        )
                    else {
                        book.fail(answer)
                        continue
                    }
                    book.accept(accepted.id, text: text)
                } catch let error as RawConnection.BrokenOff where isUsed && error.text.isEmpty {
                    // What HTTP/1.1 allows: the server closed while the request was on its way. It has not taken it.
                    connection?.close()
                    connection = nil
                    book.retry()
                } catch {
                    book.fail("\(isUsed ? "used" : "new") connection: \(error)")
                    connection = nil
                    isAnswered = true
                }
            }
            // Cancelled = the test is over.
            try? await Task.sleep(for: .milliseconds(10))
        }
        connection?.close()
    }

    /// Starts a new one, and ends the old one when it runs.
    fileprivate func replace(_ program: String, _ old: String, by new: String, environment: [String: String] = [:])
        async throws
    {
        let installation = try #require(EndToEndInstallation.current)
        try await installation.start(program, as: new, environment: environment)
        try await eventually("\(new) serves") { try await installation.hasServed(new) }
        try await Task.sleep(for: .milliseconds(500))
        #expect(try await installation.terminate(old) == 0)
        let log = try await installation.log(of: old)
        #expect(log.hasSuffix("Ended\n"))
        #expect(!log.split(separator: "\n").contains { $0.split(separator: " ").dropFirst().first == "error" })
    }

    /// Does something while eight clients send, and expects that each send was accepted at once and delivered.
    fileprivate func underLoad(to device: String, _ work: @escaping @Sendable () async throws -> Void) async throws {
        let installation = try #require(EndToEndInstallation.current)
        try await installation.register("alice", platform: "apns", handle: device)
        let book = Book()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<8 {
                group.addTask {
                    await Self.client(
                        "\(device.prefix(2))c\(number)",
                        keepsAlive: number < 4,
                        port: installation.port,
                        key: installation.senderKey,
                        book: book
                    )
                }
            }
            defer { book.isOver = true }
            try await work()
            book.isOver = true
            try await group.waitForAll()
        }
        #expect(book.failures.isEmpty)
        #expect(book.jobs.count > 100, "too little load to tell")
        // Requests that met a closed connection are the exception, not the rule.
        #expect(book.retries <= 4)
        #expect(Set(book.jobs.values).count == book.jobs.count)
        for (text, id) in book.jobs {
            let job = try await installation.finished(id)
            #expect(job.state == "completed" && job.totals.targets == 1 && job.totals.accepted == 1, "\(text)")
            #expect(job.totals.outcomes == 1)
        }
        let received = installation.simulator.received().filter { $0.token == device }.map(\.body).joined()
        #expect(book.jobs.keys.allSatisfy { received.contains("\"\($0)\"") })
    }

    @Test func aRollingRestartLosesAndRefusesNothing() async throws {
        let installation = try #require(EndToEndInstallation.current)
        try await installation.start("api", as: "api.2")
        try await eventually("two APIs serve") { try await installation.hasServed("api.2") }
        try await self.underLoad(to: String(repeating: "0a", count: 32)) {
            for program in ["api", "send-worker", "delivery-worker", "register-worker"] {
                try await self.replace(program, program, by: "\(program).new")
            }
            try await self.replace("api", "api.2", by: "api.3")
        }
    }
}

/// The tables change beneath programs that run: a step that expands beside them, one that contracts only when they have ended.
@Suite(.serialized, .ownInstallation, .timeLimit(.minutes(6)), .undisturbed)
struct MigrationUnderLoadTests {
    private let expanded = ["PUSHLINE_TRIAL_STEPS": "expand"]
    private let contracted = ["PUSHLINE_TRIAL_STEPS": "expand,contract"]
    private let migrate = ["store", "migrate"] + TestStore.ownership
    /// Of the tables behind the step that expands: a file's have one more from before.
    private let version = TestStore.isAtServer ? 3 : 4

    @Test func programsOfTheVersionBeforeGoOnBesideAStepThatExpands() async throws {
        let installation = try #require(EndToEndInstallation.current)
        // A program that needs the step refuses the store until it is taken, in one line.
        let early = try await installation.runPushline(["store", "check"], environment: self.expanded)
        #expect(early.status == 1)
        #expect(early.output.contains("run pushline store migrate"))
        // One line, behind the one that says where the configuration is.
        #expect(early.output.split(separator: "\n").filter { $0.contains("version") }.count == 1)
        let restart = RollingRestartTests()
        let (expanded, contracted, migrate, version) = (self.expanded, self.contracted, self.migrate, self.version)
        try await restart.underLoad(to: String(repeating: "0b", count: 32)) {
            let step = try await installation.runPushline(migrate, environment: expanded)
            #expect(step.status == 0, "\(step.output)")
            #expect(step.output.contains("version \(version) now"))
            for program in ["api", "send-worker", "delivery-worker", "register-worker"] {
                try await restart.replace(program, program, by: "\(program).2", environment: expanded)
            }
            // Those that run now are of the version before the next step.
            let refused = try await installation.runPushline(migrate, environment: contracted)
            #expect(refused.status == 1)
            #expect(refused.output.contains("one of version \(version) has the store open"))
        }
        for program in ["api", "send-worker", "delivery-worker", "register-worker"] {
            #expect(try await installation.terminate("\(program).2") == 0)
        }
        let step = try await installation.runPushline(migrate + ["--skip-backup"], environment: contracted)
        #expect(step.status == 0, "\(step.output)")
        let late = try await installation.runPushline(["store", "check"], environment: self.expanded)
        #expect(late.status == 1)
        #expect(late.output.contains("made by a newer Pushline"))
        let check = try await installation.runPushline(["store", "check"], environment: contracted)
        #expect(check.output.contains("all adds up"))
        for program in EndToEndInstallation.programs {
            try await installation.start(program, as: "\(program).3", environment: contracted)
        }
        try await eventually("the API serves") { try await installation.isServing() }
        let sent = try await installation.asBackend(
            "POST",
            "/api/sends",
            body: #"{"to":{"user":"alice"},"body":"after"}"#
        )
        struct Accepted: Decodable { let id: String }
        let accepted: Accepted = try sent.decoded()
        #expect(try await installation.finished(accepted.id).totals.accepted == 1)
    }
}
