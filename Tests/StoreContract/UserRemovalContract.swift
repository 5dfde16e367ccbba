import PushModel
import Store
import Testing

/// The removal of a user: all that there was of them when it was accepted goes, and nothing else.
@Suite(.everyStore) struct UserRemovalContract {
    private let users: RemovalScenario
    private var fixture: any StoreFixture { self.users.fixture }
    private var scenario: Scenario { self.users.scenario }
    private var store: any ResultStore { self.scenario.store }

    init() throws { self.users = try RemovalScenario() }

    /// Names that JSON may write in several ways, and those that are not tags, among them.
    @Test(arguments: ["", "\"", "\\", "/", "🐙", "' || x", "é\u{301}", "&<>"], [true, false])
    func theNameGoesFromAllTables(odd: String, isFirst: Bool) async throws {
        // What is looked for has no character that is written otherwise.
        let sought = RemovalScenario.name
        let name = isFirst ? odd + sought : sought + odd
        let user = try self.users.user(name)
        let own = Tag(user: user)
        let sender = Tag(.sender, of: user).map { " || \($0)" } ?? ""
        try await self.users.key()
        try await self.users.account(name, .operator)
        try await self.scenario.register(user: name, handle: "aa", tags: ["t"] + (odd.isEmpty ? ["from:\(name)"] : []))
        let ended = try await self.scenario.register(user: name, handle: "bb")
        _ = try await self.store.register(
            .delete(ended),
            of: RegisterJob(app: .default, user: user, sequence: self.scenario.sequence())
        )
        // The deletion of an id that nobody has.
        #expect(try await self.store.register(self.users.accept(.delete(.random()), user: name)) == .notFound)
        _ = try await self.users.accept(.upsert(.random(), self.users.upsert("cc", for: name)))
        _ = try await self.users.accept(.upsert(.random(), self.users.upsert("dd")), user: name)
        _ = try await self.users.send(to: own.name)
        _ = try await self.users.send(to: "username:bob && !\(own)\(sender)", by: name)
        _ = try await self.users.send(to: "username:bob && !\(own)\(sender)")
        _ = try await self.users.send(to: "\(own) && t")
        let many = try (0..<150).map { try Tag("username:u\($0)", .folded) } + [own]
        _ = try await self.scenario.accept(self.scenario.send(to: .any(many)))
        let idempotency = NewJob.Idempotency(caller: user.caller, route: "r", key: "k", hash: [1])
        let rich = NewRichNotification(
            sender: user,
            addressee: user,
            message: "m",
            richType: "img",
            content: nil,
            isSecure: false
        )
        _ = try await self.scenario.accept(self.scenario.job(of: rich, idempotency: idempotency))
        _ = try await self.store.put(
            StoredContent(owner: user, mediaType: "image/png", bytes: [1, 2]),
            app: .default
        )
        try await self.store.apply(.pause(.begin(.deliver(.wns), app: .default, by: user.caller)))
        try await self.users.die(self.users.accept(.upsert(.random(), self.users.upsert("ee", for: name))))
        try await self.users.die(self.users.accept(.upsert(.random(), self.users.upsert("ff")), user: name))
        #expect(try await self.fixture.mentions(sought))

        let job = try await self.users.begin(name)
        #expect(try await self.store.account(user, app: .default) == nil)
        #expect(try await self.users.finish(job) == .done)
        #expect(try await !self.fixture.mentions(sought))
        #expect(try await self.scenario.job(job.id).state == .completed)
        #expect(try await self.store.pauses().map(\.by) == ["an account that was removed"])
        try await self.users.expectSound()
    }

    @Test(arguments: [true, false]) func removalsOfAUserThatAreAskedTogetherAreOne(isNamedAlike: Bool) async throws {
        try await self.users.key()
        try await self.users.account(RemovalScenario.name, .operator)
        let names = [RemovalScenario.name, isNamedAlike ? RemovalScenario.name : RemovalScenario.name.uppercased()]
        let removals = try names.map { self.users.removal(of: try self.users.user($0)) }
        let answers = try await self.store.accept(removals).answers
        guard case .accepted(let job)? = answers.first else { throw Unexpected("\(answers)") }
        #expect(answers.last == .repeated(job.id))
        #expect(try await self.users.finish(job) == .done)
        try await self.users.expectSound()
    }

    /// Each would leave the other.
    @Test func anAppKeepsAnOperatorOfThoseThatAreRemovedTogether() async throws {
        let names = ["ann", "bob"]
        for name in names { try await self.users.account(name, .operator) }
        let removals = try names.map { self.users.removal(of: try self.users.user($0)) }
        let error = await #expect(throws: StoreError.self) { try await self.store.accept(removals) }
        #expect(error?.code == .lastOperator)
        for name in names {
            #expect(try await self.store.account(self.users.user(name), app: .default) != nil)
        }
        _ = try await self.store.accept([removals[0]])
        try await self.users.expectSound()
    }

    /// It has no message yet that its end would be taken from.
    @Test func aChangeThatWouldStartLaterEndsWithItsUser() async throws {
        let change = try await self.scenario.accept(
            NewJob(
                app: .default,
                user: try self.users.user(),
                work: .register(.upsert(.random(), self.users.upsert("aa"))),
                lifetime: .seconds(3600),
                startsAt: self.scenario.time.wall.advanced(by: .seconds(600))
            )
        )
        let removal = try await self.users.begin()
        #expect(try await self.users.finish(removal) == .done)
        #expect(try await self.scenario.job(change.id).state == .abandoned)
        try await self.users.expectSound()
    }

    @Test func othersKeepWhatIsTheirs() async throws {
        let id = try await self.scenario.register(user: "bob", handle: "aa", tags: ["t"])
        try await self.scenario.register(user: RemovalScenario.name, handle: "bb", tags: ["t"])
        let content = StoredContent(owner: try self.users.user("bob"), mediaType: "image/png", bytes: [1])
        let contentID = try await self.store.put(content, app: .default)
        let toBoth = try await self.users.send(to: "username:bob || username:\(RemovalScenario.name)")
        let byBob = try await self.users.send(to: "t", by: "bob")
        // An app of the same users has its own.
        let other = try AppID("other")
        try await self.scenario.register(user: RemovalScenario.name, handle: "bb", app: other)
        try await self.users.finish(self.users.begin())
        #expect(try await self.store.registration(id, app: .default)?.state == .live)
        #expect(try await self.store.content(contentID, app: .default) == content)
        let query = RegistrationQuery(app: other, user: try self.users.user())
        #expect(try await self.store.registrations(query).items.count == 1)
        for (job, text) in [(toBoth, "username:bob || username:"), (byBob, "t")] {
            let left = try await self.scenario.job(job.id)
            guard case .send(let send) = left.work, case .tags(let expression) = send.audience else {
                throw Unexpected("\(left)")
            }
            #expect(left.state == .queued && expression.description == text)
            #expect(send.content == .message(.init(title: "t", body: "b")))
        }
        #expect(try await self.scenario.job(byBob.id).user == self.users.user("bob"))
        #expect(try await self.fanOut(toBoth) == 1)
        try await self.users.expectSound()
    }

    private func fanOut(_ job: Job) async throws -> Int {
        let keys = try await self.scenario.fanOut(job)
        for key in keys { #expect(try await self.scenario.record(BatchOutcome(key: key, accepted: 1, at: .now))) }
        #expect(try await self.scenario.job(job.id).state == .completed)
        return try await self.scenario.counts(job.id).accepted
    }

    @Test(arguments: ["username:zoewasher", "username:zoewasher && t", "username:zoewasher || from:bob"])
    func aSendToTheUserEndsAndIsEmptied(audience: String) async throws {
        try await self.scenario.register(user: RemovalScenario.name, handle: "aa", tags: ["t"])
        let open = try await self.users.send(to: audience)
        let job = try await self.users.send(to: audience)
        let letter = try await self.dieAsSend(job)
        try await self.users.finish(self.users.begin())
        let left = try await self.scenario.job(job.id)
        guard case .send(let send) = left.work else { throw Unexpected("\(left)") }
        #expect(left.state == .abandoned && send.content == .message(.init()))
        #expect(try await self.scenario.job(open.id).state == .cancelled)
        guard case .refused(let reason)? = try await self.store.replay(deadLetter: letter, app: .default) else {
            throw Unexpected("an empty push would be sent")
        }
        #expect(reason == "its content was removed with a user")
        try await self.users.expectSound()
    }

    private func dieAsSend(_ job: Job) async throws -> Int64 {
        try await self.scenario.deadLetter("\(self.scenario.message(of: job.id).id)", type: "send")
        return try #require(try await self.store.deadLetters(DeadLetterQuery(app: .default, limit: 1)).items.first).id
    }

    @Test func sendsByTheUserEnd() async throws {
        try await self.scenario.register(user: "bob", handle: "aa", tags: ["t"])
        let queued = try await self.users.send(to: "t || u", by: RemovalScenario.name)
        let running = try await self.users.send(to: "t || v", by: RemovalScenario.name)
        let key = try #require(try await self.scenario.fanOut(running).first)
        try await self.users.finish(self.users.begin())
        #expect(try await self.scenario.job(queued.id).state == .cancelled)
        #expect(try await self.scenario.status(of: [key]) == [.stopping(.cancelled)])
        #expect(try await self.scenario.record(BatchOutcome(key: key, cancelled: 1, at: .now)))
        #expect(try await self.scenario.job(running.id).state == .cancelled)
        #expect(try await self.scenario.job(running.id).user == nil)
        try await self.users.expectSound()
    }

    @Test func aDeliveryMessageOfTheUsersSendKeepsNoPayload() async throws {
        try await self.scenario.register(user: RemovalScenario.name, handle: "aa")
        try await self.scenario.register(user: "bob", handle: "bb")
        let (message, jobs) = try await self.scenario.acceptGroup([RemovalScenario.name, "bob"])
        let (keys, deliveries) = try await self.scenario.fanOut(group: message)
        let body = DeliveryMessage(batches: keys.map { Self.batch($0, text: "secret text") }).encoded()
        try await self.scenario.deadLetter("\(try #require(deliveries.first).id)", body: body)
        #expect(try await self.fixture.mentions("secret text"))
        try await self.users.finish(self.users.begin())
        #expect(try await !self.fixture.mentions("secret text"))
        // One that comes later leaves none either.
        let late = DeliveryMessage(batches: [Self.batch(keys[0], text: "late text")]).encoded()
        try await self.scenario.deadLetter("none", body: late)
        #expect(try await !self.fixture.mentions("late text"))
        #expect(try await !self.scenario.job(jobs[1]).state.isFinal)
    }

    private static func batch(_ key: BatchKey, text: String) -> DeliverBatch {
        var devices = DeliverBatch.Devices()
        devices.rows = [1]
        devices.handles = HandleList([Handle(stored: "aa")])
        return DeliverBatch(
            app: .default,
            key: key,
            priority: .normal,
            expires: .now,
            keepUntil: nil,
            collapse: nil,
            payload: NativePayload(kind: .alert, body: Array(text.utf8)),
            devices: devices
        )
    }

    @Test func whatIsMadeLaterStays() async throws {
        let old = try await self.scenario.register(user: RemovalScenario.name, handle: "aa")
        let content = StoredContent(owner: try self.users.user(), mediaType: "image/png", bytes: [1])
        let oldContent = try await self.store.put(content, app: .default)
        let job = try await self.users.begin()
        // The first part may remove the highest number: it is not given again.
        #expect(try await self.store.register(job) == nil)
        try await self.users.account(RemovalScenario.name)
        let new = try await self.scenario.register(
            user: RemovalScenario.name,
            handle: "aa",
            tags: ["from:\(RemovalScenario.name)"]
        )
        let newContent = try await self.store.put(content, app: .default)
        let send = try await self.users.send(to: "username:\(RemovalScenario.name)", by: RemovalScenario.name)
        try await self.users.finish(job)
        #expect(try await self.store.registration(old, app: .default) == nil)
        #expect(try await self.store.content(oldContent, app: .default) == nil)
        #expect(try await self.store.account(self.users.user(), app: .default) != nil)
        let registration = try #require(try await self.store.registration(new, app: .default))
        #expect(registration.state == .live)
        #expect(try registration.user == self.users.user())
        #expect(registration.tags.map(\.name) == ["from:\(RemovalScenario.name)", "username:\(RemovalScenario.name)"])
        #expect(try await self.store.content(newContent, app: .default) == content)
        #expect(try await self.scenario.job(send.id).user == self.users.user())
        try await self.users.expectSound()
    }

    @Test func aSecondRemovalTakesWhatWasMadeSinceTheFirst() async throws {
        try await self.scenario.register(user: RemovalScenario.name, handle: "aa")
        let first = try await self.users.begin()
        let new = try await self.scenario.register(user: RemovalScenario.name, handle: "bb")
        let second = try await self.users.begin()
        #expect(first.id != second.id)
        #expect(try await self.store.register(first) == .superseded)
        try await self.users.finish(second)
        #expect(try await self.store.registration(new, app: .default) == nil)
    }

    @Test func aDeviceThatIsDeletedDuringTheRemovalKeepsNoName() async throws {
        let id = try await self.scenario.register(user: RemovalScenario.name, handle: "aa")
        let removal = try await self.users.begin()
        let deletion = try await self.users.accept(.delete(id), user: nil)
        #expect(try await self.store.register(deletion) == .done)
        try await self.users.finish(removal)
        #expect(try await self.store.registration(id, app: .default)?.user == nil)
        #expect(try await !self.fixture.mentions(RemovalScenario.name))
    }

    @Test func workOfARemovedOperatorForOthersGoesOn() async throws {
        let id = RegistrationID.random()
        let job = try await self.users.accept(
            .upsert(id, self.users.upsert("aa", for: "bob")),
            user: RemovalScenario.name
        )
        try await self.users.finish(self.users.begin())
        let left = try await self.scenario.job(job.id)
        #expect(left.state == .queued && left.user == nil)
        #expect(try await self.store.register(left) == .done)
        #expect(try await self.store.registration(id, app: .default)?.user == self.users.user("bob"))
    }

    @Test func theDefaultPictureOfTheAppStays() async throws {
        let content = StoredContent(owner: try self.users.user(), mediaType: "image/png", bytes: [1])
        let picture = try await self.store.put(content, app: .default)
        let rich = AppSpec.RichDefault { $0.content = picture }
        _ = try await self.store.apply(.app(.default, AppSpec { $0.richDefault = rich }))
        try await self.users.finish(self.users.begin())
        let kept = try #require(try await self.store.content(picture, app: .default))
        #expect(kept.owner == nil && kept.bytes == content.bytes)
        #expect(try await !self.fixture.mentions(RemovalScenario.name))
    }

    @Test func namesThatOnlyBeginAlikeStay() async throws {
        let longer = "\(RemovalScenario.name)2"
        let id = try await self.scenario.register(user: longer, handle: "aa")
        let job = try await self.users.send(to: "username:\(longer)", by: longer)
        try await self.users.finish(self.users.begin())
        #expect(try await self.store.registration(id, app: .default)?.state == .live)
        let left = try await self.scenario.job(job.id)
        #expect(left.state == .queued)
        #expect(try left.user == self.users.user(longer))
    }

    @Test func theUsersSessionsEnd() async throws {
        for (hash, name) in [(UInt8(1), RemovalScenario.name), (2, "bob")] {
            _ = try await self.store.openSession(
                NewSession(
                    app: .default,
                    user: try self.users.user(name),
                    hash: [hash],
                    passwordHash: nil,
                    lifetime: .seconds(1000),
                    idle: .seconds(1000),
                    limit: 3
                )
            )
        }
        #expect(try await self.store.session(hash: [1])?.isDemonstration == true)
        _ = try await self.scenario.accept(self.users.removal(of: self.users.user(), withAccount: false))
        #expect(try await self.store.session(hash: [1]) == nil)
        #expect(try await self.store.session(hash: [2]) != nil)
    }
}
