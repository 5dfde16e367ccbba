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

extension PipelineLoadTests {
    /// Small sends that share messages: each is accounted for as if it went alone, whatever happens on the way.
    @Suite(.timeLimit(.minutes(3)), .undisturbed) struct SmallSendTests {
        @Test func twoThousandMessagesReachTwoThousandUsers() async throws {
            try await PipelineHarness.with { harness in
                let count = 2000
                try await harness.registerUsers(count)
                let ids = try await harness.acceptSmall((0..<count).map { "user\($0)" })
                #expect(ids.count == count)
                for id in ids {
                    let job = try await harness.wait(for: id, within: .seconds(60))
                    #expect(job.state == .completed)
                    #expect(job.counts.mapValues(\.accepted) == [.apns: 1])
                    expectSound(job)
                }
                let received = harness.simulator.received()
                #expect(received.count == count)
                #expect(Set(received.map(\.token)).count == count)
                #expect(Set(received.compactMap { $0.headers["apns-id"] }).count == count)
                // Each got the message that was for its user.
                #expect(received.allSatisfy { $0.body.contains("\"for \($0.token)\"") })
            }
        }

        @Test func everyLineHasItsOwnOutcome() async throws {
            try await PipelineHarness.with { harness in
                try await harness.registerUsers(3)
                try await harness.register("many", devices: 1000...1150)
                try await harness.register("both", .apns, token(900))
                try await harness.register("both", .fcm, "fcm-token")
                harness.simulator.inject(SimulatorFault(.answer(reason: "Unregistered"), pns: .apns, token: token(1)))
                let ids = try await harness.acceptSmall(["user0", "user1", "nobody", "many", "both", "user2", "user2"])
                var jobs: [Job] = []
                for id in ids { jobs.append(try await harness.wait(for: id)) }
                #expect(jobs.allSatisfy { $0.state == .completed })
                #expect(jobs[0].counts[.apns]?.accepted == 1)
                #expect(jobs[1].counts[.apns]?.failed == [.unregistered: 1])
                #expect(jobs[2].isWithoutTargets)
                #expect(jobs[3].counts[.apns]?.accepted == 151)
                #expect(jobs[4].counts.mapValues(\.accepted) == [.apns: 1, .fcm: 1])
                #expect(jobs[5].counts[.apns]?.accepted == 1)
                #expect(jobs[6].counts[.apns]?.accepted == 1)
                for job in jobs { expectSound(job) }
            }
        }

        @Test func sendsAcceptedBeforeACrashAreSwept() async throws {
            try await PipelineHarness.with { harness in
                try await harness.registerUsers(20)
                let ids = try await harness.acceptSmall((0..<20).map { "user\($0)" }, isPublished: false)
                for id in ids { #expect(try await harness.wait(for: id).counts[.apns]?.accepted == 1) }
                #expect(harness.simulator.received().count == 20)
            }
        }

        @Test func copiesOfAMessageSendNothingTwice() async throws {
            try await PipelineHarness.with([.delivery, .sweeper]) { harness in
                try await harness.registerUsers(50)
                let accepted = try await harness.store.accept((0..<50).map { try harness.smallSend(to: "user\($0)") })
                for _ in 0..<10 { try await harness.publish(accepted.messages) }
                let other = InMemoryBroker()
                try await other.declare(.pushline)
                let otherFanOut = EmbeddedFanOut(store: harness.store, broker: other, logger: harness.logger)
                // Another send worker has claimed it, and lost the race.
                let message = try #require(accepted.messages.first)
                _ = try await harness.store.claim(message.id, peeking: false)
                let stale = try #require(try await harness.store.claim(message.id, peeking: false))
                try await harness.deliverWithSendWorker(accepted.jobs)
                let advance = try await otherFanOut.advance(stale, spec: harness.simulator.appSpec, budget: .seconds(1))
                guard case .lost = advance.progress else { throw HarnessError("a stale claim went on") }
                #expect(harness.simulator.received().count == 50)
            }
        }

        /// The send worker died between its commit, which was the claim, and the acknowledgement.
        @Test func aRedeliveryAfterTheFanOutIsIgnored() async throws {
            try await PipelineHarness.with([.delivery, .sweeper]) { harness in
                try await harness.registerUsers(20)
                let accepted = try await harness.store.accept((0..<20).map { try harness.smallSend(to: "user\($0)") })
                let message = try #require(accepted.messages.first)
                let peeked = try #require(try await harness.store.claim(message.id, peeking: true))
                let spec = try harness.simulator.appSpec
                let advance = try await harness.fanOut.advance(peeked, spec: spec, budget: .seconds(5))
                guard case .done = advance.progress else { throw HarnessError("one step was not enough") }
                try await harness.publish([message, message])
                try await harness.deliverWithSendWorker(accepted.jobs)
                #expect(harness.simulator.received().count == 20)
            }
        }

        /// The send worker died before its commit: the message comes again, and is claimed first.
        @Test func aRedeliveryBeforeTheFanOutIsClaimed() async throws {
            try await PipelineHarness.with([.delivery, .sweeper]) { harness in
                try await harness.registerUsers(20)
                let ids = try await harness.acceptSmall((0..<20).map { "user\($0)" })
                let queue = QueueName.work(.send, .normal)
                _ = try await harness.broker.consume(queue: queue, prefetch: 1) { try await $0.next()?.body }
                try await harness.deliverWithSendWorker(ids)
                #expect(harness.simulator.received().count == 20)
            }
        }

        /// What waits for one service keeps nothing from another, also where they come in one message (rule 12).
        @Test(arguments: [true, false]) func aServiceWithoutCreditDelaysNoOther(isLimited: Bool) async throws {
            // With nobody at FCM its window fills, with a limit of one a second it stays open.
            let window = InFlightWindow(devices: 4000, messages: 4)
            try await PipelineHarness.with([.send, .sweeper], window: window) { harness in
                if isLimited {
                    var spec = try harness.simulator.appSpec
                    spec.fcm?.devicesPerSecond = 1
                    _ = try await harness.store.apply(.app(.default, spec))
                } else {
                    harness.simulator.inject(SimulatorFault(.silence, pns: .fcm))
                }
                try await harness.registerUsers(100)
                for number in 0..<100 { try await harness.register("droid\(number)", .fcm, "fcm-\(number)") }
                let (worker, senders) = harness.deliveryWorker()
                let running = Task { try await worker.run() }
                // A message each ten sends, half of them to the service that takes none.
                var apple: [JobID] = []
                for first in stride(from: 0, to: 100, by: 5) {
                    let numbers = first..<first + 5
                    let ids = try await harness.acceptSmall(numbers.flatMap { ["user\($0)", "droid\($0)"] })
                    for (index, id) in ids.enumerated() where index.isMultiple(of: 2) { apple.append(id) }
                }
                for id in apple {
                    let job = try await harness.wait(for: id, within: .seconds(40))
                    #expect(job.counts.mapValues(\.accepted) == [.apns: 1])
                }
                #expect(harness.simulator.received().filter { $0.pns == .fcm }.count < 100)
                running.cancel()
                _ = await running.result
                await senders.close()
            }
        }

        @Test func unpublishedDeliveriesAreSwept() async throws {
            try await PipelineHarness.with([.delivery, .sweeper]) { harness in
                try await harness.registerUsers(30)
                let accepted = try await harness.store.accept((0..<30).map { try harness.smallSend(to: "user\($0)") })
                try await harness.fanOutUnpublished(try #require(accepted.messages.first))
                for id in accepted.jobs {
                    #expect(try await harness.wait(for: id).counts[.apns]?.accepted == 1)
                }
                #expect(harness.simulator.received().count == 30)
            }
        }

        @Test func aGroupIsOneDeliveryMessage() async throws {
            try await PipelineHarness.with([.send]) { harness in
                try await harness.registerUsers(10)
                let ids = try await harness.acceptSmall((0..<300).map { "user\($0 % 10)" })
                let queue = QueueName.work(.deliver(.apns), .normal)
                let body = try await harness.broker.consume(queue: queue, prefetch: 1) { try await $0.next()?.body }
                let delivery = try DeliveryMessage(decoding: try #require(body as [UInt8]?))
                #expect(delivery.batches.map(\.key.job) == ids)
            }
        }

        @Test func aRedeliveredDeliveryMessageIsSent() async throws {
            try await PipelineHarness.with([.send, .sweeper]) { harness in
                try await harness.registerUsers(10)
                let ids = try await harness.acceptSmall((0..<10).map { "user\($0)" })
                // A worker takes the message and dies with it.
                let queue = QueueName.work(.deliver(.apns), .normal)
                _ = try await harness.broker.consume(queue: queue, prefetch: 1) { try await $0.next()?.body }
                let (worker, senders) = harness.deliveryWorker()
                let running = Task { try await worker.run() }
                for id in ids {
                    let job = try await harness.wait(for: id)
                    #expect(job.counts[.apns]?.accepted == 1)
                    expectSound(job)
                }
                running.cancel()
                _ = await running.result
                await senders.close()
                #expect(harness.simulator.received().count == 10)
            }
        }

        @Test func cancellingOneSendOfAGroupStopsOnlyThatOne() async throws {
            try await PipelineHarness.with([.send, .sweeper]) { harness in
                try await harness.registerUsers(5)
                let ids = try await harness.acceptSmall((0..<5).map { "user\($0)" })
                for id in ids { try await harness.wait(for: id) { $0.state == .running } }
                _ = try await harness.store.cancel(ids[2], app: .default)
                let (worker, senders) = harness.deliveryWorker()
                let running = Task { try await worker.run() }
                for (index, id) in ids.enumerated() {
                    let job = try await harness.wait(for: id)
                    #expect(job.state == (index == 2 ? .cancelled : .completed))
                    #expect(job.counts[.apns]?.cancelled == (index == 2 ? 1 : 0))
                    expectSound(job)
                }
                running.cancel()
                _ = await running.result
                await senders.close()
                #expect(harness.simulator.received().count == 4)
            }
        }

        @Test func deliveriesOfASilentAppDelayNoOthers() async throws {
            try await PipelineHarness.with([.send, .sweeper]) { harness in
                let other = try AppID("other")
                _ = try await harness.store.apply(.app(other, try harness.simulator.appSpec))
                try await harness.register("user1", .apns, token(1))
                try await harness.register("user2", .apns, token(2), app: other)
                harness.simulator.inject(SimulatorFault(.silence, pns: .apns, token: token(1)))
                let (delivery, senders) = harness.deliveryWorker(.narrow, requestTimeout: .seconds(10))
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { try await delivery.run() }
                    // More messages than the worker takes from the queue at a time.
                    var silent: [JobID] = []
                    for _ in 0..<12 { silent += try await harness.acceptSmall(["user1", "user1"]) }
                    for id in silent { try await harness.wait(for: id) { $0.state != .queued } }
                    for _ in 0..<3 {
                        for id in try await harness.acceptSmall(["user2", "user2"], app: other) {
                            let done = try await harness.wait(for: id, app: other)
                            #expect(done.counts[.apns]?.accepted == 1)
                        }
                    }
                    var waiting = 0
                    for id in silent {
                        let job = try await harness.job(id)
                        #expect(!job.state.isFinal)
                        if job.reason?.contains("slowly") == true { waiting += 1 }
                    }
                    #expect(waiting > 0)
                    harness.simulator.clearFaults()
                    for id in silent {
                        let job = try await harness.wait(for: id, within: .seconds(60))
                        #expect(job.counts[.apns]?.accepted == 1)
                        expectSound(job)
                    }
                    group.cancelAll()
                }
                await senders.close()
            }
        }

        @Test func aMessageWithoutBatchesIsDeadLettered() async throws {
            try await PipelineHarness.with { harness in
                try await harness.registerUsers(2)
                // A number that the store has not given yet.
                let id = MessageID(number: 1_000_000)
                let message = OutgoingMessage(
                    routingKey: QueueName.work(.deliver(.apns), .normal),
                    properties: MessageProperties(type: "deliver", messageID: id.description, contentType: "x"),
                    body: [1, 2, 3]
                )
                #expect(await harness.broker.publish([message], deadline: .seconds(1)) == [.published])
                let ids = try await harness.acceptSmall(["user0", "user1"])
                for id in ids { #expect(try await harness.wait(for: id).state == .completed) }
            }
        }
    }
}

extension PipelineHarness {
    /// The users user0, user1 …, each with the device of its number.
    fileprivate func registerUsers(_ count: Int) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<count {
                group.addTask { try await self.register("user\(number)", .apns, token(number)) }
            }
            try await group.waitForAll()
        }
    }

    fileprivate func smallSend(to user: String, app: AppID = .default) throws -> NewJob {
        let number = user.hasPrefix("user") ? Int(user.dropFirst(4)) ?? 0 : 0
        let request = SendRequest(
            audience: .tag(Tag(user: try UserName(user, .folded))),
            content: .message(.init(body: "for \(token(number))"))
        )
        return NewJob(app: app, work: .send(request), lifetime: .seconds(3600))
    }

    /// Accepts sends as the API does, in groups, and publishes them; or does not, as when the API died.
    fileprivate func acceptSmall(
        _ users: [String],
        app: AppID = .default,
        isPublished: Bool = true
    ) async throws -> [JobID] {
        var ids: [JobID] = []
        var rest = users[...]
        while !rest.isEmpty {
            let group = rest.prefix(OutboxMessage.maximumMembers)
            rest = rest.dropFirst(group.count)
            let sends = try group.map { try self.smallSend(to: $0, app: app) }
            let accepted = isPublished ? try await self.acceptAndPublish(sends) : try await self.store.accept(sends)
            ids += accepted.jobs
        }
        return ids
    }

    /// Fans a message out as a process does that dies before it can publish the deliveries.
    fileprivate func fanOutUnpublished(_ message: OutboxMessage) async throws {
        // No queue takes a message there: all of it is surely not published, and due again at once.
        let otherFanOut = EmbeddedFanOut(store: self.store, broker: InMemoryBroker(), logger: self.logger)
        let claim = try #require(try await self.store.claim(message.id, peeking: false))
        let advance = try await otherFanOut.advance(claim, spec: self.simulator.appSpec, budget: .seconds(5))
        guard case .done = advance.progress else { throw HarnessError("one step was not enough") }
    }

    /// Runs a send worker until each of these jobs has reached its one device.
    fileprivate func deliverWithSendWorker(_ jobs: [JobID]) async throws {
        let worker = SendWorker(
            fanOut: self.fanOut,
            store: self.store,
            apps: self.apps,
            broker: self.broker,
            logger: self.logger
        )
        let running = Task { try await worker.run() }
        for id in jobs {
            let job = try await self.wait(for: id)
            #expect(job.counts[.apns]?.accepted == 1)
            expectSound(job)
        }
        running.cancel()
        _ = await running.result
    }

    /// Accepts jobs and publishes their messages, as the API does.
    func acceptAndPublish(_ jobs: [NewJob]) async throws -> AcceptedJobs {
        let accepted = try await self.accept(jobs)
        try await self.publish(accepted.messages)
        return accepted
    }
}

extension AcceptedJobs {
    /// The jobs that are new.
    fileprivate var jobs: [JobID] {
        self.answers.compactMap { if case .accepted(let job) = $0 { job.id } else { nil } }
    }
}
