import Foundation
import InstallationSupport
import PushModel
import RawHTTP
import Testing
import Undisturbed

@testable import PushlineSimulator

/// A delivery worker that is told to end: as a process, with nothing to do and with answers that stop in the middle.
@Suite(.serialized, .ownInstallation, .timeLimit(.minutes(4)), .undisturbed) struct DeliveryShutdownTests {
    private static let worker = "delivery-worker"
    /// How long a push service may take for an answer.
    private static let requestTime = Duration.seconds(10)

    private var installation: EndToEndInstallation {
        get throws { try #require(EndToEndInstallation.current) }
    }

    /// Ends the worker in order.
    ///
    /// - Returns: How long it took.
    private func end() async throws -> Duration {
        let start = ContinuousClock.now
        #expect(try await self.installation.terminate(Self.worker) == 0)
        return .now - start
    }

    /// The job of a send to alice.
    private func send() async throws -> String {
        let answer = try await self.installation.asBackend(
            "POST",
            "/api/sends",
            body: #"{"to":{"user":"alice"},"body":"x"}"#
        )
        return try #require(answer.headers["pushline-job"])
    }

    @Test func aWorkerWithNothingInFlightEndsAtOnce() async throws {
        let installation = try self.installation
        let token = String(repeating: "ab", count: 32)
        try await installation.register("alice", platform: "apns", handle: token)
        // Its connections are open.
        #expect(try await installation.finished(self.send()).totals.accepted == 1)
        #expect(try await self.end() < .seconds(2))
        try await installation.start(Self.worker)
    }

    /// Over HTTP/2 and HTTP/1.1 at once: nobody knows yet what becomes of either.
    @Test func aWorkerEndsWithTheDeadlinesOfWhatIsInFlight() async throws {
        let installation = try self.installation
        let keys = try installation.simulator.credentials.keys
        let tls = try ["h2", "http/1.1"].map { try keys.serverContext(protocols: [$0], takesCertificates: false) }
        try await StoppingPeer.run(.http2, tls: tls[0], stopping: .head, answer: { _ in .init(200) }) { apns in
            try await StoppingPeer.run(.http1, tls: tls[1], stopping: .head, answer: { _ in .init(200) }) { wns in
                try await self.endBeside(apns, wns)
            }
        }
    }

    private func endBeside(_ apns: StoppingPeer, _ wns: StoppingPeer) async throws {
        let installation = try self.installation
        var spec = try installation.simulator.appSpec
        spec.apns?.endpoint = "https://127.0.0.1:\(apns.port)"
        spec.wns?.channelPrefixes = ["https://127.0.0.1:\(wns.port)/"]
        try await installation.apply(spec)
        // Programs look for another declaration every two seconds.
        try await Task.sleep(for: .seconds(3))
        try await installation.register("alice", platform: "apns", handle: String(repeating: "ab", count: 32))
        try await installation.register("alice", platform: "wns", handle: "https://127.0.0.1:\(wns.port)/channel")
        let job = try await self.send()
        try await eventually("both have the request") { apns.requests > 0 && wns.requests > 0 }
        let taken = try await self.end()
        #expect(taken < Self.requestTime + .seconds(1))
        // They were waited for, and none of it is known.
        #expect(taken > .seconds(1))
        #expect(try await !installation.job(job).isFinal)
        try await apns.heal()
        try await wns.heal()
        try await installation.start(Self.worker)
        #expect(try await installation.finished(job).totals.accepted == 2)
    }
}
