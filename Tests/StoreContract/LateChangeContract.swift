import PushModel
import SeededRandom
import Store
import Testing

/// Changes that come late end up where they would have been in time, also where what came after them is gone (rule 11).
@Suite(.everyStore(with: [.outbox, .registrations])) struct LateChangeContract {
    private let fixture: any RegistrationFixture
    private let scenario: RegistrationScenario
    private var store: any DeviceStore { self.scenario.devices }

    init() throws {
        self.fixture = try StoreFixtures.makeRegistrations()
        self.scenario = RegistrationScenario(self.fixture)
    }

    private func registration(_ id: RegistrationID) async throws -> Registration {
        try #require(try await self.store.registration(id, app: .default))
    }

    private func delete(_ id: RegistrationID, sequence: Int64, app: AppID = .default) async throws -> RegisterResult? {
        try await self.store.register(.delete(id), of: RegisterJob(app: app, sequence: sequence))
    }

    /// The push service says that a registration's handle is dead.
    private func prune(_ row: Int64, _ handle: String) async throws {
        self.fixture.time.advance(.seconds(60))
        let mark = DeadHandle(
            row: row,
            handle: Handle(stored: handle),
            before: self.fixture.time.wall,
            reason: "Unregistered"
        )
        try await self.fixture.leave([mark], tag: "t", accepted: 1)
        #expect(try await self.scenario.prune(limit: 10) == 1)
    }

    enum End: CaseIterable {
        case deleted, movedOn, pruned, expired
    }

    /// A registration has taken a handle after the late change was accepted, and has lost it since.
    private func loseHandle(_ end: End, of id: RegistrationID) async throws {
        let lifetime = end == .expired ? Duration.seconds(10) : nil
        #expect(
            try await self.scenario.upsert(id, user: "bob", handle: "dd", tags: ["t"], lifetime: lifetime) == .done
        )
        switch end {
        case .deleted: #expect(try await self.delete(id, sequence: self.scenario.sequence()) == .done)
        case .movedOn: #expect(try await self.scenario.upsert(id, user: "bob", handle: "ee") == .done)
        case .pruned: try await self.prune(self.registration(id).row, "dd")
        case .expired:
            self.fixture.time.advance(.seconds(10))
            #expect(try await self.scenario.expireRegistrations(limit: 10) == 1)
        }
    }

    @Test(arguments: End.allCases)
    func aLateChangeDoesNotReviveAReassignedHandle(end: End) async throws {
        let first = try await self.scenario.register(user: "ann", handle: "aa")
        let second = try await self.scenario.register(user: "bob", handle: "bb")
        let late = try await self.scenario.sequence()
        try await self.loseHandle(end, of: second)
        #expect(try await self.scenario.upsert(first, user: "ann", handle: "dd", sequence: late) == .done)
        let now = try await self.registration(first)
        #expect(now.state == .replaced)
        #expect(now.tags.isEmpty)
        #expect(now.ended?.reason == "its handle went to a later registration, which has ended")
        // Its owner asks anew: that is later than all.
        #expect(try await self.scenario.upsert(first, user: "ann", handle: "dd") == .done)
        #expect(try await self.registration(first).state == .live)
    }

    @Test(arguments: End.allCases)
    func anImportDoesNotReviveAReassignedHandle(end: End) async throws {
        let known = try await self.scenario.register(user: "ann", handle: "aa")
        let second = try await self.scenario.register(user: "bob", handle: "bb")
        let late = try await self.store.beginImport()
        try await self.loseHandle(end, of: second)
        let handle = Handle(stored: "dd")
        for id in [nil, RegistrationID("from-elsewhere-1"), known] {
            let row = ImportedRegistration(id: id, pns: .apns, handle: handle, user: nil, tags: [])
            let others = (0..<30).map { number in
                ImportedRegistration(pns: .fcm, handle: Handle(stored: "x\(number)"), user: nil, tags: [])
            }
            let results = try await self.store.importRegistrations(
                [row] + others,
                app: .default,
                sequence: late,
                lifetime: nil
            ).results
            #expect(results.first == .superseded)
            #expect(results.dropFirst().allSatisfy { $0 != .superseded })
        }
        let live = try await self.store.registrations(RegistrationQuery(app: .default, pns: .apns, state: .live)).items
        #expect(!live.contains { $0.handle == handle })
        let next = try await self.store.beginImport()
        let row = ImportedRegistration(pns: .apns, handle: handle, user: nil, tags: [])
        #expect(
            try await self.store.importRegistrations([row], app: .default, sequence: next, lifetime: nil).results == [
                .created
            ]
        )
    }

    @Test func aHandleIsFreeBetweenARegistrationAndItsDeletion() async throws {
        let first = try await self.scenario.register(user: "ann", handle: "aa")
        let second = try await self.scenario.register(user: "bob", handle: "dd")
        let between = try await self.scenario.sequence()
        #expect(try await self.delete(second, sequence: self.scenario.sequence()) == .done)
        #expect(try await self.scenario.upsert(first, user: "ann", handle: "dd", sequence: between) == .done)
        #expect(try await self.registration(first).state == .live)
    }

    @Test func aRedeliveryDoesNotReviveAPrunedRegistration() async throws {
        let id = try await self.scenario.register(user: "ann", handle: "aa")
        let sequence = try await self.scenario.sequence()
        for _ in 0..<2 {
            #expect(
                try await self.scenario.upsert(id, user: "ann", handle: "dd", tags: ["t"], sequence: sequence) == .done
            )
        }
        try await self.prune(1, "dd")
        #expect(
            try await self.scenario.upsert(id, user: "ann", handle: "dd", tags: ["t"], sequence: sequence) == .done
        )
        #expect(try await self.registration(id).state == .pruned)
    }

    @Test func anExpiredJobChangesNothing() async throws {
        let id = try await self.scenario.register(user: "ann", handle: "aa")
        // Its worker looks at it, and is halted for a day.
        let late = try await self.scenario.sequence()
        self.fixture.time.advance(.seconds(86_400))
        #expect(
            try await self.scenario.upsert(id, user: "ann", handle: "dd", sequence: late)
                == .refused("its time is over")
        )
        #expect(try await self.registration(id).handle?.text == "aa")
    }

    // MARK: Whatever the order

    /// A change in short.
    private struct Step {
        let id: Int
        /// nil = it is deleted, for good.
        let handle: String?
        let sequence: Int64
    }

    /// Changes to four registrations that fight for three handles.
    private static func steps(_ random: inout SeededGenerator) -> [Step] {
        var deleted: Set<Int> = []
        return (0..<12).compactMap { number in
            let id = Int.random(in: 0..<4, using: &random)
            guard !deleted.contains(id) else { return nil }
            let isEnd = Int.random(in: 0..<4, using: &random) == 0
            if isEnd { deleted.insert(id) }
            let handle = "h\(Int.random(in: 0..<3, using: &random))"
            return Step(id: id, handle: isEnd ? nil : handle, sequence: 100 + Int64(number))
        }
    }

    /// Makes the changes in an app of their own, in their order.
    ///
    /// - Returns: Who ends up live, with which handle.
    private func outcome(of steps: [Step], in app: AppID) async throws -> [Int: String] {
        var ids: [RegistrationID] = []
        for number in 0..<4 {
            let issue = RegisterRequest.issue(candidate: .random(), handles: [])
            let result = try await self.store.register(issue, of: RegisterJob(app: app, sequence: Int64(number + 1)))
            guard case .issued(let id) = result else { throw Unexpected(String(describing: result)) }
            ids.append(id)
        }
        for step in steps {
            if let handle = step.handle {
                _ = try await self.scenario.upsert(
                    ids[step.id],
                    user: "ann",
                    handle: handle,
                    app: app,
                    sequence: step.sequence
                )
            } else {
                _ = try await self.delete(ids[step.id], sequence: step.sequence, app: app)
            }
        }
        var live: [Int: String] = [:]
        for (number, id) in ids.enumerated() {
            // Nothing is kept of an id that was deleted before it was used.
            let registration = try await self.store.registration(id, app: app)
            if let registration, registration.state == .live { live[number] = registration.handle?.text }
        }
        return live
    }

    @Test func changesHaveTheSameResultInAnyOrder() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for seed in 0..<80 {
                group.addTask {
                    var random = SeededGenerator(seed: UInt64(seed))
                    let steps = Self.steps(&random)
                    // Some come twice.
                    let late = (steps + steps.prefix(3)).shuffled(using: &random)
                    let right = try await self.outcome(of: steps, in: AppID("right-\(seed)"))
                    let other = try await self.outcome(of: late, in: AppID("late-\(seed)"))
                    #expect(other == right, "seed \(seed): \(late)")
                }
            }
            try await group.waitForAll()
        }
    }
}
