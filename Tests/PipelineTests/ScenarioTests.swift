import Broker
import Foundation
import Hub
import PushModel
import PushServices
import PushlineSimulator
import Store
import Testing
import Undisturbed

@testable import Pipeline

/// The way of a send through the whole pipeline, and what may happen to it.
@Suite(.timeLimit(.minutes(2)), .undisturbed) struct ScenarioTests {
    @Test func aSendReachesAllDevicesOfItsUserAndNoOthers() async throws {
        try await PipelineHarness.with { harness in
            let handles = try Simulator.services.map { ($0, try harness.simulator.device("ann", of: $0)) }
            for (pns, handle) in handles { try await harness.register("ann", pns, handle) }
            try await harness.register("ben", .apns, token(2))
            let job = try await harness.wait(for: try await harness.send(to: "username:ann", "tea & <cake> \"now\""))
            #expect(job.state == .completed)
            #expect(job.counts.mapValues(\.accepted) == Dictionary(uniqueKeysWithValues: handles.map { ($0.0, 1) }))
            expectSound(job)
            let received = harness.simulator.received()
            #expect(Set(received.map(\.token)) == Set(handles.map(\.1)))
            #expect(received.allSatisfy { (200..<300).contains($0.status) })
        }
    }

    @Test func aSendWithoutDevicesIsCompletedWithoutTargets() async throws {
        try await PipelineHarness.with { harness in
            let job = try await harness.wait(for: try await harness.send(to: "username:nobody"))
            #expect(job.state == .completed)
            #expect(job.isWithoutTargets)
        }
    }

    /// Once when its device is found, and once behind the outcome: the last one completes the job.
    @Test func whoWaitsForAJobIsToldOfIt() async throws {
        try await PipelineHarness.with { harness in
            let waiter = QueueName.newEventQueue()
            try await harness.broker.declare(.events(to: waiter))
            try await harness.register("ann", .apns, token(1))
            let request = SendRequest(
                audience: .tag(try Tag("username:ann", .folded)),
                content: .message(.init(body: "x"))
            )
            let job = NewJob(app: .default, work: .send(request), lifetime: .seconds(3600), waiter: waiter)
            try await harness.publish(try await harness.accept([job]).messages)
            try await harness.broker.consume(queue: waiter, prefetch: 2) { subscription in
                for _ in 0..<2 {
                    let event = try #require(try await subscription.next())
                    #expect(JobID(event.properties.messageID) == job.id)
                    await subscription.acknowledge([event])
                }
            }
            #expect(try await harness.job(job.id).state == .completed)
        }
    }

    @Test func retryAfterIsShownAndObserved() async throws {
        try await PipelineHarness.with { harness in
            try await harness.register("ann", .apns, token(1))
            harness.simulator.inject(
                SimulatorFault(.answer(status: 503, retryAfter: .seconds(2)), pns: .apns, count: 2)
            )
            let start = ContinuousClock.now
            let id = try await harness.send(to: "username:ann")
            let waiting = try await harness.wait(for: id) { $0.state == .retrying }
            let due = try #require(waiting.due)
            #expect(waiting.accepted.duration(to: due) >= .seconds(2))
            #expect(waiting.reason?.isEmpty == false)
            let job = try await harness.wait(for: id)
            #expect(start.duration(to: .now) >= .seconds(4))
            #expect(job.state == .completed)
            #expect(job.counts[.apns]?.accepted == 1)
            expectSound(job)
            let copies = harness.simulator.received(token: token(1))
            #expect(copies.map(\.status) == [503, 503, 200])
            #expect(Set(copies.compactMap { $0.headers["apns-id"] }).count == 1)
        }
    }

    @Test func aDeadTokenIsCountedListedAndPruned() async throws {
        try await PipelineHarness.with { harness in
            let id = try await harness.register("ann", .apns, token(1))
            harness.simulator.inject(SimulatorFault(.answer(reason: "Unregistered"), pns: .apns))
            let job = try await harness.wait(for: try await harness.send(to: "username:ann"))
            #expect(job.counts[.apns]?.failed == [.unregistered: 1])
            expectSound(job)
            let listed = try await harness.store.deliveries(DeliveryQuery(job: job.id, app: .default))
            #expect(listed.items.map(\.reason) == ["Unregistered"])
            #expect(listed.items.first?.registration == id)
            for _ in 0..<200 where try await harness.store.registration(id, app: .default)?.state != .pruned {
                try await Task.sleep(for: .milliseconds(10))
            }
            let registration = try await harness.store.registration(id, app: .default)
            #expect(registration?.state == .pruned)
            #expect(registration?.ended?.reason.contains("Unregistered") == true)
        }
    }

    @Test func aDeviceRegisteredAgainIsNotPruned() async throws {
        try await PipelineHarness.with { harness in
            let id = try await harness.register("ann", .apns, token(1))
            // Dead before the registration was made.
            harness.simulator.inject(
                SimulatorFault(.answer(reason: "Unregistered", timestamp: 1_000_000_000_000), pns: .apns)
            )
            let job = try await harness.wait(for: try await harness.send(to: "username:ann"))
            #expect(job.counts[.apns]?.failed == [.unregistered: 1])
            try await Task.sleep(for: .milliseconds(300))
            #expect(try await harness.store.registration(id, app: .default)?.state == .live)
        }
    }

    @Test func sendsAcceptedDuringABrokerOutageAreSentOnce() async throws {
        try await PipelineHarness.with { harness in
            try await harness.register("ann", .apns, token(1))
            harness.broker.setUnavailable(true)
            var ids: [JobID] = []
            for _ in 0..<20 { ids.append(try await harness.send(to: "username:ann")) }
            try await Task.sleep(for: .milliseconds(300))
            #expect(harness.simulator.received().isEmpty)
            harness.broker.setUnavailable(false)
            for id in ids {
                let job = try await harness.wait(for: id)
                #expect(job.state == .completed)
                expectSound(job)
            }
            #expect(harness.simulator.received().count == 20)
        }
    }

    @Test func unpublishedBatchesAreSent() async throws {
        try await PipelineHarness.with([.delivery, .sweeper]) { harness in
            try await harness.register("ann", devices: 1...1200, tags: ["news"])
            let request = SendRequest(audience: .tag(try Tag("news", .folded)), content: .message(.init(body: "hello")))
            let job = try await harness.accept(.send(request))
            // No queue takes them there.
            try await harness.fanOut(job.id)
            let done = try await harness.wait(for: job.id)
            #expect(done.counts[.apns]?.targets == 1200)
            #expect(done.counts[.apns]?.accepted == 1200)
            expectSound(done)
        }
    }

    @Test func aRedeliveryToTheSameWorkerJoinsItsWork() async throws {
        try await PipelineHarness.with { harness in
            try await harness.register("ann", devices: 1...50)
            harness.simulator.inject(SimulatorFault(.delay, pns: .apns, latency: 400))
            let id = try await harness.send(to: "username:ann")
            for _ in 0..<300 where harness.simulator.counts.next == 0 { try await Task.sleep(for: .milliseconds(10)) }
            harness.broker.redeliver()
            let job = try await harness.wait(for: id)
            #expect(job.counts[.apns]?.accepted == 50)
            expectSound(job)
            try await Task.sleep(for: .milliseconds(200))
            #expect(harness.simulator.received().count == 50)
        }
    }

    @Test func lostConnectionsDoNotDeadLetterABatchInProgress() async throws {
        try await PipelineHarness.with { harness in
            let (second, senders) = harness.deliveryWorker()
            let other = Task { try await second.run() }
            try await harness.register("ann", devices: 1...50)
            harness.simulator.inject(SimulatorFault(.delay, pns: .apns, latency: 3000))
            let id = try await harness.send(to: "username:ann")
            for _ in 0..<300 where harness.simulator.counts.next == 0 { try await Task.sleep(for: .milliseconds(10)) }
            // Far more than the starts that condemn: each worker counts one at most, and then is at it.
            for _ in 0..<4 * Redeliveries.limit {
                harness.broker.redeliver()
                try await Task.sleep(for: .milliseconds(50))
            }
            let job = try await harness.wait(for: id)
            other.cancel()
            _ = await other.result
            await senders.close()
            #expect(job.counts[.apns]?.accepted == 50)
            expectSound(job)
        }
    }

    @Test func aCrashedWorkerLosesNothingAndCountsNothingTwice() async throws {
        try await PipelineHarness.with([.send, .sweeper, .dead]) { harness in
            try await harness.register("ann", devices: 1...1500)
            harness.simulator.inject(SimulatorFault(.delay, pns: .apns, latency: 100))
            let id = try await harness.send(to: "username:ann")
            // The first worker is cancelled in the middle of its batches, as if it were killed.
            let (first, firstSenders) = harness.deliveryWorker()
            let doomed = Task { try await first.run() }
            for _ in 0..<500 where harness.simulator.counts.next < 100 { try await Task.sleep(for: .milliseconds(10)) }
            doomed.cancel()
            _ = await doomed.result
            await firstSenders.close()
            harness.simulator.clearFaults()
            let (second, secondSenders) = harness.deliveryWorker()
            let heir = Task { try await second.run() }
            let job = try await harness.wait(for: id)
            heir.cancel()
            _ = await heir.result
            await secondSenders.close()
            #expect(job.counts[.apns]?.targets == 1500)
            #expect(job.counts[.apns]?.accepted == 1500)
            expectSound(job)
            let received = harness.simulator.received()
            #expect(Set(received.map(\.token)).count == 1500)
            // Copies carry the id of the first.
            let ids = Dictionary(grouping: received, by: \.token).mapValues {
                Set($0.compactMap { $0.headers["apns-id"] })
            }
            #expect(ids.values.allSatisfy { $0.count == 1 })
        }
    }

    @Test func aForgedMessageDoesNotHarmTheMessageItNames() async throws {
        try await PipelineHarness.with([.send, .sweeper, .dead]) { harness in
            try await harness.register("ann", .apns, token(1))
            let ids = [try await harness.send(to: "username:ann"), try await harness.send(to: "username:ann")]
            for id in ids { try await harness.wait(for: id) { $0.isAnswered } }
            // The message of one of them becomes garbage, and others join it.
            let queue = QueueName.work(.deliver(.apns), .normal)
            var properties = try await harness.broker.consume(queue: queue, prefetch: 2) { subscription in
                _ = try await subscription.next()
                let delivery = try #require(try await subscription.next())
                await subscription.acknowledge([delivery])
                return delivery.properties
            }
            for id in [properties.messageID, "nonsense", "", "\(Int64.max)"] {
                properties.messageID = id
                let garbage = OutgoingMessage(routingKey: queue, properties: properties, body: [1, 2, 3])
                #expect(await harness.broker.publish([garbage], deadline: .seconds(1)) == [.published])
            }
            let (worker, senders) = harness.deliveryWorker()
            let work = Task { try await worker.run() }
            for id in ids {
                let job = try await harness.wait(for: id)
                expectSound(job)
                #expect(job.counts[.apns]?.accepted == 1)
            }
            work.cancel()
            _ = await work.result
            await senders.close()
        }
    }

    @Test func anExpiredJobEndsAndCountsItsDevices() async throws {
        try await PipelineHarness.with { harness in
            try await harness.register("ann", devices: 1...3)
            harness.simulator.inject(SimulatorFault(.answer(status: 503, retryAfter: .seconds(60)), pns: .apns))
            // What expires before it is fanned out has no targets: a slow machine gets more time.
            for seconds in [2, 8, 32] {
                let id = try await harness.send(to: "username:ann", expires: .seconds(seconds))
                let seen = try await harness.wait(for: id, within: .seconds(90)) {
                    $0.state == .retrying || $0.state.isFinal
                }
                let job = try await harness.wait(for: id, within: .seconds(90))
                #expect(job.state == .expired)
                expectSound(job)
                if seen.state != .retrying { continue }
                return #expect(job.counts[.apns]?.expired == 3)
            }
            Issue.record("nothing was tried before it expired")
        }
    }

    @Test func aZeroTimeToLiveAllowsOneTry() async throws {
        try await PipelineHarness.with { harness in
            try await harness.register("ann", .apns, token(1))
            harness.simulator.inject(SimulatorFault(.answer(status: 503), pns: .apns))
            let job = try await harness.wait(for: try await harness.send(to: "username:ann", timeToLive: .zero))
            #expect(job.counts[.apns]?.expired == 1)
            expectSound(job)
            #expect(harness.simulator.received().count == 1)
        }
    }

    @Test func aCancelledJobStopsAndCountsUnsentDevices() async throws {
        try await PipelineHarness.with { harness in
            try await harness.register("ann", devices: 1...300)
            harness.simulator.inject(SimulatorFault(.answer(status: 503, retryAfter: .seconds(60)), pns: .apns))
            let id = try await harness.send(to: "username:ann")
            try await harness.wait(for: id) { $0.state == .retrying }
            _ = try await harness.store.cancel(id, app: .default)
            let job = try await harness.wait(for: id)
            #expect(job.state == .cancelled)
            #expect(job.counts[.apns]?.cancelled == 300)
            expectSound(job)
        }
    }

    @Test func devicesOfUnconfiguredServicesFailWithAReason() async throws {
        try await PipelineHarness.with { harness in
            var spec = try harness.simulator.appSpec
            spec.fcm = nil
            _ = try await harness.store.apply(.app(.default, spec))
            try await harness.register("ann", .apns, token(1))
            try await harness.register("ann", .fcm, "fcm-token")
            try await harness.register("ann", .mpns, "http://db3.notify.live.net/x")
            let job = try await harness.wait(for: try await harness.send(to: "username:ann"))
            #expect(job.counts[.apns]?.accepted == 1)
            #expect(job.counts[.fcm]?.failed == [.misconfigured: 1])
            #expect(job.counts[.mpns]?.failed == [.retiredService: 1])
            expectSound(job)
        }
    }

    @Test func aRefusedCredentialDelaysSendsUntilItIsReplaced() async throws {
        try await PipelineHarness.with { harness in
            try await harness.register("ann", .apns, token(1))
            var spec = try harness.simulator.appSpec
            let credentials = try harness.simulator.credentials
            spec.apns?.authentication = .token(
                .init(keyFile: credentials.apnsKeyFile, keyID: "WRONGKEY01", teamID: credentials.apnsTeamID)
            )
            _ = try await harness.store.apply(.app(.default, spec))
            let id = try await harness.send(to: "username:ann")
            let waiting = try await harness.wait(for: id) { $0.state == .retrying }
            #expect(waiting.reason?.isEmpty == false)
            _ = try await harness.store.apply(.app(.default, try harness.simulator.appSpec))
            let job = try await harness.wait(for: id)
            #expect(job.counts[.apns]?.accepted == 1)
            expectSound(job)
        }
    }

    /// A sender reads the reason, and learns no paths of the host.
    @Test func aMissingCredentialFileDelaysSendsAndIsNotNamed() async throws {
        try await PipelineHarness.with { harness in
            try await harness.register("ann", .apns, token(1))
            var spec = try harness.simulator.appSpec
            spec.apns?.authentication = .token(.init(keyFile: "/nowhere/key.p8", keyID: "K", teamID: "T"))
            _ = try await harness.store.apply(.app(.default, spec))
            let id = try await harness.send(to: "username:ann")
            let waiting = try await harness.wait(for: id) { $0.state == .retrying }
            #expect(waiting.reason?.hasPrefix("the app's APNs credentials cannot be read") == true)
            #expect(waiting.reason?.contains("/nowhere") == false)
            _ = try await harness.store.apply(.app(.default, try harness.simulator.appSpec))
            let job = try await harness.wait(for: id)
            #expect(job.counts[.apns]?.accepted == 1)
        }
    }

    @Test func aLastingFaultIsLoggedOnce() {
        let log = FaultLog()
        #expect(log.isNew("a", of: "x") && !log.isNew("a", of: "x"))
        #expect(log.isNew("a", of: "y") && log.isNew("b", of: "x"))
        log.clear("x")
        #expect(log.isNew("b", of: "x") && !log.isNew("a", of: "y"))
    }

    @Test func pagesOfACampaignReachEveryDevice() async throws {
        try await PipelineHarness.with { harness in
            try await harness.register("ann", devices: 1...2300, tags: ["news"])
            let job = try await harness.wait(for: try await harness.send(to: "news"), within: .seconds(60))
            #expect(job.counts[.apns]?.targets == 2300)
            #expect(job.counts[.apns]?.accepted == 2300)
            expectSound(job)
            #expect(Set(harness.simulator.received().map(\.token)).count == 2300)
        }
    }

    @Test func aRegisterJobIsAppliedAndAnswered() async throws {
        try await PipelineHarness.with { harness in
            let id = RegistrationID.random()
            let user = try UserName("ann", .folded)
            for request in [
                RegisterRequest.issue(candidate: id, handles: Handle.lookupForms(of: token(1))),
                .upsert(id, .init(pns: .apns, handle: Handle(stored: token(1)), tags: [])),
                .delete(id),
                .upsert(id, .init(pns: .apns, handle: Handle(stored: token(1)), tags: [])),
            ] {
                let job = try await harness.accept(.register(request), user: user)
                try await harness.publish(job)
                let done = try await harness.wait(for: job.id)
                switch request {
                case .issue: #expect(done.result == .issued(id))
                case .upsert where done.sequence == job.sequence && done.result == .gone: break
                default: #expect(done.result == .done)
                }
            }
            #expect(try await harness.store.registration(id, app: .default)?.state == .deleted)
        }
    }
}
