import PushModel
import Store
import Testing

/// What any store must do with names that differ by letter case alone (decision 27).
@Suite(.everyStore) struct NameContract {
    let fixture: any StoreFixture
    let scenario: Scenario
    var store: any ResultStore { self.scenario.store }

    init() throws {
        self.fixture = try StoreFixtures.make()
        self.scenario = Scenario(self.fixture)
    }

    /// The rows that an expression reaches, with and without the way of many tags.
    private func audience(_ text: String, _ users: AppSpec.Users = .folded) async throws -> [Int64] {
        let expression = try TagExpression(parsing: text, users)
        let page = try await self.store.wholeAudience(
            AudienceQuery(.expression(expression), app: .default, pns: .apns, through: 1000)
        )
        let found = try await self.store.audience(
            AudienceQuery(.expression(expression), app: .default, pns: .apns, rows: Array(1...100))
        ).addresses
        #expect(found.keys.sorted() == page.rows)
        if let tags = expression.alternatives {
            let many = TagExpression.any(tags + (try (0..<100).map { try Tag("nobody:\($0)", users) }))
            let same = try await self.store.wholeAudience(
                AudienceQuery(.expression(many), app: .default, pns: .apns, through: 1000)
            )
            #expect(same.rows == page.rows)
        }
        return page.rows
    }

    private func put(_ handle: String, user: UserName, tags: [PushModel.Tag] = []) async throws -> RegistrationID {
        let id = RegistrationID.random()
        let result = try await self.store.register(
            .upsert(id, .init(pns: .apns, handle: Handle(stored: handle), tags: tags)),
            of: RegisterJob(app: .default, user: user, sequence: try await self.scenario.sequence())
        )
        #expect(result == .done)
        return id
    }

    @Test func tagsIgnoreLetterCaseAndKeepTheFirstSpelling() async throws {
        let first = try await self.scenario.register(user: "ann", handle: "aa", tags: ["Beta", "BETA"])
        let second = try await self.scenario.register(user: "bob", handle: "bb", tags: ["beta", "News"])
        for text in ["beta", "Beta", "bETA"] { #expect(try await self.audience(text) == [1, 2]) }
        #expect(try await self.audience("BETA && !NEWS") == [1])
        #expect(try await self.store.registration(first, app: .default)?.tags.map(\.name) == ["Beta", "username:ann"])
        #expect(
            try await self.store.registration(second, app: .default)?.tags.map(\.name) == [
                "Beta", "News", "username:bob",
            ]
        )
        let query = RegistrationQuery(app: .default, tag: try Tag("nEWS", .folded))
        #expect(try await self.store.registrations(query).items.map(\.id) == [second])
    }

    @Test func importedTagsAndUsersCompareTheSame() async throws {
        func rows(_ user: String, _ tags: [String]) throws -> [ImportedRegistration] {
            [
                ImportedRegistration(
                    pns: .apns,
                    handle: Handle(stored: "aa"),
                    user: try UserName(user, .folded),
                    tags: try tags.map { try Tag($0, .folded) }
                )
            ]
        }
        let many = (0..<30).map { "T\($0)" }
        for (user, tags) in [("Ann", many + ["t0"]), ("ANN", many.map { $0.lowercased() })] {
            let sequence = try await self.store.beginImport()
            _ = try await self.store.importRegistrations(
                rows(user, tags),
                app: .default,
                sequence: sequence,
                lifetime: nil
            )
            let stored = try #require(try await self.store.registrations(RegistrationQuery(app: .default)).items.first)
            #expect(stored.user?.name == "Ann")
            #expect(stored.tags.map(\.name).sorted() == (many + ["username:ann"]).sorted())
            #expect(try await self.audience("USERNAME:Ann && T7 && t29") == [1])
        }
        let sequence = try await self.store.beginImport()
        _ = try await self.store.importRegistrations(rows("Bob", []), app: .default, sequence: sequence, lifetime: nil)
        #expect(try await self.store.registrations(RegistrationQuery(app: .default)).items.first?.user?.name == "Bob")
    }

    @Test func usersIgnoreLetterCase() async throws {
        let (first, later) = (try UserName("Ann", .folded), try UserName("aNN", .folded))
        let id = try await self.put("aa", user: first)
        #expect(try await self.audience("username:ann") == [1])
        #expect(try await self.audience("UserName:ANN") == [1])
        #expect(try await self.store.registration(id, app: .default)?.user?.name == "Ann")
        let query = RegistrationQuery(app: .default, user: later)
        #expect(try await self.store.registrations(query).items.map(\.id) == [id])
        let job = try await self.scenario.accept(self.scenario.campaign(to: "t"), user: first)
        #expect(try await self.store.jobs(JobQuery(app: .default, user: later)).items.map(\.id) == [job.id])
        #expect(try await self.scenario.job(job.id).user?.name == "Ann")
        let deleted = try await self.store.register(
            .delete(id),
            of: RegisterJob(app: .default, user: later, sequence: try await self.scenario.sequence())
        )
        #expect(deleted == .done)
    }

    @Test func exactUsersDifferByLetterCase() async throws {
        let (large, small) = (try UserName("Ann", .exact), try UserName("ann", .exact))
        let own = try PushModel.Tag(Tag.Owned.sender.rawValue.uppercased() + "Ann", .exact)
        let first = try await self.put("aa", user: large, tags: [own])
        let second = try await self.put("bb", user: small, tags: [try Tag("NEWS", .exact)])
        #expect(try await self.audience("username:Ann", .exact) == [1])
        #expect(try await self.audience("USERNAME:ann", .exact) == [2])
        #expect(try await self.audience("username:ANN", .exact).isEmpty)
        #expect(try await self.audience("from:Ann", .exact) == [1])
        #expect(try await self.audience("from:ann", .exact).isEmpty)
        #expect(try await self.audience("news", .exact) == [2])
        for (user, id) in [(large, first), (small, second)] {
            let query = RegistrationQuery(app: .default, user: user)
            #expect(try await self.store.registrations(query).items.map(\.id) == [id])
            #expect(try await self.store.registration(id, app: .default)?.user?.name == user.name)
        }
    }

    /// Sends to one tag share a message, and each keeps its audience.
    @Test(arguments: AppSpec.Users.allCases) func aSmallSendComparesNamesAsItsAppDoes(users: AppSpec.Users) async throws
    {
        _ = try await self.put("aa", user: UserName("Ann", users), tags: [Tag("News", users)])
        _ = try await self.put("bb", user: UserName("ann", users), tags: [Tag("NEWS", users)])
        var reached: [[Int64]] = []
        for text in ["news", "username:Ann", "Username:ann", "username:ANN"] {
            let request = self.scenario.send(to: .tag(try Tag(text, users)))
            let job = try await self.scenario.accept(request)
            let claim = try #require(try await self.store.claim(self.scenario.message(of: job.id).id, peeking: true))
            let send = try #require(try await self.scenario.sends(of: claim).first)
            guard case .all(let reaches) = send.audience else { throw Unexpected("\(send.audience)") }
            reached.append(reaches.flatMap(\.devices.rows))
        }
        #expect(reached == (users == .exact ? [[1, 2], [1], [2], []] : [[1, 2], [1, 2], [1, 2], [1, 2]]))
    }

    @Test func aDeletionStopsTheUsersEarlierChangeInAnyLetterCase() async throws {
        let id = RegistrationID.random()
        let (earlier, later) = (try await self.scenario.sequence(), try await self.scenario.sequence())
        func change(_ request: RegisterRequest, _ user: String, _ sequence: Int64) async throws -> RegisterResult? {
            try await self.store.register(
                request,
                of: RegisterJob(app: .default, user: UserName(user, .folded), sequence: sequence, most: 5)
            )
        }
        #expect(try await change(.delete(id), "ANN", later) == .notFound)
        let upsert = RegisterRequest.upsert(id, .init(pns: .apns, handle: Handle(stored: "aa"), tags: []))
        #expect(try await change(upsert, "Ann", earlier) == .superseded)
    }

    @Test func richNotificationsBelongToTheirUserInAnyLetterCase() async throws {
        let (ann, bob) = (try UserName("Ann", .folded), try UserName("Bob", .folded))
        let content = StoredContent(owner: ann, mediaType: "a/b", bytes: [1, 2, 3])
        let quota = AppSpec.Contents {
            $0.accountBytes = ContentAcceptance.cost(of: content)
            $0.appBytes = 1 << 20
        }
        guard case .kept(let id) = try await self.store.put(content, app: .default, quota: quota) else {
            throw Unexpected("not kept")
        }
        let other = StoredContent(owner: try UserName("aNN", .folded), mediaType: "a/b", bytes: [1])
        guard case .accountIsFull = try await self.store.put(other, app: .default, quota: quota) else {
            throw Unexpected("another account's quota")
        }
        #expect(try await self.store.content(id, app: .default)?.owner == other.owner)
        let notification = NewRichNotification(
            sender: ann,
            addressee: bob,
            message: "m",
            richType: "img",
            content: id,
            isSecure: false,
            quota: NewRichNotification.Quota(perSender: 10, perApp: 10)
        )
        try await self.scenario.keep(notification)
        let kept = try #require(try await self.store.richNotification(notification.id, app: .default))
        #expect(kept.sender?.name == "Ann")
        #expect(kept.addressee.name == "Bob")
        #expect(try await self.store.names(id, in: UserName("BOB", .folded), app: .default))
        let query = RichNotificationQuery(app: .default, sender: try UserName("ann", .folded))
        #expect(try await self.store.richNotifications(query).items.map(\.id) == [notification.id])
    }

    // MARK: Accounts and apps

    @Test func theComparisonOfUserNamesIsFixedOnceRegistrationsExist() async throws {
        #expect(try await self.store.apply(.app(.default, AppSpec { $0.users = .exact })))
        _ = try await self.store.importRegistrations(
            [ImportedRegistration(pns: .apns, handle: Handle(stored: "aa"), user: try UserName("Ann", .exact))],
            app: .default,
            sequence: try await self.store.beginImport(),
            lifetime: nil
        )
        let error = await #expect(throws: StoreError.self) {
            try await self.store.apply(.app(.default, AppSpec { $0.users = .folded }))
        }
        #expect(error?.code == .conflict)
        #expect(error?.message.contains("declare a new app with users: folded") == true)
        #expect(try await self.store.app(.default)?.users == .exact)
        // Whatever else changes.
        let all = AppSpec {
            $0.users = .exact
            $0.recording = .all
        }
        #expect(try await self.store.apply(.app(.default, all)))
        // Another app's are none of its.
        let other = try AppID("other")
        #expect(try await self.store.apply(.app(other, AppSpec())))
        #expect(try await self.store.apply(.app(other, AppSpec { $0.users = .exact })))
    }

    /// é as one character, and as e with an accent: the same to Swift's own texts, and two people.
    @Test func usersDifferByNormalizationAlone() async throws {
        let (composed, decomposed) = (try UserName("zo\u{E9}", .folded), try UserName("zoe\u{301}", .folded))
        let id = try await self.put("aa", user: composed)
        #expect(try await self.audience("user('zo\u{E9}')") == [1])
        #expect(try await self.audience("user('zoe\u{301}')") == [])
        #expect(try await self.audience("username:bob || user('zoe\u{301}') || user('zo\u{E9}')") == [1])
        for (user, count) in [(composed, 1), (decomposed, 0)] {
            for query in [
                RegistrationQuery(app: .default, user: user), RegistrationQuery(app: .default, tag: Tag(user: user)),
                RegistrationQuery(app: .default, user: composed, tag: Tag(user: user)),
            ] { #expect(try await self.store.registrations(query).items.count == count) }
        }
        let deletion = try await self.store.register(
            .delete(id),
            of: RegisterJob(app: .default, user: decomposed, sequence: try await self.scenario.sequence())
        )
        #expect(deletion == .notFound)
        // A line of an import for the one hands the other's device over.
        let row = ImportedRegistration(id: id, pns: .apns, handle: Handle(stored: "aa"), user: decomposed, tags: [])
        _ = try await self.store.importRegistrations(
            [row],
            app: .default,
            sequence: try await self.scenario.sequence(),
            lifetime: nil
        )
        #expect(try await self.store.registration(id, app: .default)?.user == decomposed)
        #expect(try await self.audience("user('zo\u{E9}')") == [])
        for user in [composed, decomposed] {
            let account = Account(app: .default, name: user, role: .user, isDisabled: false, created: .now)
            try await self.store.apply(.account(.add(account, passwordHash: "\(user.key.utf8.count)")))
        }
        #expect(try await self.store.account(composed, app: .default)?.passwordHash == "4")
        #expect(try await self.fixture.faults() == [])
    }

    /// A name that looks like an expression is a name, also where it is read from a job again.
    @Test(arguments: ["x||vip", "a') || all('", "a\\\"/'"])
    func aNameIsNoExpression(name: String) async throws {
        let user = try UserName(name, .folded)
        _ = try await self.put("aa", user: user)
        _ = try await self.put(
            "bb",
            user: UserName("vip", .folded),
            tags: ["vip", "x", "all"].map { try Tag($0, .folded) }
        )
        #expect(try await self.audience(Tag(user: user).name) == [1])
        let job = try await self.scenario.accept(self.scenario.send(to: .tag(Tag(user: user))))
        guard case .send(let send)? = try await self.store.job(job.id, app: .default)?.work else {
            throw Unexpected("\(job)")
        }
        #expect(send.audience.expression == .tag(Tag(user: user)))
        let group = try #require(try await self.store.claim(self.scenario.message(of: job.id).id, peeking: false))
        #expect(try await self.scenario.sends(of: group).map(\.request.audience) == [send.audience])
        let lists = TagExpression.any([Tag(user: user)] + (try (0..<150).map { try Tag("username:u\($0)", .folded) }))
        let campaign = try await self.scenario.accept(self.scenario.send(to: lists))
        let all = AudienceQuery(.tags(ofJob: campaign.sequence), app: .default, pns: .apns)
        let listed = AudienceQuery(.expression(lists), app: .default, pns: .apns)
        #expect(try await self.store.audience(all).rows == self.store.audience(listed).rows)
    }
}
