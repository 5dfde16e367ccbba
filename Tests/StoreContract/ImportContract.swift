import PushModel
import Store
import Testing

/// What any store must do with imported registrations (rules 2 and 11).
@Suite(.everyStore(with: [.outbox, .registrations])) struct ImportContract {
    let fixture: any RegistrationFixture
    let scenario: RegistrationScenario
    var store: any DeviceStore { self.scenario.devices }

    init() throws {
        self.fixture = try StoreFixtures.makeRegistrations()
        self.scenario = RegistrationScenario(self.fixture)
    }

    private func all(_ state: Registration.State? = .live) async throws -> [Registration] {
        try await self.store.registrations(RegistrationQuery(app: .default, state: state, limit: 1000)).items
    }

    private func audience(_ tag: String, pns: PushService = .apns) async throws -> [Int64] {
        try await self.store.audience(
            AudienceQuery(.expression(.tag(PushModel.Tag(tag, .folded))), app: .default, pns: pns, limit: 1000)
        ).rows
    }

    /// All that a registration is, but for its row and when it was updated.
    private struct Shape: Equatable {
        let id: RegistrationID
        let user: String?
        let pns: PushService?
        let handle: String?
        let tags: [String]
        let state: Registration.State
        let expires: Timestamp?

        init(_ registration: Registration) {
            self.id = registration.id
            self.user = registration.user?.name
            self.pns = registration.pns
            self.handle = registration.handle?.text
            self.tags = registration.tags.map(\.name)
            self.state = registration.state
            self.expires = registration.expires
        }
    }

    @Test func importedRowsAreRegistered() async throws {
        let id = try #require(RegistrationID("from-elsewhere-1"))
        let later = self.fixture.time.wall.advanced(by: .seconds(100))
        let rows = [
            try ImportedRegistration.row(
                "bb",
                id: id,
                user: "ann",
                tags: ["t", "u", "t", "username:ann"],
                expires: later
            ),
            try ImportedRegistration.row("aa", tags: ["t"]), try ImportedRegistration.row("aa", user: "bob", pns: .fcm),
        ]
        #expect(try await self.scenario.bring(rows) == [.created, .created, .created])
        let named = try #require(try await self.store.registration(id, app: .default))
        #expect(named.tags.map(\.name) == ["t", "u", "username:ann"])
        #expect(named.user?.name == "ann")
        #expect(named.handle?.text == "bb")
        #expect(named.expires == later)
        #expect(named.updated == self.fixture.time.wall)
        #expect(try await self.all().count == 3)
        #expect(Set(try await self.all().map(\.id)).count == 3)
        #expect(try await self.audience("t").count == 2)
        #expect(try await self.audience("username:bob", pns: .fcm).count == 1)
        // The device goes on with the id that it kept.
        #expect(try await self.scenario.upsert(id, user: "ann", handle: "cc", tags: []) == .done)
        #expect(try await self.scenario.upsert(id, user: "eve", handle: "dd", tags: []) == .notFound)
    }

    @Test func aRepeatedImportUpdatesTimesOnly() async throws {
        let rows = try (0..<50).map { number in
            try ImportedRegistration.row(
                "h\(number)",
                id: number.isMultiple(of: 2) ? RegistrationID("id-\(number)") : nil,
                user: number.isMultiple(of: 3) ? "u\(number)" : nil,
                tags: ["all", "t\(number % 4)"]
            )
        }
        #expect(try await self.scenario.bring(rows).allSatisfy { $0 == .created })
        let first = try await self.all(nil)
        self.fixture.time.advance(.seconds(60))
        #expect(try await self.scenario.bring(rows.reversed()).allSatisfy { $0 == .updated })
        let second = try await self.all(nil)
        #expect(second.map(Shape.init) == first.map(Shape.init))
        #expect(second.map(\.row) == first.map(\.row))
        #expect(second.allSatisfy { $0.updated == self.fixture.time.wall })
        #expect(try await self.audience("all").count == 50)
    }

    @Test func tagsAndUserAreReplaced() async throws {
        let id = try await self.scenario.register(user: "ann", handle: "aa", tags: ["old", "kept"])
        #expect(
            try await self.scenario.bring([ImportedRegistration.row("aa", user: "bob", tags: ["kept", "new"])]) == [
                .updated
            ]
        )
        let now = try #require(try await self.store.registration(id, app: .default))
        #expect(now.user?.name == "bob")
        #expect(now.tags.map(\.name) == ["kept", "new", "username:bob"])
        #expect(try await self.audience("old").isEmpty)
        #expect(try await self.audience("username:ann").isEmpty)
        #expect(try await self.scenario.bring([ImportedRegistration.row("aa")]) == [.updated])
        let bare = try #require(try await self.store.registration(id, app: .default))
        #expect(bare.user == nil)
        #expect(bare.tags.isEmpty)
    }

    @Test func anImportChangesTheHandleOfAKnownID() async throws {
        let id = try await self.scenario.register(user: "ann", handle: "aa", tags: ["t"])
        #expect(
            try await self.scenario.bring([ImportedRegistration.row("bb", id: id, user: "bob", tags: ["t"], pns: .fcm)])
                == [.updated]
        )
        let now = try #require(try await self.store.registration(id, app: .default))
        #expect(now.handle?.text == "bb")
        #expect(now.row == 1)
        #expect(try await self.audience("t").isEmpty)
        #expect(try await self.audience("t", pns: .fcm) == [1])
    }

    @Test func anImportedHandleLeavesItsEarlierRegistration() async throws {
        let old = try await self.scenario.register(user: "ann", handle: "aa", tags: ["t"])
        let new = try #require(RegistrationID("new"))
        #expect(
            try await self.scenario.bring([ImportedRegistration.row("aa", id: new, user: "bob", tags: ["t"])]) == [
                .created
            ]
        )
        #expect(try await self.store.registration(old, app: .default)?.state == .replaced)
        let now = try #require(try await self.store.registration(new, app: .default))
        #expect(now.state == .live)
        #expect(try await self.audience("t") == [now.row])
        let other = try await self.scenario.register(user: "cy", handle: "cc")
        #expect(try await self.scenario.bring([ImportedRegistration.row("aa", id: other, user: "cy")]) == [.updated])
        #expect(try await self.store.registration(new, app: .default)?.state == .replaced)
    }

    @Test func theLaterOfTwoRowsWins() async throws {
        let (one, two) = (try #require(RegistrationID("one")), try #require(RegistrationID("two")))
        let rows = [
            try ImportedRegistration.row("zz", id: one, user: "a"), try ImportedRegistration.row("mm", user: "b"),
            try ImportedRegistration.row("aa", id: one, user: "c"),
            try ImportedRegistration.row("mm", user: "d"), try ImportedRegistration.row("aa", id: two, user: "e"),
        ]
        #expect(try await self.scenario.bring(rows) == [.created, .created, .updated, .updated, .created])
        let live = try await self.all()
        #expect(Set(live.compactMap { $0.user?.name }) == ["d", "e"])
        #expect(try await self.store.registration(one, app: .default)?.state == .replaced)
        #expect(try await self.store.registration(two, app: .default)?.handle?.text == "aa")
    }

    @Test func knownAndNewRowsMayBeMixed() async throws {
        let known = try await self.scenario.register(user: "ann", handle: "h025", tags: ["old"])
        var rows = try (100..<200).map { number in
            try ImportedRegistration.row("h\(number)", user: "u\(number)", tags: ["all", "t\(number % 3)"])
        }
        rows.append(try ImportedRegistration.row("h025", user: "ann", tags: ["all"]))
        rows.append(try ImportedRegistration.row("h150", user: "bob", tags: ["all"]))
        let results = try await self.scenario.bring(rows)
        #expect(results == Array(repeating: .created, count: 100) + [.updated, .updated])
        #expect(try await self.audience("all").count == 101)
        #expect(try await self.audience("username:u150").isEmpty)
        #expect(try await self.audience("username:bob").count == 1)
        #expect(try await self.audience("t0").count == 32)
        #expect(try await self.store.registration(known, app: .default)?.tags.map(\.name) == ["all", "username:ann"])
    }

    @Test(arguments: [Registration.State.pruned, .expired, .replaced])
    func anEndedIDIsRevived(state: Registration.State) async throws {
        let id: RegistrationID
        switch state {
        case .expired:
            id = try await self.scenario.register(user: "ann", handle: "aa", lifetime: .seconds(10))
            self.fixture.time.advance(.seconds(11))
            #expect(try await self.scenario.expireRegistrations(limit: 10) == 1)
        case .replaced:
            id = try await self.scenario.register(user: "ann", handle: "aa")
            let other = try await self.scenario.register(user: "bob", handle: "bb")
            #expect(try await self.scenario.upsert(other, user: "bob", handle: "aa") == .done)
        default:
            id = try await self.scenario.register(user: "ann", handle: "aa")
            let mark = DeadHandle(
                row: 1,
                handle: Handle(stored: "aa"),
                before: self.fixture.time.wall.advanced(by: .seconds(1)),
                reason: "Unregistered"
            )
            try await self.fixture.leave([mark], tag: "username:ann", accepted: 1)
            #expect(try await self.scenario.prune(limit: 10) == 1)
        }
        #expect(try await self.store.registration(id, app: .default)?.state == state)
        #expect(
            try await self.scenario.bring([ImportedRegistration.row("cc", id: id, user: "ann", tags: ["t"])]) == [
                .updated
            ]
        )
        let now = try #require(try await self.store.registration(id, app: .default))
        #expect(now.state == .live)
        #expect(now.ended == nil)
        #expect(try await self.audience("t") == [now.row])
    }

    @Test func aDeletedIDIsNotRevived() async throws {
        let id = try await self.scenario.register(user: "ann", handle: "aa")
        _ = try await self.store.register(
            .delete(id),
            of: RegisterJob(app: .default, sequence: try await self.scenario.sequence())
        )
        #expect(
            try await self.scenario.bring([ImportedRegistration.row("aa", id: id), ImportedRegistration.row("bb")]) == [
                .gone, .created,
            ]
        )
        #expect(try await self.store.registration(id, app: .default)?.state == .deleted)
    }

    /// A device registers while an import runs: whichever was accepted later counts, in whatever order they are done.
    @Test(arguments: [false, true], [false, true])
    func importsAndRegisterJobsApplyInTheirAcceptedOrder(jobIsLater: Bool, importIsDoneFirst: Bool) async throws {
        let id = try await self.scenario.register(user: "ann", handle: "aa")
        var numbers = [try await self.scenario.sequence(), try await self.store.beginImport()]
        if jobIsLater { numbers = [try await self.scenario.sequence(), numbers[1]] }
        #expect((numbers[0] > numbers[1]) == jobIsLater)
        let (job, imported) = (numbers[0], numbers[1])
        let row = try ImportedRegistration.row("bb", id: id, user: "ann", tags: ["import"])
        for isImport in [importIsDoneFirst, !importIsDoneFirst] {
            if isImport {
                let expected: ImportResult = jobIsLater && !importIsDoneFirst ? .superseded : .updated
                #expect(try await self.scenario.bring([row], sequence: imported) == [expected])
            } else {
                let result = try await self.scenario.upsert(id, user: "ann", handle: "cc", tags: ["job"], sequence: job)
                #expect(result == (!jobIsLater && importIsDoneFirst ? .superseded : .done))
            }
        }
        let now = try #require(try await self.store.registration(id, app: .default))
        #expect(now.handle?.text == (jobIsLater ? "cc" : "bb"))
        #expect(now.tags.map(\.name) == [jobIsLater ? "job" : "import", "username:ann"])
    }

    @Test func aHandleClaimedLaterIsNotTakenBack() async throws {
        let mine = try await self.scenario.register(user: "ann", handle: "aa")
        let begun = try await self.store.beginImport()
        try await self.scenario.register(user: "bob", handle: "bb")
        let results = try await self.scenario.bring(
            [
                ImportedRegistration.row("bb"), ImportedRegistration.row("bb", id: RegistrationID("fresh")),
                ImportedRegistration.row("bb", id: mine, user: "ann"),
            ],
            sequence: begun
        )
        #expect(results == [.superseded, .superseded, .superseded])
        let live = try await self.all()
        #expect(live.map(\.user?.name) == ["bob"])
        #expect(try await self.store.registration(mine, app: .default)?.state == .replaced)
    }

    /// A user deletes a registration that an import, accepted before, would give them.
    @Test func aDeletionThatWasAcceptedLaterCounts() async throws {
        let id = try await self.scenario.register(user: "bob", handle: "aa")
        let begun = try await self.store.beginImport()
        let deletion = try await self.store.register(
            .delete(id),
            of: RegisterJob(
                app: .default,
                user: try UserName("ann", .folded),
                sequence: try await self.scenario.sequence()
            )
        )
        #expect(deletion == .notFound)
        #expect(
            try await self.scenario.bring([ImportedRegistration.row("bb", id: id, user: "ann")], sequence: begun) == [
                .superseded
            ]
        )
        // As if one had come after the other: it was ann's for a moment.
        #expect(try await self.all().isEmpty)
        #expect(try await self.store.registration(id, app: .default)?.state == .deleted)
    }

    @Test func appsAreSeparate() async throws {
        let other = try AppID("other")
        let sequence = try await self.store.beginImport()
        let row = try ImportedRegistration.row("aa", id: RegistrationID("same"), tags: ["t"])
        for app in [AppID.default, other] {
            #expect(
                try await self.store.importRegistrations([row], app: app, sequence: sequence, lifetime: nil).results
                    == [.created]
            )
        }
        #expect(try await self.store.registrations(RegistrationQuery(app: other)).items.map(\.row) == [2])
    }
}
