import PushModel
import Store
import Testing

/// What any store must do with what operators have done: an act of one commit has its entry with it, and no other.
@Suite(.everyAdministration) struct ActContract {
    private let fixture: any AdministrationFixture
    private var store: any AppAdministration { self.fixture.administration }
    private var time: TestTime { self.fixture.time }

    init() throws { self.fixture = try StoreFixtures.makeAdministration() }

    private func act(
        _ kind: ActKind,
        app: AppID? = .default,
        by author: String = "account:ann",
        user: UserName? = nil,
        target: String? = nil
    ) -> NewAct {
        NewAct(app: app, by: author, via: .api, origin: "192.0.2.7", kind: kind, user: user, target: target)
    }

    private func doing<Value: Sendable>(
        _ act: NewAct,
        _ change: () async throws -> Value
    ) async throws -> Value {
        try await NewAct.$current.withValue(act) { try await change() }
    }

    private func entries(_ query: ActQuery = ActQuery(app: .default)) async throws -> [Act] {
        try await self.store.acts(query).items
    }

    private func key(_ name: String) -> APIKey {
        APIKey(app: .default, name: name, role: .operator, created: self.time.wall, revoked: nil)
    }

    @Test func anActOfOneCommitIsDoneInIt() async throws {
        try await self.store.apply(.app(.default, AppSpec()))
        let act = self.act(.keyAdd, target: "shop, operator")
        try await self.doing(act) { _ = try await self.store.apply(.key(.add(self.key("shop"), hash: [1]))) }
        let entry = try #require(try await self.entries().first)
        #expect(try await self.entries().count == 1)
        #expect(entry.act == act && entry.state == .done && entry.result == nil)
        #expect(entry.at == self.time.wall && entry.ended == self.time.wall)
        // Nothing that is outside of it is recorded.
        try await self.store.apply(.pause(.begin(.send, app: .default, by: "key:shop")))
        #expect(try await self.entries().count == 1)
    }

    @Test func whatChangesNothingHasNoEntry() async throws {
        try await self.store.apply(.app(.default, AppSpec()))
        let ann = try UserName("ann", .folded)
        let nothing: [AdministrationChange] = [
            .key(.revoke(named: "none", app: .default)), .pause(.end(.send, app: .default)),
            .hubRule(.delete(named: "none", app: .default)),
            .hubRule(.replace(.primary, with: "k", ofRule: "none", app: .default)),
            .account(.remove(account: ann, app: .default)),
            .account(.update(AccountUpdate(role: .user), account: ann, app: .default)), .app(.default, AppSpec()),
        ]
        for change in nothing {
            #expect(try await !self.doing(self.act(.keyRevoke)) { try await self.store.apply(change) })
        }
        // Nor what is refused.
        try await self.store.apply(.key(.add(self.key("shop"), hash: [1])))
        await #expect(throws: StoreError.self) {
            try await self.doing(self.act(.keyAdd)) {
                _ = try await self.store.apply(.key(.add(self.key("shop"), hash: [2])))
            }
        }
        #expect(try await self.fixture.deadLetters.discard(deadLetter: 1, app: .default) == nil)
        #expect(try await self.entries(ActQuery(app: nil)).isEmpty)
    }

    @Test func anActOfSeveralCommitsIsBegunAndEndsOnce() async throws {
        try await self.store.apply(.app(.default, AppSpec()))
        let number = try await self.store.record(.new(self.act(.devicesImport), .begun))
        let begun = try #require(try await self.entries().first)
        #expect(begun.id == number && begun.state == .begun && begun.ended == nil)
        self.time.advance(.seconds(5))
        try await self.store.record(.end(number, .done, result: "3 lines"))
        try await self.store.record(.end(number, .refused, result: "too late"))
        let ended = try #require(try await self.entries().first)
        #expect(ended.state == .done && ended.result == "3 lines" && ended.ended == self.time.wall)
        #expect(ended.at == begun.at && ended.act == begun.act)
        let refused = try await self.store.record(.new(self.act(.jobCancel), .refused, result: "409"))
        #expect(refused > number)
        #expect(try await self.entries().map(\.state) == [.refused, .done])
    }

    /// Those of several authors are listed as one list, over all of its pieces, and none twice.
    private func actsOfSeveralAuthorsAreOneList() async throws {
        let authors = ["account:bob", "key:bob", "host:bob"]
        for index in 0..<7 {
            try await self.store.record(
                .new(self.act(.keyAdd, by: authors[index % 2], target: "b\(index)"), index < 5 ? .done : .refused)
            )
        }
        for (state, wanted) in [(Act.State?.none, 7), (.done, 5), (.begun, 0)] {
            var (cursor, found) = (String?.none, [String]())
            repeat {
                let query = ActQuery(app: .default, by: authors, state: state, cursor: cursor, limit: 2)
                let page = try await self.store.acts(query)
                #expect(page.items.count <= 2)
                found += page.items.compactMap(\.act.target)
                cursor = page.cursor
            } while cursor != nil
            #expect(found == (0..<wanted).reversed().map { "b\($0)" })
        }
    }

    /// A send's acts are those that name it, and those on all that matched while it was stopped.
    @Test func actsAreFoundByTheirSend() async throws {
        try await self.store.apply(.app(.default, AppSpec()))
        let (one, other) = (JobID.make(), JobID.make())
        func acts(finished: Timestamp?) async throws -> [String?] {
            try await self.entries(ActQuery(app: .default, job: .init(id: one, finished: finished))).map(\.act.target)
        }
        try await self.store.record(.new(self.act(.send, target: "by hand"), .done, result: "job \(one)"))
        try await self.store.record(.new(self.act(.jobCancel, target: "all: label x, up to \(other)"), .done))
        #expect(try await acts(finished: nil) == ["by hand"])
        self.time.advance(.seconds(3600))
        try await self.store.record(.new(self.act(.jobCancel, target: "\(other)"), .done))
        let number = try await self.store.record(.new(self.act(.jobCancel, target: "all: up to \(other)"), .begun))
        let finished = self.time.wall
        #expect(try await acts(finished: finished) == ["by hand"])
        self.time.advance(.seconds(5))
        try await self.store.record(.end(number, .done))
        try await self.store.record(.new(self.act(.jobCancel, target: "\(one)"), .done))
        #expect(try await acts(finished: finished) == ["\(one)", "all: up to \(other)", "by hand"])
    }

    @Test func actsAreListedOfOneAppNewestFirst() async throws {
        let other = try AppID("other")
        for app in [AppID.default, other] { try await self.store.apply(.app(app, AppSpec())) }
        for index in 1...5 {
            try await self.store.record(.new(self.act(.queuePause, target: "\(index)"), .done))
            self.time.advance(.seconds(1))
        }
        let middle = self.time.wall
        try await self.store.record(.new(self.act(.queueResume, by: "key:shop", target: "6"), .done))
        try await self.store.record(.new(self.act(.queueResume, target: "7"), .refused))
        try await self.store.record(.new(self.act(.queuePause, app: other, target: "8"), .done))
        try await self.store.record(.new(self.act(.storeMigrate, app: nil, target: "9"), .done))
        func targets(_ query: ActQuery) async throws -> [String?] { try await self.entries(query).map(\.act.target) }
        #expect(try await targets(ActQuery(app: .default)) == ["7", "6", "5", "4", "3", "2", "1"])
        #expect(try await targets(ActQuery(app: other)) == ["8"])
        #expect(try await targets(ActQuery(app: nil)) == ["9", "8", "7", "6", "5", "4", "3", "2", "1"])
        #expect(try await targets(ActQuery(app: .default, by: ["key:shop"])) == ["6"])
        #expect(try await targets(ActQuery(app: .default, kind: .queueResume)) == ["7", "6"])
        #expect(try await targets(ActQuery(app: .default, by: ["account:ann"], kind: .queueResume)) == ["7"])
        #expect(try await targets(ActQuery(app: .default, state: .refused)) == ["7"])
        #expect(try await targets(ActQuery(app: .default, since: middle)) == ["7", "6"])
        #expect(
            try await targets(ActQuery(app: nil, by: ["account:ann"], kind: .queuePause)) == [
                "8", "5", "4", "3", "2", "1",
            ]
        )
        var (cursor, found) = (String?.none, [String?]())
        repeat {
            let page = try await self.store.acts(ActQuery(app: .default, kind: .queuePause, cursor: cursor, limit: 2))
            found += page.items.map(\.act.target)
            cursor = page.cursor
        } while cursor != nil
        #expect(found == ["5", "4", "3", "2", "1"])
        try await self.actsOfSeveralAuthorsAreOneList()
        let first = try #require(try await self.store.acts(ActQuery(app: .default, limit: 1)).cursor)
        let foreign = await #expect(throws: StoreError.self) {
            try await self.store.acts(ActQuery(app: other, cursor: first))
        }
        #expect(foreign?.code == .invalidCursor)
    }
}
