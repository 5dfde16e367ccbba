import Foundation
import PushModel
import PushServices
import PushlineSimulator
import Store
import StoreSQLite
import Testing

@testable import Pipeline

/// What one app's traffic must not do to another's (rule 12).
@Suite(.serialized, .timeLimit(.minutes(2))) struct FairnessTests {
    private static let small = FeedWindow(devices: 4000, batches: 4)

    private func send(to tag: String) throws -> Job.Work {
        .send(SendRequest(audience: .tag(try Tag(tag)), platforms: [.apns], content: .message(.init(body: "hello"))))
    }

    @Test func manySendsOfAnAppThatNobodyDeliversHoldUpNoOther() async throws {
        try await Plant.with([.send, .sweeper], window: Self.small) { plant in
            let other = try AppID("other")
            _ = try await plant.store.apply(try plant.simulator.appSpec, to: other)
            try await plant.register("ann", .apns, token(1))
            try await plant.register("ben", .apns, token(2), app: other)
            let work = try self.send(to: "username:ann")
            // More than a send worker holds claims, and far more than the window.
            let blocked = try await withThrowingTaskGroup(of: JobID.self) { group in
                for _ in 0..<1500 {
                    group.addTask {
                        let job = try await plant.accept(work)
                        try await plant.publish(job)
                        return job.id
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            let job = try await plant.accept(try self.send(to: "username:ben"), app: other)
            try await plant.publish(job)
            try await plant.wait(for: job.id, app: other) { $0.hubState == .enqueued }
            var waiting = 0
            for id in blocked where try await plant.job(id).hubState == nil { waiting += 1 }
            #expect(waiting >= 1400)
        }
    }

    @Test func whatWasGivenBackGoesOnWhenThereIsRoom() async throws {
        try await Plant.with([.send, .sweeper], window: Self.small) { plant in
            try await plant.register("ann", .apns, token(1))
            var jobs: [JobID] = []
            for _ in 0..<40 { jobs.append(try await plant.send(to: "username:ann")) }
            // All that is not planned has left the planners' memory.
            try await Task.sleep(for: .seconds(3))
            let (delivery, senders) = plant.deliveryWorker()
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await delivery.run() }
                for id in jobs {
                    let job = try await plant.wait(for: id, within: .seconds(60))
                    #expect(job.state == .completed)
                    #expect(job.tallies[.apns]?.accepted == 1)
                    expectSound(job)
                }
                group.cancelAll()
            }
            await senders.close()
        }
    }

    @Test func aPlannerThatDiesAfterGivingBackLeavesNothingBehind() async throws {
        try await Plant.with([.delivery, .sweeper], window: Self.small) { plant in
            try await plant.register("ann", .apns, token(1))
            let job = try await plant.accept(try self.send(to: "username:ann"))
            let claim = try #require(try await plant.store.claim(job.id, lease: .seconds(60)))
            #expect(try await plant.store.release(claim, waitingFor: [.apns], pause: .zero))
            // Its process is gone; another one's send worker starts.
            try await plant.run(.send) {
                let done = try await plant.wait(for: job.id)
                #expect(done.tallies[.apns]?.accepted == 1)
            }
        }
    }

    @Test func aRateLimitHoldsOverJobsAndRetries() async throws {
        try await Plant.with { plant in
            var spec = try plant.simulator.appSpec
            spec.apns?.devicesPerSecond = 200
            _ = try await plant.store.apply(spec, to: .default)
            try await plant.register("ann", devices: 1...600, tags: ["news"])
            // Sixty devices are sent to a second time.
            plant.simulator.inject(SimulatorFault(.answer(status: 503), pns: .apns, count: 60))
            let start = ContinuousClock.now
            let ids = [try await plant.send(to: "news"), try await plant.send(to: "news")]
            for id in ids {
                let job = try await plant.wait(for: id, within: .seconds(60))
                #expect(job.tallies[.apns]?.accepted == 600)
                expectSound(job)
            }
            let seconds = start.duration(to: .now).inSeconds
            let received = plant.simulator.received().count
            #expect(received >= 1260)
            // What may go at once comes on top: 200 ms' worth.
            #expect(Double(received) <= 1.05 * 200 * (seconds + 0.2), "\(received) in \(seconds) s")
            #expect(seconds < 30)
        }
    }
}
