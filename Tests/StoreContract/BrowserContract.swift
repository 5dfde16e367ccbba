import PushModel
import Store
import Testing

/// A browser is its endpoint: one that registers with other keys replaces what it was, and is sent to once (decision 34).
@Suite(.everyStore(with: [.outbox, .registrations])) struct BrowserContract {
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

    private func live() async throws -> [Registration] {
        try await self.store.registrations(RegistrationQuery(app: .default, state: .live)).items
    }

    @Test func aBrowserWithOtherKeysIsTheSameDevice() async throws {
        let handles = try (0..<4).map { _ in try self.scenario.browser("a") }
        let id = try await self.scenario.register(user: "ann", handle: handles[0], pns: .web, tags: ["x"])
        let row = try await self.registration(id).row
        // Its app asks for the id of its handle, as after a new subscription.
        #expect(try await self.scenario.register(user: "ann", handle: handles[1], pns: .web, tags: ["x"]) == id)
        // Made anew without an id, by another user of the browser.
        let create = RegisterRequest.create(
            candidate: .random(),
            .init(pns: .web, handle: Handle(stored: handles[2]), tags: [try Tag("x", .folded)])
        )
        // Done once, by a job that is at work.
        let job = NewJob(app: .default, work: .register(create), lifetime: .seconds(3600))
        let created = try await self.store.register(
            create,
            of: RegisterJob(
                app: .default,
                user: try UserName("bob", .folded),
                sequence: try await self.scenario.accept(job).sequence
            )
        )
        #expect(created == .issued(id))
        #expect(try await self.live().map(\.handle?.text) == [handles[2]])
        #expect(try await self.registration(id).user?.name == "bob")
        // One target, with the latest keys.
        let page = try await self.store.audience(
            AudienceQuery(.expression(.tag(try Tag("x", .folded))), app: .default, pns: .web, through: row, limit: 10)
        )
        #expect(page.rows == [row])
        #expect(page.handles.handle(at: 0).text == handles[2])
        // An id of one's own takes the device from the one that had it, and a lookup by any of its handles finds it.
        let own = try #require(RegistrationID("from-elsewhere"))
        #expect(try await self.scenario.upsert(own, user: "bob", handle: handles[3], pns: .web) == .done)
        #expect(try await self.registration(id).state == .replaced)
        for handle in handles {
            let query = RegistrationQuery(app: .default, handles: [Handle(stored: handle)])
            #expect(try await self.store.registrations(query).items.map(\.id) == [own])
        }
        // Another endpoint is another device.
        let other = try await self.scenario.register(user: "bob", handle: try self.scenario.browser("ab"), pns: .web)
        #expect(try await Set(self.live().map(\.id)) == [own, other])
    }

    @Test(arguments: [false, true])
    func aBrowserHasTheKeysOfItsLatestChangeInAnyOrder(laterFirst: Bool) async throws {
        let id = try await self.scenario.register(user: "ann", handle: try self.scenario.browser("b"), pns: .web)
        let other = try #require(RegistrationID("from-elsewhere"))
        let changes = [
            (id, try self.scenario.browser("a"), try await self.scenario.sequence()),
            (other, try self.scenario.browser("a"), try await self.scenario.sequence()),
        ]
        for (id, handle, sequence) in laterFirst ? changes.reversed() : changes {
            _ = try await self.scenario.upsert(id, user: "ann", handle: handle, pns: .web, sequence: sequence)
        }
        #expect(try await self.live().map(\.handle?.text) == [changes[1].1])
    }

    @Test func anImportOfABrowserWithOtherKeysReplacesThem() async throws {
        let id = try await self.scenario.register(user: "ann", handle: try self.scenario.browser("a"), pns: .web)
        let rows = try ["a", "b", "b"].map { name in
            ImportedRegistration(
                pns: .web,
                handle: Handle(stored: try self.scenario.browser(name)),
                user: nil,
                tags: []
            )
        }
        let results = try await self.store.importRegistrations(
            rows,
            app: .default,
            sequence: try await self.store.beginImport(),
            lifetime: nil
        ).results
        #expect(results == [.updated, .created, .updated])
        #expect(try await self.registration(id).handle == rows[0].handle)
        #expect(try await self.live().map(\.handle) == [rows[0].handle, rows[2].handle])
    }

    /// What a push service says of an endpoint does not end the device that has registered since, with other keys.
    @Test func aDeadBrowserThatRegistersAgainIsNotPruned() async throws {
        let (old, new) = (try self.scenario.browser("a"), try self.scenario.browser("a"))
        let id = try await self.scenario.register(user: "ann", handle: old, pns: .web, tags: ["t"])
        self.fixture.time.advance(.seconds(60))
        let sent = self.fixture.time.wall
        self.fixture.time.advance(.seconds(60))
        #expect(try await self.scenario.register(user: "ann", handle: new, pns: .web, tags: ["t"]) == id)
        let marks = [old, new].map { handle in
            DeadHandle(row: 1, handle: Handle(stored: handle), before: sent, reason: "Unsubscribed")
        }
        try await self.fixture.leave(marks, tag: "t", accepted: 1)
        #expect(try await self.scenario.prune(limit: 10) == 2)
        #expect(try await self.registration(id).state == .live)
        #expect(try await self.registration(id).handle?.text == new)
    }
}
