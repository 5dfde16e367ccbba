import PushModel
import Store
import StoreKit
import Testing

/// Which jobs are stopped, and which of their batches end with that (rule 13).
@Suite struct StopReasonTests {
    private func stop(_ reason: StopReason, _ state: Job.State, ends: Int64? = 100, stopped: Int64? = nil) -> JobStop? {
        reason.stop(of: StoppableJob(state: state, ends: ends, stopped: stopped), at: 50)
    }

    @Test(arguments: [Job.State.scheduled, .queued, .running])
    func whatRunsIsCancelledAndItsBatchesAtNoWorkerEnd(state: Job.State) throws {
        let stop = try #require(self.stop(.cancel, state))
        #expect(stop.isNew && stop.cause == .cancelled)
        #expect(stop.closes(message: 1, isPublished: false))
        #expect(!stop.closes(message: 1, isPublished: true))
    }

    @Test(arguments: [Job.State.cancelling, .expiring, .completed, .abandoned, .cancelled, .expired])
    func whatIsBeingStoppedOrFinalIsNotCancelled(state: Job.State) {
        #expect(self.stop(.cancel, state, stopped: 1) == nil)
    }

    @Test func theSweepStopsWhatsTimeIsOver() throws {
        #expect(self.stop(.sweep(overdue: 10), .running, ends: 51) == nil)
        #expect(self.stop(.sweep(overdue: 10), .scheduled, ends: nil) == nil)
        let stop = try #require(self.stop(.sweep(overdue: 10), .running, ends: 50))
        #expect(stop.isNew && stop.cause == .expired)
        #expect(!stop.closes(message: 1, isPublished: true))
    }

    @Test func twoLeasesLaterTheSweepClosesWhatIsAtWorkersToo() throws {
        #expect(self.stop(.sweep(overdue: 10), .cancelling, stopped: 11) == nil)
        let stop = try #require(self.stop(.sweep(overdue: 10), .cancelling, stopped: 10))
        #expect(!stop.isNew && stop.cause == .cancelled)
        #expect(stop.closes(message: 1, isPublished: true))
        #expect(self.stop(.sweep(overdue: 10), .cancelled, stopped: 10) == nil)
    }

    @Test func aDeferralEndsOnlyWhatIsInItsMessage() throws {
        #expect(self.stop(.deferral(message: 7), .running) == nil)
        let stop = try #require(self.stop(.deferral(message: 7), .expiring, stopped: 49))
        #expect(!stop.isNew && stop.cause == .expired)
        #expect(stop.closes(message: 7, isPublished: false))
        #expect(!stop.closes(message: 8, isPublished: false))
    }
}
