import PushModel
import Store
import StoreContract
import StoreSQL
import Testing

/// All that a store can do, once: so that it has prepared all its statements.
enum Everything {
    static func perform(_ scenario: Scenario) async throws {
        let store = scenario.store
        let user = try UserName("ann", .folded)
        let id = try await scenario.register(
            user: "ann",
            handle: "aa",
            tags: ["t"],
            lifetime: .seconds(5)
        )
        try await scenario.register(user: "bob", handle: "bb", tags: ["t"])
        let job = try await scenario.accept(scenario.campaign(to: "t"), user: user)
        try await store.markPublished([scenario.message(of: job.id)])
        scenario.time.advance(WorkQueue.send.lease)
        _ = try await scenario.takeDue()
        let key = try #require(try await scenario.fanOut(job).first)
        _ = try await store.credit(for: .page, app: .default, pns: .apns, priority: .normal)
        _ = try await scenario.status(of: [key])
        _ = try await store.redelivered(scenario.message(of: key).id)
        let dead = DeadHandle(
            row: 2,
            handle: Handle(stored: "bb"),
            before: scenario.time.wall.advanced(by: .seconds(1)),
            reason: ""
        )
        let retry = RetryDevice(row: 1, tries: 1, wait: .zero)
        let failure = DeviceFailure(row: 2, failure: .unregistered, status: 410, reason: "")
        _ = try await scenario.record(
            BatchOutcome(key: key, failures: [failure], retries: [retry], deadHandles: [dead], at: scenario.time.wall)
        )
        _ = try await store.job(job.id, app: .default)
        _ = try await scenario.takeDueBatches(limit: 5)
        _ = try await store.audience(
            AudienceQuery(.expression(.tag(Tag("t", .folded))), app: .default, pns: .apns, rows: [1])
        ).addresses
        _ = try await store.credentialUses(app: .default)
        let expression = try TagExpression(parsing: "t && username:bob || !t", .folded)
        _ = try await store.audience(
            AudienceQuery(.expression(expression), app: .default, pns: .apns, through: 9, limit: 9)
        )
        _ = try await store.count(AudienceQuery(.expression(expression), app: .default, pns: .apns))
        let many = TagExpression.any(try (0..<150).map { try Tag("username:u\($0)", .folded) } + [Tag("t", .folded)])
        _ = try await scenario.fanOut(scenario.accept(scenario.send(to: many)))
        _ = try await store.count(AudienceQuery(.expression(many), app: .default, pns: .apns))
        _ = try await store.audience(AudienceQuery(.expression(many), app: .default, pns: .apns, rows: [1])).addresses
        _ = try await scenario.prune(limit: 5)
        for state in Job.State.allCases {
            _ = try await store.jobs(
                JobQuery(app: .default, state: state, pns: .apns, user: user, since: scenario.time.wall)
            )
            _ = try await store.jobs(JobQuery(app: .default, state: state, key: "k", kind: .send))
            _ = try await store.jobs(JobQuery(app: .default, state: state, user: user, label: JobLabel("l")))
        }
        _ = try await store.deliveries(DeliveryQuery(job: job.id, app: .default, outcome: .accepted, pns: .apns))
        _ = try await store.registrations(
            RegistrationQuery(app: .default, user: user, tag: Tag("t", .folded), pns: .apns, state: .live)
        )
        _ = try await store.registrations(RegistrationQuery(app: .default))
        _ = try await store.registrations(RegistrationQuery(app: .default, tag: Tag("t", .folded)))
        _ = try await store.registrations(
            RegistrationQuery(app: .default, tag: Tag("t", .folded), pns: .apns, state: .live)
        )
        for state in Registration.State.allCases {
            _ = try await store.registrations(RegistrationQuery(app: .default, user: user, state: state))
            _ = try await store.registrations(RegistrationQuery(app: .default, state: state))
        }
        scenario.time.advance(.seconds(86_500))
        try await scenario.expireRegistrations(limit: 5)
        _ = try await scenario.upsert(id, user: "ann", handle: "aa")
        for number in 0..<4 {
            for request in [
                RegisterRequest.delete(.random()),
                .upsert(.random(), .init(pns: .apns, handle: Handle(stored: "n\(number)"), tags: [])),
            ] {
                let sequence = try await scenario.sequence()
                _ = try await store.register(
                    request,
                    of: RegisterJob(app: .default, user: user, sequence: sequence, most: 1)
                )
            }
        }
        _ = try await store.register(.delete(id), of: RegisterJob(app: .default, sequence: scenario.sequence()))
        try await scenario.expireJobs(limit: 5)
        scenario.time.advance(.seconds(10))
        try await scenario.expireJobs(limit: 5)
        _ = try await store.cancel(job.id, app: .default)
        try await scenario.deadLetter("\(scenario.message(of: key).id)", app: nil)
        try await store.apply(.pause(.begin(.send, app: .default, by: "x")))
        _ = try await store.job(job.id, app: .default)
        _ = try await store.pauses()
        _ = try await store.queues(of: .default)
        _ = try await store.apply(.pause(.end(.send, app: .default)))
        for query in [
            JobQuery(app: .default, isUnfinished: true, upTo: job.id),
            JobQuery(app: .default, key: "k", isUnfinished: true),
            JobQuery(app: .default, user: user, isUnfinished: true),
        ] {
            _ = try await store.jobs(query)
        }
        for outcome in [DeliveryRecord.Outcome.accepted, .failed(.unregistered)] {
            _ = try await store.deliveries(DeliveryQuery(job: job.id, app: .default, outcome: outcome, pns: .apns))
        }
        try await Self.acts(of: user, in: store)
        var filtered = DeadLetterQuery(app: .default)
        (filtered.queue, filtered.type, filtered.reason, filtered.upTo) = ("q", "t", "r", 7)
        _ = try await store.deadLetters(filtered)
        let letters = try await store.deadLetters(DeadLetterQuery(app: .default, limit: 2)).items
        for letter in letters {
            _ = try await store.deadLetter(letter.id, app: .default)
            _ = try await store.replay(deadLetter: letter.id, app: .default)
            _ = try await store.discard(deadLetter: letter.id, app: .default)
        }
        try await store.apply(
            .account(
                .put(
                    Account(app: .default, name: user, role: .user, isDisabled: false, created: scenario.time.wall),
                    passwordHash: ""
                )
            )
        )
        _ = try await store.account(user, app: .default)
        _ = try await store.accounts(AccountQuery(app: .default, limit: 100))
        _ = try await store.apply(.account(.update(AccountUpdate(isDisabled: true), account: user, app: .default)))
        let apiKey = APIKey(app: .default, name: "k", role: .user, created: scenario.time.wall, revoked: nil)
        try await store.apply(.key(.add(apiKey, hash: [1])))
        _ = try await store.keys(.hash([1])).first
        _ = try await store.keys(.app(.default))
        let rule = HubRule(
            app: .default,
            name: "r",
            rights: [.send],
            primaryKey: "a",
            secondaryKey: "b",
            created: scenario.time.wall
        )
        try await store.apply(.hubRule(.add(rule)))
        for key in HubRule.Key.allCases {
            _ = try await store.apply(.hubRule(.replace(key, with: "c", ofRule: "r", app: .default)))
        }
        _ = try await store.hubRules(app: .default)
        _ = try await store.apply(.hubRule(.delete(named: "r", app: .default)))
        _ = try await store.apply(.key(.revoke(named: "k", app: .default)))
        _ = try await store.apps()
        let content = try await store.put(StoredContent(owner: nil, mediaType: "", bytes: []), app: .default)
        _ = try await store.content(content, app: .default)
        _ = try await store.markRead(1, app: .default, at: scenario.time.wall)
        _ = try await store.names(content, in: user, app: .default)
        _ = try await store.users(ofLive: [1])
        for (sender, addressee) in [(nil, nil), (user, nil), (nil, user), (user, user)] {
            let query = RichNotificationQuery(
                app: .default,
                sender: sender,
                addressee: addressee,
                since: scenario.time.wall
            )
            _ = try await store.richNotifications(query)
        }
        _ = try await store.richNotification(1, app: .default)
        try await Self.sendToLists(scenario)
        try await Self.doEverythingTogether(scenario)
        try await Self.removeUsers(scenario)
        try await Self.removeEverything(scenario)
    }

    private static func removeUsers(_ scenario: Scenario) async throws {
        for name in ["ann", "cid"] {
            let user = try UserName(name, .folded)
            let work = Job.Work.register(.removeUser(user, withAccount: true))
            let job = try await scenario.accept(NewJob(app: .default, key: "k", work: work, lifetime: .seconds(60)))
            while try await scenario.store.register(job) == nil {}
            _ = try await scenario.store.finishRegister(job.id, result: .done)
        }
    }

    private static func sendToLists(_ scenario: Scenario) async throws {
        _ = try await scenario.accept(RecipientList(registrations: [.random()]))
        let long = try await scenario.accept(.list(apns: 150))
        #expect(try await scenario.fanOut(long, pages: 100).count == 2)
        let short = try await scenario.accept(.list(apns: 1))
        let key = try #require(try await scenario.fanOut(group: scenario.message(of: short.id)).keys.first)
        let row = Recipient(place: 1, pns: .apns, handle: Handle(stored: ""), reference: nil).number
        let outcome = BatchOutcome(
            key: key,
            failures: [DeviceFailure(row: row, failure: .unregistered, status: 410, reason: "")],
            deadHandles: [
                DeadHandle(row: row, handle: Handle(stored: "direct-1"), before: scenario.time.wall, reason: "")
            ],
            at: scenario.time.wall
        )
        #expect(try await scenario.record(outcome))
        #expect(try await scenario.store.perform(.remove(.recipients, olderThan: .zero), limit: 9).rows == 1)
    }

    /// What is done for many at once: imports, groups and their deliveries.
    private static func doEverythingTogether(_ scenario: Scenario) async throws {
        let store = scenario.store
        let rows = try ["cc", "dd"].map {
            ImportedRegistration(
                pns: .apns,
                handle: Handle(stored: $0),
                user: try UserName("cid", .folded),
                tags: [try Tag("t", .folded)]
            )
        }
        let sequence = try await store.beginImport()
        _ = try await store.importRegistrations(rows, app: .default, sequence: sequence, lifetime: nil)
        _ = try await store.importRegistrations(rows, app: .default, sequence: sequence, lifetime: nil)
        var messages: [OutboxMessage] = []
        for key in ["a", "b", "b"] {
            let job = NewJob(
                app: .default,
                work: .send(scenario.send(to: .tag(Tag(user: try UserName("cid", .folded))))),
                lifetime: .seconds(3600),
                idempotency: NewJob.Idempotency(caller: "c", route: "r", key: key, hash: [1])
            )
            messages += try await store.accept([job]).messages
        }
        #expect(messages.count == 2)
        try await store.markPublished(messages)
        #expect(try await store.defer(messages[1].id, epoch: nil, Deferral(blockedOn: [.apns])))
        _ = try await scenario.takeDue()
        try await store.split(messages[1].id)
        let peek = try #require(try await store.claim(messages[0].id, peeking: true))
        #expect(try await store.extend(try #require(try await store.claim(messages[0].id, peeking: false))))
        #expect(!peek.isClaimed)
        let (keys, deliveries) = try await scenario.fanOut(group: messages[0])
        let delivery = try #require(deliveries.first)
        try await store.markPublished([delivery])
        let found = try await store.status(of: keys, in: delivery.id)
        #expect(try await scenario.deferBatch(keys[0], for: .zero))
        _ = try await scenario.takeDueBatches()
        try await store.split(delivery.id)
        let outcome = BatchOutcome(key: keys[0], hint: found[0].hint, accepted: 2, at: scenario.time.wall)
        #expect(try await store.record([outcome]) == [true])
        try await Self.abandon(scenario)
    }

    /// A send of which the hub takes nothing, and one that starts later.
    private static func abandon(_ scenario: Scenario) async throws {
        let job = try await scenario.accept(scenario.campaign(to: "t"))
        let claim = try #require(try await scenario.claimCampaign(job))
        _ = try await scenario.store.commit(.abandon(reason: ""), of: claim.claim)
        let later = NewJob(
            app: .default,
            work: .send(try scenario.campaign(to: "t")),
            lifetime: .seconds(60),
            startsAt: scenario.time.wall.advanced(by: .seconds(5))
        )
        _ = try await scenario.accept(later)
        scenario.time.advance(.seconds(5))
        #expect(try await scenario.startScheduled() == 1)
    }

    private static func removeEverything(_ scenario: Scenario) async throws {
        let content = try await scenario.store.put(StoredContent(owner: nil, mediaType: "", bytes: []), app: .default)
        for _ in 0..<2 {
            let rich = NewRichNotification(
                sender: nil,
                addressee: try UserName("ann", .folded),
                message: "",
                richType: "",
                content: content,
                isSecure: false,
                quota: NewRichNotification.Quota(perSender: 5, perApp: 5)
            )
            try await scenario.keep(rich)
        }
        scenario.time.advance(.seconds(100 * 86_400))
        var removed = 0
        for kind in Retained.allCases + [.contents] {
            removed += try await scenario.store.perform(.remove(kind, olderThan: .seconds(86_400)), limit: 100).rows
        }
        #expect(removed > 5)
        try await scenario.expireRegistrations(limit: 5)
    }

    private static func acts(of user: UserName, in store: any ResultStore) async throws {
        let act = NewAct(app: .default, by: user.caller, via: .api, origin: "::1", kind: .queuePause, user: user)
        let number = try await store.record(.new(act, .begun))
        try await store.record(.end(number, .done))
        for app in [AppID.default, nil] {
            _ = try await store.acts(ActQuery(app: app))
            _ = try await store.acts(ActQuery(app: app, by: [user.caller], since: .now))
            _ = try await store.acts(ActQuery(app: app, job: .init(id: .make(), finished: .now)))
            _ = try await store.acts(ActQuery(app: app, kind: .jobCancel, job: .init(id: .make(), finished: nil)))
            _ = try await store.acts(ActQuery(app: app, kind: .queuePause, state: .done))
            _ = try await store.acts(ActQuery(app: app, by: [user.caller], kind: .queuePause))
        }
    }
}
