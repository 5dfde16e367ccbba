import Broker
import PushModel
import PushServices
import PushlineSimulator
import Store
import Testing
import Undisturbed

@testable import Pipeline

extension PipelineLoadTests {
    /// Queues that an operator pauses and resumes.
    @Suite(.serialized, .timeLimit(.minutes(3)), .undisturbed) struct PauseTests {
        @Test func aPausedCampaignStopsAndContinues() async throws {
            try await PipelineHarness.with([.send, .sweeper, .dead]) { harness in
                try await harness.register("ann", devices: 1...3000)
                try await harness.register("bob", .fcm, "bobs-device-token-of-fcm")
                harness.simulator.inject(SimulatorFault(.delay, pns: .apns, latency: 100))
                let id = try await harness.send(to: "username:ann")
                let (first, firstSenders) = harness.deliveryWorker()
                let work = Task { try await first.run() }
                while harness.simulator.counts.next < 100 { try await Task.sleep(for: .milliseconds(10)) }
                try await harness.store.apply(.pause(.begin(.deliver(.apns), app: .default, by: "test")))
                harness.simulator.clearFaults()
                // All that was out comes in, and all the rest is deferred.
                let seen = try await harness.wait(for: id) { job in
                    job.reason == "paused: deliver.apns" && job.state == .retrying
                }
                #expect((seen.counts[.apns]?.accepted ?? 0) < 3000)
                let received = harness.simulator.received().count
                // Another service goes on.
                let other = try await harness.send(to: "username:bob", platforms: [.fcm])
                #expect(try await harness.wait(for: other).counts[.fcm]?.accepted == 1)
                work.cancel()
                _ = await work.result
                await firstSenders.close()
                // A worker that is started meanwhile takes nothing, also of what is new.
                let (second, secondSenders) = harness.deliveryWorker()
                let heir = Task { try await second.run() }
                let late = try await harness.send(to: "username:ann", "again")
                try await Task.sleep(for: .seconds(2))
                #expect(harness.simulator.received().count == received + 1)
                #expect(try await harness.job(late).reason == "paused: deliver.apns")
                #expect(try await harness.store.apply(.pause(.end(.deliver(.apns), app: .default))))
                for id in [id, late] {
                    let done = try await harness.wait(for: id)
                    #expect(done.counts[.apns]?.accepted == 3000)
                    expectSound(done)
                }
                heir.cancel()
                _ = await heir.result
                await secondSenders.close()
                #expect(harness.simulator.received().count == 6001)
                #expect(try await harness.store.audit(after: 0, limit: 100).faults == [])
            }
        }

        @Test(arguments: [true, false]) func aPausedSendCanBeCancelledOrExpire(isCancelled: Bool) async throws {
            try await PipelineHarness.with { harness in
                try await harness.register("ann", devices: 1...20)
                try await harness.store.apply(.pause(.begin(.deliver(.apns), app: nil, by: "test")))
                // No worker may be quicker than the pause.
                try await Task.sleep(for: .seconds(2))
                let id = try await harness.send(to: "username:ann", expires: .seconds(isCancelled ? 3600 : 3))
                try await harness.wait(for: id) { $0.reason == "paused: deliver.apns" || $0.state.isFinal }
                if isCancelled { _ = try await harness.store.cancel(id, app: .default) }
                let done = try await harness.wait(for: id)
                #expect(done.state == (isCancelled ? .cancelled : .expired))
                expectSound(done)
                #expect(harness.simulator.received().isEmpty)
            }
        }

        @Test func pausedSendsAndRegistrationsWait() async throws {
            try await PipelineHarness.with { harness in
                try await harness.register("ann", .apns, token(1))
                try await harness.store.apply(.pause(.begin(.send, app: .default, by: "test")))
                try await harness.store.apply(.pause(.begin(.register, app: nil, by: "test")))
                try await Task.sleep(for: .seconds(2))
                let send = try await harness.send(to: "username:ann")
                let request = RegisterRequest.issue(candidate: .random(), handles: [])
                let user = try UserName("ann", .folded)
                let change = NewJob(app: .default, user: user, work: .register(request), lifetime: .seconds(3600))
                _ = try await harness.acceptAndPublish([change])
                try await harness.wait(for: send) { $0.reason == "paused: send" }
                try await harness.wait(for: change.id) { $0.reason == "paused: register" }
                // Longer than the sweeper waits for others: it publishes neither.
                try await Task.sleep(for: .seconds(1))
                #expect(try await harness.job(send).state == .queued)
                #expect(try await harness.job(change.id).state == .queued)
                #expect(try await harness.store.apply(.pause(.end(.send, app: .default))))
                #expect(try await harness.store.apply(.pause(.end(.register, app: nil))))
                #expect(try await harness.wait(for: send).counts[.apns]?.accepted == 1)
                #expect(try await harness.wait(for: change.id).state == .completed)
            }
        }
    }
}
