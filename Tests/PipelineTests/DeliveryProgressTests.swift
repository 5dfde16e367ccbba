import PushModel
import PushServices
import Store
import Testing

@testable import Pipeline

/// What of a message goes out together, and in which round.
@Suite struct DeliveryProgressTests {
    private static func batch(
        devices: Int,
        collapse: String? = nil,
        headers: [NativePayload.Header] = [],
        isDryRun: Bool = false
    ) -> DeliverBatch {
        var list = DeliverBatch.Devices()
        for number in 0..<devices {
            list.rows.append(Int64(number + 1))
            list.handles.append("token\(number)".utf8)
        }
        return DeliverBatch(
            app: .default,
            key: BatchKey(job: .make(), pns: .apns, page: 0, attempt: 0),
            priority: .normal,
            expires: .now.advanced(by: .seconds(3600)),
            keepUntil: nil,
            collapse: collapse,
            payload: NativePayload(kind: .alert, headers: headers, body: Array("\(devices)".utf8)),
            devices: list,
            isDryRun: isDryRun
        )
    }

    private static func begun(_ batches: [DeliverBatch]) -> DeliveryProgress {
        var sending = DeliveryProgress(batches, recording: .failures, retry: RetryPolicy())
        sending.begin { _ in nil }
        return sending
    }

    private static func answers(_ results: [DeviceResult]) -> DeliveryProgress.Answers {
        DeliveryProgress.Answers(results: results, keepsTokens: false, isProbe: false)
    }

    private static func push(_ sending: DeliveryProgress, _ group: DeliveryProgress.Group) -> PushRequest {
        sending.push(group, deadline: .now) { false }
    }

    @Test func aPageIsPushedUnchanged() {
        let batch = Self.batch(devices: 5)
        var sending = Self.begun([batch])
        let groups = sending.take(atMost: nil)
        #expect(groups == [[.init(batch: 0, devices: [0, 1, 2, 3, 4])]])
        #expect(sending.isOver)
        let push = Self.push(sending, groups[0])
        #expect(push.devices == batch.devices)
        #expect(push.indexes == [0, 1, 2, 3, 4])
        #expect(push.messages.isEmpty)
        #expect(push.job == batch.key.job)
    }

    @Test func batchesWithTheSameOptionsArePushedTogether() throws {
        let batches = [
            Self.batch(devices: 1), Self.batch(devices: 2, collapse: "c"), Self.batch(devices: 3),
            Self.batch(devices: 0),
        ]
        var sending = Self.begun(batches)
        let groups = sending.take(atMost: nil)
        #expect(groups.count == 2)
        let group = try #require(groups.first { $0.count == 2 })
        let push = Self.push(sending, group)
        #expect(push.devices.rows == [1, 1, 2, 3])
        #expect(push.indexes == [0, 1, 2, 3])
        #expect(push.messageOf == [0, 1, 1, 1])
        #expect(push.messages.map(\.job) == [batches[0].key.job, batches[2].key.job])
        #expect(sending.devices(of: group).map(\.row) == [1, 1, 2, 3])
        for group in groups {
            let results = sending.devices(of: group).map { _ in DeviceResult.accepted }
            sending.add(group, Self.answers(results), goesOn: true) { _ in nil }
        }
        #expect(sending.isOver)
        #expect(sending.outcomes.map(\.accepted) == [1, 2, 3, 0])
    }

    @Test func dryRunsAndOtherHeadersArePushedApart() {
        let header = NativePayload.Header("apns-priority", "5")
        let batches = [
            Self.batch(devices: 1), Self.batch(devices: 1, isDryRun: true), Self.batch(devices: 1, headers: [header]),
            Self.batch(devices: 2), Self.batch(devices: 2, isDryRun: true), Self.batch(devices: 2, headers: [header]),
        ]
        var sending = Self.begun(batches)
        let groups = sending.take(atMost: nil)
        #expect(Set(groups.map { $0.map(\.batch) }) == [[0, 3], [1, 4], [2, 5]])
        for group in groups {
            let isDryRun = group[0].batch == 1
            #expect(sending.isDryRun(group) == isDryRun)
            #expect(Self.push(sending, group).isDryRun == isDryRun)
            #expect(Self.push(sending, group).payload.headers == (group[0].batch == 2 ? [header] : []))
        }
    }

    @Test func aProbeIsSmallOverAllBatches() {
        var sending = Self.begun((0..<30).map { _ in Self.batch(devices: 3) })
        var taken = 0
        while !sending.isOver {
            let groups = sending.take(atMost: 20)
            let devices = groups.joined().reduce(0) { $0 + $1.devices.count }
            #expect(devices == min(20, 90 - taken))
            taken += devices
            for group in groups {
                let results = sending.devices(of: group).map { _ in DeviceResult.accepted }
                sending.add(group, Self.answers(results), goesOn: true) { _ in nil }
            }
        }
        #expect(sending.outcomes.allSatisfy { $0.accepted == 3 && $0.total == 3 })
    }

    @Test func stoppingABatchDoesNotStopTheOthers() {
        let batches = [Self.batch(devices: 2), Self.batch(devices: 3)]
        var sending = Self.begun(batches)
        let stop = { (key: BatchKey) in key == batches[0].key ? StopCause.cancelled : nil }
        let group = sending.take(atMost: nil)[0]
        sending.add(
            group,
            Self.answers([.accepted, .unsent, .unsent, .accepted, .unsent]),
            goesOn: true,
            stop: stop
        )
        let next = sending.take(atMost: nil)
        #expect(next == [[.init(batch: 1, devices: [0, 2])]])
        sending.add(next[0], Self.answers([.accepted, .accepted]), goesOn: true, stop: stop)
        #expect(sending.isOver)
        #expect(sending.outcomes.map(\.accepted) == [1, 3])
        #expect(sending.outcomes.map(\.cancelled) == [1, 0])
        #expect(sending.outcomes.allSatisfy { $0.retries.isEmpty })
    }

    /// As when the time for sending is over, or the process ends.
    @Test(arguments: [true, false]) func unsentDevicesAreRetriedUnlessTheirJobWasStopped(isStopped: Bool) {
        let batches = [Self.batch(devices: 1), Self.batch(devices: 2)]
        var sending = Self.begun(batches)
        let group = sending.take(atMost: nil)[0]
        sending.add(group, Self.answers([.unsent, .unsent, .accepted]), goesOn: !isStopped) { key in
            isStopped && key == batches[0].key ? .expired : nil
        }
        #expect(sending.isOver)
        #expect(sending.outcomes.map(\.expired) == [isStopped ? 1 : 0, 0])
        #expect(sending.outcomes.map(\.retries.count) == [isStopped ? 0 : 1, 1])
        #expect(sending.outcomes.flatMap(\.retries).allSatisfy { $0.tries == 0 })
    }

    @Test func anAppThatCannotSendRetriesLater() {
        var sending = Self.begun([Self.batch(devices: 2), Self.batch(devices: 1)])
        sending.addStopped(reason: WaitReason("why"), wait: .seconds(9))
        #expect(sending.isOver)
        #expect(sending.outcomes.map(\.retries.count) == [2, 1])
        #expect(
            sending.outcomes.allSatisfy {
                $0.retryReason == WaitReason("why") && $0.retries.allSatisfy { $0.wait == .seconds(9) }
            }
        )
    }

    @Test func ofADryRunFCMsAnswersProveAllButTokens() {
        let results: [DeviceResult] = [
            .accepted, .dead(before: .now, reason: "UNREGISTERED", status: 404),
            .retry(after: nil, scope: .sender, counts: true, reason: "busy", status: 503),
        ]
        #expect(results.evidenceOfDryRun(at: .fcm) == [results[0], results[2]])
        for pns in PushService.inService where !pns.descriptor.validatesDryRuns {
            #expect(results.evidenceOfDryRun(at: pns).isEmpty)
        }
    }
}
