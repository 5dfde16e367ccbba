import PushModel
import Store
import Testing

/// What one user can make a store keep: live registrations, ended ones, and what stays of deleting ids that nobody has.
@Suite(.everyStore(with: [.outbox, .registrations])) struct UserBoundsContract {
    private let fixture: any RegistrationFixture
    private let scenario: RegistrationScenario
    private var store: any DeviceStore { self.scenario.devices }

    init() throws {
        self.fixture = try StoreFixtures.makeRegistrations()
        self.scenario = RegistrationScenario(self.fixture)
    }

    private func state(_ id: String) async throws -> Registration.State? {
        try await self.store.registration(try #require(RegistrationID(id)), app: .default)?.state
    }

    private func live(_ user: String = "ann") async throws -> [String] {
        let query = RegistrationQuery(app: .default, user: try UserName(user, .folded), state: .live)
        return try await self.store.registrations(query).items.map(\.id.text)
    }

    @Test func aRegistrationBeyondTheLimitEndsTheOldest() async throws {
        for id in ["a", "b", "c"] { #expect(try await self.scenario.put(id) == .done) }
        #expect(try await self.scenario.put("other", user: "bob") == .done)
        // It registers again, and is the youngest.
        #expect(try await self.scenario.put("a") == .done)
        #expect(try await self.live() == ["a", "b", "c"])
        #expect(try await self.scenario.put("d") == .done)
        #expect(try await self.live() == ["a", "c", "d"])
        let id = try #require(RegistrationID("b"))
        let ended = try #require(try await self.store.registration(id, app: .default))
        #expect(ended.state == .replaced)
        #expect(
            ended.ended?.reason
                == "its user has more than the 3 live registrations allowed, and this was the oldest"
        )
        // Its device registers again: it takes the place of another.
        #expect(try await self.scenario.put("b") == .done)
        #expect(try await self.live() == ["a", "b", "d"])
        #expect(try await self.live("bob") == ["other"])
        // A device that is handed over counts as its new user's.
        #expect(try await self.scenario.put("other", user: "ann") == .done)
        #expect(try await self.live() == ["b", "other", "d"])
        #expect(try await self.fixture.faults() == [])
    }

    /// Whichever is worked on first, the same ones are left; and a message that comes again revives none.
    @Test(arguments: [[0, 1, 2, 3], [3, 2, 1, 0], [1, 0, 3, 2], [3, 0, 2, 1, 0, 3]])
    func theLimitHoldsInAnyOrderOfChanges(order: [Int]) async throws {
        var sequences: [Int64] = []
        for _ in 0..<4 { sequences.append(try await self.scenario.sequence()) }
        let ids = ["a", "b", "c", "d"]
        for number in order { #expect(try await self.scenario.put(ids[number], sequence: sequences[number]) == .done) }
        #expect(try await self.live().sorted() == ["b", "c", "d"])
        #expect(try await self.scenario.put("a", sequence: sequences[0]) == .done)
        #expect(try await self.live().sorted() == ["b", "c", "d"])
    }

    @Test func importsAreNotLimited() async throws {
        let rows = try (0..<10).map { number in
            ImportedRegistration(
                pns: .fcm,
                handle: Handle(stored: "i\(number)"),
                user: try UserName("ann", .folded),
                tags: []
            )
        }
        let sequence = try await self.store.beginImport()
        _ = try await self.store.importRegistrations(rows, app: .default, sequence: sequence, lifetime: nil)
        #expect(try await self.live().count == 10)
        // One that they make themselves takes the place of one of those.
        #expect(try await self.scenario.put("own") == .done)
        #expect(try await self.live().count == 10)
        #expect(try await self.live().contains("own"))
        #expect(try await self.scenario.put("own", handle: "another") == .done)
        #expect(try await self.live().count == 10)
    }

    /// How many of these ids the store still knows.
    private func known() async throws -> Int {
        var count = 0
        for number in 0..<40 where try await self.state("x\(number)") != nil { count += 1 }
        return count
    }

    @Test func endedRegistrationsOfAUserAreLimited() async throws {
        // One handle after another, as whoever wants to fill the store.
        for number in 0..<20 { #expect(try await self.scenario.put("x\(number)", handle: "same") == .done) }
        // As long as an earlier change may come they are all known.
        #expect(try await self.known() == 20)
        self.fixture.time.advance(.seconds(86_400))
        for number in 20..<40 { #expect(try await self.scenario.put("x\(number)", handle: "same") == .done) }
        // Those of the last day are left.
        #expect(try await self.known() == 20)
        #expect(try await self.live() == ["x39"])
        #expect(try await self.state("x0") == nil)
        #expect(try await self.fixture.faults() == [])
    }

    // MARK: Ids that nobody has

    enum Step: Sendable { case put(String), delete }

    private static func orders(of count: Int) -> [[Int]] {
        guard count > 1 else { return [[0]] }
        return self.orders(of: count - 1).flatMap { order in
            (0..<count).map { place in
                var order = order
                order.insert(count - 1, at: place)
                return order
            }
        }
    }

    /// However they come, what was deleted last is not there, and its handle is nobody's.
    @Test(arguments: [[Step.put("h"), .delete], [.put("g"), .put("h"), .delete], [.put("h"), .delete, .delete]])
    func aRegistrationDeletedLastIsGoneInAnyOrder(steps: [Step]) async throws {
        for (number, order) in Self.orders(of: steps.count).enumerated() {
            let id = "id-\(number)"
            #expect(try await self.scenario.put("holder-\(number)", handle: "h", user: "bob") == .done)
            var sequences: [Int64] = []
            for _ in steps { sequences.append(try await self.scenario.sequence()) }
            for index in order + [order[0]] {
                switch steps[index] {
                case .put(let handle): _ = try await self.scenario.put(id, handle: handle, sequence: sequences[index])
                case .delete:
                    let request = RegisterRequest.delete(try #require(RegistrationID(id)))
                    _ = try await self.scenario.change(request, sequence: sequences[index])
                }
            }
            let state = try await self.state(id)
            #expect(state == nil || state == .deleted, "\(order)")
            #expect(try await self.live("bob").isEmpty, "\(order)")
            // What is later than all works, unless it was there and was deleted.
            #expect(try await self.scenario.put(id) == (state == nil ? .done : .gone), "\(order)")
            #expect(try await self.fixture.faults() == [])
        }
    }

    @Test func aDeletionStopsEarlierChangesOfItsUserAlone() async throws {
        let earlier = try await self.scenario.sequence()
        let delete = RegisterRequest.delete(try #require(RegistrationID("x")))
        #expect(try await self.scenario.change(delete, user: "bob") == .notFound)
        #expect(try await self.scenario.put("x", sequence: earlier) == .done)
        #expect(try await self.state("x") == .live)
        // An operator's stops everybody's.
        let late = try await self.scenario.sequence()
        let all = RegisterRequest.delete(try #require(RegistrationID("y")))
        let result = try await self.store.register(
            all,
            of: RegisterJob(app: .default, sequence: try await self.scenario.sequence(), most: 3)
        )
        #expect(result == .notFound)
        #expect(try await self.scenario.put("y", sequence: late) == .superseded)
        #expect(try await self.scenario.put("y", user: "bob", sequence: late) == .superseded)
        #expect(try await self.scenario.put("y", user: "bob") == .done)
    }

    /// Signed in and out on another's phone: the deletion is done before the takeover that it undoes.
    @Test(arguments: [false, true]) func aLateTakeoverOfADeletedRegistrationEndsIt(isThere: Bool) async throws {
        if isThere { #expect(try await self.scenario.put("x", handle: "h", user: "bob") == .done) }
        let owners = try await self.scenario.sequence()
        let takeover = try await self.scenario.sequence()
        let delete = RegisterRequest.delete(try #require(RegistrationID("x")))
        #expect(try await self.scenario.change(delete) == .notFound)
        if !isThere { #expect(try await self.scenario.put("x", handle: "h", user: "bob", sequence: owners) == .done) }
        for _ in 0..<2 { _ = try await self.scenario.put("x", handle: "h", sequence: takeover) }
        #expect(try await self.state("x") == .deleted)
        #expect(try await self.live() == [])
        #expect(try await self.live("bob") == [])
        #expect(try await self.fixture.faults() == [])
    }

    @Test func anImportBegunBeforeADeletionDoesNotUndoIt() async throws {
        let sequence = try await self.store.beginImport()
        for id in ["x", "y"] {
            let delete = RegisterRequest.delete(try #require(RegistrationID(id)))
            #expect(try await self.scenario.change(delete, user: id == "x" ? "ann" : "bob") == .notFound)
        }
        let rows = try ["x", "y", "z"].map { id in
            ImportedRegistration(
                id: RegistrationID(id),
                pns: .fcm,
                handle: Handle(stored: "h-\(id)"),
                user: try UserName("ann", .folded),
                tags: []
            )
        }
        let results = try await self.store.importRegistrations(rows, app: .default, sequence: sequence, lifetime: nil)
            .results
        #expect(results == [.superseded, .created, .created])
        let later = try await self.store.beginImport()
        #expect(
            try await self.store.importRegistrations(rows, app: .default, sequence: later, lifetime: nil).results[0]
                == .created
        )
    }

    /// However short ended registrations are kept: what is forgotten could be made anew by a change that comes late.
    @Test(arguments: [false, true]) func aDeletionIsRememberedWhileEarlierChangesMayArrive(clockIsBehind: Bool)
        async throws
    {
        #expect(try await self.scenario.put("x") == .done)
        let late = try await self.scenario.sequence()
        if clockIsBehind { self.fixture.time.jump(.seconds(-400 * 86_400)) }
        #expect(try await self.scenario.change(.delete(try #require(RegistrationID("x")))) == .done)
        if clockIsBehind { self.fixture.time.jump(.seconds(400 * 86_400)) }
        self.fixture.time.advance(.seconds(86_399))
        try await self.fixture.perform(.remove(.registrations, olderThan: .seconds(60)), limit: 10)
        #expect(try await self.scenario.put("x", sequence: late) == .gone)
        self.fixture.time.advance(.seconds(1))
        try await self.fixture.perform(.remove(.registrations, olderThan: .seconds(60)), limit: 10)
        #expect(try await self.state("x") == nil)
        #expect(try await self.scenario.put("x", sequence: late) == .refused("its time is over"))
        #expect(try await self.scenario.put("x") == .done)
    }
}
