import PushModel
import PushlineSimulator
import Store
import Testing
import Undisturbed

@testable import Pipeline

/// Sends to lists of devices, through the whole pipeline.
@Suite(.timeLimit(.minutes(2)), .undisturbed) struct DirectSendTests {
    private static func list(_ handles: [(PushService, String)]) -> RecipientList {
        RecipientList(
            handles: handles.enumerated().map { index, device in
                Recipient(
                    place: index + 1,
                    pns: device.0,
                    handle: Handle(stored: device.1),
                    reference: "ref-\(index + 1)"
                )
            }
        )
    }

    private static func send(
        _ list: RecipientList,
        _ harness: PipelineHarness,
        startsAt: Timestamp? = nil
    ) async throws -> Job {
        let send = SendRequest(to: .list(list.count), content: .message(.init(body: "hello")))
        let job = try await harness.accept(.send(send), startsAt: startsAt, recipients: list)
        if startsAt == nil { try await harness.publish(job) }
        return job
    }

    @Test func everyServiceIsReachedAndADuplicateCountsOnce() async throws {
        try await PipelineHarness.with { harness in
            let channel = try harness.simulator.urls.wnsChannel + "a1"
            let handles: [(PushService, String)] = [
                (.apns, token(1)), (.fcm, "fcm-token"), (.wns, channel), (.apns, token(1)), (.apns, token(2)),
            ]
            let sent = try await Self.send(Self.list(handles), harness)
            let job = try await harness.wait(for: sent.id)
            #expect(job.state == .completed)
            #expect(job.counts.mapValues(\.accepted) == [.apns: 2, .fcm: 1, .wns: 1])
            expectSound(job)
            let received = harness.simulator.received()
            #expect(received.map(\.token).sorted() == [token(1), token(2), "fcm-token", channel].sorted())
        }
    }

    @Test func aGoneHandleIsPrunedFromARegistrationAndFromNothingElse() async throws {
        try await PipelineHarness.with { harness in
            let id = try await harness.register("ann", .apns, token(1))
            let other = try await harness.register("ben", .apns, token(3))
            harness.simulator.inject(SimulatorFault(.answer(reason: "Unregistered"), pns: .apns, token: token(1)))
            harness.simulator.inject(SimulatorFault(.answer(reason: "Unregistered"), pns: .apns, token: token(2)))
            let list = Self.list([(.apns, token(1)), (.apns, token(2)), (.apns, token(3))])
            let job = try await harness.wait(for: try await Self.send(list, harness).id)
            #expect(job.counts[.apns]?.failed == [.unregistered: 2])
            #expect(job.counts[.apns]?.accepted == 1)
            expectSound(job)
            let listed = try await harness.store.deliveries(DeliveryQuery(job: job.id, app: .default)).items
            #expect(listed.map(\.reference) == ["ref-1", "ref-2"])
            for _ in 0..<200 where try await harness.store.registration(id, app: .default)?.state != .pruned {
                try await Task.sleep(for: .milliseconds(10))
            }
            #expect(try await harness.store.registration(id, app: .default)?.state == .pruned)
            #expect(try await harness.store.registration(other, app: .default)?.state == .live)
        }
    }

    @Test func aRetryKeepsTheCountsAndTheNotificationsId() async throws {
        try await PipelineHarness.with { harness in
            harness.simulator.inject(SimulatorFault(.answer(status: 503), pns: .apns, token: token(2), count: 2))
            let list = Self.list([(.apns, token(1)), (.apns, token(2))])
            let job = try await harness.wait(for: try await Self.send(list, harness).id)
            #expect(job.counts[.apns]?.targets == 2)
            #expect(job.counts[.apns]?.accepted == 2)
            expectSound(job)
            let copies = harness.simulator.received(token: token(2))
            #expect(copies.map(\.status) == [503, 503, 200])
            #expect(Set(copies.compactMap { $0.headers["apns-id"] }).count == 1)
            #expect(try await harness.store.audit(after: 0, limit: 10).faults == [])
        }
    }

    @Test func aRegistrationThatGotAnotherTokenMeanwhileIsReached() async throws {
        try await PipelineHarness.with { harness in
            let id = try await harness.register("ann", .apns, token(1))
            harness.simulator.inject(SimulatorFault(.answer(status: 503), pns: .apns, token: token(1), count: 100))
            let sent = try await Self.send(RecipientList(registrations: [id, .random()]), harness)
            try await harness.wait(for: sent.id) { $0.state == .retrying }
            let upsert = RegisterRequest.Upsert(pns: .apns, handle: Handle(stored: token(2)), tags: [])
            try await harness.change(.upsert(id, upsert), of: UserName("ann", .folded))
            let job = try await harness.wait(for: sent.id)
            #expect(job.counts[.apns]?.targets == 1)
            #expect(job.counts[.apns]?.accepted == 1)
            #expect(harness.simulator.received(token: token(2)).count == 1)
            expectSound(job)
        }
    }

    @Test func aScheduledListCanBeCancelled() async throws {
        try await PipelineHarness.with { harness in
            let start = Timestamp.now.advanced(by: .seconds(3600))
            let sent = try await Self.send(Self.list([(.apns, token(1))]), harness, startsAt: start)
            #expect(try await harness.store.cancel(sent.id, app: .default)?.state == .cancelled)
            #expect(harness.simulator.received().isEmpty)
        }
    }

    @Test func pagesOfAListGoOutOnceEach() async throws {
        try await PipelineHarness.with { harness in
            let list = Self.list((1...2500).map { (.apns, token($0)) })
            let job = try await harness.wait(for: try await Self.send(list, harness).id)
            #expect(job.counts[.apns]?.accepted == 2500)
            expectSound(job)
            #expect(Set(harness.simulator.received().map(\.token)).count == 2500)
            #expect(try await harness.store.audit(after: 0, limit: 10).faults == [])
        }
    }

    /// It has no device at the paused service, and does not wait for it.
    @Test func aPausedServiceHoldsUpNoListWithoutDevicesThere() async throws {
        try await PipelineHarness.with { harness in
            try await harness.store.apply(.pause(.begin(.deliver(.fcm), app: nil, by: "test")))
            let list = Self.list((1...150).map { (.apns, token($0)) })
            let job = try await harness.wait(for: try await Self.send(list, harness).id)
            #expect(job.state == .completed)
            #expect(job.counts[.apns]?.accepted == 150)
            expectSound(job)
        }
    }

    /// The API ends after its commit: the sweeper publishes what stands in the store.
    @Test(arguments: [3, 1500]) func aListThatNobodyPublishedGoesOut(count: Int) async throws {
        try await PipelineHarness.with { harness in
            let list = Self.list((1...count).map { (.apns, token($0)) })
            let send = SendRequest(to: .list(list.count), content: .message(.init(body: "hello")))
            let sent = try await harness.accept(.send(send), recipients: list)
            let job = try await harness.wait(for: sent.id)
            #expect(job.counts[.apns]?.accepted == count)
            expectSound(job)
        }
    }

    /// A send worker ends after its commit: what it had written is read again from the list.
    @Test(arguments: [3, 1500]) func unpublishedBatchesOfAListAreSent(count: Int) async throws {
        try await PipelineHarness.with([.delivery, .sweeper]) { harness in
            let list = Self.list((1...count).map { (.apns, token($0)) })
            let send = SendRequest(to: .list(list.count), content: .message(.init(body: "hello")))
            let sent = try await harness.accept(.send(send), recipients: list)
            try await harness.fanOut(sent.id)
            let job = try await harness.wait(for: sent.id)
            #expect(job.counts[.apns]?.accepted == count)
            #expect(Set(harness.simulator.received().map(\.token)).count == count)
            expectSound(job)
        }
    }
}
