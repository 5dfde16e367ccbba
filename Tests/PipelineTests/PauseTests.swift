import Broker
import PushModel
import PushServices
import PushlineSimulator
import Store
import StoreSQLite
import Testing

@testable import Pipeline

extension PlantTests {
    /// Queues that an operator pauses and resumes.
    @Suite(.serialized, .timeLimit(.minutes(3))) struct PauseTests {
        @Test func aCampaignThatIsPausedStopsAndGoesOn() async throws {
            try await Plant.with([.send, .sweeper, .dead]) { plant in
                try await plant.register("ann", devices: 1...3000)
                try await plant.register("bob", .fcm, "bobs-device-token-of-fcm")
                plant.simulator.inject(SimulatorFault(.delay, pns: .apns, latency: 100))
                let id = try await plant.send(to: "username:ann")
                let (first, firstSenders) = plant.deliveryWorker()
                let work = Task { try await first.run() }
                while plant.simulator.counts.next < 100 { try await Task.sleep(for: .milliseconds(10)) }
                try await plant.store.pause(.deliver(.apns), app: .default, by: "test")
                plant.simulator.clearFaults()
                // All that was out comes in, and all the rest is given back.
                let seen = try await plant.wait(for: id) { job in
                    job.reason == "paused: deliver.apns" && job.state == .retrying
                }
                #expect((seen.tallies[.apns]?.accepted ?? 0) < 3000)
                let received = plant.simulator.received().count
                // Another service goes on.
                let other = try await plant.send(to: "username:bob", platforms: [.fcm])
                #expect(try await plant.wait(for: other).tallies[.fcm]?.accepted == 1)
                work.cancel()
                _ = await work.result
                await firstSenders.close()
                // A worker that is started meanwhile takes nothing, also of what is new.
                let (second, secondSenders) = plant.deliveryWorker()
                let heir = Task { try await second.run() }
                let late = try await plant.send(to: "username:ann", "again")
                try await Task.sleep(for: .seconds(2))
                #expect(plant.simulator.received().count == received + 1)
                #expect(try await plant.job(late).reason == "paused: deliver.apns")
                #expect(try await plant.store.resume(.deliver(.apns), app: .default))
                for id in [id, late] {
                    let done = try await plant.wait(for: id)
                    #expect(done.tallies[.apns]?.accepted == 3000)
                    expectSound(done)
                }
                heir.cancel()
                _ = await heir.result
                await secondSenders.close()
                #expect(plant.simulator.received().count == 6001)
                #expect(try await plant.store.audit(after: 0, limit: 100).faults == [])
            }
        }

        @Test(arguments: [true, false]) func whatIsPausedIsCancelledOrExpires(isCancelled: Bool) async throws {
            try await Plant.with { plant in
                try await plant.register("ann", devices: 1...20)
                try await plant.store.pause(.deliver(.apns), app: nil, by: "test")
                // No worker may be quicker than the pause.
                try await Task.sleep(for: .seconds(2))
                let id = try await plant.send(to: "username:ann", expires: .seconds(isCancelled ? 3600 : 3))
                try await plant.wait(for: id) { $0.reason == "paused: deliver.apns" || $0.state.isFinal }
                if isCancelled { _ = try await plant.store.cancel(id, app: .default) }
                let done = try await plant.wait(for: id)
                #expect(done.state == (isCancelled ? .cancelled : .expired))
                expectSound(done)
                #expect(plant.simulator.received().isEmpty)
            }
        }

        @Test func sendsAndRegistrationsThatArePausedWait() async throws {
            try await Plant.with { plant in
                try await plant.register("ann", .apns, token(1))
                try await plant.store.pause(.send, app: .default, by: "test")
                try await plant.store.pause(.register, app: nil, by: "test")
                try await Task.sleep(for: .seconds(2))
                let send = try await plant.send(to: "username:ann")
                let request = RegisterRequest.issue(candidate: .random(), handles: [])
                let user = try UserName("ann", .folded)
                let change = NewJob(app: .default, user: user, work: .register(request), lifetime: .seconds(3600))
                _ = try await plant.acceptAndPublish([change])
                try await plant.wait(for: send) { $0.reason == "paused: send" }
                try await plant.wait(for: change.id) { $0.reason == "paused: register" }
                // Longer than the sweeper waits for others: it publishes neither.
                try await Task.sleep(for: .seconds(1))
                #expect(try await plant.job(send).state == .queued)
                #expect(try await plant.job(change.id).state == .queued)
                #expect(try await plant.store.resume(.send, app: .default))
                #expect(try await plant.store.resume(.register, app: nil))
                #expect(try await plant.wait(for: send).tallies[.apns]?.accepted == 1)
                #expect(try await plant.wait(for: change.id).state == .completed)
            }
        }
    }
}
