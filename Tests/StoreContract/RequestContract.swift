import PushModel
import Store
import Testing

/// What any store must keep of the request that asked for a job: whoever works on the job learns of it without asking for it.
@Suite(.everyStore) struct RequestContract {
    private let fixture: any StoreFixture
    private let scenario: Scenario
    private var store: any ResultStore { self.scenario.store }
    private let request: RequestID

    init() throws {
        self.fixture = try StoreFixtures.make()
        self.scenario = Scenario(self.fixture)
        // With its span, for the work that comes of it is under that.
        let span = SpanContext(traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
        self.request = try #require(RequestID("proxy-7.a", span: span))
        #expect(self.request.span != nil)
    }

    private func accept(_ work: Job.Work, request: RequestID?) async throws -> Job {
        try await self.scenario.accept(
            NewJob(app: .default, work: work, lifetime: .seconds(3600), request: request)
        )
    }

    private func status(of batch: BatchKey) async throws -> [RequestID?] {
        let message = try self.scenario.message(of: batch).id
        return try await self.store.status(of: [batch], in: message).map(\.request)
    }

    @Test func aCampaignIsItsRequests() async throws {
        try await self.scenario.register(user: "ann", handle: "aa", tags: ["t"])
        let send = try self.scenario.campaign(to: "t")
        let job = try await self.accept(.send(send), request: self.request)
        #expect(job.request == self.request)
        #expect(try await self.store.job(job.id, app: .default)?.request == self.request)
        let claim = try #require(try await self.scenario.claimCampaign(job))
        #expect(claim.campaign.job.trace == JobTrace(job.id, request: self.request))
        let batch = try #require(try await self.scenario.fanOut(job).first)
        #expect(try await self.status(of: batch) == [self.request])
        // A dead letter says whom it was for, once.
        let message = try self.scenario.message(of: batch).id
        let dead = try await self.scenario.deadLetter("\(message)")
        #expect(dead == [JobTrace(job.id, request: self.request)])
        #expect(try await self.scenario.deadLetter("\(message)", body: [3]) == [])
        let letter = try #require(try await self.store.deadLetters(DeadLetterQuery(app: .default)).items.last)
        #expect(try await self.store.replay(deadLetter: letter.id, app: .default) != nil)
        let again = try #require(try await self.scenario.takeDueBatches().first)
        #expect(again.key.attempt == 1 && again.job.request == self.request)
    }

    /// Sends of several requests share a message, and some have none: they were accepted by a version that kept none.
    @Test func membersOfAMessageHaveTheirOwn() async throws {
        try await self.scenario.register(user: "ann", handle: "aa")
        let other = try #require(RequestID("b"))
        let send = self.scenario.send(to: .tag(PushModel.Tag(user: try UserName("ann", .folded))))
        let requests = [self.request, nil, other]
        let jobs = requests.map { NewJob(app: .default, work: .send(send), lifetime: .seconds(3600), request: $0) }
        let message = try #require(try await self.store.accept(jobs).messages.first)
        let peeked = try #require(try await self.store.claim(message.id, peeking: true))
        guard case .group(let sends, _)? = peeked.work else { throw Unexpected("\(peeked)") }
        #expect(sends.map(\.requestID) == requests)
        let keys = try await self.scenario.fanOut(group: message).keys
        let delivery = try self.scenario.message(of: keys[0]).id
        #expect(try await self.store.status(of: keys, in: delivery).map(\.request) == requests)
        let dead = try await self.scenario.deadLetter("\(delivery)")
        #expect(dead == zip(jobs, requests).map { JobTrace($0.id, request: $1) })
    }

    @Test func aRegisterJobIsItsRequests() async throws {
        let work = Job.Work.register(.issue(candidate: .random(), handles: []))
        let job = try await self.accept(work, request: self.request)
        let message = try self.scenario.message(of: job.id)
        #expect(try await self.store.registerJobs(of: message.id).map(\.request) == [self.request])
        let dead = try await self.scenario.deadLetter("\(message.id)", type: "register")
        #expect(dead == [JobTrace(job.id, request: self.request)])
    }
}
