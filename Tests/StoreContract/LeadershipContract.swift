import Store
import Testing
import Undisturbed

/// Who keeps house: one of all that have the store open.
@Suite(.everyStore, .undisturbed) struct LeadershipContract {
    private let fixture: any StoreFixture

    init() throws { self.fixture = try StoreFixtures.make() }

    /// What was given back is there again a moment later.
    private func taken(by store: any ResultStore) async throws -> (any Leadership)? {
        for _ in 0..<500 {
            if let leadership = try await store.lead(as: .sweeper) { return leadership }
            try await Task.sleep(for: .milliseconds(10))
        }
        return nil
    }

    @Test func oneProcessLeadsUntilItResigns() async throws {
        let (store, other) = (self.fixture.store, try self.fixture.another())
        var leadership = try await store.lead(as: .sweeper)
        #expect(leadership?.isHeld == true)
        #expect(try await other.lead(as: .sweeper) == nil)
        // Two parts of one process are no more than one either.
        #expect(try await store.lead(as: .sweeper) == nil)
        leadership = nil
        leadership = try await self.taken(by: other)
        #expect(leadership?.isHeld == true)
        #expect(try await store.lead(as: .sweeper) == nil)
        withExtendedLifetime(leadership) {}
    }
}
