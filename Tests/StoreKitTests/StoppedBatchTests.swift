import PushModel
import Store
import StoreKit
import Testing

/// What devices of a stopped job count as (rules 13 and 18).
@Suite struct StoppedBatchTests {
    private static let at = Timestamp(milliseconds: 1_800_000_000_000)

    private func retry(_ rows: Int64...) -> [RetryDevice] { rows.map { RetryDevice(row: $0, tries: 1, wait: .zero) } }

    @Test func unsentDevicesCountByWhatStoppedTheJob() {
        #expect(
            UnsentBatch(size: 5, retries: nil, calls: [:], cause: .cancelled)
                == .closed([.accepted: 0, .failed(.unknown): 0, .cancelled: 5], unknown: [])
        )
        #expect(
            UnsentBatch(size: 5, retries: nil, calls: [:], cause: .expired)
                == .closed([.accepted: 0, .failed(.unknown): 0, .expired: 5], unknown: [])
        )
    }

    @Test func callsThatWereMadeCountAsWhatBecameOfThem() {
        let calls: [Int64: HubCallStart] = [1: .taken, 2: .unknown, 3: .taken]
        #expect(
            UnsentBatch(size: 5, retries: nil, calls: calls, cause: .cancelled)
                == .closed([.accepted: 2, .failed(.unknown): 1, .cancelled: 2], unknown: [2])
        )
        // Of a later attempt only its own devices are looked at.
        #expect(
            UnsentBatch(size: 2, retries: self.retry(2, 9), calls: calls, cause: .expired)
                == .closed([.accepted: 0, .failed(.unknown): 1, .expired: 1], unknown: [2])
        )
    }

    @Test func aBatchStaysOpenWhileACallIsUnderWay() {
        let calls: [Int64: HubCallStart] = [1: .underWay(.seconds(3)), 2: .underWay(.seconds(7)), 3: .taken]
        #expect(UnsentBatch(size: 5, retries: nil, calls: calls, cause: .cancelled) == .open(.seconds(7)))
        #expect(
            UnsentBatch(size: 1, retries: self.retry(3), calls: calls, cause: .cancelled)
                == .closed([.accepted: 1, .failed(.unknown): 0, .cancelled: 0], unknown: [])
        )
    }

    @Test func anOutcomeOfAStoppedJobHasNoNextAttempt() {
        var outcome = BatchOutcome(
            key: BatchKey(job: .make(), pns: .apns, page: 0, attempt: 1),
            accepted: 1,
            retries: self.retry(1, 2, 3, 4),
            at: Self.at
        )
        let total = outcome.total
        outcome.stop(for: .expired, calls: [1: .taken, 2: .unknown, 3: .underWay(.seconds(2))])
        #expect(outcome.accepted == 2)
        #expect(outcome.failures.map(\.row) == [2])
        #expect(outcome.retries == [RetryDevice(row: 3, tries: 1, wait: .seconds(2))])
        #expect(outcome.expired == 1)
        #expect(outcome.total == total)
    }

    @Test func devicesAreTargetsOfTheFirstAttemptOnly() {
        for attempt in [0, 1] {
            let failure = DeviceFailure(row: 9, failure: .unregistered, status: 410, reason: "")
            let outcome = BatchOutcome(
                key: BatchKey(job: .make(), pns: .apns, page: 0, attempt: attempt),
                accepted: 2,
                failures: [failure, failure],
                retries: self.retry(1),
                at: Self.at
            )
            #expect(outcome.counts[.targets] == (attempt == 0 ? 5 : 0))
            #expect(outcome.counts[.failed(.unregistered)] == 2)
            #expect(outcome.counts[.accepted] == 2)
        }
    }

    @Test func anOpenBatchStopsWithItsJobOrItsTime() {
        #expect(BatchStatus(ofOpen: .running, ends: 6, at: 5) == .open)
        #expect(BatchStatus(ofOpen: .running, ends: 5, at: 5) == .stopping(.expired))
        #expect(BatchStatus(ofOpen: .cancelling, ends: 5, at: 5) == .stopping(.cancelled))
    }

    // MARK: Calls

    @Test func aCallIsMadeOnceUnlessItWasSurelyNotTaken() {
        func known(_ state: HubCall.State, until: Int64 = 10) -> HubCallStart? {
            StoredHubCall(state: state, until: until).known(at: 10)
        }
        #expect(known(.waiting) == nil)
        #expect(known(.refused) == nil)
        #expect(known(.taken) == .taken)
        #expect(known(.unknown) == .unknown)
        #expect(known(.submitting, until: 11) == .underWay(.milliseconds(1)))
        // Whoever was at it died.
        #expect(known(.submitting, until: 10) == .unknown)
    }

    @Test func theFirstPlaceOfACallIsAskedAbout() {
        #expect(HubCallEnd.taken(id: "id").telemetry(isFirst: true) == .pending)
        #expect(HubCallEnd.taken(id: "id").telemetry(isFirst: false) == .together)
        #expect(HubCallEnd.taken(id: nil).telemetry(isFirst: true) == .notOffered)
        #expect(HubCallEnd.unknown.telemetry(isFirst: true) == nil)
    }
}
