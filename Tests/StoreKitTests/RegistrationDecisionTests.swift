import PushModel
import Store
import StoreKit
import Testing

/// What a change does to a registration, by the versions and owners of both.
@Suite struct RegistrationDecisionTests {
    private func user(_ name: String) throws -> UserName { try UserName(name, .folded) }

    private func status(
        _ state: Registration.State,
        _ version: Int64,
        _ name: String? = "ann"
    ) throws -> RegistrationDecision.Status {
        RegistrationDecision.Status(state: state, version: version, user: try name.map(self.user))
    }

    private func decision(_ name: String? = "ann", authority: RegistrationDecision.Authority = .owner) throws
        -> RegistrationDecision
    {
        RegistrationDecision(sequence: 5, user: try name.map(self.user), authority: authority)
    }

    @Test func anUpsertAppliesOnlyToLowerVersions() throws {
        let own = try self.decision()
        #expect(own.upsert(at: try self.status(.live, 4), hasSameHandle: false) == .apply)
        #expect(own.upsert(at: try self.status(.live, 5), hasSameHandle: false) == .end(.done))
        #expect(own.upsert(at: try self.status(.live, 6), hasSameHandle: false) == .passOver(.superseded))
        #expect(own.upsert(at: try self.status(.deleted, 6), hasSameHandle: false) == .passOver(.gone))
        #expect(own.upsert(at: try self.status(.live, 6, "bob"), hasSameHandle: false) == .end(.superseded))
        #expect(own.upsert(at: try self.status(.live, 6, nil), hasSameHandle: false) == .passOver(.superseded))
    }

    @Test func aRepeatedUpsertRevivesNothing() throws {
        let own = try self.decision()
        for state in [Registration.State.pruned, .expired, .replaced] {
            #expect(own.upsert(at: try self.status(state, 5), hasSameHandle: true) == .end(.done))
            #expect(own.upsert(at: try self.status(state, 4), hasSameHandle: true) == .apply)
        }
        #expect(own.upsert(at: try self.status(.deleted, 4), hasSameHandle: true) == .end(.gone))
        let operators = try self.decision(authority: .bulk)
        #expect(operators.upsert(at: try self.status(.replaced, 5), hasSameHandle: false) == .apply)
    }

    @Test func anotherUserTakesOverOnlyWithTheSameHandle() throws {
        let other = try self.status(.live, 4, "bob")
        #expect(try self.decision().upsert(at: other, hasSameHandle: false) == .end(.notFound))
        #expect(try self.decision().upsert(at: other, hasSameHandle: true) == .apply)
        #expect(try self.decision(authority: .bulk).upsert(at: other, hasSameHandle: false) == .apply)
    }

    @Test func anEarlyDeletionIsRemembered() throws {
        let own = try self.decision()
        #expect(own.deletion(of: nil) == .remember)
        #expect(own.deletion(of: try self.status(.live, 4, "bob")) == .remember)
        #expect(own.deletion(of: try self.status(.live, 4)) == .apply)
        #expect(own.deletion(of: try self.status(.live, 6)) == .end(.superseded))
        #expect(own.deletion(of: try self.status(.deleted, 5)) == .end(.done))
        #expect(own.deletion(of: try self.status(.deleted, 4)) == .end(.gone))
        #expect(try self.decision(nil).deletion(of: try self.status(.live, 4)) == .apply)
    }
}
