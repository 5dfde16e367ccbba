import Foundation
import InstallationSupport
import PushModel
import PushlineSimulator
import Testing

// Sends to many: how soon they stop, and how fast they may go.
extension EndToEndTests {
    private static let devices = 8000

    /// Registers the devices of a campaign at FCM, which takes 100 requests a connection at a time.
    private func registerCampaign(_ tag: String) async throws {
        let lines = (0..<Self.devices).map { number in
            #"{"service":"fcm","handle":"\#(number):\#(tag)","user":"alice","tags":["\#(tag)"]}"#
        }
        try await self.installation.importRegistrations(lines)
    }

    /// Begins a campaign, and returns when some of it is out.
    private func begin(_ tag: String, body: String) async throws -> String {
        let installation = try self.installation
        let before = installation.simulator.counts.next
        let id = try await self.send(#"{"to": {"tag": "\#(tag)"}, "body": "\#(body)"}"#)
        try await eventually("some of it is out") { installation.simulator.counts.next > before + 500 }
        return id
    }

    private func arrivals(_ body: String, since index: Int) throws -> [Date] {
        try self.installation.simulator.received(pns: .fcm, since: index).filter { $0.body.contains(body) }.map(\.time)
            .sorted()
    }

    @Test func aCancelledCampaignStopsWithinASecond() async throws {
        let installation = try self.installation
        try await self.registerCampaign("stop")
        installation.simulator.inject(SimulatorFault(.delay, pns: .fcm, token: ":stop", latency: 200))
        defer { installation.simulator.clearFaults() }
        // On a machine that holds up one of the processes it is tried again: each time everything must add up.
        var seconds: [Double] = []
        for attempt in 1...3 {
            let before = installation.simulator.counts.next
            let id = try await self.begin("stop", body: "campaign \(attempt)")
            let answer = try await installation.asBackend("DELETE", "/api/jobs/\(id)")
            let cancelled = Date.now
            #expect(answer.status == 202)
            let job = try await installation.finished(id)
            let final = Date.now
            try await Task.sleep(for: .seconds(1))
            let arrivals = try self.arrivals("campaign \(attempt)", since: before)
            #expect(job.state == "cancelled")
            // What was out is counted as what became of it, all else of what was in batches as cancelled.
            #expect(job.totals.accepted == arrivals.count)
            #expect(job.totals.outcomes == job.totals.targets)
            #expect(arrivals.count < Self.devices)
            let last = try #require(arrivals.last)
            seconds.append(max(last, final).timeIntervalSince(cancelled))
            if let took = seconds.last, took <= 1 { return }
        }
        Issue.record("it never stopped within a second: \(seconds)")
    }

    @Test func aCampaignIsSentAtItsAppsRateLimit() async throws {
        let installation = try self.installation
        try await self.registerCampaign("pace")
        var spec = try installation.simulator.appSpec
        spec.fcm?.devicesPerSecond = 500
        try await installation.apply(spec)
        // Never faster: that holds on every machine. How close it comes is the machine's affair too, with other suites beside it;
        // RateLimitContract has the exact rate, on a clock of its own.
        let before = installation.simulator.counts.next
        let id = try await self.begin("pace", body: "at its rate")
        try await eventually("the beginning is out, and three seconds' worth more") {
            installation.simulator.counts.next > before + 1700
        }
        _ = try await installation.asBackend("DELETE", "/api/jobs/\(id)")
        _ = try await installation.finished(id)
        // Not the beginning: something may go at once.
        let steady = try self.arrivals("at its rate", since: before).dropFirst(200)
        let (first, last) = (try #require(steady.first), try #require(steady.last))
        let seconds = last.timeIntervalSince(first)
        // Arrivals are bunched: half a second's worth more may fall into the time.
        #expect(Double(steady.count) <= 500 * seconds + 250, "\(steady.count) in \(seconds) s")
        try await installation.apply(try installation.simulator.appSpec)
    }
}
