import PushModel
import Store
import Testing

/// What any store must do with the rules of hubs.
@Suite(.everyStore) struct HubRuleContract {
    let scenario: Scenario
    var store: any ResultStore { self.scenario.store }

    init() throws { self.scenario = Scenario(try StoreFixtures.make()) }

    private func rule(_ name: String, _ app: AppID = .default) -> HubRule {
        HubRule(
            app: app,
            name: name,
            rights: [.listen, .send],
            primaryKey: "first=",
            secondaryKey: "second=",
            created: self.scenario.time.wall
        )
    }

    @Test func rulesAreAddedReplacedAndDeletedByApp() async throws {
        let shop = try AppID("shop")
        for rule in [self.rule("b"), self.rule("a"), self.rule("b", shop)] { try await self.store.add(rule) }
        #expect(try await self.store.hubRules(app: .default) == [self.rule("a"), self.rule("b")])
        let error = await #expect(throws: StoreError.self) { try await self.store.add(self.rule("a")) }
        #expect(error?.code == .conflict)
        #expect(try await self.store.replace(.primary, with: "third=", ofRule: "b", app: .default))
        #expect(try await self.store.replace(.secondary, with: "fourth=", ofRule: "b", app: .default))
        #expect(try await !self.store.replace(.primary, with: "x", ofRule: "c", app: .default))
        let changed = try #require(try await self.store.hubRules(app: .default).last)
        #expect(
            changed.primaryKey == "third=" && changed.secondaryKey == "fourth=" && changed.rights == [.listen, .send]
        )
        #expect(try await self.store.hubRules(app: shop) == [self.rule("b", shop)])
        #expect(try await self.store.deleteHubRule(named: "b", app: .default))
        #expect(try await !self.store.deleteHubRule(named: "b", app: .default))
        #expect(try await self.store.hubRules(app: .default).map(\.name) == ["a"])
    }
}
