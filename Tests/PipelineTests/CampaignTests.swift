import Foundation
import PushModel
import PushServices
import PushlineSimulator
import Store
import StoreSQLite
import Testing

@testable import Pipeline

extension PlantTests {
    /// Campaigns that are stopped, that start later, and what they ask of the push services.
    @Suite(.serialized, .timeLimit(.minutes(2))) struct CampaignTests {
        @Test func aRunningCampaignThatIsCancelledStops() async throws {
            // A window of two batches: most of the campaign is in no batch when it is stopped.
            try await Plant.with(window: InFlightWindow(devices: 2000, messages: 2)) { plant in
                try await plant.register("ann", devices: 1...4000, tags: ["news"])
                // Every answer takes its time, so that batches are in work and others wait for them.
                plant.simulator.inject(SimulatorFault(.delay, pns: .apns, latency: 300))
                let id = try await plant.send(to: "news")
                try await plant.wait(for: id) { ($0.tallies[.apns]?.accepted ?? 0) > 0 }
                _ = try await plant.store.cancel(id, app: .default)
                let job = try await plant.wait(for: id)
                #expect(job.state == .cancelled)
                expectSound(job)
                let tally = try #require(job.tallies[.apns])
                // What is out is counted as what became of it, and nothing goes out any more.
                let out = plant.simulator.received().count
                #expect(tally.accepted == out)
                #expect(tally.targets < 4000 || tally.cancelled > 0)
                // And how many it would have been can still be seen.
                let plan = try #require(job.plan)
                #expect(plan.devices >= tally.targets)
                #expect((3500...4500).contains(try #require(plan.estimate)), "\(plan)")
                try await Task.sleep(for: .seconds(1))
                #expect(plant.simulator.received().count == out)
            }
        }

        @Test func aSendThatWaitsForCreditIsCancelledAtOnce() async throws {
            try await Plant.with([.send, .sweeper], window: InFlightWindow(devices: 1000, messages: 1)) { plant in
                try await plant.register("ann", .apns, token(1))
                var ids: [JobID] = []
                for _ in 0..<6 { ids.append(try await plant.send(to: "username:ann")) }
                try await Task.sleep(for: .seconds(3))
                var last: JobID?
                for id in ids where try await plant.job(id).hubState == nil { last = id }
                let waiting = try #require(last)
                #expect(try await plant.store.cancel(waiting, app: .default)?.state == .cancelled)
            }
        }

        @Test func aScheduledSendGoesOutAtItsMoment() async throws {
            try await Plant.with { plant in
                try await plant.register("ann", .apns, token(1))
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
                let accepted = try await plant.acceptAndPublish([new])
                // There is nothing to be published before its time.
                #expect(accepted.messages.isEmpty)
                #expect(try await plant.job(new.id).state == .scheduled)
                let done = try await plant.wait(for: new.id)
                #expect(done.tallies[.apns]?.accepted == 1)
                let began = try #require(done.started)
                #expect(began >= start)
            }
        }

        @Test func asksEachServiceForWhatTheSendSays() async throws {
            try await Plant.with { plant in
                let channel = try plant.simulator.urls.wnsChannel + "a1"
                try await plant.register("ann", .apns, token(1))
                try await plant.register("ann", .fcm, "fcm-token-of-ann")
                try await plant.register("ann", .wns, channel)
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
                _ = try await plant.acceptAndPublish([new])
                let done = try await plant.wait(for: new.id)
                #expect(done.tallies.values.reduce(0) { $0 + $1.accepted } == 3)
                let apns = try #require(plant.simulator.received(token: token(1)).first)
                // A time to live counts from the start that was asked for.
                #expect(apns.headers["apns-expiration"] == "\(start.advanced(by: .seconds(600)).seconds)")
                #expect(apns.headers["apns-priority"] == "10")
                #expect(apns.headers["apns-collapse-id"] == "score")
                let fcm = try #require(plant.simulator.received(token: "fcm-token-of-ann").first)
                #expect(fcm.body.contains(#""collapse_key":"score""#))
                #expect(fcm.body.contains(#""priority":"HIGH""#) || fcm.body.contains(#""priority":"high""#))
                let ttl = fcm.body.firstMatch(of: #/"ttl":"(\d+)s"/#).flatMap { Int($0.1) }
                #expect((570...600).contains(try #require(ttl)))
                let wns = try #require(plant.simulator.received(token: channel).first)
                #expect((570...600).contains(try #require(wns.headers["x-wns-ttl"].flatMap { Int($0) })))
                #expect(wns.headers["x-wns-priority"] == "1")
            }
        }

        @Test func anAppWithASilentServiceHoldsUpNoOther() async throws {
            try await Plant.with([.send, .sweeper]) { plant in
                let other = try AppID("other")
                _ = try await plant.store.apply(try plant.simulator.appSpec, to: other)
                try await plant.register("ann", .apns, token(1))
                try await plant.register("ben", .apns, token(2), app: other)
                plant.simulator.inject(SimulatorFault(.silence, pns: .apns, token: token(1)))
                let (delivery, senders) = plant.deliveryWorker(.narrow, requestTimeout: .seconds(10))
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { try await delivery.run() }
                    for _ in 0..<20 { _ = try await plant.send(to: "username:ann") }
                    try await Task.sleep(for: .milliseconds(500))
                    let request = SendRequest(
                        audience: .tag(try Tag("username:ben", .folded)),
                        platforms: [.apns],
                        content: .message(.init(body: "x"))
                    )
                    for _ in 0..<5 {
                        let new = NewJob(app: other, work: .send(request), lifetime: .seconds(3600))
                        _ = try await plant.acceptAndPublish([new])
                        let done = try await plant.wait(for: new.id, app: other)
                        #expect(done.tallies[.apns]?.accepted == 1)
                    }
                    group.cancelAll()
                }
                await senders.close()
            }
        }
    }
}
