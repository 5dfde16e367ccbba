import PushModel
import Store
import Testing

/// What any store must do with the rules of hubs.
@Suite(.everyAdministration) struct HubRuleContract {
    private let fixture: any AdministrationFixture
    private var store: any AppAdministration { self.fixture.administration }

    init() throws { self.fixture = try StoreFixtures.makeAdministration() }

    private func rule(_ name: String, _ app: AppID = .default) -> HubRule {
        HubRule(
            app: app,
            name: name,
            rights: [.listen, .send],
            primaryKey: "first=",
            secondaryKey: "second=",
            created: self.fixture.time.wall
        )
    }

    @Test func rulesAreAddedReplacedAndDeletedByApp() async throws {
        let shop = try AppID("shop")
        for rule in [self.rule("b"), self.rule("a"), self.rule("b", shop)] {
            try await self.store.apply(.hubRule(.add(rule)))
        }
        #expect(try await self.store.hubRules(app: .default) == [self.rule("a"), self.rule("b")])
        let error = await #expect(throws: StoreError.self) {
            try await self.store.apply(.hubRule(.add(self.rule("a"))))
        }
        #expect(error?.code == .conflict)
        #expect(try await self.store.apply(.hubRule(.replace(.primary, with: "third=", ofRule: "b", app: .default))))
        #expect(try await self.store.apply(.hubRule(.replace(.secondary, with: "fourth=", ofRule: "b", app: .default))))
        #expect(try await !self.store.apply(.hubRule(.replace(.primary, with: "x", ofRule: "c", app: .default))))
        let changed = try #require(try await self.store.hubRules(app: .default).last)
        #expect(
            changed.primaryKey == "third=" && changed.secondaryKey == "fourth=" && changed.rights == [.listen, .send]
        )
        #expect(try await self.store.hubRules(app: shop) == [self.rule("b", shop)])
        #expect(try await self.store.apply(.hubRule(.delete(named: "b", app: .default))))
        #expect(try await !self.store.apply(.hubRule(.delete(named: "b", app: .default))))
        #expect(try await self.store.hubRules(app: .default).map(\.name) == ["a"])
    }
}
