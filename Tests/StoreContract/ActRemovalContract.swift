import PushModel
import Store
import Testing

/// What becomes of operators' acts with time, and with those who did them.
@Suite(.everyStore) struct ActRemovalContract {
    private static let day = Duration.seconds(86_400)

    private let removal: RemovalScenario
    private var fixture: any StoreFixture { self.removal.fixture }
    private var scenario: Scenario { self.removal.scenario }
    private var store: any ResultStore { self.removal.store }
    private var time: TestTime { self.scenario.time }

    init() throws {
        self.removal = try RemovalScenario()
    }

    private func act(_ kind: ActKind, by author: String, user: UserName? = nil, target: String? = nil) -> NewAct {
        NewAct(app: .default, by: author, via: .api, origin: "::1", kind: kind, user: user, target: target)
    }

    private func entries() async throws -> [Act] {
        try await self.store.acts(ActQuery(app: .default, limit: 1000)).items
    }

    /// The name of who was removed gives way to a digest, the same in all entries; nothing else of them changes.
    @Test func aRemovedUsersNameGivesWayToADigest() async throws {
        let (ann, anna) = try (self.removal.user(), self.removal.user("zoe"))
        try await self.store.record(
            .new(self.act(.accountAdd, by: "account:bob", user: ann, target: "operator"), .done)
        )
        // More than a slice.
        for _ in 0..<450 {
            try await self.store.record(.new(self.act(.queuePause, by: ann.caller, target: "send"), .done))
        }
        try await self.store.record(.new(self.act(.accountChange, by: ann.caller, user: ann), .refused, result: "409"))
        try await self.store.record(.new(self.act(.accountAdd, by: anna.caller, user: anna), .done))
        let before = try await self.entries()
        let act = self.act(.userRemove, by: "account:bob", user: ann)
        let removal = NewJob(
            app: .default,
            work: .register(.removeUser(ann, withAccount: true)),
            lifetime: NewJob.removalLifetime,
            act: act
        )
        let job = try await self.scenario.accept(removal)
        #expect(try await self.entries().first?.act == act)
        #expect(try await self.removal.finish(job) == .done)
        #expect(try await !self.fixture.mentions(RemovalScenario.name))
        let after = try await self.entries()
        #expect(after.count == before.count + 1)
        let digests = Set(after.compactMap { $0.act.by.hasPrefix("removed:") ? $0.act.by : nil })
        let digest = try #require(digests.first)
        #expect(digests.count == 1 && digest.wholeMatch(of: #/removed:[0-9a-f]{16}/#) != nil)
        #expect(after.filter { $0.act.by == digest }.count == 451)
        #expect(after.first { $0.act.kind == .userRemove }?.act.target == digest)
        #expect(after.last?.act.target == "operator \(digest)")
        // Another one keeps hers.
        #expect(after.contains { $0.act.by == anna.caller && $0.act.user == anna })
        for (old, new) in zip(before, after.dropFirst()) {
            #expect((old.id, old.at, old.state, old.result) == (new.id, new.at, new.state, new.result))
            #expect(old.act.kind == new.act.kind && old.act.origin == new.act.origin)
        }
    }

    @Test func anActIsKeptForAYear() async throws {
        try await self.store.record(.new(self.act(.queuePause, by: "key:shop", target: "old"), .begun))
        self.time.advance(Self.day * 200)
        try await self.store.record(.new(self.act(.queuePause, by: "key:shop", target: "new"), .done))
        self.time.advance(Self.day * 166)
        let chore = Chore.remove(.acts, olderThan: Self.day * 365)
        #expect(try await self.store.perform(chore, limit: 100).rows == 1)
        #expect(try await self.entries().map(\.act.target) == ["new"])
        #expect(try await self.store.perform(chore, limit: 100).rows == 0)
    }

    @Test func stoppingAndReplayingHaveTheirEntries() async throws {
        let job = try await self.scenario.accept(self.scenario.campaign(to: "t"))
        let cancel = self.act(.jobCancel, by: "key:shop", target: "\(job.id)")
        for _ in 0..<2 {
            // The second finds it stopped.
            try await NewAct.$current.withValue(cancel) { _ = try await self.store.cancel(job.id, app: .default) }
        }
        #expect(try await self.entries().map(\.act) == [cancel])
    }
}
