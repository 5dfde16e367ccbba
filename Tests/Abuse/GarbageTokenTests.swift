import Foundation
import InstallationSupport
import PushModel
import PushlineSimulator
import Testing
import Undisturbed

/// What tokens that a user made up do to the others of the app: nothing; and that a real flood of bad tokens is seen all the same.
@Suite(.serialized, .installation(), .timeLimit(.minutes(3)), .undisturbed) struct GarbageTokenTests {
    private struct Count: Decodable { let total: Int }
    private struct Accepted: Decodable { let id: String }

    /// A user's tokens in one send, more than open the breaker.
    ///
    /// The simulator of a debug build answers some 500 a second on a connection, and an urgent message waits there too.
    private static let garbage = 200

    private var installation: EndToEndInstallation {
        get throws { try #require(EndToEndInstallation.current) }
    }

    private func count(_ to: String) async throws -> Int {
        let answer = try await self.installation.asBackend("POST", "/api/sends/count", body: #"{"to":\#(to)}"#)
        return try answer.decoded(Count.self).total
    }

    private func isBreakerOpen() async throws -> Bool {
        try await self.installation.deliveryMetrics("pushline_breakers_open{").contains {
            $0.contains("apns") && !$0.hasSuffix(" 0")
        }
    }

    private func send(_ user: String, _ body: String) async throws -> String {
        let answer = try await self.installation.asUser(user, "POST", "/api/sends", body: body)
        return try answer.decoded(Accepted.self).id
    }

    /// How long an urgent message takes from bob's request to alice's phone.
    private func urgent(_ text: String, to phone: String) async throws -> Duration {
        let installation = try self.installation
        let start = ContinuousClock.now
        let message = #"{"to":{"user":"alice"},"body":"\#(text)","priority":"high","services":["apns"]}"#
        _ = try await self.send("bob", message)
        try await eventually("\(text) arrives") {
            installation.simulator.received(token: phone).contains { $0.body.contains(text) }
        }
        return ContinuousClock.now - start
    }

    @Test func inventedTokensOfOneUserArePrunedAndDelayNobody() async throws {
        let installation = try self.installation
        let phone = String(repeating: "a1", count: 32)
        try await installation.register("alice", platform: "apns", handle: phone)
        // The first one signs in and connects.
        _ = try await self.urgent("first", to: phone)
        var usual = Duration.zero
        for number in 0..<5 { usual = max(usual, try await self.urgent("quiet \(number)", to: phone)) }
        for round in 0..<3 {
            // The simulator calls tokens of fewer than 64 digits bad.
            try await installation.importRegistrations(
                (0..<Self.garbage).map {
                    #"{"service":"apns","handle":"\#(String(format: "%08x", round * Self.garbage + $0))","user":"carol"}"#
                }
            )
            let garbage = try await self.send("carol", #"{"to":{"user":"carol"},"body":"x","services":["apns"]}"#)
            for number in 0..<5 {
                let time = try await self.urgent("urgent \(round) \(number)", to: phone)
                #expect(time < usual + .seconds(1), "\(round) \(number)")
            }
            let job = try await installation.finished(garbage)
            #expect(job.totals.failed["unregistered"] == Self.garbage)
            try await eventually("carol's tokens are pruned") { try await self.count(#"{"user":"carol"}"#) == 0 }
        }
        #expect(try await !self.isBreakerOpen())
        #expect(try await !installation.log(of: "delivery-worker").contains("The circuit breaker opened"))
    }

    @Test func deadTokensOfManyUsersAtOnceAreAFloodAndKept() async throws {
        let installation = try self.installation
        let tokens = (0..<200).map { (token: String(format: "%060x", $0) + "feed", user: "user\($0 % 50)") }
        try await installation.importRegistrations(
            tokens.map { #"{"service":"apns","handle":"\#($0.token)","user":"\#($0.user)","tags":["many"]}"# }
        )
        let message = #"{"to":{"tag":"many"},"body":"to all"}"#
        let first: Accepted = try await installation.asBackend("POST", "/api/sends", body: message).decoded()
        #expect(try await installation.finished(first.id).totals.accepted == 200)

        installation.simulator.inject(SimulatorFault(.answer(reason: "BadDeviceToken"), pns: .apns, token: "feed"))
        defer { installation.simulator.clearFaults() }
        let second: Accepted = try await installation.asBackend("POST", "/api/sends", body: message).decoded()
        try await eventually("the breaker opens") { try await self.isBreakerOpen() }
        try await eventually("the job says what it waits for") {
            try await installation.job(second.id).reason?.contains("nearly all tokens") == true
        }
        installation.simulator.clearFaults()
        #expect(try await installation.finished(second.id).totals.accepted == 200)
        try await eventually("the breaker closes") { try await !self.isBreakerOpen() }
        #expect(try await self.count(#"{"tag":"many"}"#) == 200)
    }
}
