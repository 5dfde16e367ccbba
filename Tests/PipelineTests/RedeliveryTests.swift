import Broker
import Foundation
import PushModel
import PushServices
import PushlineSimulator
import Store
import Testing
import Undisturbed

@testable import Pipeline

extension PipelineLoadTests {
    /// What a lost connection brings again keeps nothing that is urgent waiting (rules 5 and 12).
    @Suite(.serialized, .timeLimit(.minutes(2)), .undisturbed) struct RedeliveryTests {
        private static func send(to tag: String, _ priority: Priority, in harness: PipelineHarness) async throws -> Job
        {
            let request = SendRequest(
                audience: .tag(try Tag(tag, .folded)),
                platforms: [.apns],
                content: .message(.init(body: "hello"))
            )
            let job = try await harness.accept(.send(request), priority: priority)
            try await harness.publish(job)
            return job
        }

        /// How long urgent sends take, one after the other: the median, for the machine may be busy with others.
        private static func urgentDelay(in harness: PipelineHarness) async throws -> Duration {
            var delays: [Duration] = []
            for _ in 0..<3 {
                let start = ContinuousClock.now
                let job = try await Self.send(to: "username:ben", .high, in: harness)
                let done = try await harness.wait(for: job.id)
                #expect(done.counts[.apns]?.accepted == 1)
                delays.append(start.duration(to: .now))
            }
            return delays.sorted()[1]
        }

        /// After one loss all goes on side by side; after several, what was not begun is worked on alone.
        @Test(arguments: [1, 3]) func urgentSendsDoNotWaitForRedeliveries(losses: Int) async throws {
            try await PipelineHarness.with([.send, .sweeper]) { harness in
                try await harness.importDevices((1...12_000).map(token), user: "ann", tag: "news")
                try await harness.register("ben", .apns, token(50_000))
                harness.simulator.inject(SimulatorFault(.delay, pns: .apns, latency: 2000))
                var configuration = DeliveryWorker.Configuration()
                // No more than the connections' streams, for which urgent requests would wait, too.
                configuration.devices = 1000
                // A service that is slow, and not silent.
                configuration.slowAfter = .seconds(60)
                let (delivery, senders) = harness.deliveryWorker(configuration)
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { try await delivery.run() }
                    let usual = try await Self.urgentDelay(in: harness)
                    let campaign = try await Self.send(to: "news", .normal, in: harness)
                    let queue = QueueName.work(.deliver(.apns), .normal)
                    while harness.broker.unacknowledged(in: queue) < 8 { try await Task.sleep(for: .milliseconds(10)) }
                    for _ in 0..<losses {
                        harness.broker.redeliver()
                        try await Task.sleep(for: .milliseconds(100))
                    }
                    let delay = try await Self.urgentDelay(in: harness)
                    #expect(delay < usual + .seconds(1), "\(delay), else \(usual)")
                    // It was passed, not over.
                    #expect(try await !harness.job(campaign.id).state.isFinal)
                    _ = try await harness.store.cancel(campaign.id, app: .default)
                    expectSound(try await harness.wait(for: campaign.id))
                    group.cancelAll()
                }
                await senders.close()
            }
        }

        /// Small sends travel together, and a probe is small all the same.
        @Test func aProbeOfGroupedSmallSendsIsLimited() async throws {
            try await PipelineHarness.with([.send, .sweeper]) { harness in
                harness.simulator.inject(SimulatorFault(.silence, pns: .apns))
                var configuration = DeliveryWorker.Configuration()
                (configuration.breaker.pause, configuration.breaker.longestPause) = (.seconds(1), .seconds(1))
                let probe = configuration.breaker.probe
                let timeout = Duration.seconds(2)
                let (delivery, senders) = harness.deliveryWorker(configuration, requestTimeout: timeout)
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { try await delivery.run() }
                    for number in 0..<400 { try await harness.register("user\(number)", .apns, token(1000 + number)) }
                    let jobs = try (0..<400).map { number in
                        let request = SendRequest(
                            audience: .tag(Tag(user: try UserName("user\(number)", .folded))),
                            content: .message(.init(body: "hello"))
                        )
                        return NewJob(app: .default, work: .send(request), lifetime: .seconds(3600))
                    }
                    let accepted = try await harness.accept(jobs)
                    try await harness.publish(accepted.messages)
                    try await harness.wait(for: jobs[399].id) { $0.reason?.contains("APNs fails") == true }
                    // What went out before it opened is answered or given up.
                    try await Task.sleep(for: timeout + .seconds(1))
                    let start = Date.now
                    try await Task.sleep(for: .seconds(10))
                    let probes = Self.bursts(harness.simulator.received().map(\.time).filter { $0 > start })
                    #expect((2...5).contains(probes.count), "\(probes)")
                    #expect(probes.allSatisfy { $0 <= probe }, "\(probes)")
                    harness.simulator.clearFaults()
                    for job in jobs {
                        let done = try await harness.wait(for: job.id)
                        #expect(done.counts[.apns]?.accepted == 1)
                        expectSound(done)
                    }
                    group.cancelAll()
                }
                await senders.close()
            }
        }

        /// How many came in each burst: a second of silence parts them.
        private static func bursts(_ times: [Date]) -> [Int] {
            var (bursts, last) = ([Int](), Date.distantPast)
            for time in times.sorted() {
                if time.timeIntervalSince(last) > 1 { bursts.append(0) }
                bursts[bursts.count - 1] += 1
                last = time
            }
            return bursts
        }
    }
}
