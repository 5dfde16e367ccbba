import PushModel
import Store
import Testing

/// What any store must do about sends to a list of devices, and to all (rules 2, 3, 6, 9).
@Suite(.everyStore) struct RecipientContract {
    private let fixture: any StoreFixture
    private let scenario: Scenario
    private var store: any ResultStore { self.scenario.store }
    private var time: TestTime { self.scenario.time }

    init() throws {
        self.fixture = try StoreFixtures.make()
        self.scenario = Scenario(self.fixture)
    }

    private static func row(_ place: Int) -> Int64 {
        Recipient(place: place, pns: .apns, handle: Handle(stored: ""), reference: nil).number
    }

    private func recipients(_ job: Job) throws -> RecipientCount {
        guard case .send(let send) = job.work, case .list(let count) = send.audience else {
            throw Unexpected("no list: \(job.work)")
        }
        return count
    }

    /// The devices of a small send as a send worker reads them.
    private func devices(_ job: Job) async throws -> [PushService: DeliverBatch.Devices] {
        let claim = try #require(try await self.store.claim(self.scenario.message(of: job.id).id, peeking: false))
        let send = try #require(try await self.scenario.sends(of: claim).first { $0.id == job.id })
        guard case .all(let reaches) = send.audience else { throw Unexpected("a large one") }
        return Dictionary(uniqueKeysWithValues: reaches.map { ($0.pns, $0.devices) })
    }

    /// All devices of a job at a service, page by page.
    private func pages(_ job: Job, _ pns: PushService, limit: Int) async throws -> [[Int64]] {
        var pages: [[Int64]] = []
        var after: Int64 = 0
        while after < .max {
            let page = try await self.store.audience(
                AudienceQuery(.recipients(ofJob: job.sequence), app: .default, pns: pns, after: after, limit: limit)
            )
            if !page.rows.isEmpty { pages.append(page.rows) }
            #expect(page.rows.count == page.handles.count)
            #expect(page.scannedThrough > after)
            after = page.scannedThrough
        }
        return pages
    }

    private func handles(of rows: [Int64], _ job: Job) async throws -> [Int64: Handle] {
        guard case .send(let send) = job.work else { throw Unexpected("no send") }
        var query = AudienceQuery(send, job: job.sequence, app: .default, pns: .apns)
        query.rows = rows
        return try await self.store.audience(query).addresses.mapValues(\.handle)
    }

    private func clean() async throws -> Int {
        try await self.store.perform(.remove(.recipients, olderThan: .zero), limit: 1000).rows
    }

    private func expectSound(_ sourceLocation: SourceLocation = #_sourceLocation) async throws {
        #expect(try await self.scenario.auditFaults() == [], sourceLocation: sourceLocation)
        #expect(try await self.fixture.faults() == [], sourceLocation: sourceLocation)
    }

    // MARK: Reading

    @Test func aShortListGoesInAGroupEachDeviceOnce() async throws {
        let list = RecipientList.handles([(.apns, "a"), (.fcm, "f"), (.apns, "b"), (.apns, "a"), (.fcm, "a")])
        let job = try await self.scenario.accept(list)
        #expect(try self.recipients(job) == RecipientCount(kind: .handles, given: 5, count: 4))
        #expect(try self.recipients(try await self.scenario.job(job.id)) == self.recipients(job))
        let devices = try await self.devices(job)
        #expect(devices[.apns]?.rows == [Self.row(1), Self.row(3)])
        #expect(devices[.apns]?.handles == HandleList(["a", "b"].map(Handle.init(stored:))))
        #expect(devices[.fcm]?.rows == [Self.row(2), Self.row(5)])
        try await self.expectSound()
    }

    @Test(arguments: [(250, 100), (20_000, 7000)])
    func aLongListIsReadByRangesOfPlaces(count: Int, size: Int) async throws {
        let job = try await self.scenario.accept(.list(apns: count))
        #expect(try await self.pages(job, .apns, limit: size).map(\.count) == [size, size, count - 2 * size])
        #expect(try await self.pages(job, .fcm, limit: size) == [])
        let keys = try await self.scenario.fanOut(job, pages: size)
        #expect(keys.count == 3)
        for key in keys {
            let batch = try #require(try await self.store.batches(of: self.scenario.message(of: key).id).first)
            var query = AudienceQuery(batch.request, job: job.sequence, app: .default, pns: .apns)
            (query.template, query.after, query.through) = (batch.template, batch.from, batch.to)
            let again = try await self.store.wholeAudience(query)
            let first = key.page * size + 1
            #expect(again.rows == (first...min(first + size - 1, count)).map(Self.row))
            let outcome = BatchOutcome(key: key, accepted: again.rows.count, at: self.time.wall)
            #expect(try await self.scenario.record(outcome))
        }
        #expect(try await self.scenario.job(job.id).state == .completed)
        #expect(try await self.scenario.counts(job.id).accepted == count)
        try await self.expectSound()
    }

    @Test func platformsLimitAListAndMayLeaveNothing() async throws {
        let list = RecipientList.handles([(.apns, "a"), (.fcm, "f")])
        let some = try await self.scenario.accept(list, platforms: [.fcm])
        #expect(try await self.devices(some).keys.sorted() == [.fcm])
        #expect(try self.recipients(some) == RecipientCount(kind: .handles, given: 2, count: 1))
        let id = try await self.scenario.register(user: "ann", handle: "aa")
        let other = try await self.scenario.accept(RecipientList(registrations: [id]), platforms: [.fcm])
        #expect(try self.recipients(other) == RecipientCount(kind: .registrations, given: 1, count: 0))
        let none = try await self.scenario.accept(.list(apns: 150), platforms: [.fcm])
        #expect(try await self.scenario.fanOut(group: self.scenario.message(of: none.id)).keys == [])
        #expect(try await self.scenario.job(none.id).isWithoutTargets)
        try await self.expectSound()
    }

    /// Its rows stand together, somewhere among all: how far a fan-out has read says nothing about how many there are.
    @Test func aListHasNoEstimateBeforeItIsInBatches() async throws {
        let job = try await self.scenario.accept(.list(apns: 150), platforms: [.apns])
        var claim = try #require(try await self.scenario.claimCampaign(job))
        let through = try claim.cursor().through
        #expect(try await claim.commit(devices: 50, through: through - 100).isMore)
        #expect(
            try await self.scenario.job(job.id).progress
                == Job.Progress([.apns: Job.Progress.Service(devices: 50, estimate: nil)])
        )
        #expect(try await claim.commit(devices: 100, through: through, isDone: true).written.isDone)
        #expect(
            try await self.scenario.job(job.id).progress
                == Job.Progress([.apns: Job.Progress.Service(devices: 150, estimate: 150)])
        )
    }

    @Test func aListOfRegistrationsIsReadWhereTheyStand() async throws {
        let stays = try await self.scenario.register(user: "ann", handle: "aa")
        let gone = try await self.scenario.register(user: "bob", handle: "bb")
        let unknown = RegistrationID.random()
        let other = try await self.scenario.register(user: "eve", handle: "ee", app: AppID("other"))
        let list = RecipientList(registrations: [stays, gone, unknown, stays, other])
        let job = try await self.scenario.accept(list)
        #expect(try self.recipients(job) == RecipientCount(kind: .registrations, given: 5, count: 2))
        _ = try await self.scenario.upsert(stays, user: "ann", handle: "new")
        let row = try #require(try await self.store.registration(stays, app: .default)).row
        #expect(try await self.pages(job, .apns, limit: 1).count == 2)
        _ = try await self.store.register(
            .delete(gone),
            of: RegisterJob(app: .default, sequence: self.scenario.sequence())
        )
        let devices = try await self.devices(job)
        #expect(devices[.apns]?.rows == [row])
        #expect(devices[.apns]?.handles == HandleList([Handle(stored: "new")]))
        #expect(try await self.handles(of: [row], job)[row]?.text == "new")
        try await self.expectSound()
    }

    @Test func allIsEveryLiveRegistrationOfTheApp() async throws {
        for number in 0..<3 { try await self.scenario.register(user: "u\(number)", handle: "aa\(number)") }
        try await self.scenario.register(user: "eve", handle: "ee", app: AppID("other"))
        let send = SendRequest(to: .all, content: .message(.init(body: "b")))
        let job = try await self.scenario.accept(send)
        let key = try #require(try await self.scenario.fanOut(job).first)
        let found = try #require(try await self.store.batches(of: self.scenario.message(of: key).id).first)
        #expect(found.request.audience == .all)
        #expect(try await self.scenario.record(BatchOutcome(key: key, accepted: 3, at: self.time.wall)))
        #expect(try await self.scenario.counts(job.id).targets == 3)
        let count = try await self.store.count(AudienceQuery(.expression(.everyone), app: .default, pns: .apns))
        #expect(count.count == 3)
        try await self.expectSound()
    }

    // MARK: Outcomes

    @Test func aRetryReadsTheListAgain() async throws {
        let job = try await self.scenario.accept(.list(apns: 3))
        let message = try self.scenario.message(of: job.id)
        let key = try #require(try await self.scenario.fanOut(group: message).keys.first)
        let retry = RetryDevice(row: Self.row(2), tries: 1, wait: .zero)
        #expect(
            try await self.scenario.record(BatchOutcome(key: key, accepted: 2, retries: [retry], at: self.time.wall))
        )
        let batch = try #require(try await self.scenario.takeDueBatches().first)
        #expect(batch.retries.map(\.row) == [Self.row(2)])
        #expect(try await self.handles(of: [Self.row(2)], job) == [Self.row(2): Handle(stored: "direct-2")])
        #expect(try await self.clean() == 0)
        #expect(try await self.scenario.record(BatchOutcome(key: batch.key, accepted: 1, at: self.time.wall)))
        #expect(try await self.scenario.counts(job.id).accepted == 3)
        try await self.expectSound()
    }

    /// The first registration's row has the number of the first place, but for the space of numbers.
    @Test func aDeviceIsListedWithItsReferenceAndPrunedOnlyWhereARegistrationHasIt() async throws {
        let id = try await self.scenario.register(user: "ann", handle: "direct-1")
        self.time.advance(.seconds(1))
        let job = try await self.scenario.accept(.list(apns: 2))
        let key = try #require(try await self.scenario.fanOut(group: self.scenario.message(of: job.id)).keys.first)
        self.time.advance(.seconds(1))
        let rows = [Self.row(1), Self.row(2)]
        let outcome = BatchOutcome(
            key: key,
            failures: rows.map { DeviceFailure(row: $0, failure: .unregistered, status: 410, reason: "Unregistered") },
            deadHandles: zip(rows, ["direct-1", "direct-2"]).map {
                DeadHandle(row: $0, handle: Handle(stored: $1), before: self.time.wall, reason: "Unregistered")
            },
            at: self.time.wall
        )
        #expect(try await self.scenario.record(outcome))
        #expect(try await self.scenario.prune(limit: 10) == 1)
        #expect(try await self.store.registration(id, app: .default)?.state == .pruned)
        #expect(try await self.clean() == 2)
        // The reference stays as long as the device is listed.
        let listed = try await self.store.deliveries(DeliveryQuery(job: job.id, app: .default)).items
        #expect(listed.map(\.reference) == ["ref-1", "ref-2"])
        #expect(listed.map(\.place) == [1, 2])
        #expect(listed.allSatisfy { $0.registration == nil && $0.user == nil })
        #expect(Set(listed.map(\.notificationID)).count == 2)
        #expect(listed[0].notificationID != job.id.notificationID(row: 1))
        try await self.expectSound()
    }

    // MARK: The end of a list

    @Test func aListGoesWhenItsJobIsFinal() async throws {
        let job = try await self.scenario.accept(.list(apns: 3))
        let key = try #require(try await self.scenario.fanOut(group: self.scenario.message(of: job.id)).keys.first)
        #expect(try await self.clean() == 0)
        #expect(try await self.scenario.record(BatchOutcome(key: key, accepted: 3, at: self.time.wall)))
        // In slices.
        let chunk = try await self.store.perform(.remove(.recipients, olderThan: .zero), limit: 2)
        #expect(chunk == ChoreChunk(rows: 2, next: job.sequence - 1))
        #expect(
            try await self.store.perform(.remove(.recipients, olderThan: .zero, after: job.sequence - 1), limit: 2).rows
                == 1
        )
        #expect(try await self.pages(job, .apns, limit: 10) == [])
        #expect(try self.recipients(try await self.scenario.job(job.id)).count == 3)
        try await self.expectSound()
    }

    @Test func aCancelledScheduledListHasNoTargetsAndGoes() async throws {
        let job = try await self.scenario.accept(
            .list(apns: 3),
            startsAt: self.time.wall.advanced(by: .seconds(60))
        )
        #expect(job.state == .scheduled)
        #expect(try await self.clean() == 0)
        #expect(try await self.store.cancel(job.id, app: .default)?.state == .cancelled)
        #expect(try await self.scenario.counts(job.id).targets == 0)
        #expect(try await self.clean() == 3)
        try await self.expectSound()
    }

    @Test func aScheduledListStarts() async throws {
        let job = try await self.scenario.accept(
            .list(apns: 3),
            startsAt: self.time.wall.advanced(by: .seconds(60))
        )
        self.time.advance(.seconds(60))
        #expect(try await self.scenario.startScheduled() == 1)
        #expect(try await self.scenario.takeDueJobs() == [job.id])
        #expect(try await self.devices(job)[.apns]?.count == 3)
    }

    /// Of a stopped job nothing is replayed: its list goes though a dead letter of it is kept.
    @Test func aListOfACancelledJobGoesInSpiteOfADeadLetter() async throws {
        let job = try await self.scenario.accept(.list(apns: 150))
        let keys = try await self.scenario.fanOut(job, pages: 100)
        try await self.scenario.deadLetter("\(self.scenario.message(of: keys[0]).id)")
        _ = try await self.store.cancel(job.id, app: .default)
        #expect(try await self.clean() == 0)
        let outcome = BatchOutcome(key: keys[1], cancelled: 50, at: self.time.wall)
        _ = try await self.scenario.record(outcome)
        #expect(try await self.scenario.job(job.id).state == .cancelled)
        #expect(try await self.clean() == 150)
        try await self.expectSound()
    }

    /// A dead letter is kept for weeks: none of the handles is in it.
    @Test func aDeadLetterKeepsNoWholeHandle() async throws {
        let job = try await self.scenario.accept(.list(apns: 1))
        let key = try #require(try await self.scenario.fanOut(group: self.scenario.message(of: job.id)).keys.first)
        var devices = DeliverBatch.Devices()
        devices.rows = [Self.row(1)]
        devices.handles = HandleList([Handle(stored: "a-handle-of-a-list")])
        let batch = DeliverBatch(
            app: .default,
            key: key,
            priority: .normal,
            expires: job.expires,
            keepUntil: nil,
            collapse: nil,
            payload: NativePayload(kind: .alert, body: [1]),
            devices: devices
        )
        let body = DeliveryMessage(batches: [batch]).encoded()
        try await self.scenario.deadLetter("\(self.scenario.message(of: key).id)", body: body)
        let letter = try #require(
            try await self.store.deadLetters(DeadLetterQuery(app: .default, limit: 1)).items.first
        )
        let kept = try #require(try await self.store.deadLetter(letter.id, app: .default)?.body)
        let read = try #require(try DeliveryMessage(decoding: kept).batches.first)
        #expect(read.devices.handles == HandleList([Handle(stored: "a-ha…list")]))
        #expect(read.key == key)
        #expect(read.devices.rows == devices.rows)
    }

    /// A replay needs the handles (rule 6): they are kept as long as there can be one.
    @Test(arguments: [3, 150]) func aListIsKeptForTheReplayOfADeadLetter(count: Int) async throws {
        let job = try await self.scenario.accept(.list(apns: count), lifetime: .seconds(3600))
        let key: BatchKey
        if count > SmallSend.maximumDevices {
            key = try #require(try await self.scenario.fanOut(job, pages: count).first)
        } else {
            key = try #require(try await self.scenario.fanOut(group: self.scenario.message(of: job.id)).keys.first)
        }
        try await self.scenario.deadLetter("\(self.scenario.message(of: key).id)")
        #expect(try await self.scenario.job(job.id).isDead(count))
        #expect(try await self.clean() == 0)
        let letter = try #require(
            try await self.store.deadLetters(DeadLetterQuery(app: .default, limit: 1)).items.first
        )
        let replay = try await self.store.replay(deadLetter: letter.id, app: .default)
        #expect(replay == .begun(job: job.id, devices: count))
        let batch = try #require(try await self.scenario.takeDueBatches().first)
        #expect(try await self.handles(of: batch.retries.map(\.row), job).count == count)
        try await self.expectSound()
        // It dies again, and then its time is over.
        try await self.scenario.deadLetter("\(self.scenario.message(of: batch.key).id)", body: [3])
        #expect(try await self.scenario.job(job.id).isDead(count))
        let listed = try await self.store.deliveries(DeliveryQuery(job: job.id, app: .default, limit: 1)).items
        #expect(listed.first?.reference == "ref-1")
        #expect(try await self.clean() == 0)
        self.time.advance(.seconds(3601))
        #expect(try await self.clean() == count)
        let late = try #require(
            try await self.store.deadLetters(DeadLetterQuery(app: .default, limit: 1)).items.first
        )
        #expect(late.blockedReason?.contains("expired at") == true)
        try await self.expectSound()
    }
}

extension Job {
    /// Whether it is completed, and all its devices count as dead.
    fileprivate func isDead(_ count: Int) -> Bool {
        self.state == .completed && self.counts[.apns]?.failed == [.dead: count]
    }
}
