import PushModel
import Store
import Testing

/// What any store must do with U+0000 and broken UTF-8 in what others name: the sign for what cannot be shown takes their place.
///
/// There are engines that keep none. A message is kept as its sender has written it.
@Suite(.everyStore) struct StoredTextContract {
    private let fixture: any StoreFixture
    private let scenario: Scenario
    private var store: any ResultStore { self.scenario.store }
    private var time: TestTime { self.scenario.time }

    private static let given = String(decoding: [0x61, 0x00, 0xFF, 0xC3, 0x62] as [UInt8], as: UTF8.self)
    private static let kept = "a\u{FFFD}\u{FFFD}\u{FFFD}b"

    init() throws {
        self.fixture = try StoreFixtures.make()
        self.scenario = Scenario(self.fixture)
    }

    private func list(reference: String) -> RecipientList {
        RecipientList(
            handles: [Recipient(place: 1, pns: .apns, handle: Handle(stored: "aa"), reference: reference)]
        )
    }

    /// What senders call their devices, and what push services say of these.
    @Test func referencesAndReasonsOfDevices() async throws {
        let job = try await self.scenario.accept(self.list(reference: Self.given))
        let fanned = try await self.scenario.fanOut(group: self.scenario.message(of: job.id))
        let key = try #require(fanned.keys.first)
        let row = Recipient(place: 1, pns: .apns, handle: Handle(stored: ""), reference: nil).number
        let failure = DeviceFailure(row: row, failure: .rejected, status: 400, reason: Self.given)
        #expect(try await self.scenario.record(BatchOutcome(key: key, failures: [failure], at: self.time.wall)))
        let record = try #require(
            try await self.store.deliveries(DeliveryQuery(job: job.id, app: .default)).items.first
        )
        #expect(record.reference == Self.kept)
        #expect(record.reason == Self.kept)
    }

    @Test func reasonsOfDeadHandles() async throws {
        let id = try await self.scenario.register(user: "ann", handle: "aa", tags: ["t"])
        let row = try #require(try await self.store.registration(id, app: .default)?.row)
        let dead = DeadHandle(
            row: row,
            handle: Handle(stored: "aa"),
            before: self.time.wall.advanced(by: .seconds(1)),
            reason: Self.given
        )
        try await self.fixture.leave([dead], tag: "t", accepted: 1)
        #expect(try await self.scenario.prune(limit: 10) == 1)
        #expect(try await self.store.registration(id, app: .default)?.ended?.reason == Self.kept)
    }

    @Test func mediaTypesAndRichNotifications() async throws {
        let content = StoredContent(owner: nil, mediaType: Self.given, bytes: [0])
        let id = try await self.store.put(content, app: .default)
        let stored = try #require(try await self.store.content(id, app: .default))
        #expect(stored.mediaType == Self.kept)
        #expect(stored.bytes == [0])
        let new = NewRichNotification(
            sender: nil,
            addressee: try UserName("bob", .folded),
            message: Self.given,
            richType: Self.given,
            content: nil,
            isSecure: true
        )
        let number = try await self.scenario.keep(new)
        let rich = try #require(try await self.store.richNotification(number, app: .default))
        #expect(rich.message == Self.kept)
        #expect(rich.richType == Self.kept)
    }

    /// What push services and hubs say of what waits, and of what is given up.
    @Test func reasonsOfWhatWaits() async throws {
        let job = try await self.scenario.accept(self.list(reference: "r"))
        let fanned = try await self.scenario.fanOut(group: self.scenario.message(of: job.id))
        let key = try #require(fanned.keys.first)
        let row = Recipient(place: 1, pns: .apns, handle: Handle(stored: ""), reference: nil).number
        let retry = RetryDevice(row: row, tries: 1, wait: .seconds(9))
        let reason = WaitReason(Self.given, cause: .service)
        let outcome = BatchOutcome(key: key, retries: [retry], retryReason: reason, at: self.time.wall)
        #expect(try await self.scenario.record(outcome))
        #expect(try await self.scenario.job(job.id).reason == Self.kept)

        let change = RegisterRequest.delete(.random())
        let register = try await self.scenario.accept(
            NewJob(app: .default, work: .register(change), lifetime: .seconds(60))
        )
        let message = try self.scenario.message(of: register.id)
        let deferral = Deferral(pause: .seconds(9), reason: reason)
        #expect(try await self.store.defer(message.id, epoch: nil, deferral))
        #expect(try await self.scenario.job(register.id).reason == Self.kept)

        let campaign = try await self.scenario.accept(self.scenario.campaign(to: "t"))
        let claim = try #require(try await self.scenario.claimCampaign(campaign)).claim
        #expect(try await self.store.commit(.abandon(reason: Self.given), of: claim).written.isDone)
        #expect(try await self.scenario.job(campaign.id).reason == Self.kept)
    }

    /// What a hub over a wire answers to a call, and says of it later.
    @Test func answersOfHubs() async throws {
        let call = Recipient(place: 1, pns: .apns, call: .everyone)
        let list = RecipientList(handles: [call])
        let send = SendRequest(to: .hub(.everyone, calls: 1), content: .message(.init(body: "b")))
        let job = try await self.scenario.accept(
            NewJob(app: .default, work: .send(send), lifetime: .seconds(3600), recipients: list)
        )
        let key = HubCallKey(job: job.id, pns: .apns, number: call.number)
        let starts = try await self.store.beginHubCalls([key], lasting: .seconds(30), isWithdrawn: false)
        #expect(starts == [.begun])
        try await self.store.recordHubCalls([key], .ended(.taken(id: Self.given)))
        let outcome = HubCall.Outcome(state: Self.given, devices: [Self.given: 1])
        try await self.store.recordHubCalls([key], .said(.complete(outcome)))
        let known = try #require(try await self.store.hubCalls(of: job.id, app: .default, limit: 2).first)
        #expect(known.id == Self.kept)
        #expect(known.outcome == HubCall.Outcome(state: Self.kept, devices: [Self.given: 1]))
    }

    /// What devices make of a send, as it was written; what comes again is the same.
    @Test func templates() async throws {
        let content = DeviceTemplate.Content(body: Self.given, expiry: Self.given)
        let template = DeviceTemplate(name: Self.given, content: content)
        let upsert = RegisterRequest.Upsert(pns: .apns, handle: Handle(stored: "aa"), tags: [], template: template)
        for _ in 0..<2 {
            let job = RegisterJob(app: .default, sequence: try await self.scenario.sequence())
            let id = try #require(RegistrationID("device"))
            #expect(try await self.store.register(.upsert(id, upsert), of: job) == .done)
        }
        var query = RegistrationQuery(app: .default)
        query.kinds = [.template]
        let kept = try await self.store.registrations(query).items.map(\.template)
        #expect(kept == [DeviceTemplate(name: Self.kept, content: content)])
    }

    /// What is looked for by such a text is what was kept by it, or nothing.
    @Test func whatIsLookedFor() async throws {
        let key = NewJob.Idempotency(caller: Self.given, route: "r", key: Self.given, hash: [1])
        let work = Job.Work.send(try self.scenario.campaign(to: "t"))
        let new = NewJob(app: .default, key: Self.given, work: work, lifetime: .seconds(60), idempotency: key)
        let job = try await self.scenario.accept(new)
        #expect(job.key == Self.given)
        #expect(try await self.scenario.job(job.id).key == Self.kept)
        #expect(try await self.store.accept([new.again()]).answers == [.repeated(job.id)])
        #expect(try await self.store.jobs(JobQuery(app: .default, key: Self.given)).items.map(\.id) == [job.id])
        #expect(try await self.store.content(Self.given, app: .default) == nil)
        let contents = RichNotificationQuery(app: .default, content: Self.given)
        #expect(try await self.store.richNotifications(contents).items.isEmpty)
        let handles = RegistrationQuery(app: .default, handles: [Handle(stored: Self.given)])
        #expect(try await self.store.registrations(handles).items.isEmpty)
    }

    /// A label has no U+0000, or is none; what was not UTF-8 has the sign before it is one.
    @Test func labelsOfSends() async throws {
        #expect(throws: InvalidValue.self) { try JobLabel(Self.given) }
        let label = try JobLabel(Self.given.replacing("\0", with: ""))
        let work = Job.Work.send(try self.scenario.campaign(to: "t"))
        let job = try await self.scenario.accept(
            NewJob(app: .default, work: work, lifetime: .seconds(60), label: label)
        )
        #expect(try await self.scenario.job(job.id).label?.text == "a\u{FFFD}\u{FFFD}b")
        #expect(try await self.store.jobs(JobQuery(app: .default, label: label)).items.map(\.id) == [job.id])
    }

    /// Who has done something, from where, and to what; and what came of it: of an act of one commit, of one that has ended, and of one
    /// that has its end later.
    @Test func acts() async throws {
        try await self.store.apply(.app(.default, AppSpec()))
        let author = "host:\(Self.given)"
        let act = NewAct(
            app: .default,
            by: author,
            via: .host,
            origin: Self.given,
            kind: .queuePause,
            target: Self.given
        )
        #expect(
            try await NewAct.$current.withValue(act) {
                try await self.store.apply(.pause(.begin(.send, app: .default, by: author)))
            }
        )
        try await self.store.record(.new(act, .done, result: Self.given))
        let number = try await self.store.record(.new(act, .begun))
        try await self.store.record(.end(number, .refused, result: Self.given))
        let acts = try await self.store.acts(ActQuery(app: .default, by: [author])).items
        #expect(acts.map(\.state) == [.refused, .done, .done])
        #expect(acts.map(\.result) == [Self.kept, Self.kept, nil])
        for entry in acts.map(\.act) {
            #expect(entry.by == "host:\(Self.kept)" && entry.origin == Self.kept && entry.target == Self.kept)
        }
        #expect(try await self.store.pauses().map(\.by) == ["host:\(Self.kept)"])
    }

    @Test func whatIsSaidOfDeadLetters() async throws {
        try await self.store.apply(.app(.default, AppSpec()))
        let letter = IncomingDeadLetter(
            queue: Self.given,
            type: Self.given,
            messageID: Self.given,
            app: .default,
            reason: Self.given,
            body: [0]
        )
        // A repeat is found by the same words.
        for _ in 0..<2 { try await self.store.deadLetter(letter) }
        let letters = try await self.store.deadLetters(DeadLetterQuery(app: .default)).items
        #expect(letters.map(\.reason) == [Self.kept])
    }

    /// Of a send no engine reads the stored JSON; of a change of a registration it does.
    @Test func messagesAndChangesOfRegistrations() async throws {
        let body = "\0\\\0\\u0000\""
        let send = SendRequest(
            audience: .tag(try PushModel.Tag("t", .folded)),
            platforms: [],
            content: .message(.init(title: Self.given, body: body, data: [Self.given: "\0"]))
        )
        let job = try await self.scenario.accept(send)
        guard case .send(let kept) = try await self.scenario.job(job.id).work, case .message(let message) = kept.content
        else { throw Unexpected("no message") }
        #expect(message.title == Self.given)
        #expect(message.body == body)
        #expect(message.data == [Self.given: "\0"])
        let change = RegisterRequest.issue(candidate: .random(), handles: [Handle(stored: Self.given)])
        let register = try await self.scenario.accept(
            NewJob(app: .default, work: .register(change), lifetime: .seconds(60))
        )
        _ = try await self.store.finishRegister(register.id, result: .refused(Self.given))
        let ended = try await self.scenario.job(register.id)
        #expect(ended.reason == Self.kept)
        #expect(ended.result == .refused(Self.given))
        #expect(try await self.scenario.auditFaults() == [])
    }
}
