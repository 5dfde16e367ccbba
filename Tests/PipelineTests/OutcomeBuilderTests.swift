import PushModel
import PushServices
import Store
import Testing

@testable import Pipeline

struct OutcomeBuilderTests {
    private let job = JobID.make()

    private func batch(
        _ count: Int,
        keepUntil: Timestamp? = nil,
        attempt: Int = 0,
        tries: [UInt8] = [],
        waits: [UInt32] = [],
        isDryRun: Bool = false
    ) -> DeliverBatch {
        var devices = DeliverBatch.Devices()
        for number in 0..<count {
            devices.rows.append(Int64(number + 1))
            devices.handles.append("token\(number)".utf8)
        }
        devices.tries = tries
        devices.waits = waits
        return DeliverBatch(
            app: .default,
            key: BatchKey(job: self.job, pns: .apns, page: 0, attempt: attempt),
            priority: .normal,
            expires: .now.advanced(by: .seconds(3600)),
            keepUntil: keepUntil,
            collapse: nil,
            payload: NativePayload(kind: .alert, body: []),
            devices: devices,
            isDryRun: isDryRun
        )
    }

    private func builder(_ batch: DeliverBatch, recording: AppSpec.Recording = .failures) -> OutcomeBuilder {
        OutcomeBuilder(batch, recording: recording, retry: RetryPolicy())
    }

    private let results: [DeviceResult] = [
        .accepted,
        .retry(after: .seconds(3), scope: .sender, counts: true, reason: "ServiceUnavailable", status: 503),
        .retry(after: nil, scope: .sender, counts: false, reason: "no connection", status: nil),
        .dead(before: Timestamp(milliseconds: 42), reason: "Unregistered", status: 410),
        .rejected(reason: "PayloadTooLarge", status: 413),
        .misconfigured(reason: "InvalidProviderToken", status: 403),
        .unsent,
        .unanswered(reason: "reset"),
    ]

    @Test func nothingIsTriedAfterTheServicesOwnTimeToLive() {
        for (seconds, left) in [(-1, 0), (60, 2)] {
            let keepUntil = Timestamp.now.advanced(by: .seconds(seconds))
            var builder = self.builder(self.batch(2, keepUntil: keepUntil, tries: [1, 0]))
            #expect(builder.addUntried(stop: nil).count == left)
            #expect(builder.outcome().expired == 2 - left)
            #expect(builder.outcome().retries.isEmpty)
        }
    }

    @Test func aDryRunCountsDeadTokensAndPrunesNone() {
        var builder = self.builder(self.batch(2, isDryRun: true))
        let indexes = builder.addUntried(stop: nil)
        builder.add(indexes, [.dead(before: .now, reason: "UNREGISTERED", status: 404), .accepted], stop: nil)
        let outcome = builder.outcome()
        #expect(outcome.isDryRun && outcome.accepted == 1)
        #expect(outcome.failures.map(\.failure) == [.unregistered])
        #expect(outcome.deadHandles.isEmpty)
    }

    @Test func tokensAreKeptInAFloodOfBadTokens() {
        let dead = DeviceResult.dead(before: .now, reason: "BadDeviceToken", status: 400)
        // The last one was tried often enough.
        var builder = self.builder(self.batch(3, tries: [0, 3, 4]))
        let indexes = builder.addUntried(stop: nil)
        builder.add(indexes, [dead, dead, dead], stop: nil, keepsTokens: true)
        #expect(builder.outcome().deadHandles.isEmpty)
        #expect(builder.outcome().retries.map(\.tries) == [1, 4])
        #expect(builder.outcome().failures.map(\.row) == [3])
        // A probe may be tried more often, but not for ever.
        var probe = self.builder(self.batch(2, tries: [4, 19]))
        probe.add(probe.addUntried(stop: nil), [dead, dead], stop: nil, keepsTokens: true, isProbe: true)
        #expect(probe.outcome().retries.map(\.tries) == [5])
        #expect(probe.outcome().failures.map(\.row) == [2])
        #expect(probe.outcome().deadHandles.isEmpty)
    }

    @Test func everyDeviceIsCountedOnce() {
        var builder = self.builder(self.batch(8))
        let indexes = builder.addUntried(stop: nil)
        #expect(indexes == Array(0..<8))
        builder.add(indexes, self.results, stop: nil)
        let outcome = builder.outcome()
        #expect(outcome.total == 8)
        #expect(outcome.accepted == 1)
        #expect(outcome.failures.map(\.failure) == [.unregistered, .rejected])
        #expect(outcome.deadHandles.map(\.before.milliseconds) == [42])
        #expect(outcome.retries.map(\.row) == [2, 3, 6, 7, 8])
        #expect(outcome.retries.map(\.tries) == [1, 0, 0, 0, 1])
        #expect(outcome.retries[0].wait >= .seconds(3))
        #expect(outcome.acceptedRows.isEmpty)
    }

    @Test func aZeroTimeToLiveAllowsOneTry() {
        var builder = self.builder(self.batch(8, keepUntil: DeliverBatch.nowOrNever))
        builder.add(builder.addUntried(stop: nil), self.results, stop: nil)
        let outcome = builder.outcome()
        #expect(outcome.total == 8)
        // The counted retry is over; what was never let through, stopped or not sent is still to have its try.
        #expect(outcome.expired == 1)
        #expect(outcome.failures.map(\.failure) == [.unregistered, .rejected, .unknown])
        #expect(outcome.retries.map(\.row) == [3, 6, 7])
    }

    @Test(arguments: [StopCause.cancelled, .expired])
    func unsentDevicesOfAStoppedJobAreCounted(cause: StopCause) {
        var builder = self.builder(self.batch(8))
        builder.add(builder.addUntried(stop: nil), self.results, stop: cause)
        let outcome = builder.outcome()
        #expect(outcome.total == 8)
        #expect(outcome.cancelled == (cause == .cancelled ? 1 : 0))
        #expect(outcome.expired == (cause == .expired ? 1 : 0))

        var untouched = self.builder(self.batch(5))
        #expect(untouched.addUntried(stop: cause).isEmpty)
        #expect(untouched.outcome().total == 5)
    }

    @Test func aDeviceIsNotRetriedBeforeItsWaitIsOver() {
        var builder = self.builder(self.batch(3, attempt: 2, tries: [1, 2, 2], waits: [0, 900, 60_000]))
        #expect(builder.addUntried(stop: nil) == [0, 1])
        #expect(builder.outcome().retries == [RetryDevice(row: 3, tries: 2, wait: .seconds(60))])
    }

    @Test func aDeregisteredDeviceIsCounted() {
        var batch = self.batch(1)
        batch.devices.rows.append(9)
        batch.devices.handles.append("".utf8)
        var builder = self.builder(batch)
        #expect(builder.addUntried(stop: nil) == [0])
        #expect(builder.outcome().failures.map(\.failure) == [.deregistered])
    }

    @Test func recordingAllListsTheAccepted() {
        var builder = self.builder(self.batch(2), recording: .all)
        builder.add(builder.addUntried(stop: nil), [.accepted, .accepted], stop: nil)
        #expect(builder.outcome().acceptedRows == [1, 2])
    }

    @Test func devicesThatFailedTogetherAreRetriedTogether() {
        var builder = self.builder(self.batch(100))
        let results = Array(
            repeating: DeviceResult.retry(after: nil, scope: .sender, counts: true, reason: "503", status: 503),
            count: 100
        )
        builder.add(builder.addUntried(stop: nil), results, stop: nil)
        #expect(Set(builder.outcome().retries.map(\.wait)).count == 1)
    }
}

struct RetryPolicyTests {
    @Test(arguments: [(1, 2), (2, 4), (5, 32), (30, 900), (Int.max, 900)])
    func backoffGrowsToItsCap(tries: Int, seconds: Int) {
        let policy = RetryPolicy()
        #expect(policy.wait(tries: tries, asked: nil, jitter: 1) == .seconds(seconds))
        #expect(policy.wait(tries: tries, asked: nil, jitter: 0) == .zero)
    }

    @Test func aRetryNeverComesBeforeRetryAfter() {
        let policy = RetryPolicy()
        #expect(policy.wait(tries: 1, asked: .seconds(7), jitter: 0.1) == .seconds(7))
        #expect(policy.wait(tries: 9, asked: .seconds(7), jitter: 1) == .seconds(512))
    }

    @Test(arguments: 0..<40)
    func aStoppedAppIsRetriedWithinFiveMinutes(attempt: Int) {
        for jitter in [0.0, 0.5, 1.0] {
            let wait = RetryPolicy().stopWait(attempt: attempt, jitter: jitter)
            #expect(wait >= .milliseconds(2500) && wait <= .seconds(300))
        }
    }
}
