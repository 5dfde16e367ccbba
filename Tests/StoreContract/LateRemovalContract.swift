import PushModel
import Store
import Testing

/// A removal of a user beside other changes, other processes and other removals.
@Suite(.everyStore) struct LateRemovalContract {
    private let users: RemovalScenario
    private var fixture: any StoreFixture { self.users.fixture }
    private var scenario: Scenario { self.users.scenario }
    private var store: any ResultStore { self.scenario.store }

    init() throws { self.users = try RemovalScenario() }

    /// Rule 11.
    @Test func anEarlierChangeOfTheUserDoesNothing() async throws {
        let own = try await self.users.accept(.upsert(.random(), self.users.upsert("aa")), user: RemovalScenario.name)
        let onBehalf = try await self.users.accept(
            .create(candidate: .random(), self.users.upsert("bb", for: RemovalScenario.name))
        )
        let deletion = try await self.users.accept(.delete(.random()), user: RemovalScenario.name)
        let job = try await self.users.begin()
        // Their workers have read them, and are slow.
        for late in [own, onBehalf, deletion] {
            #expect(try await self.store.register(late) == .refused("its user was removed"))
        }
        try await self.users.finish(job)
        for late in [own, onBehalf, deletion] {
            #expect(try await self.store.register(late) == .refused("its user was removed"))
            let ended = try await self.scenario.job(late.id)
            #expect(ended.state == .abandoned && ended.reason == "its user was removed")
        }
        #expect(try await self.store.registrations(RegistrationQuery(app: .default)).items.isEmpty)
        #expect(try await !self.fixture.mentions(RemovalScenario.name))
    }

    @Test func anImportThatHadBegunBringsNobodyBack() async throws {
        let earlier = try await self.store.beginImport()
        let rows = [
            ImportedRegistration(pns: .apns, handle: Handle(stored: "aa"), user: try self.users.user()),
            ImportedRegistration(pns: .apns, handle: Handle(stored: "bb"), user: try self.users.user("bob")),
        ]
        try await self.users.finish(self.users.begin())
        let results = try await self.store.importRegistrations(rows, app: .default, sequence: earlier, lifetime: nil)
            .results
        #expect(results == [.superseded, .created])
        let later = try await self.store.beginImport()
        let again = try await self.store.importRegistrations(rows, app: .default, sequence: later, lifetime: nil)
            .results
        #expect(again == [.created, .updated])
    }

    /// The id of a removed registration is known by the version that it had, so that changes between it and the removal count.
    @Test func anEarlierChangeOfAnotherUserHasTheID() async throws {
        let before = try await self.scenario.sequence()
        let id = try await self.scenario.register(user: RemovalScenario.name, handle: "aa")
        let between = try await self.scenario.sequence()
        try await self.users.finish(self.users.begin())
        #expect(try await self.scenario.upsert(id, user: "bob", handle: "aa", sequence: before) == .superseded)
        #expect(try await self.store.registration(id, app: .default) == nil)
        #expect(try await self.scenario.upsert(id, user: "bob", handle: "aa", sequence: between) == .done)
        #expect(try await self.store.registration(id, app: .default)?.user == self.users.user("bob"))
    }

    @Test func aDeadChangeOfTheUserIsNotReplayed() async throws {
        let dead = try await self.users.accept(.upsert(.random(), self.users.upsert("aa")), user: RemovalScenario.name)
        try await self.users.die(dead)
        let letter = try #require(
            try await self.store.deadLetters(DeadLetterQuery(app: .default, limit: 1)).items.first
        )
        let job = try await self.users.begin()
        #expect(
            try await self.store.replay(deadLetter: letter.id, app: .default) == .refused("its user was removed")
        )
        try await self.users.finish(job)
        guard case .refused? = try await self.store.replay(deadLetter: letter.id, app: .default) else {
            throw Unexpected("it was replayed")
        }
    }

    @Test func itIsForgottenThatAUserWasRemoved() async throws {
        // The number of no job.
        let earlier = try await self.store.beginImport()
        try await self.users.finish(self.users.begin())
        func upsert() async throws -> RegisterResult? {
            try await self.scenario.upsert(.random(), user: RemovalScenario.name, handle: "aa", sequence: earlier)
        }
        #expect(try await upsert() == .refused("its user was removed"))
        self.fixture.time.advance(.seconds(2 * 86_400 + 1))
        try await self.scenario.expireRegistrations(limit: 10)
        #expect(try await upsert() == .done)
    }

    @Test func aRemovalThatIsUnderWayIsNotBegunTwice() async throws {
        let first = try await self.users.begin()
        let again = try await self.store.accept([
            self.users.removal(of: self.users.user(RemovalScenario.name.uppercased()))
        ])
        #expect(again.answers.count == 1)
        guard case .repeated(first.id)? = again.answers.first else { throw Unexpected("\(again.answers)") }
        try await self.users.finish(first)
        let second = try await self.users.begin()
        #expect(second.id != first.id)
        #expect(try await self.users.finish(second) == .done)
        // A message that comes again finds the result.
        #expect(try await self.store.register(first) == .done)
    }

    @Test func anyProcessGoesOnWhereAnotherStopped() async throws {
        for number in 0..<450 {
            try await self.scenario.register(user: RemovalScenario.name, handle: "h\(number)")
        }
        for number in 0..<30 {
            _ = try await self.store.put(
                StoredContent(owner: self.users.user(), mediaType: "text/plain", bytes: [UInt8(number)]),
                app: .default
            )
        }
        let job = try await self.users.begin()
        let other = try self.fixture.another()
        var parts = 0
        while try await (parts.isMultiple(of: 2) ? other : self.store).register(job) == nil {
            parts += 1
        }
        #expect(parts > 10)
        _ = try await self.store.finishRegister(job.id, result: .done)
        #expect(try await !self.fixture.mentions(RemovalScenario.name))
        let query = RegistrationQuery(app: .default, user: try self.users.user())
        #expect(try await self.store.registrations(query).items.isEmpty)
        try await self.users.expectSound()
    }

    @Test func twoWorkersAtOnceDoNoHarm() async throws {
        for number in 0..<450 { try await self.scenario.register(user: RemovalScenario.name, handle: "h\(number)") }
        let job = try await self.users.begin()
        let (store, other) = (self.store, try self.fixture.another())
        try await withThrowingTaskGroup(of: Void.self) { group in
            for worker in [store, other] {
                group.addTask { while try await worker.register(job) == nil {} }
            }
            try await group.waitForAll()
        }
        #expect(try await self.store.registrations(RegistrationQuery(app: .default)).items.isEmpty)
        try await self.users.expectSound()
    }

    /// Its queue was paused meanwhile, and what is older than a day is forgotten.
    @Test func aRemovalThatWaitsForAMonthGoesOn() async throws {
        for number in 0..<450 { try await self.scenario.register(user: RemovalScenario.name, handle: "h\(number)") }
        let job = try await self.users.begin()
        #expect(try await self.store.register(job) == nil)
        self.fixture.time.advance(.seconds(31 * 86_400))
        try await self.scenario.expireJobs(limit: 10)
        try await self.scenario.expireRegistrations(limit: 10)
        #expect(try await self.users.finish(job) == .done)
        #expect(try await !self.fixture.mentions(RemovalScenario.name))
        let query = RegistrationQuery(app: .default, user: try self.users.user())
        #expect(try await self.store.registrations(query).items.isEmpty)
        try await self.users.expectSound()
    }

    @Test func aRemovalWhoseTimeIsOverLeavesNoName() async throws {
        let job = try await self.users.begin()
        self.fixture.time.advance(NewJob.removalLifetime + .seconds(1))
        try await self.scenario.expireJobs(limit: 10)
        guard case .refused? = try await self.store.register(job) else { throw Unexpected("it goes on") }
        try await self.scenario.expireRegistrations(limit: 10)
        #expect(try await !self.fixture.mentions(RemovalScenario.name))
        // And it may be asked for again.
        #expect(try await self.users.finish(self.users.begin()) == .done)
    }

    @Test func anAccountGoesOnlyWhereItMay() async throws {
        try await self.users.account(RemovalScenario.name)
        let error = await #expect(throws: StoreError.self) {
            try await self.store.accept([self.users.removal(of: self.users.user(), withAccount: false)])
        }
        #expect(error?.code == .conflict)
        #expect(try await self.store.account(self.users.user(), app: .default) != nil)
        try await self.users.finish(self.users.begin())
        _ = try await self.store.accept([self.users.removal(of: self.users.user(), withAccount: false)])
    }

    @Test func theLastOperatorIsNotRemoved() async throws {
        try await self.users.account(RemovalScenario.name, .operator)
        let error = await #expect(throws: StoreError.self) { try await self.users.begin() }
        #expect(error?.code == .lastOperator)
        #expect(try await self.store.account(self.users.user(), app: .default) != nil)
        try await self.users.key()
        #expect(try await self.users.finish(self.users.begin()) == .done)
    }

    @Test func exactNamesAreRemovedExactly() async throws {
        _ = try await self.store.apply(.app(.default, AppSpec { $0.users = .exact }))
        let (ann, capital) = (try UserName("ann", .exact), try UserName("Ann", .exact))
        for (user, handle) in [(ann, "aa"), (capital, "bb")] {
            let upsert = RegisterRequest.Upsert(pns: .apns, handle: Handle(stored: handle), tags: [])
            let sequence = try await self.scenario.sequence()
            let result = try await self.store.register(
                .upsert(.random(), upsert),
                of: RegisterJob(app: .default, user: user, sequence: sequence)
            )
            #expect(result == .done)
        }
        try await self.users.finish(self.scenario.accept(self.users.removal(of: capital)))
        let left = try await self.store.registrations(RegistrationQuery(app: .default)).items
        #expect(left.map(\.user) == [ann])
    }
}
