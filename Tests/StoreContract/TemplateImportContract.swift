import PushModel
import Store
import Testing

/// What any store must do with imported registrations for templates (rules 2 and 11).
@Suite(.everyStore(with: [.outbox, .registrations])) struct TemplateImportContract {
    let fixture: any RegistrationFixture
    let scenario: RegistrationScenario
    var store: any DeviceStore { self.scenario.devices }

    init() throws {
        self.fixture = try StoreFixtures.makeRegistrations()
        self.scenario = RegistrationScenario(self.fixture)
    }

    private func row(
        _ template: String?,
        id: String? = nil,
        handle: String = "aa",
        user: String? = nil,
        tags: [String] = ["t"],
        body: String = "{}"
    ) throws -> ImportedRegistration {
        ImportedRegistration(
            id: try id.map { try #require(RegistrationID($0)) },
            pns: .apns,
            handle: Handle(stored: handle),
            user: try user.map { try UserName($0, .folded) },
            tags: try tags.map { try PushModel.Tag($0, .folded) },
            template: template.map { DeviceTemplate(name: $0, content: .init(body: body, expiry: "$(e)")) }
        )
    }

    private func bring(_ rows: [ImportedRegistration], sequence: Int64? = nil) async throws -> [ImportResult] {
        let number: Int64
        if let sequence { number = sequence } else { number = try await self.store.beginImport() }
        return try await self.store.importRegistrations(rows, app: .default, sequence: number, lifetime: nil).results
    }

    private func count(_ tag: String, _ kind: RegistrationKind) async throws -> Int {
        try await self.store.audience(
            AudienceQuery(
                .expression(.tag(PushModel.Tag(tag, .folded))),
                app: .default,
                pns: .apns,
                kind: kind,
                limit: 1000
            )
        ).rows.count
    }

    private func live() async throws -> [Registration] {
        var query = RegistrationQuery(app: .default, state: .live, limit: 1000)
        query.kinds = RegistrationKind.allCases
        return try await self.store.registrations(query).items
    }

    @Test func thoseWithoutANameAreToldApartByTheirBody() async throws {
        let rows = [try self.row(""), try self.row("", body: "[]"), try self.row("", handle: "bb")]
        #expect(try await self.bring(rows) == [.created, .created, .created])
        let bodies = try await self.live().map(\.template?.content.body)
        #expect(bodies == ["{}", "[]", "{}"])
        #expect(try await self.live().allSatisfy { $0.template?.name.isEmpty == true })
        #expect(try await self.bring(rows) == [.updated, .updated, .updated])
        #expect(try await self.fixture.faults().isEmpty)
    }

    @Test func templatesStandBesideTheirDevice() async throws {
        // In the order of a hub's list, which may have the device behind its templates.
        let rows = [
            try self.row("one", id: "i-1", user: "ann", tags: ["t", "one"]), try self.row(nil, id: "i-2", user: "ann"),
            try self.row("two", user: "ann"), try self.row("", id: "i-3", handle: "bb"),
        ]
        #expect(try await self.bring(rows) == [.created, .created, .created, .created])
        #expect(try await self.count("t", .native) == 1)
        #expect(try await self.count("t", .template) == 3)
        #expect(try await self.count("one", .template) == 1)
        #expect(try await self.count("username:ann", .template) == 2)
        let id = try #require(RegistrationID("i-1"))
        let one = try #require(try await self.store.registration(id, app: .default))
        #expect(one.template == DeviceTemplate(name: "one", content: .init(body: "{}", expiry: "$(e)")))
        #expect(one.tags.map(\.name) == ["one", "t", "username:ann"] && one.handle?.text == "aa")
        let before = try await self.live()
        #expect(try await self.bring(rows) == [.updated, .updated, .updated, .updated])
        #expect(try await self.live().map(\.row) == before.map(\.row))
        #expect(try await self.bring([self.row("one", body: "[]")]) == [.updated])
        #expect(try await self.store.registration(id, app: .default)?.template?.content.body == "[]")
        #expect(try await self.fixture.faults().isEmpty)
    }

    @Test func oneTemplateTooManyIsRefused() async throws {
        let all = try (0...DeviceTemplate.maximumCount).map { try self.row("t\($0)") }
        let results = try await self.bring(all)
        #expect(results.dropLast().allSatisfy { $0 == .created })
        #expect(results.last == .refused("a device has at most 20 templates"))
        #expect(try await self.count("t", .template) == DeviceTemplate.maximumCount)
        #expect(try await self.fixture.faults().isEmpty)
    }

    @Test func aDeviceThatGoesToAnotherUserLosesTheTemplatesOfTheFormerOne() async throws {
        let rows = [try self.row(nil, id: "i-1", user: "ann"), try self.row("one", user: "ann")]
        #expect(try await self.bring(rows) == [.created, .created])
        #expect(try await self.bring([self.row(nil, id: "i-1", user: "bob")]) == [.updated])
        #expect(try await self.count("t", .template) == 0)
        #expect(try await self.count("username:bob", .native) == 1)
        // Those that come with the device are its own.
        let both = [try self.row("one", user: "eve"), try self.row(nil, id: "i-1", user: "eve")]
        #expect(try await self.bring(both) == [.created, .updated])
        #expect(try await self.count("username:eve", .template) == 1)
        #expect(try await self.fixture.faults().isEmpty)
    }

    @Test func whatWasRegisteredOrDeletedMeanwhileStands() async throws {
        let sequence = try await self.store.beginImport()
        #expect(try await self.bring([self.row("one", id: "i-1", body: "[1]")]) == [.created])
        #expect(try await self.bring([self.row("one", id: "i-1")], sequence: sequence) == [.superseded])
        #expect(try await self.bring([self.row("one", id: "i-2")], sequence: sequence) == [.superseded])
        #expect(try await self.live().map(\.template?.content.body) == ["[1]"])
        let id = try #require(RegistrationID("i-1"))
        let deleted = try await self.store.register(
            .delete(id),
            of: RegisterJob(app: .default, sequence: try await self.scenario.sequence(app: .default))
        )
        #expect(deleted == .done)
        #expect(try await self.bring([self.row("one", id: "i-1")]) == [.gone])
        #expect(try await self.bring([self.row("one", id: "i-1")], sequence: sequence) == [.gone])
        #expect(try await self.live().isEmpty)
    }
}
