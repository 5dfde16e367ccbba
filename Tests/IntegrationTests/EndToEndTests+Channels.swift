import Foundation
import InstallationSupport
import PushlineSimulator
import Testing

// A push to many: broadcast channels of APNs, and Firebase installations.
extension EndToEndTests {
    /// Runs `pushline channels` with the sender's key, as a backend's host does.
    private func channels(_ arguments: String...) async throws -> String {
        let (process, output) = (Process(), Pipe())
        process.executableURL = Bundle.main.bundleURL.appending(path: "pushline")
        process.arguments = ["channels"] + arguments
        let installation = try self.installation
        process.environment = ProcessInfo.processInfo.environment.merging([
            "PUSHLINE_URL": "http://127.0.0.1:\(installation.port)", "PUSHLINE_KEY": installation.senderKey,
        ]) { $1 }
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = output
        try process.run()
        try await eventually("pushline channels ends") { !process.isRunning }
        #expect(process.terminationStatus == 0, "\(arguments)")
        let text = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        return text.split(separator: "\n").joined(separator: "\n")
    }

    /// Made, sent to, refused by Apple once it is gone: one target all the while.
    @Test func aChannelIsMadeSentToAndRemoved() async throws {
        let installation = try self.installation
        let channel = try await self.channels("create", "--storage", "latest")
        #expect(try await self.channels("list") == channel)
        #expect(try await self.channels("show", channel) == "\(channel): storage latest")
        func send(_ event: String, _ members: String) async throws -> String {
            try await self.send(
                #"{"to":{"channel":"\#(channel)"},"ttl":3600,"liveActivity":{"event":"\#(event)"\#(members)}}"#
            )
        }
        for (event, members) in [
            ("update", #","contentState":{"home":1},"alert":{"title":"1:0"}"#), ("end", #","contentState":{"home":2}"#),
        ] {
            let job = try await installation.finished(try await send(event, members))
            #expect(job.state == "completed" && job.totals.targets == 1 && job.totals.accepted == 1, "\(event)")
        }
        let pushes = installation.simulator.received(token: channel)
        #expect(pushes.map(\.status) == [200, 200])
        #expect(pushes.compactMap { $0.headers["apns-priority"] } == ["10", "5"])
        for push in pushes {
            #expect(push.headers["apns-channel-id"] == channel && push.headers["apns-push-type"] == "liveactivity")
            #expect(push.headers["apns-request-id"] != nil && push.headers["apns-topic"] == nil)
        }
        #expect(pushes[0].body.contains(#""event":"update","content-state":{"home":1}"#))
        #expect(pushes[1].body.contains(#""event":"end","content-state":{"home":2}"#))

        // A fault of the service is tried again, as for any device.
        installation.simulator.inject(SimulatorFault(.answer(reason: "ServiceUnavailable"), token: channel, count: 1))
        let retried = try await installation.finished(try await send("update", #","contentState":{}"#))
        installation.simulator.clearFaults()
        #expect(retried.totals.targets == 1 && retried.totals.accepted == 1)

        #expect(try await self.channels("delete", channel) == "\(channel): deleted")
        let id = try await send("update", #","contentState":{}"#)
        let late = try await installation.finished(id)
        #expect(late.state == "completed" && late.totals.accepted == 0 && late.totals.failed == ["rejected": 1])
        let answer = try await installation.asBackend("GET", "/api/jobs/\(id)/deliveries")
        let deliveries = String(decoding: answer.body, as: UTF8.self)
        #expect(deliveries.contains("ChannelNotRegistered") && deliveries.contains(channel), "\(deliveries)")
    }

    /// With a second channel for one match, half of the devices would listen to the wrong one.
    @Test func aChannelWhoseAnswerIsLostIsNotMadeAgain() async throws {
        struct List: Decodable {
            struct Item: Decodable { let id: String }
            let items: [Item]
        }
        let installation = try self.installation
        func all() async throws -> [String] {
            try await installation.asBackend("GET", "/api/channels?limit=1000").decoded(List.self).items.map(\.id)
        }
        let before = try await all()
        installation.simulator.inject(SimulatorFault(.swallow, token: "channels", count: 1))
        let key = ["Idempotency-Key": UUID().uuidString]
        let lost = try await installation.asBackend("POST", "/api/channels", body: "{}", headers: key)
        #expect(lost.status == 422)
        #expect(String(decoding: lost.body, as: UTF8.self).contains("the channel may have been made"))
        let again = try await installation.asBackend("POST", "/api/channels", body: "{}", headers: key)
        #expect(again.status == 422)
        let made = Set(try await all()).subtracting(before)
        #expect(made.count == 1)

        // A creation that Apple cannot do now waits, and is done once.
        let busy = SimulatorFault.Action.answer(reason: "ServiceUnavailable", retryAfter: .seconds(1))
        installation.simulator.inject(SimulatorFault(busy, token: "channels", count: 1))
        let waited = ["Prefer": "wait=30"]
        let late = try await installation.asBackend("POST", "/api/channels", body: "{}", headers: waited)
        #expect(late.status == 201)
        let second = Set(try await all()).subtracting(before).subtracting(made)
        #expect(second.count == 1)
        for id in made.union(second) { #expect(try await self.channels("delete", id) == "\(id): deleted") }
        #expect(try await all() == before)
    }

    /// The worker dies after Apple's answer, before it commits the job's result.
    @Test func aChannelOfAWorkerThatDiedIsNotMadeAgain() async throws {
        struct Job: Decodable {
            let state: String
            let isFinal: Bool
            let reason: String?
        }
        let installation = try self.installation
        let before = try await self.channels("list").split(separator: "\n")
        _ = try await installation.terminate("register-worker")
        try await installation.start("register-worker", environment: ["PUSHLINE_CRASH_AT": "hub.answered:1"])
        let headers = ["Prefer": "respond-async"]
        let made = try await installation.asBackend("POST", "/api/channels", body: "{}", headers: headers)
        #expect(made.status == 202)
        let id = try #require(made.headers["pushline-job"])
        try await eventually("the worker dies") { await installation.hasEnded("register-worker") }
        try await installation.start("register-worker")
        var job: Job
        let end = ContinuousClock.now + .seconds(120)
        repeat {
            try await Task.sleep(for: .milliseconds(200))
            job = try await installation.asBackend("GET", "/api/jobs/\(id)").decoded(Job.self)
        } while !job.isFinal && ContinuousClock.now < end
        #expect(job.state == "abandoned" && job.reason?.contains("may have been made") == true, "\(job)")
        let after = try await self.channels("list").split(separator: "\n")
        let lost = Set(after).subtracting(before)
        #expect(lost.count == 1)
        for channel in lost { #expect(try await self.channels("delete", String(channel)) == "\(channel): deleted") }
    }

    @Test func anInstallationIsRegisteredSentToAndPruned() async throws {
        let installation = try self.installation
        let handle = "fid:cAbCdEfGhIjKlMnOpQr_-0"
        try await installation.importRegistrations([#"{"service":"fcm","handle":"\#(handle)","user":"installed"}"#])
        @Sendable func send() async throws -> EndToEndInstallation.JobAnswer {
            try await installation.finished(try await self.send(#"{"to":{"user":"installed"},"body":"hello"}"#))
        }
        #expect(try await send().totals.accepted == 1)
        let push = try #require(installation.simulator.received(token: handle).last)
        #expect(push.status == 200 && push.body.contains(#""fid":"cAbCdEfGhIjKlMnOpQr_-0""#))
        installation.simulator.inject(SimulatorFault(.answer(reason: "UNREGISTERED"), token: handle))
        let gone = try await send()
        installation.simulator.clearFaults()
        #expect(gone.totals.failed == ["unregistered": 1])
        try await eventually("nobody is left") { try await send().totals.targets == 0 }
    }
}
