import Foundation
import GRDB
import PushModel
import Store
import StoreContract
import StoreKit
import StoreSQL
import Testing

@testable import StoreSQL
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

    /// What an open batch is read with.
    private static let ofBatch = [
        "SEARCH message USING INTEGER PRIMARY KEY (rowid=?) LEFT-JOIN",
        "SEARCH template USING INTEGER PRIMARY KEY (rowid=?) LEFT-JOIN",
    ]

    /// The open batches of some jobs.
    private static let ofJobs =
        [
            "COMPOUND QUERY", "LEFT-MOST SUBQUERY", "SEARCH batch USING INDEX batch_open (job=? AND open=?)",
            "LIST SUBQUERY 1", "SCAN json_each VIRTUAL TABLE INDEX 1:",
        ] + Self.ofBatch + [
            "UNION ALL", "SEARCH job USING INTEGER PRIMARY KEY (rowid=?)", "LIST SUBQUERY 3",
            "SCAN json_each VIRTUAL TABLE INDEX 1:", Self.ofBatch[0],
        ]

    static let pinned: [Pinned] = [
        Pinned(
            sql: HandleIndex.find("r.row"),
            plan: ["SEARCH h USING PRIMARY KEY (digest=?)", "SEARCH r USING INTEGER PRIMARY KEY (rowid=?)"]
        ),
        Pinned(sql: ImportStatements.hasHandle, plan: ["SEARCH handle_index USING PRIMARY KEY (digest=?)"]),
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
            plan: ["SEARCH t USING PRIMARY KEY (tag=? AND pns<?)", "SEARCH r USING INTEGER PRIMARY KEY (rowid=?)"]
        ),
        Pinned(
            sql: SmallSendReader.query.ofUser,
            plan: ["SEARCH registration USING INDEX registration_user (app=? AND user=? AND state=? AND pns<?)"]
        ),
        Pinned(
            sql: RecipientTable.page,
            plan: [
                "SEARCH t USING PRIMARY KEY (job=? AND pns=? AND number>? AND number<?)",
                "SEARCH r USING INTEGER PRIMARY KEY (rowid=?) LEFT-JOIN",
            ]
        ),
        Pinned(
            sql: RecipientTable.all,
            plan: [
                "SEARCH t USING PRIMARY KEY (job=?)", "SEARCH r USING INTEGER PRIMARY KEY (rowid=?) LEFT-JOIN",
            ]
        ),
        Pinned(
            sql: ListedJob.devices(["a"], app: .default).text,
            plan: [
                "SEARCH registration USING INTEGER PRIMARY KEY (rowid=?)", "LIST SUBQUERY 4",
                "SCAN json_each VIRTUAL TABLE INDEX 1:", "CORRELATED SCALAR SUBQUERY 2",
                "SEARCH registration USING COVERING INDEX registration_id (app=? AND id=?)", "SCALAR SUBQUERY 1",
                "SEARCH app USING COVERING INDEX sqlite_autoindex_app_1 (name=?)",
            ]
        ),
        Pinned(
            sql: CampaignTable.ends(of: [1]).text,
            plan: [
                "SCAN json_each VIRTUAL TABLE INDEX 1:", "SCAN json_each VIRTUAL TABLE INDEX 1:",
                "CORRELATED SCALAR SUBQUERY 1", "SEARCH recipient USING PRIMARY KEY (job=? AND pns=?)",
            ]
        ),
        Pinned(
            sql: RetainedJobs.candidates(from: 0, limit: 1).text,
            plan: [
                "SEARCH job USING INTEGER PRIMARY KEY (rowid>?)", "CORRELATED SCALAR SUBQUERY 1",
                "SEARCH idempotency USING INDEX idempotency_job (job=?)", "CORRELATED SCALAR SUBQUERY 2",
                "SEARCH dead USING COVERING INDEX dead_job (job=?)",
            ]
        ),
        Pinned(
            sql: RetainedJobs.large[3].sizes(of: [1, 2], limit: 1).text,
            plan: [
                "CO-ROUTINE counted", "SEARCH recipient USING PRIMARY KEY (job=?)", "LIST SUBQUERY 1",
                "SCAN json_each VIRTUAL TABLE INDEX 1:", "SCAN counted", "USE TEMP B-TREE FOR GROUP BY",
            ]
        ),
        Pinned(
            sql: RetainedJobs.large[3].removal(of: [1, 2], limit: 1).text,
            plan: [
                "SEARCH recipient USING PRIMARY KEY (job=? AND pns=? AND number=?)", "LIST SUBQUERY 2",
                "SEARCH recipient USING PRIMARY KEY (job=?)", "LIST SUBQUERY 1",
                "SCAN json_each VIRTUAL TABLE INDEX 1:",
            ]
        ),
        Pinned(
            sql: RecipientRetention.listed(after: 0, now: 0, limit: 1).text,
            plan: [
                "CO-ROUTINE listed", "SETUP", "SEARCH recipient USING PRIMARY KEY (job>?)", "RECURSIVE STEP",
                "SCAN listed",
                "CORRELATED SCALAR SUBQUERY 2", "SEARCH r USING PRIMARY KEY (job>?)", "SCAN listed",
                "CORRELATED SCALAR SUBQUERY 5", "SEARCH job USING INTEGER PRIMARY KEY (rowid=?)",
                "CORRELATED SCALAR SUBQUERY 4", "SEARCH dead USING COVERING INDEX dead_job (job=?)",
            ]
        ),
        Pinned(
            sql: RecipientRetention.removal(of: [1, 2], now: 0, limit: 1).text,
            plan: [
                "SEARCH recipient USING PRIMARY KEY (job=? AND pns=? AND number=?)", "LIST SUBQUERY 4",
                "SEARCH r USING PRIMARY KEY (job=?)", "LIST SUBQUERY 3",
                "SEARCH job USING INTEGER PRIMARY KEY (rowid=?)", "LIST SUBQUERY 1",
                "SCAN json_each VIRTUAL TABLE INDEX 1:", "CORRELATED SCALAR SUBQUERY 2",
                "SEARCH dead USING COVERING INDEX dead_job (job=?)",
            ]
        ),
        Pinned(
            sql: DeliveryTable.accepted([1], of: 1, 1, at: .now).text,
            plan: [
                "SCAN json_each VIRTUAL TABLE INDEX 1:", "CORRELATED SCALAR SUBQUERY 1",
                "SEARCH recipient USING PRIMARY KEY (job=? AND pns=? AND number=?)",
            ]
        ),
        Pinned(
            sql: RowWalker.tagged.ofNumber,
            plan: ["SEARCH tagged USING PRIMARY KEY (tag=? AND pns=? AND row>?)"]
        ),
        Pinned(sql: RowWalker.tagged.ofUser, plan: [Self.ofUser("rowid>?")]),
        Pinned(
            sql: SQLiteStore.rowsOfTag.ofNumber,
            plan: ["SEARCH tagged USING PRIMARY KEY (tag=? AND pns=? AND row>? AND row<?)"]
        ),
        Pinned(sql: SQLiteStore.rowsOfTag.ofUser, plan: [Self.ofUser("rowid>? AND rowid<?")]),
        Pinned(
            sql: SQLiteStore.liveWithTags,
            plan: ["SEARCH registration USING INTEGER PRIMARY KEY (rowid=?)"]
        ),
        Pinned(
            sql: SQLStatement.audienceTags(of: 1).text,
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
            sql: FlowQueries.inFlight,
            plan: [
                "SEARCH message USING COVERING INDEX message_window (app=? AND queue=? AND priority=? AND state=? AND size>?)"
            ]
        ),
        Pinned(
            sql: FlowQueries.jobsInFlight,
            plan: [
                "CO-ROUTINE (subquery-1)",
                "SEARCH message USING COVERING INDEX message_due (priority=? AND app=? AND queue=? AND state=?)",
                "SCAN (subquery-1)",
            ]
        ),
        Pinned(
            sql: FlowQueries.waitingJobs,
            plan: [
                "CO-ROUTINE (subquery-1)",
                "SEARCH message USING COVERING INDEX message_due"
                    + " (priority=? AND app=? AND queue=? AND state=? AND blocked_on=? AND due<?)",
                "SCAN (subquery-1)",
            ]
        ),
        Pinned(
            sql: DueReader.nextGroup,
            plan: [
                "SEARCH message USING COVERING INDEX message_due (priority=? AND (app,queue,state,blocked_on,due)>(?,?,?,?,?))"
            ]
        ),
        Pinned(
            sql: DueReader.hasDue,
            plan: [
                "SEARCH message USING COVERING INDEX message_due"
                    + " (priority=? AND app=? AND queue=? AND state=? AND blocked_on=? AND due<?)"
            ]
        ),
        Pinned(
            sql: DueReader.rows,
            plan: [
                "SEARCH app USING INTEGER PRIMARY KEY (rowid=?)",
                "SEARCH message USING INDEX message_due"
                    + " (priority=? AND app=? AND queue=? AND state=? AND blocked_on=? AND due<?)",
            ]
        ),
        Pinned(
            sql: JobTable.jobsToExpire(at: 0, limit: 1).text,
            plan: ["SEARCH job USING INDEX job_ends (ends<?)"]
        ),
        Pinned(
            sql: BatchStatusTable.inline(in: MessageID(number: 1)).text,
            plan: [
                "SEARCH job USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)", "SCALAR SUBQUERY 1",
                "SEARCH message USING INTEGER PRIMARY KEY (rowid=?)", "SCALAR SUBQUERY 2",
                "SEARCH message USING INTEGER PRIMARY KEY (rowid=?)",
            ]
        ),
        Pinned(
            sql: BatchStatusTable.rows(in: MessageID(number: 1)).text,
            plan: [
                "SEARCH batch USING COVERING INDEX batch_message (message=? AND open=?)",
                "SEARCH job USING INTEGER PRIMARY KEY (rowid=?)",
            ]
        ),
        Pinned(
            sql: OpenBatch.ofMessage(1).text,
            plan: [
                "COMPOUND QUERY", "LEFT-MOST SUBQUERY", "SEARCH batch USING INDEX batch_message (message=? AND open=?)",
            ] + Self.ofBatch + [
                "UNION ALL", "SEARCH job USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)", "SCALAR SUBQUERY 2",
                "SEARCH message USING INTEGER PRIMARY KEY (rowid=?)", "SCALAR SUBQUERY 3",
                "SEARCH message USING INTEGER PRIMARY KEY (rowid=?)", Self.ofBatch[0],
            ]
        ),
        Pinned(sql: OpenBatch.ofJobs("\(numbers: [1, 2])").text, plan: Self.ofJobs),
        Pinned(
            sql: OpenBatch.calls(ofJobs: "\(numbers: [1, 2])").text,
            plan: ["CO-ROUTINE present"] + Self.ofJobs + [
                "SCAN present", "SEARCH hub_call USING PRIMARY KEY (job=? AND pns=? AND number>? AND number<?)",
            ]
        ),
        Pinned(
            sql: Self.removal.candidates.text,
            plan: [
                "SEARCH job USING INDEX job_app (app=? AND rowid>? AND rowid<?)", "CORRELATED SCALAR SUBQUERY 1",
                "SEARCH audience USING INTEGER PRIMARY KEY (rowid=?)",
            ]
        ),
        Pinned(
            sql: UserRemoval.works(of: [1, 2]).text,
            plan: [
                "SEARCH job USING INTEGER PRIMARY KEY (rowid=?)", "LIST SUBQUERY 2",
                "SCAN json_each VIRTUAL TABLE INDEX 1:", "CORRELATED SCALAR SUBQUERY 1",
                "SEARCH batch USING COVERING INDEX batch_open (job=? AND open=?)",
            ]
        ),
        Pinned(sql: SmallSendReader.members, plan: ["SEARCH job USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"]),
        Pinned(sql: JobTransition.acceptAllAtHint.sql, plan: ["SEARCH job USING INTEGER PRIMARY KEY (rowid=?)"]),
        Pinned(
            sql: """
                SELECT sequence FROM job WHERE job.app = ? AND job.sequence < ? AND job.state = 2 AND job.finished IS NULL
                ORDER BY job.sequence DESC LIMIT ?
                """,
            plan: ["SEARCH job USING INDEX job_open (app=? AND rowid<?)"]
        ),
        Pinned(
            sql: """
                SELECT sequence FROM job WHERE job.app = ? AND job.sequence < ? AND job.label = ? AND +job.user = ?
                ORDER BY job.sequence DESC LIMIT ?
                """,
            plan: ["SEARCH job USING INDEX job_label (app=? AND label=? AND rowid<?)"]
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

    /// A removal of a user at its jobs.
    private static let removal: UserRemoval = {
        let step = SQLValue.integer(Int64(UserRemoval.Step.jobs.rawValue))
        let row = SQLRow(
            columns: ["step", "user", "after", "content", "rich"],
            values: [step, .text("ann"), .integer(1), .integer(1), .integer(1)]
        )
        do { return try UserRemoval(row, job: 9, app: 1) } catch { preconditionFailure("\(error)") }
    }()

    /// They do not depend on what the tables have.
    @Test func theHotQueriesKeepTheirIndexesInFullTables() async throws {
        let keep = try TemporaryStore()
        try await Everything.perform(keep.scenario)
        for pinned in Self.pinned { #expect(try await self.plan(pinned.sql, in: keep.store) == pinned.plan) }
    }

    @Test(arguments: [AppID.default, nil])
    func aQueuesGroupIsFoundByOneLook(app: AppID?) async throws {
        let keep = try TemporaryStore()
        let sql = QueueTable.groups(of: app, now: 0).text
        let searches = try await self.plan(sql, in: keep.store).filter { $0.contains("message_due") }
        let group =
            app == nil
            ? "(app,queue,state,blocked_on,due)>(?,?,?,?,?)" : "app=? AND (queue,state,blocked_on,due)>(?,?,?,?)"
        #expect(searches == ["SEARCH message USING COVERING INDEX message_due (priority=? AND \(group))"])
    }

    /// Fan-out is the second of three changes of a small send's row: it is to touch the table alone.
    @Test func fanningOutASmallSendTouchesNoIndexOfOpenJobs() async throws {
        let keep = try TemporaryStore()
        try await Everything.perform(keep.scenario)
        let written = try await keep.store.pool.writeWithoutTransaction { database in
            let sql = try #require(
                try String.fetchOne(
                    database,
                    sql: "SELECT sql FROM sqlite_stmt WHERE sql LIKE ?",
                    arguments: ["UPDATE job SET state = 2%"]
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

    /// What the registration of a user's device reads, and then forgets.
    @Test func aRegistrationFindsAllByItsIndexes() async throws {
        let keep = try TemporaryStore()
        let table = RegistrationTable(app: 1, clock: keep.store.clock, digest: keep.store.handles)
        let ann = try UserName("ann", .folded)
        let upsert = RegisterRequest.Upsert(pns: .apns, handle: Handle(stored: "aa"), tags: [try Tag("t", .folded)])
        let request = RegisterRequest.upsert(.random(), upsert)
        let job = RegisterJob(app: .default, user: ann, sequence: 1, most: 5)
        let terms = RegistrationTerms(request, of: job, at: .now)
        let statements =
            RegistrationReading(request, terms, table).statements + [
                RegistrationTable.forgetOldest(of: ann, app: 1, most: 5, new: 1, now: 1),
                RegistrationReading.installed(try Tag("t", .folded), app: 1),
            ]
        var searches: Set<String> = []
        for statement in statements {
            let steps = try await self.plan(statement.text, in: keep.store)
            searches.formUnion(steps.filter { $0.hasPrefix("SEARCH") })
        }
        #expect(
            searches == [
                "SEARCH registration USING INDEX registration_id (app=? AND id=?)",
                "SEARCH registration USING INTEGER PRIMARY KEY (rowid=?)",
                "SEARCH credential USING INTEGER PRIMARY KEY (rowid=?)",
                "SEARCH template USING INTEGER PRIMARY KEY (rowid=?)",
                "SEARCH handle_index USING PRIMARY KEY (digest=?)",
                "SEARCH tag_name USING COVERING INDEX sqlite_autoindex_tag_name_1 (app=? AND name=?)",
                "SEARCH tombstone USING PRIMARY KEY (app=? AND id=? AND user=?)",
                "SEARCH released_handle USING PRIMARY KEY (app=? AND pns=? AND handle=?)",
                Self.ofKinds("INDEX"), Self.ofKinds("COVERING INDEX"),
                "SEARCH registration USING COVERING INDEX registration_user_past (app=? AND user=?)",
                "SEARCH job USING INTEGER PRIMARY KEY (rowid=?)",
                // Of an installation: few.
                "SEARCH tagged USING PRIMARY KEY (tag=?)",
            ]
        )
    }

    /// The live registrations of a user and a kind.
    private static func ofKinds(_ index: String) -> String {
        "SEARCH registration USING \(index) registration_user (app=? AND user=? AND state=? AND pns>? AND pns<?)"
    }

    /// All that the store has prepared after a round of everything: nothing walks through a table or sorts a large set.
    @Test func noStatementScansATable() async throws {
        let keep = try TemporaryStore()
        let contracts = keep.scenario
        try await Everything.perform(contracts)
        let prepared = "SELECT sql FROM sqlite_stmt"
        var statements = try await keep.store.pool.writeWithoutTransaction { try String.fetchAll($0, sql: prepared) }
        for _ in 0..<20 {
            statements += try await keep.store.pool.read { try String.fetchAll($0, sql: prepared) }
        }
        let checked = Set(
            statements.filter { sql in
                ["SELECT", "UPDATE", "DELETE", "INSERT"].contains { sql.hasPrefix($0) } && !sql.contains("sqlite_")
            }
        )
        #expect(checked.count > 60)
        // Tables of one row or a handful, a queue that is read from its head, a list that is read whole, a part that has a limit.
        let allowed = [
            "clock", "backlog", "dead_handle", "dead", "act", "app", "pause", "user_removal", "counted", "part",
            "present",
        ]
        for sql in checked {
            for step in try await self.plan(sql, in: keep.store) {
                #expect(!Self.isTooWide(step, in: sql), "\(step) in \(sql)")
                guard step.hasPrefix("SCAN ") || step.contains("TEMP B-TREE") else { continue }
                let isAllowed =
                    allowed.contains { step == "SCAN \($0)" || step.hasPrefix("SCAN \($0) USING") }
                    || step == "SCAN CONSTANT ROW" || step.hasSuffix(" CONSTANT ROWS")
                    || step.hasPrefix("SCAN (subquery-")
                    // A list that is a parameter.
                    || step.hasPrefix("SCAN json_each VIRTUAL TABLE")
                    // A view: what it is made of has steps of its own.
                    || step == "SCAN job_counts"
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
            || sql == RowWalker.live || sql.contains("AS is_named")
        let better = ["user\" = ?", "user = ?", "job.key = ?", "job.label = ?", "tagged"]
        let hasBetter = better.contains { sql.contains($0) }
        if isByWide, !isList || hasBetter { return true }
        let isExistence = sql.contains("EXISTS (SELECT 1 FROM batch WHERE batch.job = job.sequence)")
        // Of jobs that go all are counted, up to a limit.
        let isCount = sql.contains("AS size FROM (SELECT job")
        // An insert's and a deletion's steps are the checks of foreign keys.
        let isCheck = sql.hasPrefix("INSERT") || sql.hasPrefix("DELETE")
        return step.contains("batch USING PRIMARY KEY (job=?)") && !isExistence && !isCheck && !isCount
            || step.contains("USING PRIMARY KEY (tag=?)") && !Self.ofOneTag.contains { sql.contains($0) }
    }

    /// Sorts of what is small: the batches of one job that wait, the registrations of one user, some rows of jobs that go, a hundred messages.
    private static let sorts = [
        "SELECT message.due, coalesce(message.reason", "max(row)", "ORDER BY version, \"row\"",
        "AS size FROM (SELECT job", "SELECT began, reason FROM (",
    ]
    /// An installation's own tag, and one that no device has.
    private static let ofOneTag = [
        "FROM tagged WHERE tag = (SELECT number FROM tag_name", "FROM tagged WHERE tagged.tag = tag_name.number",
    ]
}
