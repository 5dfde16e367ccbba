import Foundation
import InstallationSupport
import PushModel
import PushlineSimulator
import Testing

// A push service that fails: what is held back, that the others go on, and that everything adds up.
extension EndToEndTests {
    private func importDevices(_ pns: String, _ handles: [String], tag: String) async throws {
        try await self.installation.importRegistrations(
            // Of many users: what the tokens of one say is nobody else's matter.
            handles.enumerated().map {
                #"{"service":"\#(pns)","handle":"\#($1)","user":"user\#($0 % 300)","tags":["\#(tag)"]}"#
            }
        )
    }

    /// Waits until the delivery worker's log and metrics say whether a breaker is open at that service.
    private func waitForBreaker(_ pns: String, isOpen: Bool, since: Int) async throws {
        let installation = try self.installation
        let words = isOpen ? "The circuit breaker opened" : "The circuit breaker closed"
        try await eventually("\(words), as the log says") {
            try await installation.log(of: "delivery-worker").dropFirst(since).contains(words)
        }
        try await eventually("\(words), as the metrics say") {
            try await installation.deliveryMetrics("pushline_breakers_open{").contains {
                $0.contains(pns) && $0.hasSuffix(isOpen ? " 1" : " 0")
            }
        }
    }

    private func expectAll(_ id: String, accepted devices: Int) async throws {
        let job = try await self.installation.finished(id, within: .seconds(180))
        #expect(job.state == "completed")
        #expect(job.totals.targets == devices)
        #expect(job.totals.accepted == devices)
        #expect(job.totals.outcomes == devices)
    }

    @Test func aFailingServiceLosesNothingAndDelaysNoOtherService() async throws {
        let installation = try self.installation
        let (phones, tablets) = (3000, 500)
        try await self.importDevices("fcm", (0..<phones).map { "\($0):down" }, tag: "down")
        let tokens = (0..<tablets).map { String(format: "%060x", $0) + "beef" }
        try await self.importDevices("apns", tokens, tag: "up")
        let log = try await installation.log(of: "delivery-worker").count
        let before = installation.simulator.counts.next
        installation.simulator.inject(SimulatorFault(.answer(status: 503), pns: .fcm, token: ":down"))
        defer { installation.simulator.clearFaults() }

        let campaign = try await self.send(#"{"to": {"tag": "down"}, "body": "to all phones"}"#)
        try await self.waitForBreaker("fcm", isOpen: true, since: log)
        try await eventually("the job says what it waits for") {
            try await installation.job(campaign).reason?.contains("FCM fails: 503") == true
        }
        for number in 0..<5 {
            let other = try await self.send(#"{"to": {"tag": "up"}, "body": "tablets \#(number)"}"#)
            try await self.expectAll(other, accepted: tablets)
        }
        #expect(try await !installation.job(campaign).isFinal)
        // Each was tried once before it opened, at most; since then there are probes alone.
        let refused = installation.simulator.received(pns: .fcm, since: before).count
        #expect(refused <= phones + 10 * 20, "\(refused)")

        installation.simulator.clearFaults()
        try await self.expectAll(campaign, accepted: phones)
        try await self.waitForBreaker("fcm", isOpen: false, since: log)
        let received = installation.simulator.received(pns: .fcm, since: before).filter { $0.status == 200 }
        #expect(received.count == phones)
        #expect(Set(received.map(\.token)).count == phones)
    }

    @Test func aFloodOfBadTokensPrunesNothing() async throws {
        struct Count: Decodable { let total: Int }
        let installation = try self.installation
        let devices = 1500
        let tokens = (0..<devices).map { String(format: "%060x", $0) + "cafe" }
        try await self.importDevices("apns", tokens, tag: "flood")
        let log = try await installation.log(of: "delivery-worker").count
        installation.simulator.inject(
            SimulatorFault(.answer(reason: "BadDeviceToken"), pns: .apns, token: "cafe", share: 0.95)
        )
        defer { installation.simulator.clearFaults() }
        let campaign = try await self.send(#"{"to": {"tag": "flood"}, "body": "wrong endpoint"}"#)
        try await self.waitForBreaker("apns", isOpen: true, since: log)
        try await eventually("the job says what it waits for") {
            try await installation.job(campaign).reason?.contains("nearly all tokens") == true
        }
        // As when the operator has put the endpoint right.
        installation.simulator.clearFaults()
        try await self.expectAll(campaign, accepted: devices)
        try await self.waitForBreaker("apns", isOpen: false, since: log)
        let answer = try await installation.asBackend("POST", "/api/sends/count", body: #"{"to": {"tag": "flood"}}"#)
        #expect(try answer.decoded(Count.self).total == devices)
    }
}
