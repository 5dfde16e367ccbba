import PushModel
import Store
import Testing

/// What any store must do with jobs, apps, accounts and contents (rules 1, 12, 15 and 17).
@Suite(.everyStore(with: .outbox)) struct JobContract {
    let fixture: any OutboxFixture
    let scenario: OutboxScenario
    var store: any JobOutbox { self.scenario.accepting }
    var time: TestTime { self.fixture.time }

    init() throws {
        self.fixture = try StoreFixtures.makeOutbox(StoreOptions(maximumBacklog: 100))
        self.scenario = OutboxScenario(self.fixture)
    }

    private func new(_ key: String? = nil, hash: UInt8 = 1, caller: String = "account:a") throws -> NewJob {
        NewJob(
            app: .default,
            work: .send(try self.scenario.campaign(to: "t")),
            lifetime: .seconds(60),
            waiter: "w",
            idempotency: key.map { .init(caller: caller, route: "POST /api/sends", key: $0, hash: [hash]) }
        )
    }

    @Test func anAcceptedJobIsVisibleToItsAppOnly() async throws {
        let job = try await self.scenario.accept(self.scenario.campaign(to: "t"), user: UserName("ann", .folded))
        #expect(try await self.scenario.job(job.id) == job)
        #expect(try await self.store.job(job.id, app: AppID("other")) == nil)
    }

    @Test func severalJobsAreReadTogether() async throws {
        let first = try await self.scenario.accept(self.scenario.campaign(to: "t"))
        let second = try await self.scenario.accept(self.scenario.campaign(to: "u"))
        #expect(try await self.store.jobs([second.id, .make(), first.id]).map(\.id) == [second.id, first.id])
        #expect(try await self.store.jobs([JobID]()).isEmpty)
    }

    @Test func aRepeatGivesTheFirstJob() async throws {
        let first = try await self.scenario.accept(self.new("k"))
        _ = try await self.store.cancel(first.id, app: .default)
        #expect(try await self.store.accept([self.new("k")]).answers == [.repeated(first.id)])
        #expect(try await self.store.accept([self.new("k", hash: 2)]).answers == [.keyReused])
        _ = try await self.scenario.accept(self.new("k", caller: "key:a"))
    }

    @Test func oneOfManyConcurrentRepeatsIsAccepted() async throws {
        let job = try self.new("race")
        let ids = try await withThrowingTaskGroup(of: (JobID, Bool).self) { group in
            for _ in 0..<32 {
                group.addTask {
                    switch try await self.store.accept([job.again()]).answers.first {
                    case .accepted(let job): return (job.id, true)
                    case .repeated(let id): return (id, false)
                    case .keyReused, .backlogFull, nil: throw Unexpected("refused")
                    }
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(Set(ids.map(\.0)).count == 1)
        #expect(ids.filter(\.1).count == 1)
    }

    @Test func theBacklogIsBounded() async throws {
        var last: Job?
        for _ in 0..<100 { last = try await self.scenario.accept(self.scenario.campaign(to: "t")) }
        #expect(try await self.store.accept([self.new()]).answers == [.backlogFull])
        _ = try await self.store.cancel(try #require(last).id, app: .default)
        _ = try await self.scenario.accept(self.new())
    }

    @Test func aRegisterJobEndsOnceAndNotifiesItsWaiter() async throws {
        let job = try await self.scenario.accept(self.new().again(work: .register(.delete(.random()))))
        let message = try self.scenario.message(of: job.id).id
        #expect(try await self.store.registerJobs(of: message).map(\.id) == [job.id])
        #expect(try await self.store.finishRegister(job.id, result: .gone) == "w")
        #expect(try await self.store.finishRegister(job.id, result: .done) == nil)
        #expect(try await self.store.registerJobs(of: message).isEmpty)
        let done = try await self.scenario.job(job.id)
        #expect(done.state == .completed)
        #expect(done.result == .gone)
    }

    @Test func aDryRunStaysOne() async throws {
        let tag = TagExpression.tag(try Tag("t", .folded))
        let form = NativePayload(kind: .voip, headers: [.init("apns-priority", "5")], body: Array(#"{"é":1}"#.utf8))
        for audience in [tag, try TagExpression(parsing: "t && !u", .folded)] {
            let send = SendRequest(
                audience: audience,
                content: .native(.init(message: nil, forms: [form])),
                isDryRun: true
            )
            let job = try await self.scenario.accept(send)
            #expect(job.work == .send(send))
            #expect(try await self.store.job(job.id, app: .default)?.work == .send(send))
        }
    }

    @Test func jobsAreListedByTheirLabel() async throws {
        var ids: [JobID] = []
        for number in 0..<6 {
            let label = try number.isMultiple(of: 2) ? JobLabel("Frühling 20 %") : number == 5 ? JobLabel("other") : nil
            let new = NewJob(
                app: .default,
                user: try number < 4 ? UserName("ann", .folded) : nil,
                work: .send(try self.scenario.campaign(to: "t")),
                lifetime: .seconds(60),
                label: label
            )
            let job = try await self.scenario.accept(new)
            #expect(job.label == label)
            #expect(try await self.store.job(job.id, app: .default)?.label == label)
            ids.append(job.id)
        }
        func found(_ query: JobQuery) async throws -> [JobID] { try await self.store.jobs(query).items.map(\.id) }
        let label = try JobLabel("Frühling 20 %")
        #expect(try await found(JobQuery(app: .default, label: label)) == [ids[4], ids[2], ids[0]])
        #expect(
            try await found(JobQuery(app: .default, user: UserName("ann", .folded), label: label)) == [ids[2], ids[0]]
        )
        #expect(try await found(JobQuery(app: .default, state: .completed, label: label)).isEmpty)
        #expect(try await found(JobQuery(app: AppID("another"), label: label)).isEmpty)
        #expect(try await found(JobQuery(app: .default, label: JobLabel("frühling 20 %"))).isEmpty)
        let first = try await self.store.jobs(JobQuery(app: .default, label: label, limit: 2))
        #expect(first.items.map(\.id) == [ids[4], ids[2]])
        let second = try await self.store.jobs(JobQuery(app: .default, label: label, cursor: first.cursor, limit: 2))
        #expect(second.items.map(\.id) == [ids[0]])
        #expect(second.cursor == nil)
    }

    @Test func listsAreFilteredAndPaged() async throws {
        var ids: [JobID] = []
        for number in 0..<5 {
            let user = number.isMultiple(of: 2) ? try UserName("even", .folded) : nil
            let request = try self.scenario.campaign(to: "t", platforms: number == 3 ? [.wns] : [.apns])
            ids.append(try await self.scenario.accept(request, user: user).id)
            self.time.advance(.seconds(1))
        }
        var listed: [JobID] = []
        var cursor: String?
        repeat {
            let page = try await self.store.jobs(JobQuery(app: .default, cursor: cursor, limit: 2))
            listed += page.items.map(\.id)
            cursor = page.cursor
        } while cursor != nil
        #expect(listed == ids.reversed())
        func found(_ query: JobQuery) async throws -> [JobID] { try await self.store.jobs(query).items.map(\.id) }
        #expect(try await found(JobQuery(app: .default, user: UserName("even", .folded))) == [ids[4], ids[2], ids[0]])
        #expect(try await found(JobQuery(app: .default, pns: .wns)) == [ids[3]])
        #expect(try await found(JobQuery(app: .default, kind: .register)).isEmpty)
        #expect(try await found(JobQuery(app: .default, state: .queued)).count == 5)
        #expect(
            try await found(JobQuery(app: .default, since: self.time.wall.advanced(by: .seconds(-2)))) == [
                ids[4], ids[3],
            ]
        )
        #expect(try await found(JobQuery(app: AppID("other"))).isEmpty)
        let error = await #expect(throws: StoreError.self) {
            _ = try await found(JobQuery(app: .default, cursor: "-1"))
        }
        #expect(error?.code == .invalidCursor)
    }

    /// Rows are numbered for all apps together: an open number would tell an app how much the others do.
    @Test func cursorsTellNothingAndAreOneListsOfOneApp() async throws {
        let shop = try AppID("shop")
        for _ in 0..<3 {
            _ = try await self.scenario.accept(self.scenario.campaign(to: "t"))
            _ = try await self.scenario.accept(self.scenario.campaign(to: "t"), app: shop)
        }
        let first = try await self.store.jobs(JobQuery(app: .default, limit: 1))
        let cursor = try #require(first.cursor)
        #expect(Int64(cursor) == nil && cursor.utf8.count == 32)
        // The same in another process.
        let next = try await self.fixture.anotherOutbox().jobs(JobQuery(app: .default, cursor: cursor, limit: 2))
        #expect(next.items.count == 2 && next.cursor == nil)
        #expect(!next.items.map(\.id).contains(first.items[0].id))
        func code(_ read: () async throws -> Void) async -> StoreError.Code? {
            await #expect(throws: StoreError.self) { try await read() }?.code
        }
        #expect(await code { _ = try await self.store.jobs(JobQuery(app: shop, cursor: cursor)) } == .invalidCursor)
        #expect(
            await code { _ = try await self.store.accounts(AccountQuery(app: .default, cursor: cursor, limit: 1)) }
                == .invalidCursor
        )
        let last = cursor.hasSuffix("A") ? "B" : "A"
        let begin = cursor.hasPrefix("A") ? "B" : "A"
        for made in ["1", "6", "", "AAAA", cursor.dropLast() + last, begin + cursor.dropFirst(), cursor + "A"] {
            #expect(
                await code { _ = try await self.store.jobs(JobQuery(app: .default, cursor: String(made))) }
                    == .invalidCursor,
                "\(made)"
            )
        }
    }

    /// A list of one's own many jobs that has none of them gives readers back after a part, and goes on from there.
    @Test func aFilteredListOfManyJobsIsReadInParts() async throws {
        let scenario = OutboxScenario(try StoreFixtures.makeOutbox(StoreOptions(maximumBacklog: 100_000)))
        let store = scenario.accepting
        let user = try UserName("busy", .folded)
        let send = Job.Work.send(try scenario.campaign(to: "t"))
        let kept = try await scenario.accept(scenario.campaign(to: "t", platforms: [.wns]), user: user).id
        for _ in 0..<11 {
            let jobs = (0..<500).map { _ in NewJob(app: .default, user: user, work: send, lifetime: .seconds(600)) }
            _ = try await store.accept(jobs)
        }
        let query = JobQuery(app: .default, pns: .wns, user: user)
        let first = try await store.jobs(query)
        #expect(first.items.isEmpty)
        let cursor = try #require(first.cursor)
        let second = try await store.jobs(JobQuery(app: .default, pns: .wns, user: user, cursor: cursor))
        #expect(second.items.map(\.id) == [kept])
        #expect(second.cursor == nil)
    }
}
