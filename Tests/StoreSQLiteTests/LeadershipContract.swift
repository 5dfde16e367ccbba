import Store
import Testing

/// Who keeps house: one of all that have the store open.
struct LeadershipContract {
    let keep: TemporaryStore

    init() throws { self.keep = try TemporaryStore() }

    @Test func oneProcessLeadsUntilItResigns() async throws {
        let store: any ResultStore = self.keep.store
        let other: any ResultStore = try self.keep.another()
        var leadership = try await store.lead(as: .sweeper)
        #expect(leadership != nil)
        #expect(try await other.lead(as: .sweeper) == nil)
        // Two parts of one process are no more than one either.
        #expect(try await store.lead(as: .sweeper) == nil)
        leadership = nil
        leadership = try await other.lead(as: .sweeper)
        #expect(leadership != nil)
        #expect(try await store.lead(as: .sweeper) == nil)
        withExtendedLifetime(leadership) {}
    }
}
