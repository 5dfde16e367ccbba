import PushModel
import StoreKit
import Testing

/// What an audit tells of a job whose rows do not go together (rules 3 and 14).
@Suite struct AuditedJobTests {
    private let apns = PushService.apns.number

    /// A send that ended with two devices accepted in a batch, and that adds up.
    private var whole: AuditedJob {
        var job = AuditedJob(id: .make(), state: .completed)
        job.isFannedOut = true
        job.isFinished = true
        job.counts = [self.apns: JobSums(targets: 2, accepted: 2), PushService.fcm.number: JobSums()]
        job.outcomes = [self.apns: JobSums(targets: 2, accepted: 2)]
        job.batches.all = 1
        return job
    }

    private func words(of job: AuditedJob, _ change: (inout AuditedJob) -> Void) throws -> String {
        var job = job
        change(&job)
        return try job.faults().map { String($0.split(separator: ": ", maxSplits: 1)[1]) }.joined(separator: "; ")
    }

    @Test func aJobThatAddsUpHasNoFault() throws {
        #expect(try self.whole.faults() == [])
        // The only batch of a small send has no row, and its outcome stands in the job.
        #expect(
            try self.words(of: self.whole) {
                $0.batches.all = 0
                $0.outcomes = [:]
                $0.only = (self.apns, 2)
            } == ""
        )
    }

    @Test func eachThingThatDoesNotHoldIsNamed() throws {
        let whole = self.whole
        #expect(try self.words(of: whole) { $0.batches.open = 1 }.contains("1 batches are open though it is final"))
        #expect(try self.words(of: whole) { $0.batches.unmatched = 2 }.hasPrefix("2 batches are closed without"))
        #expect(try self.words(of: whole) { $0.attempts.orphans = 1 } == "1 outcomes have no batch")
        #expect(try self.words(of: whole) { $0.attempts.unmatched = 1 }.contains("than were retried"))
        #expect(try self.words(of: whole) { $0.only = (self.apns, 2) } == "1 batches stand beside the only one")
        #expect(try self.words(of: whole) { $0.isFinished = false }.contains("of its times"))
        #expect(try self.words(of: whole) { $0.isStopped = true }.contains("of its stop"))
        #expect(try self.words(of: whole) { $0.listed = 1 } == "1 targets are more than its list has")
        #expect(try self.words(of: whole) { $0.outcomes = [:] }.hasPrefix("apns: its counts are 2 targets"))
    }

    @Test func whatIsUnfinishedIsInAMessage() throws {
        var job = AuditedJob(id: .make(), state: .queued)
        #expect(try self.words(of: job) { _ in } == "1 jobs are unfinished and in no message")
        job.hasMessage = true
        #expect(try job.faults() == [])
        #expect(try self.words(of: job) { $0.listed = 3 }.hasPrefix("3 devices of its list are missing"))
        #expect(try AuditedJob(id: .make(), state: .scheduled).faults() == [])
    }

    /// Rows of a job that is being removed do not add up any more; its counts still do.
    @Test func ofAClearedJobOnlyTheCountsAreLookedAt() throws {
        var job = self.whole
        job.isCleared = true
        job.outcomes = [:]
        job.batches.unmatched = 1
        #expect(try job.faults() == [])
        job.counts[self.apns] = JobSums(targets: 3, accepted: 2)
        #expect(try self.words(of: job) { _ in } == "apns: 3 targets, but 2 outcomes")
    }
}
