import PushModel
import Store
import StoreKit
import Testing

/// What is shown of a job: its state, what it waits for, how far it is.
@Suite struct JobRowTests {
    /// What else there is of a job, in memory.
    private struct Source: JobSource {
        var pages: [PushService: FanOutCursor] = [:]
        var register: JobWaiting?
        var isAtBroker = false
        var first: JobWaiting?
        var deferred: WaitReason?
        var paused: [WorkQueue] = []
        var open: Set<PushService> = []

        func counts() -> [PushService: DeliveryCounts] { [.apns: DeliveryCounts()] }
        func platformCounts() -> [String: DeliveryCounts] { [:] }
        func cursors() -> [PushService: FanOutCursor] { self.pages }
        func deferral() -> JobWaiting? { self.register }
        func isInFlight() -> Bool { self.isAtBroker }
        func firstWaiting() -> JobWaiting? { self.first }
        func reasonOfDeferred() -> WaitReason? { self.deferred }
        func pausedQueues() -> [WorkQueue] { self.paused }
        func isOpen(at pns: PushService) -> Bool { self.open.contains(pns) }
    }

    private struct Clock: ClockSource {
        var bootID: String { "boot" }
        var sinceBoot: Int64 { 1000 }
        var wall: Timestamp { Timestamp(milliseconds: 5000) }
    }

    private func shown(
        _ state: Job.State,
        _ source: Source,
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
        return try row.job(reading: source, clock: StoreClock(source: Clock(), shift: 0))
    }

    private let waiting = JobWaiting(due: 1500, reason: WaitReason("slow"))

    @Test func aSendIsRetryingWhileAllThatIsOpenOfItWaits() throws {
        var source = Source(first: self.waiting)
        let job = try self.shown(.running, source, isFannedOut: true)
        #expect(job.state == .retrying)
        #expect(job.reason == "slow")
        #expect(job.due == Timestamp(milliseconds: 5500))
        #expect(try self.shown(.running, source).state == .running)
        source.isAtBroker = true
        source.deferred = WaitReason("busy")
        let other = try self.shown(.running, source, isFannedOut: true)
        #expect(other.state == .running)
        #expect(other.reason == "busy")
        #expect(other.due == nil)
    }

    @Test func aRegisterJobIsRetryingWhileItsWorkerHasDeferredIt() throws {
        let source = Source(register: self.waiting)
        #expect(try self.shown(.queued, source, isRegister: true).state == .retrying)
        #expect(try self.shown(.queued, source).state == .queued)
    }

    @Test func aPauseComesBeforeWhatElseItWaitsFor() throws {
        var source = Source(first: self.waiting, paused: [.deliver(.apns)])
        #expect(try self.shown(.running, source, isFannedOut: true).reason == "slow")
        source.open = [.apns]
        let paused = try self.shown(.running, source, isFannedOut: true)
        #expect(paused.reason == Pause.reason(.deliver(.apns)).text)
        #expect(paused.due == nil)
        // What it says itself comes before all.
        #expect(try self.shown(.running, source, isFannedOut: true, reason: "own").reason == "own")
        // A send is kept by its own queue until its audience is in batches.
        source = Source(paused: [.send])
        #expect(try self.shown(.queued, source).reason != nil)
        #expect(try self.shown(.running, source, isFannedOut: true).reason == nil)
        #expect(try self.shown(.queued, source, isRegister: true).reason == nil)
    }

    @Test func theAudienceIsEstimatedFromHowFarTheFanOutIs() throws {
        func estimate(_ cursor: FanOutCursor, _ state: Job.State = .running, isFannedOut: Bool = false) throws -> Int? {
            let job = try self.shown(state, Source(pages: [.apns: cursor]), isFannedOut: isFannedOut)
            return job.progress?.services[.apns]?.estimate
        }
        #expect(try estimate(FanOutCursor(after: 250, through: 1000, isDone: false, devices: 30)) == 120)
        #expect(try estimate(FanOutCursor(after: 0, through: 1000, isDone: false, devices: 0)) == nil)
        #expect(try estimate(FanOutCursor(after: 250, through: 1000, isDone: true, devices: 30)) == 30)
        // A stop ends the fan-out too: what is in no batch is no target.
        let stopped = FanOutCursor(after: 500, through: 1000, isDone: false, devices: 30)
        #expect(try estimate(stopped, .cancelling, isFannedOut: true) == 60)
        #expect(try estimate(stopped, .running, isFannedOut: true) == 30)
        #expect(try self.shown(.completed, Source(pages: [.apns: stopped])).progress == nil)
    }
}
