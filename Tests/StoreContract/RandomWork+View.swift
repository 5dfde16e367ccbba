import PushModel
import SeededRandom
import Store

/// All that can be seen of a store, in words.
extension RandomWork {
    /// How many jobs are looked at one by one.
    private static let mostDetails = 25

    package mutating func view(_ number: Int) async throws -> [String] {
        self.random = SeededGenerator(seed: UInt64(number))
        var seen: [String] = []
        for app in self.apps {
            seen += try await self.administration(of: app)
            seen += try await self.jobs(of: app)
            seen += try await self.devices(of: app)
            seen += try await self.letters(of: app)
        }
        let pauses = try await self.store.pauses().map { Description.of($0) }.sorted()
        seen.append(Description.of(("pauses", pauses)))
        seen += try await self.load(of: nil)
        let state = try await self.store.state()
        seen.append("jobs \(state.jobs), dead \(state.dead)")
        for hash in 0...9 as ClosedRange<UInt8> {
            let session = try await self.store.session(hash: [hash])
            seen.append(Description.of(("session", hash, session)))
        }
        return seen
    }

    /// What does not add up.
    func faults() async throws -> [String] {
        var (faults, cursor) = ([String](), Int64?(0))
        while let after = cursor {
            let audit = try await self.store.audit(after: after, limit: 500)
            faults += audit.faults
            cursor = audit.next
        }
        return faults
    }

    /// All pages of a list.
    private mutating func all<Item: Sendable>(
        _ page: (_ limit: Int, _ cursor: String?) async throws -> Page<Item>
    ) async throws -> [Item] {
        var (items, cursor) = ([Item](), String?.none)
        let (limit, most) = (self.number(3...100), self.mostPages)
        var pages = 0
        repeat {
            let next = try await page(limit, cursor)
            items += next.items
            (cursor, pages) = (next.cursor, pages + 1)
        } while cursor != nil && pages < most
        return items
    }

    private mutating func administration(of app: AppID) async throws -> [String] {
        let store = self.store
        let accounts = try await self.all {
            try await store.accounts(AccountQuery(app: app, cursor: $1, limit: $0))
        }
        let notifications = try await self.all {
            try await store.richNotifications(RichNotificationQuery(app: app, cursor: $1, limit: $0))
        }
        let (spec, keys) = (try await store.app(app), try await store.keys(.app(app)))
        let rules = try await store.hubRules(app: app)
        return [
            Description.of(("app", app, spec)),
            Description.of(("accounts", accounts.map { ($0.account, $0.passwordHash) })),
            Description.of(("keys", keys)), Description.of(("rules", rules)),
            Description.of(("notifications", notifications)),
        ] + (try await self.load(of: app))
    }

    private func load(of app: AppID?) async throws -> [String] {
        let queues = try await self.store.queues(of: app)
        return WorkQueue.allCases.map { Description.of(("queue", app, $0, queues[$0] ?? QueueLoad())) }
    }

    private mutating func letters(of app: AppID) async throws -> [String] {
        let store = self.store
        let letters = try await self.all {
            try await store.deadLetters(DeadLetterQuery(app: app, cursor: $1, limit: $0))
        }
        return letters.map { Description.of(("letter", $0)) }
    }

    // MARK: Jobs

    private mutating func jobs(of app: AppID) async throws -> [String] {
        let store = self.store
        let jobs = try await self.all { try await store.jobs(JobQuery(app: app, cursor: $1, limit: $0)) }
        var seen = [Description.of(("jobs", jobs.map(\.id)))]
        let queries = try self.queries(of: app)
        for query in queries {
            let found = try await self.all { limit, cursor in
                var query = query
                (query.limit, query.cursor) = (limit, cursor)
                return try await store.jobs(query)
            }
            seen.append(
                Description.of(
                    (query.state, query.kind, query.user, query.key, query.label, query.pns, found.map(\.id))
                )
            )
        }
        for job in jobs.prefix(Self.mostDetails) {
            seen.append(Description.of(try await store.job(job.id, app: app)))
            let devices = try await self.all {
                try await store.deliveries(DeliveryQuery(job: job.id, app: app, cursor: $1, limit: $0))
            }
            // Outcomes that came together are in no order.
            seen += devices.map { Description.of(("device", job.id, $0)) }.sorted()
            seen += try await store.hubCalls(of: job.id, app: app, limit: 10).map { Description.of($0) }
        }
        return seen
    }

    private mutating func queries(of app: AppID) throws -> [JobQuery] {
        var queries = Job.State.allCases.map { JobQuery(app: app, state: $0) }
        queries += JobKind.allCases.map { JobQuery(app: app, kind: $0) }
        queries += PushService.allCases.map { JobQuery(app: app, pns: $0) }
        queries.append(JobQuery(app: app, hasFailures: true))
        for _ in 0..<3 {
            let label = try JobLabel("label\(self.number(0...2))")
            var query = JobQuery(app: app, label: self.chance(40) ? label : nil)
            if self.chance(50) { query.user = try self.user() } else { query.key = "key" }
            if self.chance(50) { query.state = self.one(of: Job.State.allCases) }
            if self.chance(30) { query.since = self.time.wall.advanced(by: .seconds(-60)) }
            queries.append(query)
        }
        return queries
    }

    // MARK: Devices

    private mutating func devices(of app: AppID) async throws -> [String] {
        let store = self.store
        var seen: [String] = []
        let states: [Registration.State?] = [nil] + Registration.State.allCases
        for state in states {
            let found = try await self.all {
                try await store.registrations(RegistrationQuery(app: app, state: state, cursor: $1, limit: $0))
            }
            // Rows are numbered by each store, and an import writes in an order of its own.
            seen += found.map { Description.of(("registration", state, $0)) }.sorted()
        }
        let uses = try await store.credentialUses(app: app).map { Description.of($0) }.sorted()
        seen.append(Description.of(("credentials", uses)))
        for audience in try self.audiences() {
            for pns in [PushService.apns, .fcm] {
                let query = AudienceQuery(.expression(audience), app: app, pns: pns)
                let page = try await store.wholeAudience(query)
                let handles = page.addresses.values.map(\.handle.text).sorted()
                let count = try await self.count(query)
                seen.append(Description.of(("audience", "\(audience)", pns, handles, count)))
            }
        }
        return seen
    }

    private func count(_ query: AudienceQuery) async throws -> Int {
        var (query, count) = (query, 0)
        while query.after < query.through {
            let slice = try await self.store.count(query)
            (query.after, count) = (slice.scannedThrough, count + slice.count)
        }
        return count
    }

    private mutating func audiences() throws -> [TagExpression] {
        let (one, other) = (try self.tag(), try self.tag())
        return [
            .everyone, .tag(one), .tag(PushModel.Tag(user: try self.user())),
            try TagExpression(parsing: "\(one) && !\(other)", .folded),
            try TagExpression(parsing: "!\(one) || \(other)", .folded),
        ]
    }
}
