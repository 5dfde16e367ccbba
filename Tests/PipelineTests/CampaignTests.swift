import Foundation
import PushModel
import PushServices
import PushlineSimulator
import Store
import Testing
import Undisturbed

@testable import Pipeline

extension PipelineLoadTests {
    /// Campaigns that are stopped, that start later, and what they ask of the push services.
    @Suite(.serialized, .timeLimit(.minutes(2)), .undisturbed) struct CampaignTests {
        @Test func aCancelledCampaignStops() async throws {
            // A window of two batches: most of the campaign is in no batch when it is stopped.
            try await PipelineHarness.with(window: InFlightWindow(devices: 2000, messages: 2)) { harness in
                try await harness.register("ann", devices: 1...4000, tags: ["news"])
                // Every answer takes its time, so that batches are in progress and others wait for them.
                harness.simulator.inject(SimulatorFault(.delay, pns: .apns, latency: 300))
                let id = try await harness.send(to: "news")
                try await harness.wait(for: id) { ($0.counts[.apns]?.accepted ?? 0) > 0 }
                _ = try await harness.store.cancel(id, app: .default)
                let job = try await harness.wait(for: id)
                #expect(job.state == .cancelled)
                expectSound(job)
                let counts = try #require(job.counts[.apns])
                // What is out is counted as what became of it, and nothing goes out any more.
                let out = harness.simulator.received().count
                #expect(counts.accepted == out)
                #expect(counts.targets < 4000 || counts.cancelled > 0)
                // And how many it would have been can still be seen.
                let progress = try #require(job.progress)
                #expect(progress.devices >= counts.targets)
                #expect((3500...4500).contains(try #require(progress.estimate)), "\(progress)")
                try await Task.sleep(for: .seconds(1))
                #expect(harness.simulator.received().count == out)
            }
        }

        @Test func aSendThatWaitsForCreditIsCancelledAtOnce() async throws {
            try await PipelineHarness.with([.send, .sweeper], window: InFlightWindow(devices: 1000, messages: 1)) {
                harness in
                try await harness.register("ann", .apns, token(1))
                var ids: [JobID] = []
                for _ in 0..<6 { ids.append(try await harness.send(to: "username:ann")) }
                try await Task.sleep(for: .seconds(3))
                var last: JobID?
                for id in ids where try await harness.job(id).state == .queued { last = id }
                let waiting = try #require(last)
                #expect(try await harness.store.cancel(waiting, app: .default)?.state == .cancelled)
            }
        }

        @Test func aScheduledSendIsSentAtItsStart() async throws {
            try await PipelineHarness.with { harness in
                try await harness.register("ann", .apns, token(1))
                let start = Timestamp.now.advanced(by: .seconds(2))
                let request = SendRequest(
                    audience: .tag(try Tag("username:ann", .folded)),
                    content: .message(.init(body: "x"))
                )
                let new = NewJob(
                    app: .default,
                    work: .send(request),
                    lifetime: .seconds(60),
                    startsAt: start
                )
                let accepted = try await harness.acceptAndPublish([new])
                // There is nothing to be published before its time.
                #expect(accepted.messages.isEmpty)
                #expect(try await harness.job(new.id).state == .scheduled)
                let done = try await harness.wait(for: new.id)
                #expect(done.counts[.apns]?.accepted == 1)
                let began = try #require(done.started)
                #expect(began >= start)
            }
        }

        @Test func optionsOfASendReachEachService() async throws {
            try await PipelineHarness.with { harness in
                let channel = try harness.simulator.urls.wnsChannel + "a1"
                try await harness.register("ann", .apns, token(1))
                try await harness.register("ann", .fcm, "fcm-token-of-ann")
                try await harness.register("ann", .wns, channel)
                let start = Timestamp.now.advanced(by: .seconds(1))
                let request = SendRequest(
                    audience: .tag(try Tag("username:ann", .folded)),
                    content: .message(.init(title: "t", body: "b")),
                    timeToLive: .seconds(600),
                    collapse: "score"
                )
                let new = NewJob(
                    app: .default,
                    priority: .high,
                    work: .send(request),
                    lifetime: .seconds(600),
                    startsAt: start
                )
                _ = try await harness.acceptAndPublish([new])
                let done = try await harness.wait(for: new.id)
                #expect(done.counts.values.reduce(0) { $0 + $1.accepted } == 3)
                let apns = try #require(harness.simulator.received(token: token(1)).first)
                // A time to live counts from the start that was asked for.
                #expect(apns.headers["apns-expiration"] == "\(start.advanced(by: .seconds(600)).seconds)")
                #expect(apns.headers["apns-priority"] == "10")
                #expect(apns.headers["apns-collapse-id"] == "score")
                let fcm = try #require(harness.simulator.received(token: "fcm-token-of-ann").first)
                #expect(fcm.body.contains(#""collapse_key":"score""#))
                #expect(fcm.body.contains(#""priority":"HIGH""#) || fcm.body.contains(#""priority":"high""#))
                let ttl = fcm.body.firstMatch(of: #/"ttl":"(\d+)s"/#).flatMap { Int($0.1) }
                #expect((570...600).contains(try #require(ttl)))
                let wns = try #require(harness.simulator.received(token: channel).first)
                #expect((570...600).contains(try #require(wns.headers["x-wns-ttl"].flatMap { Int($0) })))
                #expect(wns.headers["x-wns-priority"] == "1")
            }
        }

        @Test func anAppWithASilentServiceDelaysNoOther() async throws {
            try await PipelineHarness.with([.send, .sweeper]) { harness in
                let other = try AppID("other")
                _ = try await harness.store.apply(.app(other, try harness.simulator.appSpec))
                try await harness.register("ann", .apns, token(1))
                try await harness.register("ben", .apns, token(2), app: other)
                harness.simulator.inject(SimulatorFault(.silence, pns: .apns, token: token(1)))
                let (delivery, senders) = harness.deliveryWorker(.narrow, requestTimeout: .seconds(10))
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { try await delivery.run() }
                    for _ in 0..<20 { _ = try await harness.send(to: "username:ann") }
                    try await Task.sleep(for: .milliseconds(500))
                    let request = SendRequest(
                        audience: .tag(try Tag("username:ben", .folded)),
                        platforms: [.apns],
                        content: .message(.init(body: "x"))
                    )
                    for _ in 0..<5 {
                        let new = NewJob(app: other, work: .send(request), lifetime: .seconds(3600))
                        _ = try await harness.acceptAndPublish([new])
                        let done = try await harness.wait(for: new.id, app: other)
                        #expect(done.counts[.apns]?.accepted == 1)
                    }
                    group.cancelAll()
                }
                await senders.close()
            }
        }
    }
}
