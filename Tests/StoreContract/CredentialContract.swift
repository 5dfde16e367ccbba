import PushModel
import Store
import Testing

/// Devices that are reached with other credentials than the default one, and the rate limits of those.
@Suite(.everyStore) struct CredentialContract {
    private let fixture: any StoreFixture
    private let scenario: Scenario
    private let watch: CredentialName
    private let sandbox: CredentialName
    private var store: any ResultStore { self.scenario.store }
    private var time: TestTime { self.fixture.time }

    init() throws {
        self.fixture = try StoreFixtures.make()
        self.scenario = Scenario(self.fixture)
        self.watch = try CredentialName("watch")
        self.sandbox = try CredentialName("sandbox")
    }

    private func id(_ text: String) throws -> RegistrationID { try #require(RegistrationID(text)) }

    private func change(_ request: RegisterRequest) async throws -> RegisterResult? {
        // A patch of a job that has ended changes nothing.
        let job = NewJob(app: .default, work: .register(request), lifetime: .seconds(3600))
        return try await self.store.register(
            request,
            of: RegisterJob(app: .default, sequence: self.scenario.accept(job).sequence)
        )
    }

    /// Registers a device of a user with the tag `t`.
    private func register(_ handle: String, _ credential: CredentialName, user: String = "ann") async throws {
        let upsert = RegisterRequest.Upsert(
            pns: .apns,
            handle: Handle(stored: handle),
            credential: credential,
            tags: [try Tag("t", .folded)],
            onBehalf: .init(of: try UserName(user, .folded))
        )
        #expect(try await self.change(.upsert(self.id("id-\(handle)"), upsert)) == .done)
    }

    private func credential(_ handle: String) async throws -> CredentialName? {
        try await self.store.registration(self.id("id-\(handle)"), app: .default)?.credential
    }

    private func spec(_ rates: [CredentialName: Int?]) -> AppSpec {
        var spec = AppSpec()
        for (credential, rate) in rates {
            spec.credentials[.apns, credential] = AppSpec.APNs {
                $0.authentication = .token(.init(keyFile: "k", keyID: "k", teamID: "t"))
                $0.topic = "t"
                $0.devicesPerSecond = rate
            }
        }
        return spec
    }

    // MARK: Registrations

    @Test func aRegistrationHasTheCredentialThatItWasLastGiven() async throws {
        try await self.register("aa", self.watch)
        #expect(try await self.credential("aa") == self.watch)
        try await self.register("aa", self.sandbox)
        #expect(try await self.credential("aa") == self.sandbox)
        try await self.register("aa", .default)
        #expect(try await self.credential("aa") == .default)
        let watch = RegisterRequest.CredentialChoice(self.watch, services: [.apns])
        #expect(try await self.change(.patch(self.id("id-aa"), .init(credential: watch))) == .done)
        #expect(try await self.credential("aa") == self.watch)
        #expect(try await self.store.registration(self.id("id-aa"), app: .default)?.tags.count == 2)
        // It is of a service that the app declares none of that name for.
        let other = RegisterRequest.CredentialChoice(self.sandbox, services: [.fcm])
        guard case .refused(let reason) = try await self.change(.patch(self.id("id-aa"), .init(credential: other)))
        else { throw Unexpected("not refused") }
        #expect(reason.contains("sandbox"))
        #expect(try await self.credential("aa") == self.watch)
        #expect(try await self.fixture.faults() == [])
    }

    @Test func anImportSetsCredentials() async throws {
        func bring(_ credential: CredentialName) async throws -> [ImportResult] {
            let rows = try (0..<200).map { number in
                ImportedRegistration(
                    id: try self.id("id-h\(number)"),
                    pns: .apns,
                    handle: Handle(stored: "h\(number)"),
                    credential: number.isMultiple(of: 2) ? credential : .default
                )
            }
            let sequence = try await self.store.beginImport()
            return try await self.store.importRegistrations(rows, app: .default, sequence: sequence, lifetime: nil)
                .results
        }
        #expect(try await bring(self.watch).allSatisfy { $0 == .created })
        #expect(try await self.credential("h4") == self.watch)
        #expect(try await self.credential("h5") == .default)
        #expect(
            try await self.store.credentialUses(app: .default)
                == [CredentialUse(pns: .apns, credential: self.watch, devices: 100)]
        )
        #expect(try await bring(self.sandbox).allSatisfy { $0 == .updated })
        #expect(try await self.credential("h4") == self.sandbox)
        #expect(try await bring(.default).allSatisfy { $0 == .updated })
        #expect(try await self.store.credentialUses(app: .default).isEmpty)
        #expect(try await self.fixture.faults() == [])
    }

    // MARK: Audiences

    @Test func pagesSayWithWhichCredentialADeviceIsReached() async throws {
        try await self.register("aa", .default)
        try await self.register("bb", self.watch)
        try await self.register("cc", self.sandbox)
        try await self.register("dd", self.watch)
        let names = [.default, self.watch, self.sandbox, self.watch]
        let tag = TagExpression.tag(try Tag("t", .folded))
        let many = TagExpression.any([try Tag("t", .folded)] + (try (0..<100).map { try Tag("n\($0)", .folded) }))
        for expression in [tag, many, .everyone] {
            let page = try await self.store.audience(
                AudienceQuery(.expression(expression), app: .default, pns: .apns, through: 100, limit: 100)
            )
            #expect(page.rows.indices.map { page.credentials[$0] } == names, "\(expression)")
            let found = try await self.store.audience(
                AudienceQuery(.expression(expression), app: .default, pns: .apns, rows: page.rows)
            ).addresses
            #expect(page.rows.map { found[$0]?.credential } == names, "\(expression)")
        }
    }

    @Test func smallSendsHaveCredentials() async throws {
        try await self.register("aa", .default)
        try await self.register("bb", self.watch)
        let (message, _) = try await self.scenario.acceptGroup(["ann"])
        let claim = try #require(try await self.store.claim(message.id, peeking: false))
        let send = try #require(try await self.scenario.sends(of: claim).first)
        guard case .all(let reaches) = send.audience else { throw Unexpected("\(send)") }
        #expect(reaches.first?.devices.named == [self.watch: 1])
        #expect(
            reaches.first.map { [$0.devices.credentials[0], $0.devices.credentials[1]] } == [.default, self.watch]
        )
    }

    @Test func aListNamesCredentials() async throws {
        let list = RecipientList(
            handles: [.default, self.watch].enumerated().map { index, credential in
                let handle = Handle(stored: "direct-\(index)")
                return Recipient(place: index + 1, pns: .apns, handle: handle, credential: credential, reference: nil)
            }
        )
        let job = try await self.scenario.accept(list)
        let page = try await self.store.audience(
            AudienceQuery(.recipients(ofJob: job.sequence), app: .default, pns: .apns, limit: 10)
        )
        #expect(page.rows.indices.map { page.credentials[$0] } == [.default, self.watch])
        try await self.register("aa", self.sandbox)
        let registered = try await self.scenario.accept(RecipientList(registrations: [self.id("id-aa")]))
        let found = try await self.store
            .audience(AudienceQuery(.recipients(ofJob: registered.sequence), app: .default, pns: .apns, limit: 10))
        #expect(found.credentials[0] == self.sandbox)
        #expect(try await self.scenario.auditFaults() == [])
        #expect(try await self.fixture.faults() == [])
    }

    // MARK: Rate limits

    private func credit() async throws -> Credit {
        try await self.store.credit(for: .page, app: .default, pns: .apns, priority: .normal)
    }

    @Test func aCredentialsRateIsItsOwn() async throws {
        _ = try await self.store.apply(.app(.default, self.spec([.default: nil, self.watch: 1000])))
        self.time.advance(.seconds(10))
        #expect(try await self.credit().limits == [self.watch: CredentialCredit(devices: 200)])
        #expect(try await self.credit().devices == 32_000)
        try await self.register("aa", .default)
        let job = try await self.scenario.accept(self.scenario.campaign(to: "t"))
        var claim = try #require(try await self.scenario.claimCampaign(job))
        #expect(try await claim.commit(devices: 401, named: [self.watch: 401]) == .noCredit)
        #expect(try await claim.commit(devices: 900, named: [self.watch: 200]).isMore)
        let credit = try await self.credit()
        #expect(credit.limits[self.watch]?.devices == 0)
        #expect(credit.shortestWait == .milliseconds(100))
        // The others go on.
        #expect(try await claim.commit(devices: 900).isMore)
        #expect(try await claim.commit(devices: 1, named: [self.watch: 1]) == .noCredit)
        // Where all have one, nothing is read in vain.
        _ = try await self.store.apply(.app(.default, self.spec([.default: 10, self.watch: 1000])))
        #expect(try await self.credit().devices == 0)
        _ = try await self.store.apply(.app(.default, self.spec([.default: nil, self.watch: nil])))
        #expect(try await self.credit().limits.isEmpty)
        // One that stands alone is the service's.
        _ = try await self.store.apply(.app(.default, self.spec([.default: 10])))
        #expect(try await self.credit().limits.isEmpty)
        #expect(try await self.credit().wait != nil)
    }

    /// Retries of a credential without credit wait, and those of the others are taken meanwhile.
    @Test func retriesWaitForTheRateOfTheirCredential() async throws {
        _ = try await self.store.apply(.app(.default, self.spec([.default: nil, self.watch: 10])))
        self.time.advance(.seconds(10))
        try await self.register("aa", self.watch)
        try await self.register("bb", .default)
        let all = try await self.store
            .audience(AudienceQuery(.expression(.everyone), app: .default, pns: .apns, through: 100, limit: 9))
        var retries: [BatchKey] = []
        for row in all.rows {
            let job = try await self.scenario.accept(self.scenario.campaign(to: "t"))
            var claim = try #require(try await self.scenario.claimCampaign(job))
            #expect(try await claim.commit(devices: 1, through: row, isDone: true).isMore)
            let retry = RetryDevice(row: row, tries: 1, wait: .zero)
            #expect(
                try await self.scenario.record(BatchOutcome(key: claim.key(), retries: [retry], at: self.time.wall))
            )
            retries.append(BatchKey(job: job.id, pns: .apns, page: 0, attempt: 1))
        }
        // What the watch may send is used up.
        let job = try await self.scenario.accept(self.scenario.campaign(to: "t"))
        var claim = try #require(try await self.scenario.claimCampaign(job))
        #expect(try await claim.commit(devices: 2, named: [self.watch: 2]).isMore)
        // Retries may go 200 ms ahead, as two devices do.
        let urgent = try await self.scenario.accept(self.scenario.campaign(to: "t"), priority: .high)
        var other = try #require(try await self.scenario.claimCampaign(urgent))
        #expect(try await other.commit(devices: 2, named: [self.watch: 2]).isMore)
        #expect(try await self.scenario.takeDueBatches().map(\.key) == [retries[1]])
        #expect(try await self.scenario.takeDueBatches().isEmpty)
        self.time.advance(.milliseconds(150))
        #expect(try await self.scenario.takeDueBatches().map(\.key) == [retries[0]])
        #expect(try await self.scenario.auditFaults() == [])
    }

    /// What a push service says of a handle, it says of the handle with that credential (rule 9).
    @Test func aDeadHandleIsPrunedOnlyWithTheCredentialThatItWasSentWith() async throws {
        try await self.register("aa", self.sandbox)
        let job = try await self.scenario.accept(self.scenario.campaign(to: "t"))
        let key = try #require(try await self.scenario.fanOut(job).first)
        let watch = RegisterRequest.CredentialChoice(self.watch, services: [.apns])
        #expect(try await self.change(.patch(self.id("id-aa"), .init(credential: watch))) == .done)
        self.time.advance(.seconds(60))
        func mark(_ credential: CredentialName) -> DeadHandle {
            DeadHandle(
                row: 1,
                handle: Handle(stored: "aa"),
                credential: credential,
                before: self.time.wall,
                reason: "BadDeviceToken"
            )
        }
        let marks = [mark(self.sandbox), mark(.default)]
        let foreign = BatchOutcome(key: key, accepted: 1, deadHandles: marks, at: self.time.wall)
        #expect(try await self.scenario.record(foreign))
        #expect(try await self.scenario.prune(limit: 10) == 2)
        #expect(try await self.store.registration(self.id("id-aa"), app: .default)?.state == .live)
        let second = try await self.scenario.accept(self.scenario.campaign(to: "t"))
        let next = try #require(try await self.scenario.fanOut(second).first)
        let own = BatchOutcome(key: next, accepted: 1, deadHandles: [mark(self.watch)], at: self.time.wall)
        #expect(try await self.scenario.record(own))
        #expect(try await self.scenario.prune(limit: 10) == 1)
        #expect(try await self.store.registration(self.id("id-aa"), app: .default)?.state == .pruned)
    }
}
