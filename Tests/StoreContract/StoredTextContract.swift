import PushModel
import Store
import Testing

/// What any store must do with U+0000 in what others name: it is kept as the sign for what cannot be shown, for there are engines that keep
/// none. A message is kept as its sender has written it.
@Suite(.everyStore) struct StoredTextContract {
    private let fixture: any StoreFixture
    private let scenario: Scenario
    private var store: any ResultStore { self.scenario.store }
    private var time: TestTime { self.scenario.time }

    private static let given = "a\0b"
    private static let kept = "a\u{FFFD}b"

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
