import PushModel
import Store
import Testing

/// What any store must keep, and must let go of.
@Suite(.everyStore) struct RetentionContract {
    let fixture: any StoreFixture
    let scenario: Scenario
    var store: any ResultStore { self.scenario.store }
    var time: TestTime { self.scenario.time }

    static let day = Duration.seconds(86_400)

    init() throws {
        self.fixture = try StoreFixtures.make()
        self.scenario = Scenario(self.fixture)
    }

    private func clean(_ kind: Retained, olderThan age: Duration, limit: Int = 100) async throws -> Int {
        try await Scenario.clean(kind, olderThan: age, limit: limit) { try self.fixture.another() }
    }

    /// Whether a request with that key is taken for a repeat of a job's.
    private func repeats(_ job: Job, key: String) async throws -> Bool {
        let again = NewJob(
            app: .default,
            work: .send(try self.scenario.campaign(to: "again")),
            lifetime: .seconds(3600),
            idempotency: .init(caller: "c", route: "r", key: key, hash: [1])
        )
        return try await self.store.accept([again]).answers == [.repeated(job.id)]
    }

    @Test func aFinishedJobIsRemovedAndAYoungerOneStays() async throws {
        let old = try await self.scenario.failed(3)
        self.time.advance(Self.day)
        let young = try await self.scenario.failed(2, tag: "young")
        self.time.advance(.seconds(3600))
        #expect(try await self.clean(.jobs, olderThan: Self.day) > 0)
        #expect(try await self.store.job(old.id, app: .default) == nil)
        #expect(try await self.scenario.job(young.id).state == .completed)
        #expect(try await self.store.deliveries(DeliveryQuery(job: old.id, app: .default)).items.isEmpty)
        #expect(try await self.store.deliveries(DeliveryQuery(job: young.id, app: .default)).items.count == 2)
        #expect(try await self.clean(.jobs, olderThan: Self.day) == 0)
        self.time.advance(Self.day)
        _ = try await self.clean(.jobs, olderThan: Self.day)
        #expect(try await self.store.jobs(JobQuery(app: .default)).items.isEmpty)
        #expect(try await self.scenario.auditFaults() == [])
    }

    @Test func countsOutliveDeviceResults() async throws {
        let job = try await self.scenario.failed(25)
        let before = try await self.scenario.counts(job.id)
        #expect(before.failed[.rejected] == 25)
        self.time.advance(Self.day)
        #expect(try await self.clean(.devices, olderThan: Self.day, limit: 4) == 25)
        #expect(try await self.scenario.counts(job.id) == before)
        #expect(try await self.store.deliveries(DeliveryQuery(job: job.id, app: .default)).items.isEmpty)
    }

    @Test func rowsOfAWrongClockDoNotBlockOthers() async throws {
        self.time.jump(.seconds(400 * 86_400))
        _ = try await self.scenario.failed(3)
        func die(_ body: UInt8) async throws {
            try await self.scenario.deadLetter("m", type: "t", app: nil, body: [body])
        }
        try await die(1)
        self.time.jump(.seconds(-400 * 86_400))
        _ = try await self.scenario.failed(5, tag: "later")
        try await die(2)
        self.time.advance(Self.day)
        #expect(try await self.clean(.devices, olderThan: Self.day) == 5)
        #expect(try await self.clean(.deadLetters, olderThan: Self.day) == 1)
        self.time.advance(.seconds(400 * 86_400))
        #expect(try await self.clean(.devices, olderThan: Self.day) == 3)
        #expect(try await self.clean(.deadLetters, olderThan: Self.day) == 1)
    }

    @Test func unfinishedJobsAreKept() async throws {
        try await self.scenario.register(user: "ann", handle: "a1", tags: ["t"])
        try await self.scenario.register(user: "bob", handle: "b1", tags: ["t"])
        let job = try await self.scenario.accept(
            self.scenario.campaign(to: "t"),
            lifetime: .seconds(1000 * 86_400)
        )
        let keys = try await self.scenario.fanOut(job, pages: 1)
        let failure = DeviceFailure(row: 1, failure: .rejected, status: 400, reason: "Bad")
        _ = try await self.scenario.record(BatchOutcome(key: keys[0], failures: [failure], at: self.time.wall))
        let waiting = try await self.scenario.accept(
            self.scenario.campaign(to: "t"),
            lifetime: .seconds(1000 * 86_400)
        )
        self.time.advance(.seconds(400 * 86_400))
        for kind in [Retained.jobs, .devices] { _ = try await self.clean(kind, olderThan: Self.day, limit: 1) }
        #expect(try await self.scenario.job(job.id).state == .running)
        #expect(try await self.store.deliveries(DeliveryQuery(job: job.id, app: .default)).items.count == 1)
        #expect(try await self.scenario.job(waiting.id).state == .queued)
    }

    /// Else whoever repeats such a send with its key would have it sent twice.
    @Test(arguments: [Duration.seconds(60), .seconds(2 * 86_400)])
    func jobsAcceptedWithASlowClockAreNotOld(age: Duration) async throws {
        self.time.jump(.seconds(-400 * 86_400))
        let job = try await self.scenario.failed(1, key: "k")
        self.time.jump(.seconds(400 * 86_400))
        self.time.advance(.seconds(86_399))
        _ = try await self.clean(.jobs, olderThan: age)
        #expect(try await self.scenario.job(job.id).state == .completed)
        #expect(try await self.repeats(job, key: "k"))
        self.time.advance(max(age, Self.day))
        _ = try await self.clean(.jobs, olderThan: age)
        #expect(try await self.store.job(job.id, app: .default) == nil)
    }

    /// A retention that is shorter than a key's life does not shorten that.
    @Test func aJobIsKeptAsLongAsItsIdempotencyKey() async throws {
        let job = try await self.scenario.failed(1, key: "k")
        self.time.advance(.seconds(86_399))
        #expect(try await self.clean(.jobs, olderThan: .seconds(60)) > 0)
        #expect(try await self.scenario.job(job.id).state == .completed)
        self.time.advance(.seconds(2))
        _ = try await self.clean(.jobs, olderThan: .seconds(60))
        #expect(try await self.store.job(job.id, app: .default) == nil)
        #expect(try await !self.repeats(job, key: "k"))
    }

    @Test func aJobIsKeptAsLongAsItsDeadLetters() async throws {
        try await self.scenario.register(user: "ann", handle: "a1", tags: ["t"])
        let job = try await self.scenario.accept(self.scenario.campaign(to: "t"))
        let key = try #require(try await self.scenario.fanOut(job).first)
        try await self.scenario.deadLetter("\(self.scenario.message(of: key).id)", app: nil)
        #expect(try await self.scenario.job(job.id).state == .completed)
        self.time.advance(.seconds(10 * 86_400))
        _ = try await self.clean(.jobs, olderThan: Self.day)
        #expect(try await self.scenario.job(job.id).state == .completed)
        #expect(try await self.clean(.deadLetters, olderThan: .seconds(11 * 86_400)) == 0)
        #expect(try await self.clean(.deadLetters, olderThan: Self.day) == 1)
        _ = try await self.clean(.jobs, olderThan: Self.day)
        #expect(try await self.store.job(job.id, app: .default) == nil)
    }

    /// Jobs that may not go do not keep those behind them, also where a page and more ended in one millisecond.
    @Test(arguments: [Duration.zero, .milliseconds(1)])
    func keptJobsDoNotBlockTheRemovalOfOthers(pause: Duration) async throws {
        var kept: [Job] = []
        for number in 0..<5 {
            kept.append(try await self.scenario.failed(1, tag: "k\(number)", key: "k\(number)"))
            self.time.advance(pause)
        }
        let free = try await self.scenario.failed(1, tag: "free")
        self.time.advance(.seconds(3600))
        _ = try await self.clean(.jobs, olderThan: .seconds(60), limit: 2)
        #expect(try await self.store.job(free.id, app: .default) == nil)
        for (number, job) in kept.enumerated() { #expect(try await self.repeats(job, key: "k\(number)")) }
    }

    /// A scheduled job that started hours late is as young as its start, and keeps none of those that were accepted after it.
    @Test func aJobThatStartedLateBlocksNoOthers() async throws {
        let late = NewJob(
            app: .default,
            work: .send(try self.scenario.campaign(to: "nobody")),
            lifetime: .seconds(3600),
            startsAt: self.time.wall.advanced(by: .seconds(60))
        )
        let scheduled = try await self.scenario.accept(late)
        let other = try await self.scenario.failed(1)
        self.time.advance(Self.day)
        #expect(try await self.scenario.startScheduled() == 1)
        self.time.advance(.seconds(3600))
        #expect(try await self.clean(.jobs, olderThan: .seconds(3 * 3600)) > 0)
        #expect(try await self.store.job(other.id, app: .default) == nil)
        #expect(try await self.scenario.job(scheduled.id).state == .queued)
    }

    /// Whoever dies between two chunks leaves a job whose counts are whole; the next goes on.
    @Test func aLargeJobIsRemovedInChunks() async throws {
        let job = try await self.scenario.failed(30, pages: 2)
        let before = try await self.scenario.counts(job.id)
        self.time.advance(Self.day)
        var chunks = 0
        while try await self.store.perform(.remove(.jobs, olderThan: Self.day), limit: 7).rows > 0 {
            chunks += 1
            if let left = try await self.store.job(job.id, app: .default) {
                #expect(left.state == .completed)
                #expect(try await self.scenario.counts(job.id) == before)
            }
        }
        #expect(chunks > 7)
        #expect(try await self.store.job(job.id, app: .default) == nil)
    }

    @Test func referencedContentsAreKept() async throws {
        func put() async throws -> String {
            try await self.store.put(
                StoredContent(owner: nil, mediaType: "a/b", bytes: [UInt8](repeating: 1, count: 20_000)),
                app: .default
            )
        }
        let (picture, named, loose) = (try await put(), try await put(), try await put())
        var spec = AppSpec()
        spec.richDefault.content = picture
        _ = try await self.store.apply(.app(.default, spec))
        func name(_ content: String) async throws -> Int32 {
            try await self.scenario.keep(
                NewRichNotification(
                    sender: nil,
                    addressee: try UserName("ann", .folded),
                    message: "m",
                    richType: "img",
                    content: content,
                    isSecure: false
                )
            )
        }
        let old = try await name(loose)
        self.time.advance(Self.day)
        let young = try await name(named)
        #expect(try await self.clean(.contents, olderThan: Self.day) == 2)
        #expect(try await self.store.content(loose, app: .default) == nil)
        #expect(try await self.store.richNotification(old, app: .default) == nil)
        #expect(try await self.store.richNotification(young, app: .default) != nil)
        for kept in [picture, named] { #expect(try await self.store.content(kept, app: .default) != nil) }
    }

    /// What is removed counts no more, of whoever uploaded it.
    @Test func removedContentsFreeTheirQuota() async throws {
        let quota = AppSpec.Contents {
            $0.accountBytes = 25_000
            $0.appBytes = 50_000
        }
        func put(_ user: String?, key: String? = nil) async throws -> ContentAcceptance {
            let bytes = [UInt8](repeating: 1, count: 10_000)
            let owner = try user.map { try UserName($0, .folded) }
            let content = StoredContent(owner: owner, key: key, mediaType: "a/b", bytes: bytes)
            return try await self.store.put(content, app: .default, quota: quota)
        }
        func isKept(_ answer: ContentAcceptance) -> Bool { if case .kept = answer { true } else { false } }
        for round in 0..<2 {
            for _ in 0..<2 {
                #expect(isKept(try await put("ann")), "round \(round)")
                #expect(isKept(try await put(nil, key: "backend")), "round \(round)")
            }
            #expect(try await put("ann") == .accountIsFull(used: 22_048))
            #expect(try await put(nil, key: "backend") == .accountIsFull(used: 22_048))
            // Whoever has none has none because of the others.
            #expect(try await put("bob") == .appIsFull(used: 44_096))
            self.time.advance(Self.day)
            #expect(try await self.clean(.contents, olderThan: Self.day) == 4)
        }
    }

    @Test func endedRegistrationsAreRemoved() async throws {
        let live = try await self.scenario.register(user: "ann", handle: "a1", tags: ["t"])
        let deleted = try await self.scenario.register(user: "bob", handle: "b1", tags: ["t"])
        let later = try await self.scenario.register(user: "cid", handle: "c1", tags: ["t"])
        func delete(_ id: RegistrationID) async throws -> RegisterResult? {
            let sequence = try await self.scenario.sequence()
            return try await self.store.register(.delete(id), of: RegisterJob(app: .default, sequence: sequence))
        }
        #expect(try await delete(deleted) == .done)
        self.time.advance(Self.day)
        #expect(try await delete(later) == .done)
        #expect(try await self.clean(.registrations, olderThan: Self.day, limit: 1) == 1)
        #expect(try await self.store.registration(deleted, app: .default) == nil)
        #expect(try await self.store.registration(live, app: .default)?.state == .live)
        #expect(try await self.store.registration(later, app: .default)?.state == .deleted)
        // Its row is never used again.
        let row = try #require(try await self.store.registration(later, app: .default)?.row)
        let new = try await self.scenario.register(user: "dan", handle: "d1")
        #expect(try #require(try await self.store.registration(new, app: .default)?.row) > row)
    }

    @Test func endedSessionsAreRemovedAndLookedForWithoutAWrite() async throws {
        let user = try UserName("ann", .folded)
        for (hash, idle) in [(UInt8(1), 100), (2, 100), (3, 100), (9, 500)] {
            _ = try await self.store.openSession(
                NewSession(
                    app: .default,
                    user: user,
                    hash: [hash],
                    passwordHash: nil,
                    lifetime: .seconds(1000),
                    idle: .seconds(idle),
                    limit: 9
                )
            )
        }
        func clean() async throws -> ChoreChunk {
            try await self.store.perform(.remove(.sessions, olderThan: .zero), limit: 2)
        }
        let writes = try await self.fixture.writes()
        #expect(try await clean() == ChoreChunk(rows: 0))
        #expect(try await self.fixture.writes() == writes)
        self.time.advance(.seconds(100))
        #expect(try await clean() == ChoreChunk(rows: 2, next: 0))
        #expect(try await clean() == ChoreChunk(rows: 1, next: nil))
        #expect(try await self.store.session(hash: [9]) != nil)
        #expect(try await self.fixture.faults() == [])
    }
}
