import Foundation
import InstallationSupport
import PushModel
import PushlineSimulator
import Testing
import Undisturbed

/// Sends that share messages, and whose batches share delivery messages, through all programs and a real broker.
@Suite(.serialized, .ownInstallation, .timeLimit(.minutes(10)), .undisturbed) struct SmallSendEndToEndTests {
    private var installation: EndToEndInstallation {
        get throws { try #require(EndToEndInstallation.current) }
    }

    /// Users of one test: each has a device at APNs, every third another at FCM.
    private struct Users {
        let prefix: String
        let count: Int

        func name(_ number: Int) -> String { "\(self.prefix)\(number)" }

        func handles(_ number: Int) -> [String] {
            let tail = self.prefix.utf8.map { String(format: "%02x", $0) }.joined()
            let apns = String(format: "%08x", number) + String(repeating: "c", count: 56 - tail.count) + tail
            return number.isMultiple(of: 3) ? [apns, "fcm:\(self.name(number))"] : [apns]
        }

        var all: [String] { (0..<self.count).flatMap { self.handles($0) } }
    }

    private func register(_ users: Users) async throws {
        let lines = (0..<users.count).flatMap { number in
            users.handles(number).map { handle in
                let pns = handle.hasPrefix("fcm") ? "fcm" : "apns"
                return #"{"service":"\#(pns)","handle":"\#(handle)","user":"\#(users.name(number))"}"#
            }
        }
        try await self.installation.importRegistrations(lines)
    }

    /// Sends each user a message of its own in one request.
    ///
    /// - Returns: The jobs, in the users' order.
    private func send(to users: Users) async throws -> [String] {
        struct Line: Decodable {
            let line: Int
            let status: Int
            let id: String?
        }
        let lines = (0..<users.count).map { number in
            #"{"to":{"user":"\#(users.name(number))"},"body":"for \#(users.name(number))"}"#
        }
        let answer = try await self.installation.asBackend(
            "POST",
            "/api/sends/batch",
            body: lines.joined(separator: "\n"),
            type: "application/x-ndjson"
        )
        #expect(answer.status == 200)
        let answers = try answer.body.split(separator: UInt8(ascii: "\n")).map { line in
            try JSONDecoder().decode(Line.self, from: Data(line))
        }
        #expect(answers.map(\.status) == Array(repeating: 202, count: users.count))
        return answers.compactMap(\.id)
    }

    /// All is accounted for and was received: no job lost, no device counted twice.
    private func expectAllDelivered(_ jobs: [String], _ users: Users) async throws {
        let installation = try self.installation
        for (number, id) in jobs.enumerated() {
            let job = try await installation.finished(id, within: .seconds(180))
            #expect(job.state == "completed")
            #expect(job.totals.targets == users.handles(number).count)
            #expect(job.totals.accepted == job.totals.targets)
            #expect(job.totals.outcomes == job.totals.targets)
        }
        let received = installation.simulator.received().filter { $0.body.contains("for \(users.prefix)") }
        #expect(Set(received.filter { $0.status == 200 }.map(\.token)) == Set(users.all))
        var ids: [String: Set<String>] = [:]
        for push in received {
            if let id = push.headers["apns-id"] { ids[push.token, default: []].insert(id) }
        }
        // Whatever was sent twice was the same notification.
        #expect(ids.values.allSatisfy { $0.count == 1 })
        for number in 0..<users.count {
            for handle in users.handles(number) {
                let pushes = received.filter { $0.token == handle }
                #expect(pushes.allSatisfy { $0.body.contains("for \(users.name(number))\"") }, "\(handle)")
            }
        }
    }

    @Test func hundredsOfLinesReachTheirUsersOnTwoServices() async throws {
        let users = Users(prefix: "all", count: 600)
        try await self.register(users)
        let jobs = try await self.send(to: users)
        #expect(Set(jobs).count == users.count)
        try await self.expectAllDelivered(jobs, users)
        // Nothing went wrong, so nothing was sent twice.
        let received = try self.installation.simulator.received().filter { $0.body.contains("for all") }
        #expect(received.count == users.all.count)
    }

    @Test(arguments: ["send-worker", "delivery-worker"])
    func aKilledWorkerLosesNothing(_ program: String) async throws {
        let installation = try self.installation
        let users = Users(prefix: program == "send-worker" ? "sent" : "brought", count: 1500)
        try await self.register(users)
        // Fan-out is limited to a rate, so that the kill is in the middle of it; answers take their time, so that delivery messages are in progress.
        var spec = try installation.simulator.appSpec
        spec.apns?.devicesPerSecond = 300
        try await installation.apply(spec)
        installation.simulator.inject(SimulatorFault(.delay, latency: 200))
        defer { installation.simulator.clearFaults() }
        let before = installation.simulator.counts.next
        let jobs = try await self.send(to: users)
        try await eventually("some have arrived") { installation.simulator.counts.next > before + 50 }
        try await installation.kill(program)
        #expect(installation.simulator.counts.next - before < users.all.count, "it was killed too late")
        try await installation.apply(try installation.simulator.appSpec)
        try await installation.start(program)
        try await self.expectAllDelivered(jobs, users)
    }
}
