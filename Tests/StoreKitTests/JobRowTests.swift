import PushModel
import Store
import StoreKit
import Testing

/// What is shown of a job: its state, what it waits for, how far it is.
@Suite struct JobRowTests {
    private struct Clock: ClockSource {
        var bootID: String { "boot" }
        var sinceBoot: Int64 { 1000 }
        var wall: Timestamp { Timestamp(milliseconds: 5000) }
    }

    private func shown(
        _ state: Job.State,
        _ details: JobDetails = JobDetails(),
        isRegister: Bool = false,
        isFannedOut: Bool = false,
        reason: String? = nil
    ) throws -> Job {
        let send = SendRequest(to: .tags(.tag(try Tag("t", .folded))), content: .message(.init(body: "b")))
        let job = Job(
            id: .make(),
            sequence: 1,
            app: .default,
            user: nil,
            key: nil,
            priority: .normal,
            work: isRegister ? .register(.delete(.random())) : .send(send),
            state: state,
            result: nil,
            reason: reason,
            accepted: Timestamp(milliseconds: 0),
            started: nil,
            finished: nil,
            expires: Timestamp(milliseconds: 9000)
        )
        let row = JobRow(plain: job, isFannedOut: isFannedOut, waiter: nil, message: 1)
        // What it does not need is not read.
        var read = JobDetails()
        for need in row.needs {
            switch need {
            case .counts: read.counts = details.counts
            case .platformCounts: read.platformCounts = details.platformCounts
            case .cursors: read.cursors = details.cursors
            case .waiting: read.waiting = details.waiting
            case .deferral: read.deferral = details.deferral
            case .paused: read.paused = details.paused
            case .openServices: read.openServices = details.openServices
            }
        }
        return row.job(with: read, clock: StoreClock(source: Clock(), shift: 0))
    }

    private let waiting = JobWaiting(due: 1500, reason: WaitReason("slow"))

    @Test func aSendIsRetryingWhileAllThatIsOpenOfItWaits() throws {
        var source = JobDetails()
        source.waiting = self.waiting
        let job = try self.shown(.running, source, isFannedOut: true)
        #expect(job.state == .retrying)
        #expect(job.reason == "slow")
        #expect(job.due == Timestamp(milliseconds: 5500))
        #expect(try self.shown(.running, source).state == .running)
        source.waiting = nil
        source.deferral = WaitReason("busy")
        let other = try self.shown(.running, source, isFannedOut: true)
        #expect(other.state == .running)
        #expect(other.reason == "busy")
        #expect(other.due == nil)
    }

    @Test func aRegisterJobIsRetryingWhileItsWorkerHasDeferredIt() throws {
        var source = JobDetails()
        source.waiting = self.waiting
        #expect(try self.shown(.queued, source, isRegister: true).state == .retrying)
        #expect(try self.shown(.queued, source).state == .queued)
    }

    @Test func aPauseComesBeforeWhatElseItWaitsFor() throws {
        var source = JobDetails()
        source.waiting = self.waiting
        source.paused = [.deliver(.apns)]
        #expect(try self.shown(.running, source, isFannedOut: true).reason == "slow")
        source.openServices = [.apns]
        let paused = try self.shown(.running, source, isFannedOut: true)
        #expect(paused.reason == Pause.reason(.deliver(.apns)).text)
        #expect(paused.due == nil)
        // What it says itself comes before all.
        #expect(try self.shown(.running, source, isFannedOut: true, reason: "own").reason == "own")
        // A send is kept by its own queue until its audience is in batches.
        source = JobDetails()
        source.paused = [.send]
        #expect(try self.shown(.queued, source).reason != nil)
        #expect(try self.shown(.running, source, isFannedOut: true).reason == nil)
        #expect(try self.shown(.queued, source, isRegister: true).reason == nil)
    }

    @Test func theAudienceIsEstimatedFromHowFarTheFanOutIs() throws {
        func estimate(_ cursor: FanOutCursor, _ state: Job.State = .running, isFannedOut: Bool = false) throws -> Int? {
            var details = JobDetails()
            details.cursors = [.apns: cursor]
            let job = try self.shown(state, details, isFannedOut: isFannedOut)
            return job.progress?.services[.apns]?.estimate
        }
        #expect(try estimate(FanOutCursor(after: 250, through: 1000, isDone: false, devices: 30)) == 120)
        #expect(try estimate(FanOutCursor(after: 0, through: 1000, isDone: false, devices: 0)) == nil)
        #expect(try estimate(FanOutCursor(after: 250, through: 1000, isDone: true, devices: 30)) == 30)
        // A stop ends the fan-out too: what is in no batch is not a target.
        let stopped = FanOutCursor(after: 500, through: 1000, isDone: false, devices: 30)
        #expect(try estimate(stopped, .cancelling, isFannedOut: true) == 60)
        #expect(try estimate(stopped, .running, isFannedOut: true) == 30)
        var details = JobDetails()
        details.cursors = [.apns: stopped]
        #expect(try self.shown(.completed, details).progress == nil)
    }
}
