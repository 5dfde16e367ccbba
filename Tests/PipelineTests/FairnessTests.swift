import Foundation
import PushModel
import PushServices
import PushlineSimulator
import Store
import Testing
import Undisturbed

@testable import Pipeline

extension PipelineLoadTests {
    /// What one app's traffic must not do to another's (rule 12).
    @Suite(.serialized, .timeLimit(.minutes(2)), .undisturbed) struct FairnessTests {
        private static let small = InFlightWindow(devices: 4000, messages: 4)

        private func send(to tag: String) throws -> Job.Work {
            .send(
                SendRequest(
                    audience: .tag(try Tag(tag, .folded)),
                    platforms: [.apns],
                    content: .message(.init(body: "hello"))
                )
            )
        }

        @Test func undeliveredSendsOfOneAppDelayNoOtherApp() async throws {
            try await PipelineHarness.with([.send, .sweeper], window: Self.small) { harness in
                let other = try AppID("other")
                _ = try await harness.store.apply(.app(other, try harness.simulator.appSpec))
                try await harness.register("ann", .apns, token(1))
                try await harness.register("ben", .apns, token(2), app: other)
                let work = try self.send(to: "username:ann")
                // More than a send worker holds claims, and far more than the window.
                let blocked = try await withThrowingTaskGroup(of: JobID.self) { group in
                    for _ in 0..<1500 {
                        group.addTask {
                            let job = try await harness.accept(work)
                            try await harness.publish(job)
                            return job.id
                        }
                    }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                let job = try await harness.accept(try self.send(to: "username:ben"), app: other)
                try await harness.publish(job)
                try await harness.wait(for: job.id, app: other) { $0.isAnswered }
                var waiting = 0
                for id in blocked where try await harness.job(id).state == .queued { waiting += 1 }
                #expect(waiting >= 1400)
            }
        }

        /// Each send to several names is a message of its own, and work for a send worker.
        @Test func manySendsToSeveralNamesHoldUpNoOtherAppsSend() async throws {
            try await PipelineHarness.with([.send, .sweeper]) { harness in
                let other = try AppID("other")
                _ = try await harness.store.apply(.app(other, try harness.simulator.appSpec))
                try await harness.register("ben", .apns, token(2), app: other)
                let count = 3000
                var sends: [JobID] = []
                while sends.count < count {
                    let jobs = try (0..<OutboxMessage.maximumMembers).map { number in
                        let names = try (0..<3).map { Tag(user: try UserName("u\(number)-\($0)", .folded)) }
                        let request = SendRequest(audience: .any(names), content: .message(.init(body: "hello")))
                        return NewJob(app: .default, work: .send(request), lifetime: .seconds(3600))
                    }
                    let accepted = try await harness.accept(jobs)
                    // As the API does.
                    try await harness.publish(accepted.messages)
                    sends += jobs.map(\.id)
                }
                let job = try await harness.accept(try self.send(to: "username:ben"), app: other)
                try await harness.publish(job)
                try await harness.wait(for: job.id, app: other) { $0.isAnswered }
                // However slow the machine is: before it went a window's, and what was fanned out while they were accepted.
                #expect(try await harness.job(sends[count / 2]).state == .queued)
                // None is lost.
                for id in sends { try await harness.wait(for: id) }
            }
        }

        /// The process that has accepted them dies before it publishes any.
        @Test func whatWasAcceptedBeyondTheWindowAndNotPublishedComesToItsEnd() async throws {
            let window = InFlightWindow(jobMessages: 8)
            try await PipelineHarness.with([.register, .send, .sweeper], window: window) { harness in
                let name = try UserName("ann", .folded)
                let jobs = try (0..<200).map { number in
                    let work: Job.Work =
                        number % 2 == 0
                        ? .register(.issue(candidate: .random(), handles: []))
                        : .send(
                            SendRequest(
                                audience: .any([Tag(user: name), try Tag("t", .folded)]),
                                content: .message(.init(body: "hello"))
                            )
                        )
                    return NewJob(app: .default, user: name, work: work, lifetime: .seconds(3600))
                }
                let accepted = try await harness.accept(jobs)
                #expect(accepted.messages.count == 16)
                for job in jobs { try await harness.wait(for: job.id) }
            }
        }

        @Test func deferredSendsContinueWhenCreditIsFree() async throws {
            try await PipelineHarness.with([.send, .sweeper], window: Self.small) { harness in
                try await harness.register("ann", .apns, token(1))
                var jobs: [JobID] = []
                for _ in 0..<40 { jobs.append(try await harness.send(to: "username:ann")) }
                // All that is not fanned out has left the send workers' memory.
                try await Task.sleep(for: .seconds(3))
                let (delivery, senders) = harness.deliveryWorker()
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { try await delivery.run() }
                    for id in jobs {
                        let job = try await harness.wait(for: id, within: .seconds(60))
                        #expect(job.state == .completed)
                        #expect(job.counts[.apns]?.accepted == 1)
                        expectSound(job)
                    }
                    group.cancelAll()
                }
                await senders.close()
            }
        }

        @Test func aSendWorkerThatDiesAfterADeferralLosesNothing() async throws {
            try await PipelineHarness.with([.delivery, .sweeper], window: Self.small) { harness in
                try await harness.register("ann", .apns, token(1))
                let job = try await harness.accept(try self.send(to: "username:ann"))
                let claim = try #require(
                    try await harness.store.claim(try harness.message(of: job.id).id, peeking: false)
                )
                #expect(
                    try await harness.store.defer(
                        claim.message.id,
                        epoch: claim.message.epoch,
                        Deferral(blockedOn: [.apns])
                    )
                )
                // Its process is gone; another one's send worker starts.
                try await harness.run(.send) {
                    let done = try await harness.wait(for: job.id)
                    #expect(done.counts[.apns]?.accepted == 1)
                }
            }
        }

        @Test func aRateLimitCoversAllJobsAndRetries() async throws {
            try await PipelineHarness.with { harness in
                var spec = try harness.simulator.appSpec
                spec.apns?.devicesPerSecond = 200
                _ = try await harness.store.apply(.app(.default, spec))
                try await harness.register("ann", devices: 1...600, tags: ["news"])
                // Sixty devices are sent to a second time.
                harness.simulator.inject(SimulatorFault(.answer(status: 503), pns: .apns, count: 60))
                let start = ContinuousClock.now
                let ids = [try await harness.send(to: "news"), try await harness.send(to: "news")]
                for id in ids {
                    let job = try await harness.wait(for: id, within: .seconds(60))
                    #expect(job.counts[.apns]?.accepted == 600)
                    expectSound(job)
                }
                let seconds = start.duration(to: .now).inSeconds
                let received = harness.simulator.received().count
                #expect(received >= 1260)
                // What may go at once comes on top: 200 ms' worth.
                #expect(
                    Double(received) <= 1.05 * 200 * (seconds + 0.2),
                    "\(harness.simulator.counts.apns) in \(seconds) s"
                )
                #expect(seconds < 30)
            }
        }

        /// Two send workers share one limit; at any time its rate is what arrives.
        @Test func aRateLimitIsReachedAndNotExceeded() async throws {
            try await PipelineHarness.with { harness in
                var spec = try harness.simulator.appSpec
                spec.apns?.devicesPerSecond = 200
                _ = try await harness.store.apply(.app(.default, spec))
                try await harness.importDevices((1...500).map(token), user: "ann", tag: "news")
                try await harness.run(.send) {
                    // Where the machine holds everything up, the limit cannot be reached: then it is tried again.
                    var measured: [Double] = []
                    var wasFree = false
                    for _ in 0..<3 {
                        let before = harness.simulator.counts.next
                        let watch = Task { await Self.lateness() }
                        let ids = [try await harness.send(to: "news"), try await harness.send(to: "news")]
                        for id in ids { try await harness.wait(for: id, within: .seconds(60)) }
                        watch.cancel()
                        let late = await watch.value
                        let times = harness.simulator.received(since: before).map(\.time.timeIntervalSince1970).sorted()
                        try #require(times.count == 1000)
                        // Neither the beginning, where something may go at once, nor the end.
                        let (first, last) = (100, 950)
                        let rate = Double(last - first) / (times[last] - times[first])
                        measured.append(rate)
                        // More is never due to a busy machine.
                        #expect(rate <= 1.05 * 200, "\(measured)")
                        if rate >= 0.95 * 200 { return }
                        if late < .milliseconds(250) { wasFree = true }
                    }
                    #expect(!wasFree, "the limit was never reached: \(measured)")
                }
            }
        }

        @Test func sendsToOneUserOvertakeARateLimitedCampaign() async throws {
            try await PipelineHarness.with { harness in
                var spec = try harness.simulator.appSpec
                spec.apns?.devicesPerSecond = 200
                _ = try await harness.store.apply(.app(.default, spec))
                try await harness.importDevices((1...4000).map(token), user: "ann", tag: "news")
                try await harness.register("ben", .apns, token(5000))
                try await harness.register("ben", .fcm, "ben-1")
                let campaign = try await harness.send(to: "news")
                try await harness.wait(for: campaign) { ($0.counts[.apns]?.accepted ?? 0) > 0 }
                var delays: [Double] = []
                for _ in 0..<20 {
                    let start = ContinuousClock.now
                    let job = try await harness.wait(
                        for: try await harness.send(to: "username:ben"),
                        within: .seconds(60)
                    )
                    #expect(job.counts[.apns]?.accepted == 1)
                    #expect(job.counts[.fcm]?.accepted == 1)
                    delays.append(start.duration(to: .now).inSeconds)
                }
                #expect((delays.max() ?? 0) < 5, "\(delays)")
                // It was passed, not over.
                #expect(try await !harness.job(campaign).state.isFinal)
                _ = try await harness.store.cancel(campaign, app: .default)
                expectSound(try await harness.wait(for: campaign))
            }
        }

        @Test func largeClaimsOfOneAppLeaveSomeToOthers() throws {
            let claims = LargeClaims()
            let (first, second) = (try AppID("first"), try AppID("second"))
            var held = 0
            while claims.acquire(first) { held += 1 }
            #expect(held == LargeClaims.limit / 2)
            var others = 0
            while claims.acquire(second) { others += 1 }
            #expect(others == LargeClaims.limit / 4)
            // It keeps what it has, and has nothing new while it holds more than is left.
            claims.release(first)
            #expect(!claims.acquire(first))
            for _ in 0..<others { claims.release(second) }
            #expect(claims.acquire(first))
        }

        /// How long timers were held up in all, until the task is cancelled.
        private static func lateness() async -> Duration {
            var late = Duration.zero
            while !Task.isCancelled {
                let start = ContinuousClock.now
                try? await Task.sleep(for: .milliseconds(20))
                late += max(.zero, start.duration(to: .now) - .milliseconds(30))
            }
            return late
        }

        @Test func twoCampaignsShareAWorker() async throws {
            try await PipelineHarness.with([.send, .sweeper]) { harness in
                let other = try AppID("other")
                _ = try await harness.store.apply(.app(other, try harness.simulator.appSpec))
                try await harness.importDevices((1...12_000).map(token), user: "ann", tag: "news")
                try await harness.importDevices((50_001...54_000).map(token), user: "ben", tag: "news", app: other)
                // The worker's permits are what they have to share.
                harness.simulator.inject(SimulatorFault(.delay, pns: .apns, latency: 200))
                var configuration = DeliveryWorker.Configuration()
                configuration.devices = 2000
                let (delivery, senders) = harness.deliveryWorker(configuration)
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { try await delivery.run() }
                    let first = try await harness.accept(try self.send(to: "news"))
                    try await harness.publish(first)
                    try await harness.wait(for: first.id, within: .seconds(60)) {
                        ($0.counts[.apns]?.accepted ?? 0) > 0
                    }
                    let second = try await harness.accept(try self.send(to: "news"), app: other)
                    try await harness.publish(second)
                    let done = try await harness.wait(for: second.id, app: other, within: .seconds(60))
                    #expect(done.counts[.apns]?.accepted == 4000)
                    let late = Set((50_001...54_000).map(token))
                    let pushes = harness.simulator.received()
                    let begin = try #require(pushes.firstIndex { late.contains($0.token) })
                    let end = try #require(pushes.lastIndex { late.contains($0.token) })
                    // While both went out, each had its share: neither waited for the other's end.
                    let share = Double(4000) / Double(end - begin + 1)
                    #expect((0.3...0.8).contains(share), "\(share)")
                    #expect(begin < 8_000)
                    _ = try await harness.store.cancel(first.id, app: .default)
                    try await harness.wait(for: first.id, within: .seconds(60))
                    group.cancelAll()
                }
                await senders.close()
            }
        }

        @Test func urgentSendsOvertakeACampaign() async throws {
            try await PipelineHarness.with([.send, .sweeper]) { harness in
                // The campaign's devices answer slowly, so that it fills window and worker; the urgent ones' do not.
                let slow = (1...12_000).map { String(token($0).dropFirst(4)) + "cafe" }
                try await harness.importDevices(slow, user: "ann", tag: "news")
                try await harness.register("ben", .apns, token(7))
                harness.simulator.inject(SimulatorFault(.delay, pns: .apns, token: "cafe", latency: 5000))
                var configuration = DeliveryWorker.Configuration()
                configuration.devices = 1000
                // None of it counts as silent.
                configuration.slowAfter = .seconds(60)
                let (delivery, senders) = harness.deliveryWorker(configuration)
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { try await delivery.run() }
                    let campaign = try await harness.send(to: "news")
                    try await harness.wait(for: campaign) { ($0.counts[.apns]?.accepted ?? 0) > 0 }
                    var delays: [Double] = []
                    for number in 0..<9 {
                        let start = Date.now
                        let job = try await harness.accept(try self.send(to: "username:ben"), priority: .high)
                        try await harness.publish(job)
                        try await harness.wait(for: job.id)
                        let pushes = harness.simulator.received(token: token(7))
                        try #require(pushes.count == number + 1)
                        delays.append(pushes[number].time.timeIntervalSince(start))
                        try await Task.sleep(for: .milliseconds(100))
                    }
                    // It was passed, not over.
                    #expect(try await !harness.job(campaign).state.isFinal)
                    #expect(delays.sorted()[4] < 0.5, "\(delays)")
                    _ = try await harness.store.cancel(campaign, app: .default)
                    expectSound(try await harness.wait(for: campaign))
                    group.cancelAll()
                }
                await senders.close()
            }
        }
    }
}
