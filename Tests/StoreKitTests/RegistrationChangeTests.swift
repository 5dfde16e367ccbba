import PushModel
import Store
import StoreKit
import Testing

/// What a change does to registrations, by the versions and owners of both.
@Suite struct RegistrationChangeTests {
    private typealias State = Registration.State

    private let id = RegistrationID.random()
    private let slot = RegistrationSlot(.apns)

    private func kept(
        _ state: State,
        _ version: Int64,
        _ name: String? = "ann",
        handle: String = "aa",
        id: RegistrationID? = nil
    ) throws -> KeptRegistration {
        var kept = KeptRegistration(row: 1, id: id ?? self.id, state: state, version: version, updated: .now)
        (kept.slot, kept.handle) = (self.slot, Handle(stored: handle))
        kept.user = try name.map { try UserName($0, .folded) }
        return kept
    }

    /// A change with the sequence 5.
    private func change(
        _ name: String? = "ann",
        _ authority: RegistrationTerms.Authority = .owner,
        of kept: KeptRegistration...,
        most: Int? = nil
    ) throws -> RegistrationChange {
        var known = RegistrationChange.Known()
        for one in kept { known.registrations[one.id] = one }
        known.living[.native] = kept.filter(\.isLive).count
        let user = try name.map { try UserName($0, .folded) }
        let job = RegisterJob(app: .default, user: user, sequence: 5, most: most)
        let terms = RegistrationTerms(self.upsert(), of: job, authority, at: .now)
        return RegistrationChange(terms, known, at: .now)
    }

    private func upsert(_ handle: String = "aa") -> RegisterRequest {
        .upsert(self.id, .init(pns: .apns, handle: Handle(stored: handle), tags: []))
    }

    /// The result of an upsert, how many registrations it changes, and whether it notes that it claimed its handle.
    private func expect(
        _ result: RegisterResult,
        changes: Int,
        claims: Bool = false,
        _ change: RegistrationChange,
        handle: String = "bb"
    ) throws {
        var change = change
        #expect(try change.apply(self.upsert(handle)) == result)
        #expect(change.changes.count == changes)
        #expect(change.released.contains { $0 == (ReleasedHandle(Handle(stored: handle), self.slot), 5) } == claims)
    }

    @Test func anUpsertAppliesOnlyToLowerVersions() throws {
        try self.expect(.done, changes: 1, self.change(of: self.kept(.live, 4)))
        try self.expect(.done, changes: 0, self.change(of: self.kept(.live, 5)))
        try self.expect(.superseded, changes: 0, claims: true, self.change(of: self.kept(.live, 6)))
        try self.expect(.gone, changes: 0, claims: true, self.change(of: self.kept(.deleted, 6)))
        try self.expect(.superseded, changes: 0, self.change(of: self.kept(.live, 6, "bob")))
        try self.expect(.superseded, changes: 0, claims: true, self.change(of: self.kept(.live, 6, nil)))
    }

    @Test func aRepeatedUpsertRevivesNothing() throws {
        for state in [State.pruned, .expired, .replaced] {
            try self.expect(.done, changes: 0, self.change(of: self.kept(state, 5)))
            try self.expect(.done, changes: 1, self.change(of: self.kept(state, 4)))
        }
        try self.expect(.gone, changes: 0, self.change(of: self.kept(.deleted, 4)))
        try self.expect(.done, changes: 1, self.change(nil, .app, of: self.kept(.deleted, 4)))
        try self.expect(.done, changes: 1, self.change(nil, .bulk, of: self.kept(.replaced, 5)))
    }

    @Test func anotherUserTakesOverOnlyWithTheSameHandle() throws {
        let other = try self.kept(.live, 4, "bob")
        try self.expect(.notFound, changes: 0, self.change(of: other))
        try self.expect(.done, changes: 1, self.change(of: other), handle: "aa")
        try self.expect(.done, changes: 1, self.change("ann", .bulk, of: other))
    }

    @Test func anEarlyDeletionIsRemembered() throws {
        func expect(_ result: RegisterResult, isRemembered: Bool = false, _ change: RegistrationChange) throws {
            var change = change
            #expect(try change.apply(.delete(self.id)) == result)
            #expect((change.deleted == self.id) == isRemembered)
        }
        try expect(.notFound, isRemembered: true, self.change())
        try expect(.notFound, isRemembered: true, self.change(of: self.kept(.live, 4, "bob")))
        try expect(.done, self.change(of: self.kept(.live, 4)))
        try expect(.superseded, self.change(of: self.kept(.live, 6)))
        try expect(.done, self.change(of: self.kept(.deleted, 5)))
        try expect(.gone, self.change(of: self.kept(.deleted, 4)))
        try expect(.done, self.change(nil, of: self.kept(.live, 4)))
    }

    @Test func aHandleBelongsToTheLatestChangeThatClaimsIt() throws {
        let other = RegistrationID.random()
        func states(_ change: RegistrationChange) throws -> [RegistrationID: State] {
            var change = change
            #expect(try change.apply(self.upsert()) == .done)
            return Dictionary(uniqueKeysWithValues: change.changes.map { ($0.after.id, $0.after.state) })
        }
        #expect(try states(self.change()) == [self.id: .live])
        #expect(
            try states(self.change(of: self.kept(.live, 4, "bob", id: other))) == [self.id: .live, other: .replaced]
        )
        #expect(try states(self.change(of: self.kept(.live, 6, "bob", id: other))) == [self.id: .replaced])
        // A change that comes too late for its own registration takes it from earlier ones only.
        let late = try self.kept(.live, 6)
        try self.expect(
            .superseded,
            changes: 1,
            claims: true,
            self.change(of: late, self.kept(.live, 4, handle: "bb", id: other))
        )
        try self.expect(
            .superseded,
            changes: 0,
            claims: true,
            self.change(of: late, self.kept(.live, 6, handle: "bb", id: other))
        )
    }

    @Test func aPatchIsRefusedByWhatItsRegistrationIs() throws {
        func result(_ kept: KeptRegistration?, tags: [Int64] = [], add: [String] = ["t"], most: Int? = nil) throws
            -> RegisterResult
        {
            var change = try self.change()
            if var kept {
                kept.tags = TagList(tags)
                change = try self.change(of: kept)
            }
            let patch = RegisterRequest.Patch(add: try add.map { try Tag($0, .folded) }, mostTags: most)
            return try change.apply(.patch(self.id, patch))
        }
        #expect(try result(nil) == .notFound)
        #expect(try result(self.kept(.live, 4, "bob")) == .notFound)
        #expect(try result(self.kept(.deleted, 4)) == .gone)
        // What came later replaced all tags.
        #expect(try result(self.kept(.live, 6)) == .superseded)
        #expect(try result(self.kept(.expired, 4)) == .refused("it is expired, not live: register the device again"))
        #expect(try result(self.kept(.live, 4)) == .done)
        #expect(try result(self.kept(.live, 4), tags: [1, 2], most: 3) == .done)
        #expect(
            try result(self.kept(.live, 4), tags: [1, 2, 3], most: 3)
                == .refused("a registration has at most 3 tags")
        )
        // What has more already may lose some.
        #expect(try result(self.kept(.live, 4), tags: [1, 2, 3, 4], add: [], most: 3) == .done)
    }

    @Test func theOldestOfAUserGoesWithOneTooMany() throws {
        let others = [RegistrationID.random(), .random()]
        var change = try self.change(
            of: self.kept(.live, 3, handle: "x", id: others[0]),
            self.kept(.live, 2, handle: "y", id: others[1]),
            most: 2
        )
        #expect(try change.apply(self.upsert()) == .done)
        #expect(Set(change.changes.map(\.after.id)) == [self.id, others[1]])
        #expect(change.changes.first { $0.after.id == others[1] }?.after.state == .replaced)
        #expect(RegistrationBound(devices: 3, .native).most == 3)
        #expect(RegistrationBound(devices: 3, .template).most == 3 * DeviceTemplate.maximumCount)
    }
}
