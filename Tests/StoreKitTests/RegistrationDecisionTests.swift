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

    @Test func aHandleBelongsToTheLatestChangeThatClaimsIt() throws {
        let own = try self.decision()
        let (earlier, later) = (RegistrationID.random(), RegistrationID.random())
        #expect(own.claim(from: nil, isClaimedLater: false) == .given)
        #expect(own.claim(from: .init(id: earlier, version: 4), isClaimedLater: false) == .given)
        #expect(
            own.claim(from: .init(id: later, version: 6), isClaimedLater: false)
                == .refused(RegistrationDecision.replaced(by: later))
        )
        // The later registration has ended since.
        guard case .refused = own.claim(from: nil, isClaimedLater: true) else {
            Issue.record("the handle was given to an earlier change")
            return
        }
        // A change that comes too late for its own registration takes it from earlier ones only, and not from itself.
        #expect(own.passesOver(.init(id: earlier, version: 4), for: later))
        #expect(!own.passesOver(.init(id: later, version: 4), for: later))
        #expect(!own.passesOver(.init(id: earlier, version: 6), for: later))
    }

    @Test func aPatchIsRefusedByWhatItsRegistrationIs() throws {
        let own = try self.decision()
        func refusal(_ row: RegistrationDecision.Status?, kept: Int = 0, added: Int = 1, most: Int? = nil)
            -> RegisterResult?
        {
            own.refusal(of: .init(add: [], remove: [], mostTags: most), at: row, .apns, kept: kept, added: added)
        }
        #expect(refusal(nil) == .notFound)
        #expect(refusal(try self.status(.live, 4, "bob")) == .notFound)
        #expect(refusal(try self.status(.deleted, 4)) == .gone)
        // What came later replaced all tags.
        #expect(refusal(try self.status(.live, 6)) == .superseded)
        #expect(refusal(try self.status(.expired, 4)) == .refused("it is expired, not live: register the device again"))
        #expect(refusal(try self.status(.live, 4)) == nil)
        #expect(refusal(try self.status(.live, 4), kept: 2, added: 1, most: 3) == nil)
        #expect(
            refusal(try self.status(.live, 4), kept: 3, added: 1, most: 3)
                == .refused("a registration has at most 3 tags")
        )
        // What has more already may lose some.
        #expect(refusal(try self.status(.live, 4), kept: 9, added: 0, most: 3) == nil)
    }

    @Test func aUserHasSoManyTemplatesAsAllDevicesMayHave() {
        #expect(RegistrationBound(devices: 3, .native).most == 3)
        #expect(RegistrationBound(devices: 3, .template).most == 3 * DeviceTemplate.maximumCount)
    }
}
