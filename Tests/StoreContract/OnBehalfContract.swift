import PushModel
import Store
import Testing

/// Registrations that the app's backend makes and changes for its users (rule 11).
@Suite(.everyStore(with: [.outbox, .registrations])) struct OnBehalfContract {
    private let scenario: RegistrationScenario
    private var store: any DeviceStore { self.scenario.devices }

    init() throws { self.scenario = RegistrationScenario(try StoreFixtures.makeRegistrations()) }

    private func registration(_ id: RegistrationID) async throws -> Registration {
        try #require(try await self.store.registration(id, app: .default))
    }

    private func upsert(_ handle: String, for user: String?, tags: [String] = []) throws -> RegisterRequest.Upsert {
        RegisterRequest.Upsert(
            pns: .apns,
            handle: Handle(stored: handle),
            tags: try tags.map { try Tag($0, .folded) },
            onBehalf: .init(of: try user.map { try UserName($0, .folded) })
        )
    }

    private func patch(add: [String] = [], remove: [String] = []) throws -> RegisterRequest.Patch {
        .init(add: try add.map { try Tag($0, .folded) }, remove: try remove.map { try Tag($0, .folded) }, mostTags: 60)
    }

    private func change(
        _ request: RegisterRequest,
        by user: String? = nil,
        sequence: Int64? = nil,
        most: Int? = nil
    ) async throws -> RegisterResult? {
        let number: Int64
        if let sequence { number = sequence } else { number = try await self.sequence() }
        return try await self.store.register(
            request,
            of: RegisterJob(
                app: .default,
                user: try user.map { try UserName($0, .folded) },
                sequence: number,
                most: most
            )
        )
    }

    /// The sequence of a register job that is at work.
    private func sequence() async throws -> Int64 {
        let work = Job.Work.register(.delete(.random()))
        return try await self.scenario.accept(NewJob(app: .default, work: work, lifetime: .seconds(3600))).sequence
    }

    private func id(_ text: String) throws -> RegistrationID { try #require(RegistrationID(text)) }

    private func tags(_ id: RegistrationID) async throws -> [String] {
        try await self.registration(id).tags.map(\.name)
    }

    @Test func aBackendMovesARegistrationFromOneUserToAnother() async throws {
        let id = try await self.scenario.register(user: "ann", handle: "aa", tags: ["t"])
        #expect(try await self.change(.upsert(id, self.upsert("bb", for: "Bob", tags: ["u"]))) == .done)
        let now = try await self.registration(id)
        #expect(now.user?.name == "Bob" && now.handle?.text == "bb" && now.state == .live)
        #expect(now.tags.map(\.name) == ["u", "username:bob"])
        // Neither the user before nor the handle before leads to it.
        let annes = RegistrationQuery(app: .default, user: try UserName("ann", .folded))
        #expect(try await self.store.registrations(annes).items.isEmpty)
        #expect(try await self.change(.upsert(id, self.upsert("bb", for: nil, tags: ["u"]))) == .done)
        #expect(try await self.registration(id).user == nil)
        #expect(try await self.tags(id) == ["u"])
    }

    @Test func aUserCannotTakeARegistrationThatABackendMadeForAnother() async throws {
        let id = try self.id("phone-17")
        #expect(try await self.change(.upsert(id, self.upsert("aa", for: "ann"))) == .done)
        let other = RegisterRequest.Upsert(pns: .apns, handle: Handle(stored: "bb"), tags: [])
        #expect(try await self.change(.upsert(id, other), by: "bob") == .notFound)
        #expect(try await self.change(.patch(id, self.patch(add: ["t"])), by: "bob") == .notFound)
        #expect(try await self.change(.delete(id), by: "bob") == .notFound)
        #expect(try await self.registration(id).handle?.text == "aa")
        #expect(try await self.change(.delete(id)) == .done)
        let own = RegisterRequest.Upsert(pns: .apns, handle: Handle(stored: "aa"), tags: [])
        #expect(try await self.change(.upsert(id, own), by: "ann") == .gone)
    }

    /// Whoever knows the backend's names for devices could else delete each before the backend registers it.
    @Test func aBackendRevivesAnIDThatWasDeleted() async throws {
        let id = try self.id("phone-18")
        let sequence = try await self.sequence()
        let own = RegisterRequest.Upsert(pns: .apns, handle: Handle(stored: "bb"), tags: [])
        #expect(try await self.change(.upsert(id, own), by: "mallory") == .done)
        #expect(try await self.change(.delete(id), by: "mallory") == .done)
        #expect(try await self.change(.upsert(id, self.upsert("aa", for: "ann")), sequence: sequence) == .gone)
        #expect(try await self.registration(id).state == .deleted)
        #expect(try await self.change(.upsert(id, self.upsert("aa", for: "ann"))) == .done)
        let now = try await self.registration(id)
        #expect(now.state == .live && now.user?.name == "ann" && now.ended == nil)
    }

    @Test func aCreatedRegistrationIsFoundByItsHandle() async throws {
        let first = RegistrationID.random()
        let sequence = try await self.sequence()
        for _ in 0..<2 {
            let create = RegisterRequest.create(candidate: first, try self.upsert("aa", for: "ann", tags: ["t"]))
            #expect(try await self.change(create, sequence: sequence) == .issued(first))
        }
        let again = RegisterRequest.create(candidate: .random(), try self.upsert("aa", for: "bob", tags: ["u"]))
        #expect(try await self.change(again) == .issued(first))
        #expect(try await self.registration(first).user?.name == "bob")
        #expect(try await self.tags(first) == ["u", "username:bob"])
        #expect(try await self.store.registrations(RegistrationQuery(app: .default)).items.count == 1)
        // What comes again late changes nothing of what came later.
        let late = RegisterRequest.create(candidate: first, try self.upsert("aa", for: "ann"))
        #expect(try await self.change(late, sequence: sequence) == .issued(first))
        #expect(try await self.registration(first).user?.name == "bob")
    }

    @Test func theBoundOfAUserHoldsForWhatABackendMakes() async throws {
        for number in 1...4 {
            let upsert = try self.upsert("h\(number)", for: "ann")
            #expect(try await self.change(.upsert(self.id("r\(number)"), upsert), most: 3) == .done)
        }
        #expect(try await self.registration(self.id("r1")).state == .replaced)
        let query = RegistrationQuery(app: .default, user: try UserName("ann", .folded), state: .live)
        #expect(try await self.store.registrations(query).items.map(\.id.text) == ["r2", "r3", "r4"])
    }

    /// The message of the first comes again when its handle has gone to the second.
    @Test func aRepeatedUpsertRevivesNothingThatWasReplaced() async throws {
        let sequence = try await self.sequence()
        let first = RegisterRequest.upsert(try self.id("r1"), try self.upsert("aa", for: "ann"))
        #expect(try await self.change(first, sequence: sequence) == .done)
        #expect(try await self.change(.upsert(self.id("r2"), self.upsert("aa", for: "bob"))) == .done)
        #expect(try await self.change(first, sequence: sequence) == .done)
        #expect(try await self.registration(self.id("r1")).state == .replaced)
        #expect(try await self.registration(self.id("r2")).state == .live)
    }

    @Test func aPatchChangesTagsAndAudiencesAlone() async throws {
        let id = try await self.scenario.register(user: "ann", handle: "aa", tags: ["a", "b"])
        let before = try await self.registration(id)
        #expect(try await self.change(.patch(id, self.patch(add: ["B", "c"], remove: ["a", "none"]))) == .done)
        let after = try await self.registration(id)
        #expect(after.tags.map(\.name) == ["b", "c", "username:ann"])
        #expect(after.updated == before.updated && after.handle == before.handle)
        for (tag, count) in [("a", 0), ("b", 1), ("c", 1)] {
            let found = try await self.store.registrations(
                RegistrationQuery(app: .default, tag: try Tag(tag, .folded))
            )
            #expect(found.items.count == count, "\(tag)")
            let audience = try await self.store.count(
                AudienceQuery(.expression(.tag(try Tag(tag, .folded))), app: .default, pns: .apns)
            )
            #expect(audience.count == count, "\(tag)")
        }
    }

    /// A patch overlaps with another change: whichever is done first, neither is lost.
    @Test func aPatchAndAnUpsertThatOverlapBothTakeEffect() async throws {
        let id = try await self.scenario.register(user: "ann", handle: "aa", tags: ["a"])
        let (early, patch, late) = (
            try await self.sequence(), try await self.sequence(), try await self.sequence()
        )
        #expect(try await self.change(.patch(id, self.patch(add: ["p"])), sequence: patch) == .done)
        #expect(
            try await self.change(.upsert(id, self.upsert("bb", for: "ann", tags: ["e"])), sequence: early) == .done
        )
        #expect(try await self.registration(id).handle?.text == "bb")
        #expect(try await self.change(.upsert(id, self.upsert("cc", for: "ann", tags: ["l"])), sequence: late) == .done)
        #expect(try await self.tags(id) == ["l", "username:ann"])
    }

    /// Its worker died before the job was finished.
    @Test func anUpsertThatComesAgainUndoesNoPatch() async throws {
        let (id, sequence) = (try self.id("r1"), try await self.sequence())
        let put = RegisterRequest.upsert(id, try self.upsert("aa", for: "ann", tags: ["t"]))
        #expect(try await self.change(put, sequence: sequence) == .done)
        #expect(try await self.change(.patch(id, self.patch(add: ["p"]))) == .done)
        #expect(try await self.change(put, sequence: sequence) == .done)
        #expect(try await self.tags(id) == ["p", "t", "username:ann"])
    }

    /// The registration that a POST has found is gone when its message comes again.
    @Test func aCreateThatComesAgainMakesNothing() async throws {
        let id = try await self.scenario.register(user: "ann", handle: "aa")
        let (candidate, sequence) = (RegistrationID.random(), try await self.sequence())
        let create = RegisterRequest.create(candidate: candidate, try self.upsert("aa", for: "ann"))
        #expect(try await self.change(create, sequence: sequence) == .issued(id))
        #expect(try await self.change(.delete(id)) == .done)
        #expect(try await self.change(create, sequence: sequence) == .issued(id))
        #expect(try await self.store.registration(candidate, app: .default) == nil)
        #expect(try await self.registration(id).state == .deleted)
    }

    @Test func aPatchOfACancelledJobChangesNothing() async throws {
        let id = try await self.scenario.register(user: "ann", handle: "aa")
        let add = RegisterRequest.patch(id, try self.patch(add: ["t"]))
        let job = try await self.scenario.accept(
            NewJob(app: .default, priority: .high, work: .register(add), lifetime: .seconds(3600))
        )
        _ = try await self.store.finishRegister(job.id, result: .refused("cancelled"))
        #expect(try await self.change(add, sequence: job.sequence) != .done)
        #expect(try await self.tags(id) == ["username:ann"])
    }

    /// A tag that a later change took away does not come back.
    @Test func aPatchThatComesLateIsSuperseded() async throws {
        let id = try await self.scenario.register(user: "ann", handle: "aa")
        let late = try await self.sequence()
        #expect(try await self.change(.upsert(id, self.upsert("aa", for: "bob", tags: ["t"]))) == .done)
        #expect(try await self.change(.patch(id, self.patch(add: ["staff"])), sequence: late) == .superseded)
        #expect(try await self.tags(id) == ["t", "username:bob"])
    }

    /// Its worker died before the job was finished, and a later patch was done meanwhile.
    @Test func aPatchThatComesAgainIsNotDoneTwice() async throws {
        let id = try await self.scenario.register(user: "ann", handle: "aa")
        let add = RegisterRequest.patch(id, try self.patch(add: ["t"]))
        let job = try await self.scenario.accept(
            NewJob(app: .default, priority: .high, work: .register(add), lifetime: .seconds(3600))
        )
        #expect(try await self.change(add, sequence: job.sequence) == .done)
        #expect(try await self.change(.patch(id, self.patch(remove: ["t"]))) == .done)
        #expect(try await self.change(add, sequence: job.sequence) == .done)
        #expect(try await self.tags(id) == ["username:ann"])
        _ = try await self.store.finishRegister(job.id, result: .done)
        #expect(try await self.store.job(job.id, app: .default)?.state == .completed)
    }

    @Test func aPatchNeedsALiveRegistrationAndHasItsLimit() async throws {
        #expect(try await self.change(.patch(self.id("none"), self.patch(add: ["t"]))) == .notFound)
        let id = try await self.scenario.register(user: "ann", handle: "aa", tags: (1...59).map { "t\($0)" })
        #expect(try await self.change(.patch(id, self.patch(add: ["t60"]))) == .done)
        let tooMany = try await self.change(.patch(id, self.patch(add: ["t61"])))
        #expect(tooMany == .refused("a registration has at most 60 tags"))
        #expect(try await self.change(.patch(id, self.patch(add: ["t61"], remove: ["t1"]))) == .done)
        _ = try await self.scenario.register(user: "bob", handle: "bb")
        #expect(try await self.change(.upsert(self.id("other"), self.upsert("aa", for: "bob"))) == .done)
        guard case .refused(let reason) = try await self.change(.patch(id, self.patch(add: ["t"]))) else {
            Issue.record("a replaced registration took tags")
            return
        }
        #expect(reason == "it is replaced, not live: register the device again")
        #expect(try await self.change(.delete(id)) == .done)
        #expect(try await self.change(.patch(id, self.patch(add: ["t"]))) == .gone)
    }

    @Test func registrationsAreListedByTheirHandle() async throws {
        let id = try await self.scenario.register(user: "ann", handle: "aa", tags: ["t"])
        _ = try await self.scenario.register(user: "bob", handle: "bb", tags: ["t"])
        let same = try self.id("same")
        #expect(try await self.scenario.upsert(same, user: "bob", handle: "aa", pns: .fcm) == .done)
        func found(
            _ handles: [String],
            user: String? = nil,
            tag: String? = nil,
            pns: PushService? = nil,
            state: Registration.State? = nil
        ) async throws -> Set<RegistrationID> {
            let query = RegistrationQuery(
                app: .default,
                user: try user.map { try UserName($0, .folded) },
                tag: try tag.map { try Tag($0, .folded) },
                pns: pns,
                handles: handles.map(Handle.init(stored:)),
                state: state
            )
            return Set(try await self.store.registrations(query).items.map(\.id))
        }
        #expect(try await found(["aa"]) == [id, same])
        #expect(try await found(["AA", "aa"], pns: .apns) == [id])
        #expect(try await found(["aa"], user: "ann") == [id])
        #expect(try await found(["aa"], tag: "t") == [id])
        #expect(try await found(["aa"], tag: "username:bob") == [same])
        #expect(try await found(["aa"], state: .pruned) == [])
        #expect(try await found(["cc"]) == [])
    }
}
