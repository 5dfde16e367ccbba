import PushModel
import Store
import Testing

/// What any store must do with registrations (rules 2, 9 and 11, and the classic backend's contract).
@Suite(.everyStore(with: [.outbox, .registrations])) struct RegistrationContract {
    let fixture: any RegistrationFixture
    let scenario: RegistrationScenario
    var store: any DeviceStore { self.scenario.devices }

    init() throws {
        self.fixture = try StoreFixtures.makeRegistrations()
        self.scenario = RegistrationScenario(self.fixture)
    }

    private func registration(_ id: RegistrationID) async throws -> Registration {
        try #require(try await self.store.registration(id, app: .default))
    }

    private func delete(_ id: RegistrationID, user: String?, sequence: Int64? = nil) async throws -> RegisterResult? {
        let number: Int64
        if let sequence { number = sequence } else { number = try await self.scenario.sequence() }
        return try await self.store.register(
            .delete(id),
            of: RegisterJob(app: .default, user: try user.map { try UserName($0, .folded) }, sequence: number)
        )
    }

    @Test func putCreatesAndReplacesTags() async throws {
        let id = try await self.scenario.register(user: "ann", handle: "aa", tags: ["b", "a"])
        #expect(try await self.registration(id).tags.map(\.name) == ["a", "b", "username:ann"])
        #expect(try await self.scenario.upsert(id, user: "ann", handle: "aa", tags: ["c", "username:ann"]) == .done)
        let now = try await self.registration(id)
        #expect(now.tags.map(\.name) == ["c", "username:ann"])
        #expect(now.state == .live)
        #expect(now.row == 1)
    }

    @Test func aKnownHandleGetsItsIDAgain() async throws {
        let id = try await self.scenario.register(user: "ann", handle: "aa")
        #expect(try await self.scenario.register(user: "ann", handle: "aa") == id)
        #expect(try await self.store.registrations(RegistrationQuery(app: .default)).items.count == 1)
    }

    @Test func aRepeatedIssueReturnsTheSameID() async throws {
        let candidate = RegistrationID.random()
        for _ in 0..<2 {
            let result = try await self.store.register(
                .issue(candidate: candidate, handles: []),
                of: RegisterJob(app: .default, sequence: 7)
            )
            #expect(result == .issued(candidate))
        }
        // Nothing is kept of an id that may never be used.
        #expect(try await self.store.registration(candidate, app: .default) == nil)
        #expect(try await self.scenario.upsert(candidate, user: "ann", handle: "aa") == .done)
        let again = try await self.store.register(
            .issue(candidate: candidate, handles: [Handle(stored: "aa")]),
            of: RegisterJob(app: .default, sequence: 7)
        )
        #expect(again == .issued(candidate))
    }

    @Test func anUnknownIDBecomesTheUsers() async throws {
        let id = try #require(RegistrationID("1234567890123456789-1234567890123456789-1"))
        #expect(try await self.delete(id, user: "ann") == .notFound)
        #expect(try await self.scenario.upsert(id, user: "ann", handle: "aa", tags: ["t"]) == .done)
        let made = try await self.registration(id)
        #expect(made.state == .live)
        #expect(made.tags.map(\.name) == ["t", "username:ann"])
        #expect(try await self.scenario.upsert(id, user: "bob", handle: "bb") == .notFound)
        // Each app has its own.
        #expect(try await self.scenario.upsert(id, user: "bob", handle: "aa", app: AppID("other")) == .done)
        #expect(try await self.registration(id).user?.name == "ann")
        let handles = try await self.store.audience(
            AudienceQuery(
                .expression(.tag(Tag(user: try UserName("ann", .folded)))),
                app: .default,
                pns: .apns,
                rows: [made.row]
            )
        ).addresses
        #expect(handles == [made.row: DeviceAddress(handle: Handle(stored: "aa"))])
    }

    @Test func aNewIDTakesItsHandleFromAnotherRegistration() async throws {
        let first = try await self.scenario.register(user: "ann", handle: "aa")
        let id = try #require(RegistrationID("from-elsewhere"))
        #expect(try await self.scenario.upsert(id, user: "bob", handle: "aa") == .done)
        #expect(try await self.registration(first).state == .replaced)
        #expect(try await self.registration(id).state == .live)
    }

    @Test func anotherUserTakesOverOnlyWithTheSameHandle() async throws {
        let id = try await self.scenario.register(user: "ann", handle: "aa", tags: ["x"])
        #expect(try await self.scenario.upsert(id, user: "bob", handle: "bb") == .notFound)
        #expect(try await self.scenario.upsert(id, user: "bob", handle: "aa", tags: ["y"]) == .done)
        let now = try await self.registration(id)
        #expect(now.user?.name == "bob")
        #expect(now.tags.map(\.name) == ["username:bob", "y"])
        #expect(try await self.delete(id, user: "ann") == .notFound)
    }

    @Test func aHandleLeavesItsEarlierRegistration() async throws {
        let first = try await self.scenario.register(user: "ann", handle: "aa")
        let second = try await self.scenario.register(user: "bob", handle: "bb")
        #expect(try await self.scenario.upsert(second, user: "bob", handle: "aa") == .done)
        let old = try await self.registration(first)
        #expect(old.state == .replaced)
        #expect(old.tags.isEmpty)
        #expect(old.ended?.reason.contains(second.text) == true)
        // Its owner revives it, with a new handle, in its old row.
        #expect(try await self.scenario.upsert(first, user: "ann", handle: "cc") == .done)
        #expect(try await self.registration(first).state == .live)
        #expect(try await self.registration(first).row == old.row)
    }

    @Test func deletedIDsAreNotRevived() async throws {
        let id = try await self.scenario.register(user: "ann", handle: "aa")
        let sequence = try await self.scenario.sequence()
        #expect(try await self.delete(id, user: "ann", sequence: sequence) == .done)
        #expect(try await self.delete(id, user: "ann", sequence: sequence) == .done)
        #expect(try await self.delete(id, user: "ann") == .gone)
        #expect(try await self.scenario.upsert(id, user: "ann", handle: "aa") == .gone)
        #expect(try await self.store.registrations(RegistrationQuery(app: .default)).items.isEmpty)
        #expect(try await self.registration(id).handle == nil)
    }

    @Test func anOperatorMayDeleteAnyRegistration() async throws {
        let id = try await self.scenario.register(user: "ann", handle: "aa")
        #expect(try await self.delete(id, user: nil) == .done)
    }

    @Test func anEarlierChangeDoesNotOverwriteALaterOne() async throws {
        let id = try await self.scenario.register(user: "ann", handle: "aa")
        let earlier = try await self.scenario.sequence()
        let later = try await self.scenario.sequence()
        #expect(try await self.scenario.upsert(id, user: "ann", handle: "cc", sequence: later) == .done)
        #expect(try await self.scenario.upsert(id, user: "ann", handle: "bb", sequence: earlier) == .superseded)
        #expect(try await self.delete(id, user: "ann", sequence: earlier) == .superseded)
        #expect(try await self.scenario.upsert(id, user: "ann", handle: "cc", sequence: later) == .done)
        #expect(try await self.registration(id).handle?.text == "cc")
    }

    @Test(arguments: [false, true])
    func aHandleBelongsToItsLatestChangeInAnyOrder(laterFirst: Bool) async throws {
        let first = try await self.scenario.register(user: "ann", handle: "aa")
        let second = try await self.scenario.register(user: "bob", handle: "bb")
        let earlier = try await self.scenario.sequence()
        let later = try await self.scenario.sequence()
        let order =
            laterFirst
            ? [(second, "bob", later), (first, "ann", earlier)] : [(first, "ann", earlier), (second, "bob", later)]
        for (id, user, sequence) in order {
            #expect(try await self.scenario.upsert(id, user: user, handle: "dd", sequence: sequence) == .done)
        }
        #expect(try await self.registration(first).state == .replaced)
        #expect(try await self.registration(second).state == .live)
    }

    @Test func deadHandlesArePrunedUnlessRegisteredAgain() async throws {
        let id = try await self.scenario.register(user: "ann", handle: "aa", tags: ["t"])
        let newer = try await self.scenario.register(user: "bob", handle: "bb", tags: ["t"])
        self.fixture.time.advance(.seconds(60))
        let sent = self.fixture.time.wall
        self.fixture.time.advance(.seconds(60))
        // This one registers again after the send: its mark comes too late.
        #expect(try await self.scenario.upsert(newer, user: "bob", handle: "bb", tags: ["t"]) == .done)
        let marks = [
            DeadHandle(row: 1, handle: Handle(stored: "aa"), before: sent, reason: "Unregistered"),
            DeadHandle(row: 2, handle: Handle(stored: "bb"), before: sent, reason: "Unregistered"),
            DeadHandle(row: 1, handle: Handle(stored: "zz"), before: sent, reason: "another handle"),
            // Answered once more before it is pruned.
            DeadHandle(row: 1, handle: Handle(stored: "aa"), before: sent, reason: "Unregistered"),
        ]
        try await self.fixture.leave(marks, tag: "t", accepted: 2)
        #expect(try await self.scenario.prune(limit: 2) == 2)
        #expect(try await self.scenario.prune(limit: 2) == 1)
        #expect(try await self.scenario.prune(limit: 2) == 0)
        let ended = try await self.registration(id)
        #expect(ended.state == .pruned)
        #expect(ended.ended == .init(at: self.fixture.time.wall, reason: "Unregistered"))
        #expect(try await self.registration(newer).state == .live)
        #expect(try await self.scenario.upsert(id, user: "ann", handle: "aa") == .done)
        #expect(try await self.registration(id).ended == nil)
    }

    @Test func registrationsExpireAndRevive() async throws {
        let id = try await self.scenario.register(user: "ann", handle: "aa", lifetime: .seconds(10))
        #expect(try await self.scenario.expireRegistrations(limit: 10) == 0)
        self.fixture.time.advance(.seconds(11))
        #expect(try await self.scenario.expireRegistrations(limit: 10) == 1)
        #expect(try await self.registration(id).state == .expired)
        #expect(try await self.scenario.upsert(id, user: "ann", handle: "aa") == .done)
        #expect(try await self.registration(id).state == .live)
    }

    @Test func listsAreFilteredAndPaged() async throws {
        for number in 0..<5 {
            try await self.scenario.register(
                user: number.isMultiple(of: 2) ? "even" : "odd",
                handle: "aa\(number)",
                pns: number == 4 ? .fcm : .apns,
                tags: ["t\(number)"]
            )
        }
        var rows: [Int64] = []
        var cursor: String?
        repeat {
            let page = try await self.store.registrations(RegistrationQuery(app: .default, cursor: cursor, limit: 2))
            rows += page.items.map(\.row)
            cursor = page.cursor
        } while cursor != nil
        #expect(rows == [1, 2, 3, 4, 5])
        // Just as many as there are, in several ranges: nothing comes after them.
        #expect(try await self.store.registrations(RegistrationQuery(app: .default, limit: 5)).cursor == nil)
        #expect(try await self.store.registrations(RegistrationQuery(app: .default, limit: 4)).cursor != nil)
        let even = RegistrationQuery(app: .default, user: try UserName("even", .folded))
        #expect(try await self.store.registrations(even).items.map(\.row) == [1, 3, 5])
        let tagged = RegistrationQuery(app: .default, tag: try Tag("t3", .folded))
        #expect(try await self.store.registrations(tagged).items.map(\.row) == [4])
        let fcm = RegistrationQuery(app: .default, pns: .fcm)
        #expect(try await self.store.registrations(fcm).items.map(\.row) == [5])
        await #expect(throws: StoreError.self) {
            _ = try await self.store.registrations(RegistrationQuery(app: .default, cursor: "x"))
        }
    }

    // MARK: Audiences

    @Test func anAudienceIsExactAndInRowOrder() async throws {
        for number in 0..<40 {
            var tags: [String] = []
            if number.isMultiple(of: 2) { tags.append("two") }
            if number.isMultiple(of: 3) { tags.append("three") }
            if number.isMultiple(of: 5) { tags.append("five") }
            try await self.scenario.register(
                user: "u\(number)",
                handle: "aa\(number)",
                pns: number == 39 ? .fcm : .apns,
                tags: tags
            )
        }
        let any = TagExpression.any([
            .tag(try Tag("two", .folded)), .any([.tag(try Tag("three", .folded)), .tag(try Tag("five", .folded))]),
            .tag(try Tag("none", .folded)),
        ])
        let expected: [Int64] = (0..<39).filter { number in [2, 3, 5].contains { number % $0 == 0 } }.map {
            Int64($0) + 1
        }
        for limit in [1, 3, 7, 100] {
            var rows: [Int64] = []
            var after: Int64 = 0
            while true {
                let page = try await self.audience(any, after: after, through: 40, limit: limit)
                #expect(page.rows.count <= limit)
                for (index, row) in page.rows.enumerated() {
                    #expect(page.handles.handle(at: index).text == "aa\(row - 1)")
                }
                guard let last = page.rows.last else { break }
                rows += page.rows
                after = last
            }
            #expect(rows == expected)
        }
        let part = try await self.audience(any, after: 3, through: 9, limit: 100)
        #expect(part.rows == expected.filter { $0 > 3 && $0 <= 9 })
        let nobody = try await self.audience(.tag(Tag("none", .folded)), after: 0, through: 40, limit: 10)
        #expect(nobody.rows.isEmpty && nobody.scannedThrough == 40)
        let found = try await self.store.audience(
            AudienceQuery(.expression(any), app: .default, pns: .apns, rows: [1, 2, 3, 40])
        ).addresses
        #expect(found.mapValues(\.handle) == [1: Handle(stored: "aa0"), 3: Handle(stored: "aa2")])
    }

    @Test func anAudienceOfManyTagsIsMergedInPieces() async throws {
        let names = (0..<60).map { "m\($0)" }
        for number in 0..<120 {
            try await self.scenario.register(
                user: "u",
                handle: "h\(number)",
                tags: [names[number % 60], names[number / 2]]
            )
        }
        let expression = TagExpression.any(try names.map { .tag(try Tag($0, .folded)) })
        let page = try await self.audience(expression, after: 0, through: .max, limit: 1000)
        #expect(page.rows == (1...120).map(Int64.init))
    }

    private func audience(_ of: TagExpression, after: Int64, through: Int64, limit: Int) async throws -> AudiencePage {
        try await self.store.audience(
            AudienceQuery(.expression(of), app: .default, pns: .apns, after: after, through: through, limit: limit)
        )
    }
}
