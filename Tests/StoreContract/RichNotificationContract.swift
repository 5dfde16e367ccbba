import PushModel
import Store
import Testing

/// What any store must do with contents and the rich notifications that name them.
@Suite(.everyStore) struct RichNotificationContract {
    let fixture: any StoreFixture
    let scenario: Scenario
    var store: any ResultStore { self.scenario.store }
    var time: TestTime { self.scenario.time }

    init() throws {
        self.fixture = try StoreFixtures.make()
        self.scenario = Scenario(self.fixture)
    }

    @Test func contentsAndRichNotificationsAreStored() async throws {
        let content = StoredContent(owner: try UserName("ann", .folded), mediaType: "image/png", bytes: [0, 1, 255])
        let id = try await self.store.put(content, app: .default)
        #expect(try await self.store.content(id, app: .default) == content)
        #expect(try await self.store.content(id, app: AppID("other")) == nil)
        let new = NewRichNotification(
            sender: nil,
            addressee: try UserName("bob", .folded),
            message: "m",
            richType: "img",
            content: id,
            isSecure: true
        )
        let number = try await self.scenario.keep(new)
        #expect(number > 0)
        #expect(try await self.store.markRead(number, app: .default, at: self.time.wall))
        let later = self.time.wall.advanced(by: .seconds(5))
        #expect(try await !self.store.markRead(number, app: .default, at: later))
        let kept = try #require(try await self.store.richNotification(number, app: .default))
        #expect(kept.read == self.time.wall)
        #expect(kept.content == id)
        #expect(kept.isSecure)
        #expect(try await self.store.richNotification(number, app: AppID("other")) == nil)
        #expect(try await self.store.names(id, in: UserName("bob", .folded), app: .default))
        #expect(try await !self.store.names(id, in: UserName("ann", .folded), app: .default))
    }

    /// A notification from one to another user, or to oneself.
    private func rich(
        _ id: Int32 = .random(in: 1...Int32.max),
        from sender: String,
        to addressee: String? = nil,
        quota: NewRichNotification.Quota = .init()
    ) throws -> NewRichNotification {
        NewRichNotification(
            id: id,
            sender: try UserName(sender, .folded),
            addressee: try UserName(addressee ?? sender, .folded),
            message: "m",
            richType: "img",
            content: nil,
            isSecure: false,
            quota: quota
        )
    }

    /// Accepts jobs that tell of notifications, all together.
    private func keep(together notifications: [NewRichNotification]) async throws {
        let accepted = try await self.store.accept(notifications.map { try self.scenario.job(of: $0) })
        #expect(accepted.answers.allSatisfy { if case .accepted = $0 { true } else { false } })
    }

    private func kept() async throws -> Set<Int32> {
        Set(try await self.store.richNotifications(RichNotificationQuery(app: .default)).items.map(\.id))
    }

    @Test(arguments: [
        NewRichNotification.Quota(perSender: 3), NewRichNotification.Quota(perApp: 3),
    ])
    func thoseThatAreKeptTogetherHaveAPlaceEach(quota: NewRichNotification.Quota) async throws {
        func some(_ ids: Int32...) throws -> [NewRichNotification] {
            try ids.map { try self.rich($0, from: "ann", quota: quota) }
        }
        func expectRefusal(_ notifications: [NewRichNotification], _ code: StoreError.Code) async throws {
            let before = try await (self.kept(), self.store.jobs(JobQuery(app: .default)).items.count)
            let error = await #expect(throws: StoreError.self) { try await self.keep(together: notifications) }
            #expect(error?.code == code)
            #expect(try await (self.kept(), self.store.jobs(JobQuery(app: .default)).items.count) == before)
        }
        try await self.keep(together: some(1, 2))
        // Two have not both the last place.
        try await expectRefusal(some(3, 4), .quotaReached)
        try await self.keep(together: some(3))
        for id in [1, 2] as [Int32] { _ = try await self.store.markRead(id, app: .default, at: self.time.wall) }
        // One that was read makes room for one.
        try await expectRefusal(some(4, 5, 6), .quotaReached)
        try await expectRefusal(some(4, 4), .conflict)
        try await self.keep(together: some(4, 5))
        #expect(try await self.kept() == [3, 4, 5])
    }

    @Test func richNotificationsAreListedNewestFirst() async throws {
        var ids: [Int32] = []
        for (sender, addressee) in [("ann", "ann"), ("bob", "ann"), ("ann", "bob"), ("ann", "ann")] {
            self.time.advance(.seconds(1))
            ids.append(try await self.scenario.keep(self.rich(from: sender, to: addressee)))
        }
        func list(_ query: RichNotificationQuery) async throws -> [Int32] {
            try await self.store.richNotifications(query).items.map(\.id)
        }
        #expect(try await list(RichNotificationQuery(app: .default)) == ids.reversed())
        #expect(try await list(RichNotificationQuery(app: .default, sender: UserName("bob", .folded))) == [ids[1]])
        let ofAnn = RichNotificationQuery(
            app: .default,
            sender: try UserName("ann", .folded),
            addressee: try UserName("ann", .folded)
        )
        #expect(try await list(ofAnn) == [ids[3], ids[0]])
        let since = self.time.wall.advanced(by: .milliseconds(-1500))
        #expect(try await list(RichNotificationQuery(app: .default, since: since)) == [ids[3], ids[2]])
        #expect(try await list(RichNotificationQuery(app: AppID("other"))).isEmpty)
        let first = try await self.store.richNotifications(RichNotificationQuery(app: .default, limit: 3))
        #expect(first.cursor != nil)
        let rest = RichNotificationQuery(app: .default, cursor: first.cursor, limit: 3)
        #expect(try await list(rest) == [ids[0]])
    }

    @Test func aRefusedJobStoresNoNotification() async throws {
        func accept(_ id: Int32, hash: UInt8) async throws -> JobAcceptance? {
            let key = NewJob.Idempotency(caller: "account:ann", route: "r", key: "k", hash: [hash])
            let job = try self.scenario.job(of: self.rich(id, from: "ann"), idempotency: key)
            return try await self.store.accept([job]).answers.first
        }
        guard case .accepted = try await accept(1, hash: 1) else { throw Unexpected("not accepted") }
        guard case .repeated = try await accept(2, hash: 1) else { throw Unexpected("not a repeat") }
        #expect(try await accept(3, hash: 2) == .keyReused)
        // Where its id is taken, the job is not kept either.
        let error = await #expect(throws: StoreError.self) {
            try await self.scenario.keep(self.rich(1, from: "ben"))
        }
        #expect(error?.code == .conflict)
        let kept = try await self.store.richNotifications(RichNotificationQuery(app: .default)).items
        #expect(kept.map(\.id) == [1])
        #expect(try await self.store.jobs(JobQuery(app: .default)).items.count == 1)
    }

    @Test(arguments: [
        NewRichNotification.Quota(perSender: 3), NewRichNotification.Quota(perApp: 3),
    ])
    func readNotificationsMakeRoomInAFullQuota(quota: NewRichNotification.Quota) async throws {
        var ids: [Int32] = []
        for _ in 0..<3 { ids.append(try await self.scenario.keep(self.rich(from: "ann", quota: quota))) }
        let error = await #expect(throws: StoreError.self) {
            try await self.scenario.keep(self.rich(from: "ann", quota: quota))
        }
        #expect(error?.code == .quotaReached)
        #expect(try await self.store.jobs(JobQuery(app: .default)).items.count == 3)
        _ = try await self.store.markRead(ids[1], app: .default, at: self.time.wall)
        _ = try await self.store.markRead(ids[2], app: .default, at: self.time.wall)
        let new = try await self.scenario.keep(self.rich(from: "ann", quota: quota))
        let left = try await self.store.richNotifications(RichNotificationQuery(app: .default)).items.map(\.id)
        #expect(left == [new, ids[2], ids[0]])
        // Another's account has its own place, the app has not; other apps have.
        func keepOfAnother() async throws { try await self.scenario.keep(self.rich(from: "bob", quota: quota)) }
        if quota.perSender == 3 {
            try await keepOfAnother()
        } else {
            await #expect(throws: StoreError.self) { try await keepOfAnother() }
        }
        _ = try await self.scenario.keep(self.rich(from: "ann", quota: quota), app: AppID("other"))
    }
}
