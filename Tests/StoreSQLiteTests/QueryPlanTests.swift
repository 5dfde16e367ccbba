import Foundation
import GRDB
import PushModel
import Store
import Testing

@testable import StoreSQLite

/// Every statement reaches its rows through an index (rule 9: the wrong one costs 500 times).
struct QueryPlanTests {
    private func plan(_ sql: String, in store: SQLiteStore) async throws -> [String] {
        try await store.pool.read { database in
            let statement = try database.makeStatement(sql: "EXPLAIN QUERY PLAN " + sql)
            statement.setUncheckedArguments([])
            return try Row.fetchAll(statement).map { $0["detail"] as String }
        }
    }

    struct Pinned: Sendable, CustomTestStringConvertible {
        let sql: String
        let plan: [String]
        var testDescription: String { String(self.sql.prefix(70)) }
    }

    /// The rows of a user at a service, from the index alone.
    private static func ofUser(_ rows: String) -> String {
        "SEARCH registration USING COVERING INDEX registration_user (app=? AND user=? AND state=? AND pns=? AND \(rows))"
    }

    static let pinned: [Pinned] = [
        Pinned(
            sql: HeldHandle.find("r.row"),
            plan: ["SEARCH h USING PRIMARY KEY (digest=?)", "SEARCH r USING INTEGER PRIMARY KEY (rowid=?)"]
        ),
        Pinned(
            sql: RegistrationChange.hasMore,
            plan: ["SEARCH registration USING COVERING INDEX registration_user (app=? AND user=? AND state=?)"]
        ),
        Pinned(
            sql: RegistrationChange.hasMorePast,
            plan: ["SEARCH registration USING COVERING INDEX registration_user_past (app=? AND user=?)"]
        ),
        Pinned(
            sql: RegistrationChange.oldestPast,
            plan: ["SEARCH registration USING COVERING INDEX registration_user_past (app=? AND user=?)"]
        ),
        Pinned(sql: ImportStatements.holds, plan: ["SEARCH held USING PRIMARY KEY (digest=?)"]),
        Pinned(
            sql: SingleTagReader.query.ofNumber,
            plan: [
                "SEARCH t USING PRIMARY KEY (tag=? AND pns=? AND row>? AND row<?)",
                "SEARCH r USING INTEGER PRIMARY KEY (rowid=?)",
            ]
        ),
        Pinned(
            sql: SingleTagReader.query.ofUser,
            plan: [
                "SEARCH registration USING INDEX registration_user"
                    + " (app=? AND user=? AND state=? AND pns=? AND rowid>? AND rowid<?)"
            ]
        ),
        Pinned(
            sql: SmallSendReader.query.ofNumber,
            plan: ["SEARCH t USING PRIMARY KEY (tag=?)", "SEARCH r USING INTEGER PRIMARY KEY (rowid=?)"]
        ),
        Pinned(
            sql: SmallSendReader.query.ofUser,
            plan: ["SEARCH registration USING INDEX registration_user (app=? AND user=? AND state=?)"]
        ),
        Pinned(
            sql: RowWalker.tagged.ofNumber,
            plan: ["SEARCH tagged USING PRIMARY KEY (tag=? AND pns=? AND row>?)"]
        ),
        Pinned(sql: RowWalker.tagged.ofUser, plan: [Self.ofUser("rowid>?")]),
        Pinned(
            sql: RowSearch.query.ofNumber,
            plan: ["SEARCH tagged USING PRIMARY KEY (tag=? AND pns=? AND row>? AND row<?)"]
        ),
        Pinned(sql: RowSearch.query.ofUser, plan: [Self.ofUser("rowid>? AND rowid<?")]),
        Pinned(
            sql: Database.liveWithTags,
            plan: ["SEARCH registration USING INTEGER PRIMARY KEY (rowid=?)"]
        ),
        Pinned(
            sql: Database.audienceTags,
            plan: ["SEARCH audience USING INTEGER PRIMARY KEY (rowid=?)"]
        ),
        Pinned(
            sql: RowWalker.spanned.ofNumber,
            plan: ["SEARCH tagged USING PRIMARY KEY (tag=? AND pns=? AND row>?)"]
        ),
        Pinned(sql: RowWalker.spanned.ofUser, plan: [Self.ofUser("rowid>?")]),
        Pinned(
            sql: RowWalker.live,
            plan: [
                "SEARCH registration USING COVERING INDEX registration_live (app=? AND pns=? AND state=? AND rowid>?)"
            ]
        ),
        Pinned(
            sql: RowWalker.handles,
            plan: ["SEARCH registration USING INTEGER PRIMARY KEY (rowid>?)"]
        ),
        Pinned(
            sql: """
                SELECT count(*), sum(size) FROM batch
                WHERE app = ? AND pns = ? AND priority = ? AND open = 1 AND published IN (-1, 1)
                """,
            plan: [
                "SEARCH batch USING COVERING INDEX batch_window (app=? AND pns=? AND priority=? AND open=? AND published=?)"
            ]
        ),
        Pinned(
            sql: """
                SELECT job, carried FROM batch WHERE priority = ? AND app = ? AND pns = ? AND published = ? AND open = 1
                    AND due <= ? ORDER BY due LIMIT ?
                """,
            plan: ["SEARCH batch USING INDEX batch_due (priority=? AND app=? AND pns=? AND published=? AND due<?)"]
        ),
        Pinned(
            sql: """
                SELECT app, pns, published FROM batch
                WHERE priority = ? AND open = 1 AND due IS NOT NULL AND (app, pns, published) > (?, ?, ?)
                ORDER BY app, pns, published LIMIT 1
                """,
            plan: ["SEARCH batch USING INDEX batch_due (priority=? AND (app,pns,published)>(?,?,?))"]
        ),
        Pinned(
            sql: "SELECT id FROM job WHERE priority = ? AND app = ? AND waits = ? AND due <= ? ORDER BY due LIMIT ?",
            plan: ["SEARCH job USING INDEX job_due (priority=? AND app=? AND waits=? AND due<?)"]
        ),
        Pinned(
            sql: """
                SELECT app, waits FROM job WHERE priority = ? AND due IS NOT NULL AND (app, waits) > (?, ?)
                ORDER BY app, waits LIMIT 1
                """,
            plan: ["SEARCH job USING COVERING INDEX job_due (priority=? AND (app,waits)>(?,?))"]
        ),
        Pinned(
            sql: """
                SELECT sequence FROM job WHERE finished IS NULL AND stopped IS NULL AND ends <= ? ORDER BY ends LIMIT ?
                """,
            plan: ["SEARCH job USING INDEX job_ends (ends<?)"]
        ),
        Pinned(sql: InlineStandings.query, plan: ["SEARCH job USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"]),
        Pinned(sql: InlineOutcomes.atPlace, plan: ["SEARCH job USING INTEGER PRIMARY KEY (rowid=?)"]),
        Pinned(
            sql: """
                SELECT sequence FROM job WHERE job.app = ? AND job.sequence < ? AND job.state = 2 AND job.finished IS NULL
                ORDER BY job.sequence DESC LIMIT ?
                """,
            plan: ["SEARCH job USING INDEX job_open (app=? AND rowid<?)"]
        ),
        Pinned(
            sql: "SELECT 1 FROM batch WHERE batch.job = ? AND batch.open = 1",
            plan: ["SEARCH batch USING COVERING INDEX batch_open (job=? AND open=?)"]
        ),
    ]

    @Test(arguments: pinned)
    func theHotQueriesKeepTheirIndexes(pinned: Pinned) async throws {
        let keep = try TemporaryStore()
        #expect(try await self.plan(pinned.sql, in: keep.store) == pinned.plan)
    }

    /// Planning is the second of three changes of a small send's row: it is to touch the table alone.
    @Test func planningASmallSendTouchesNoIndexOfOpenJobs() async throws {
        let keep = try TemporaryStore()
        try await Self.doEverything(Scenario(store: keep.store, time: keep.time))
        let written = try await keep.store.pool.writeWithoutTransaction { database in
            let sql = try #require(
                try String.fetchOne(
                    database,
                    sql: "SELECT sql FROM sqlite_stmt WHERE sql LIKE ?",
                    arguments: [RawStatement.mark + "UPDATE job SET state = 2%"]
                )
            )
            let statement = try database.makeStatement(sql: "EXPLAIN " + sql)
            statement.setUncheckedArguments([])
            let steps = try Row.fetchAll(statement).filter { ($0["opcode"] as String) == "OpenWrite" }
            let roots = steps.map { $0["p2"] as Int }
            return try roots.compactMap {
                try String.fetchOne(database, sql: "SELECT name FROM sqlite_schema WHERE rootpage = ?", arguments: [$0])
            }
        }
        #expect(written.contains("job"))
        // Their conditions name the state; but for jobs that are scheduled or failed nothing is in them.
        #expect(Set(written) == ["job", "job_failed", "job_starts"])
    }

    /// All that the store has prepared after a round of everything: nothing walks through a table or sorts a large set.
    @Test func noStatementScansATable() async throws {
        let keep = try TemporaryStore()
        let contracts = Scenario(store: keep.store, time: keep.time)
        try await Self.doEverything(contracts)
        let prepared = "SELECT sql FROM sqlite_stmt"
        var statements = try await keep.store.pool.writeWithoutTransaction { try String.fetchAll($0, sql: prepared) }
        for _ in 0..<20 {
            statements += try await keep.store.pool.read { try String.fetchAll($0, sql: prepared) }
        }
        let raw = statements.filter { $0.hasPrefix(RawStatement.mark) }
        #expect(Set(raw).count > 15)
        let checked = Set(
            statements.map { $0.hasPrefix(RawStatement.mark) ? String($0.dropFirst(RawStatement.mark.count)) : $0 }
                .filter { sql in
                    ["SELECT", "UPDATE", "DELETE", "INSERT"].contains { sql.hasPrefix($0) } && !sql.contains("sqlite_")
                }
        )
        #expect(checked.count > 60)
        // Tables of one row or a handful, a queue that is read from its head, a list that is read whole.
        let allowed = ["clock", "open_jobs", "dead_handle", "dead", "app", "pause"]
        for sql in checked {
            for step in try await self.plan(sql, in: keep.store) {
                #expect(!Self.isTooWide(step, in: sql), "\(step) in \(sql)")
                guard step.hasPrefix("SCAN ") || step.contains("TEMP B-TREE") else { continue }
                let isAllowed =
                    allowed.contains { step == "SCAN \($0)" || step.hasPrefix("SCAN \($0) USING") }
                    || step == "SCAN CONSTANT ROW" || step.hasSuffix(" CONSTANT ROWS")
                    || step.hasPrefix("SCAN (subquery-")
                    // A view: what it is made of has steps of its own.
                    || step == "SCAN tally"
                    || Self.sorts.contains { sql.contains($0) }
                #expect(isAllowed, "\(step) in \(sql)")
            }
        }
    }

    /// What a statement must not be reached by: indexes that most rows of an app or job share, but for lists in their order.
    private static func isTooWide(_ step: String, in sql: String) -> Bool {
        let wide = ["registration_ended", "registration_live", "job_app", "job_open"]
        let isByWide = wide.contains { step.contains("INDEX \($0) ") }
        let isList =
            sql.contains("ORDER BY registration.row") || sql.contains("ORDER BY job.sequence DESC")
            || sql == RowWalker.live
        let hasBetter = sql.contains("user = ?") || sql.contains("job.key = ?") || sql.contains("tagged")
        if isByWide, !isList || hasBetter { return true }
        let isExistence = sql == "SELECT 1 FROM batch WHERE job = ? LIMIT 1"
        // An insert's and a deletion's steps are the checks of foreign keys.
        let isCheck = sql.hasPrefix("INSERT") || sql.hasPrefix("DELETE")
        return step.contains("batch USING PRIMARY KEY (job=?)") && !isExistence && !isCheck
            || step.contains("USING PRIMARY KEY (tag=?)") && sql != SmallSendReader.query.ofNumber
    }

    /// Sorts of what is small: the parked batches of one job, the registrations of one user.
    private static let sorts = ["SELECT due, carried_reason FROM batch", "max(row)", RegistrationChange.oldest]

    private static func doEverything(_ scenario: Scenario) async throws {
        let store = scenario.store
        let user = try UserName("ann")
        let id = try await scenario.register(
            user: "ann",
            handle: "aa",
            tags: ["t"],
            expires: scenario.time.wall.advanced(by: .seconds(5))
        )
        try await scenario.register(user: "bob", handle: "bb", tags: ["t"])
        let job = try await scenario.accept(scenario.send(to: .tag(Tag("t"))), user: user)
        try await store.markPublished(jobs: [job.id], lease: .zero)
        _ = try await store.dueJobs(overdue: .zero, limit: 5)
        let key = try #require(try await scenario.plan(job).first)
        _ = try await store.room(for: .page, app: .default, pns: .apns, priority: .normal)
        _ = try await store.standing(of: [key])
        _ = try await store.raiseStarts(batch: key)
        _ = try await store.raiseStarts(job: job.id)
        let dead = DeadHandle(
            row: 2,
            handle: Handle(stored: "bb"),
            before: scenario.time.wall.advanced(by: .seconds(1)),
            reason: ""
        )
        let carried = CarriedDevice(row: 1, tries: 1, wait: .zero)
        let failure = DeviceFailure(row: 2, failure: .unregistered, status: 410, reason: "")
        _ = try await store.record(
            BatchOutcome(key: key, failures: [failure], carried: [carried], deadHandles: [dead], at: scenario.time.wall)
        )
        _ = try await store.job(job.id, app: .default)
        _ = try await store.dueBatches(limit: 5)
        _ = try await store.handles(of: [1], in: .tag(Tag("t")), app: .default, pns: .apns)
        let expression = try TagExpression(parsing: "t && username:bob || !t")
        _ = try await store.audience(of: expression, app: .default, pns: .apns, after: 0, through: 9, limit: 9)
        _ = try await store.count(of: expression, app: .default, pns: .apns, after: 0, through: .max)
        let many = TagExpression.any(try (0..<150).map { try Tag("username:u\($0)") } + [Tag("t")])
        _ = try await scenario.plan(scenario.accept(scenario.send(to: many)))
        _ = try await store.count(of: many, app: .default, pns: .apns, after: 0, through: .max)
        _ = try await store.handles(of: [1], in: many, app: .default, pns: .apns)
        _ = try await store.perform(.pruneRegistrations, limit: 5)
        for state in Job.State.allCases {
            _ = try await store.jobs(
                JobQuery(app: .default, state: state, pns: .apns, user: user, since: scenario.time.wall)
            )
            _ = try await store.jobs(JobQuery(app: .default, state: state, key: "k", kind: .send))
        }
        _ = try await store.deliveries(DeliveryQuery(job: job.id, app: .default, outcome: .accepted, pns: .apns))
        _ = try await store.registrations(
            RegistrationQuery(app: .default, user: user, tag: Tag("t"), pns: .apns, state: .live)
        )
        _ = try await store.registrations(RegistrationQuery(app: .default))
        _ = try await store.registrations(RegistrationQuery(app: .default, tag: Tag("t")))
        _ = try await store.registrations(RegistrationQuery(app: .default, tag: Tag("t"), pns: .apns, state: .live))
        for state in Registration.State.allCases {
            _ = try await store.registrations(RegistrationQuery(app: .default, user: user, state: state))
            _ = try await store.registrations(RegistrationQuery(app: .default, state: state))
        }
        scenario.time.advance(.seconds(86_500))
        _ = try await store.perform(.expireRegistrations, limit: 5)
        _ = try await scenario.upsert(id, user: "ann", handle: "aa")
        for number in 0..<4 {
            for request in [
                RegisterRequest.delete(.random()),
                .upsert(.random(), .init(pns: .apns, handle: Handle(stored: "n\(number)"), tags: [])),
            ] {
                let sequence = try await scenario.sequence()
                _ = try await store.change(
                    request,
                    app: .default,
                    user: user,
                    sequence: sequence,
                    expires: nil,
                    most: 1
                )
            }
        }
        _ = try await store.change(
            .delete(id),
            app: .default,
            user: nil,
            sequence: scenario.sequence(),
            expires: nil,
            most: nil
        )
        _ = try await store.perform(.expireJobs(lease: .seconds(1)), limit: 5)
        scenario.time.advance(.seconds(10))
        _ = try await store.perform(.expireJobs(lease: .seconds(1)), limit: 5)
        _ = try await store.cancel(job.id, app: .default)
        let dead1 = DeadMessage(
            queue: "q",
            type: "deliver",
            messageID: key.description,
            app: nil,
            reason: "",
            body: [1]
        )
        try await store.deadLetter(dead1)
        try await store.pause(.send, app: .default, by: "x")
        try await store.hold(job.id)
        _ = try await store.job(job.id, app: .default)
        _ = try await store.pauses()
        _ = try await store.load(of: .default)
        _ = try await store.resume(.send, app: .default)
        let letters = try await store.deadLetters(app: .default, cursor: nil, limit: 2).items
        for letter in letters {
            _ = try await store.deadLetter(letter.id, app: .default)
            _ = try await store.replay(deadLetter: letter.id, app: .default)
            _ = try await store.discard(deadLetter: letter.id, app: .default)
        }
        try await store.change(
            .put(
                Account(app: .default, name: user, role: .user, isDisabled: false, created: scenario.time.wall),
                passwordHash: ""
            )
        )
        _ = try await store.account(user, app: .default)
        _ = try await store.accounts(app: .default)
        _ = try await store.change(.setDisabled(true, account: user, app: .default))
        let apiKey = APIKey(app: .default, name: "k", role: .user, created: scenario.time.wall, revoked: nil)
        try await store.change(.addKey(apiKey, hash: [1]))
        _ = try await store.key(hash: [1])
        _ = try await store.keys(app: .default)
        _ = try await store.change(.revokeKey(named: "k", app: .default))
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
        try await Self.doEverythingTogether(scenario)
        try await Self.removeEverything(scenario)
    }

    /// What is done for many at once: imports, bundles and parcels.
    private static func doEverythingTogether(_ scenario: Scenario) async throws {
        let store = scenario.store
        let rows = try ["cc", "dd"].map {
            ImportedRegistration(
                pns: .apns,
                handle: Handle(stored: $0),
                user: try UserName("cid"),
                tags: [try Tag("t")]
            )
        }
        let sequence = try await store.beginImport()
        _ = try await store.importRegistrations(rows, app: .default, sequence: sequence)
        _ = try await store.importRegistrations(rows, app: .default, sequence: sequence)
        var bundles: [SendBundle] = []
        for key in ["a", "b", "b"] {
            let job = NewJob(
                app: .default,
                work: .send(scenario.send(to: .tag(Tag(user: try UserName("cid"))))),
                lifetime: .seconds(3600),
                idempotency: NewJob.Idempotency(caller: "c", route: "r", key: key, hash: [1])
            )
            bundles += try await store.accept(together: [job]).bundles
        }
        try await store.markPublished(bundles: bundles, lease: .zero)
        #expect(try await store.dueBundles(overdue: .zero, limit: 5).count == 2)
        try await store.takeApart(bundles[1].id)
        let claim = try #require(try await store.claim(bundles[0].id, lease: .seconds(60)))
        var plan = BundlePlan(parcels: 1)
        var keys: [BatchKey] = []
        for send in try await store.smallSends(of: claim, devices: 10) {
            let batch = SmallBatch(pns: .apns, size: 2, parcel: 0)
            plan.sends.append(PlannedSend(sequence: send.sequence, fate: .planned([batch])))
            keys.append(BatchKey(job: send.id, pns: .apns, page: 0, attempt: 0))
        }
        guard case .written(let parcels, _, _) = try await store.commit(plan, of: claim, lease: .zero, grace: .zero)
        else {
            throw Unexpected("nothing was planned")
        }
        let parcel = try #require(parcels.compactMap { $0 }.first)
        try await store.markPublished(parcels: [parcel], lease: .seconds(60))
        #expect(try await store.takeApartParcels(limit: 5) == 0)
        let place = try await store.standing(of: keys, in: parcel)[0].place
        try await store.park(parcel, for: .zero, reason: "")
        try await store.markPublished(batches: keys, lease: .zero, isRepeat: true)
        #expect(try await store.park(keys[0], for: .zero, reason: ""))
        let outcome = BatchOutcome(key: keys[0], place: place, accepted: 2, at: scenario.time.wall)
        #expect(try await store.record(together: [outcome]) == [true])
    }

    private static func removeEverything(_ scenario: Scenario) async throws {
        let content = try await scenario.store.put(StoredContent(owner: nil, mediaType: "", bytes: []), app: .default)
        for _ in 0..<2 {
            let rich = NewRichNotification(
                sender: nil,
                addressee: try UserName("ann"),
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
            removed += try await scenario.store.remove(kind, olderThan: .seconds(86_400), after: 0, limit: 100).removed
        }
        #expect(removed > 5)
        _ = try await scenario.store.perform(.expireRegistrations, limit: 5)
    }
}
