import PushModel
import Store
import Testing

/// A register job that is final knows no handle any more: whom it belongs to may want it forgotten.
@Suite(.everyStore) struct RegisterWorkContract {
    private let fixture: any StoreFixture
    private let scenario: Scenario
    private var store: any ResultStore { self.scenario.store }

    private static let secret = "5ec7e75ec7e7"

    init() throws {
        self.fixture = try StoreFixtures.make()
        self.scenario = Scenario(self.fixture)
    }

    static let requests: [RegisterRequest] = [
        .upsert(.random(), .init(pns: .apns, handle: Handle(stored: secret), tags: [])),
        .issue(candidate: .random(), handles: Handle.lookupForms(of: secret.uppercased())),
    ]

    private func accept(_ request: RegisterRequest) async throws -> Job {
        let new = NewJob(
            app: .default,
            user: try UserName("ann", .folded),
            work: .register(request),
            lifetime: .seconds(86_400)
        )
        let job = try await self.scenario.accept(new)
        return job
    }

    @Test(arguments: requests) func aFinishedRegisterJobKeepsNoHandle(request: RegisterRequest) async throws {
        let job = try await self.accept(request)
        #expect(try await self.fixture.contains(Self.secret))
        _ = try await self.store.finishRegister(job.id, result: .done)
        #expect(try await !self.fixture.contains(Self.secret))
        // It is still shown.
        let done = try #require(try await self.store.job(job.id, app: .default))
        #expect(done.state == .completed)
        #expect(done.work.kind == .register)
        // A message that comes again finds nothing to do.
        #expect(try await self.store.registerJobs(of: self.scenario.message(of: job.id).id).isEmpty)
    }

    @Test(arguments: requests) func refusedCancelledAndExpiredRegisterJobsKeepNoHandle(request: RegisterRequest)
        async throws
    {
        let refused = try await self.accept(request)
        _ = try await self.store.finishRegister(refused.id, result: .refused("no"))
        let cancelled = try await self.accept(request)
        _ = try await self.store.cancel(cancelled.id, app: .default)
        _ = try await self.accept(request)
        #expect(try await self.fixture.contains(Self.secret))
        self.fixture.time.advance(.seconds(86_401))
        try await self.scenario.expireJobs(limit: 10)
        #expect(try await !self.fixture.contains(Self.secret))
    }

    /// Its message is a worker's of changes, and no send worker's.
    @Test func aRegisterJobIsNotClaimed() async throws {
        let message = try self.scenario.message(of: try await self.accept(.delete(.random())).id)
        #expect(try await self.store.claim(message.id, peeking: false) == nil)
        #expect(try await self.store.claim(message.id, peeking: true) == nil)
    }

    @Test func aDeferredRegisterJobIsRetryingAndSaysWhy() async throws {
        let job = try await self.accept(.delete(.random()))
        let message = try self.scenario.message(of: job.id).id
        /// The states by which a list has it.
        func listed() async throws -> [Job.State] {
            var states: [Job.State] = []
            for state in [Job.State.queued, .running, .retrying] {
                let found = try await self.store.jobs(JobQuery(app: .default, state: state)).items
                if found.map(\.id) == [job.id] { states.append(state) }
            }
            return states
        }
        // As for a pause, which is shown as such while it lasts.
        #expect(try await self.store.defer(message, epoch: nil, Deferral()))
        #expect(try await self.scenario.job(job.id).state == .queued)
        let pause = Deferral(pause: .seconds(2), reason: WaitReason("the hub is away"))
        #expect(try await self.store.defer(message, epoch: nil, pause))
        let waiting = try await self.scenario.job(job.id)
        #expect(waiting.state == .retrying && waiting.reason == "the hub is away")
        #expect(waiting.due == self.fixture.time.wall.advanced(by: .seconds(2)))
        #expect(try await listed() == [.retrying])
        self.fixture.time.advance(.seconds(3))
        #expect(try await self.scenario.takeDue().map(\.id) == [message])
        let again = try await self.scenario.job(job.id)
        #expect(again.state == .queued && again.reason == nil && again.due == nil)
        #expect(try await listed() == [.queued])
    }

    @Test func aPageOfJobsWithLargeResultsIsShort() async throws {
        let ids = try (1000..<2000).map { try APNsChannelID("\($0)" + String(repeating: "a", count: 2000)) }
        var jobs: [JobID] = []
        for _ in 0..<6 {
            let job = try await self.accept(.channel(ChannelRequest(.list(after: nil, limit: 1000))))
            let result = RegisterResult.channels(ids.map { BroadcastChannel(id: $0) }, hasMore: false)
            _ = try await self.store.finishRegister(job.id, result: result)
            jobs.append(job.id)
        }
        var (listed, cursor): ([JobID], String?) = ([], nil)
        repeat {
            let page = try await self.store.jobs(JobQuery(app: .default, cursor: cursor))
            #expect(page.items.count < 6)
            listed += page.items.map(\.id)
            cursor = page.cursor
        } while cursor != nil
        #expect(listed == jobs.reversed())
    }

    private func die(_ job: Job) async throws -> DeadLetter {
        try await self.scenario.deadLetter("\(self.scenario.message(of: job.id).id)", type: "register")
        return try #require(try await self.store.deadLetters(DeadLetterQuery(app: .default, limit: 1)).items.first)
    }

    @Test(arguments: requests) func aDeadRegisterJobIsReplayedWithItsHandle(request: RegisterRequest) async throws {
        let job = try await self.accept(request)
        let letter = try await self.die(job)
        #expect(try await self.fixture.contains(Self.secret))
        #expect(letter.blockedReason == nil)
        #expect(try await self.scenario.job(job.id).result == .unknown("its message could not be worked on"))
        #expect(try await self.store.replay(deadLetter: letter.id, app: .default) == .begun(job: job.id, devices: nil))
        #expect(try await self.fixture.contains(Self.secret))
        let message = try #require(try await self.scenario.takeDue([.register]).first)
        #expect(try await self.store.registerJobs(of: message.id).map(\.work) == [.register(request)])
        _ = try await self.store.finishRegister(job.id, result: .done)
        #expect(try await !self.fixture.contains(Self.secret))
    }

    @Test func aDeadRegisterJobThatNobodyReplaysLosesItsHandle() async throws {
        let letter = try await self.die(try await self.accept(Self.requests[0]))
        self.fixture.time.advance(.seconds(86_400))
        // Its time is over: nobody can bring it back.
        guard case .refused = try await self.store.replay(deadLetter: letter.id, app: .default) else {
            throw Unexpected("it was replayed")
        }
        self.fixture.time.advance(.seconds(86_400))
        try await self.scenario.expireRegistrations(limit: 10)
        #expect(try await !self.fixture.contains(Self.secret))
    }
}
