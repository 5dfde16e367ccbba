import PushModel
import Store
import StoreContract
import StoreKit
import StoreSQL

@testable import StorePostgreSQL

/// Tables with many rows, for plans that do not depend on how few there are.
extension StoreAdministration {
    /// How many rows of each kind.
    static let filling = 20_000

    /// Fills all tables that grow, with rows that are old enough to go and as many that are not; the messages are another app's.
    func fill() async throws {
        let now = self.engine.clock.now
        let (old, ends) = (now - 2 * 86_400_000, now - 86_400_000)
        let all: SQLStatement = "generate_series(1, \(raw: "\(Self.filling)")) AS n"
        let half: SQLStatement = "n % 2 = 0"
        let at: SQLStatement = "CASE WHEN n <= \(raw: "\(Self.filling / 2)") THEN \(old) ELSE \(now) END"
        let send = SendRequest(to: .all, content: .message(.init(body: "b")))
        let work = try StoredJSON.text(work: .send(send))
        try await self.run(
            "INSERT INTO app(name) VALUES ('default'), ('other')",
            """
            INSERT INTO message(app, queue, priority, state, due, open, size, first, last)
            SELECT 2, \(WorkQueue.deliver(.apns).number), 1, \(MessageState.published.rawValue), \(now) + 100000000000 + n, 1, 1, 0, 0 FROM \(all)
            """,
            """
            INSERT INTO job(sequence, id, app, kind, priority, platforms, state, work, expires, ends, accepted, finished, fanned_out)
            SELECT n, decode(md5(CAST(n AS text)), 'hex'), 1, 0, 1, 0, \(raw: "\(Job.State.completed.number)"), \(work), \(ends), \(ends) + n,
                \(at), \(at), 1 FROM \(all)
            """,
            """
            INSERT INTO idempotency(app, caller, route, key, hash, job, created) SELECT 1, 'c', 'r', CAST(n AS text), '', n, \(at) FROM \(all)
            """,
            """
            INSERT INTO delivery(job, pns, "row", class, status, reason, at) SELECT n, 1, 1, 5, 400, 'Bad', \(at) FROM \(all)
            """,
            "INSERT INTO outcome SELECT n, 1, 0, 0, 0, 1, 0, 0, 0 FROM \(all)",
            """
            INSERT INTO batch(job, pns, page, attempt, from_id, to_id, size, open, message, template)
            SELECT n, 1, 0, 0, 0, 1, 1, 0, 1, CASE WHEN \(half) THEN n END FROM \(all)
            """,
            "INSERT INTO recipient(job, pns, number, handle) SELECT n, 1, 1, 'a' FROM \(all)",
            "INSERT INTO delivery_count(job, pns, class, count) SELECT n, 1, 0, 1 FROM \(all)",
            "INSERT INTO platform_count(job, platform, class, count) SELECT n, 'apple', 0, 1 FROM \(all)",
            "INSERT INTO audience SELECT n, 'x1' FROM \(all)",
            "INSERT INTO cursor SELECT n, 1, 0, 0, 1, 1, 1 FROM \(all)",
            """
            INSERT INTO hub_call(job, pns, number, state, until, notification, telemetry, due)
            SELECT n, 1, 1, 'taken', \(at), CAST(n AS text), 'pending', CASE WHEN \(half) THEN \(at) END FROM \(all)
            """,
            "INSERT INTO user_removal SELECT n, 1, 'gone' || n, 0, 0, 0, 0 FROM \(all)",
            """
            INSERT INTO session(hash, app, "user", demonstration, expires, ends, latest)
            SELECT CAST(CAST(n AS text) AS bytea), 1, 'u', 0, \(at), \(at), \(at) FROM \(all)
            """,
            """
            INSERT INTO content(app, id, media_type, bytes, created) SELECT 1, CAST(n AS text), 'a/b', '', \(at) FROM \(all)
            """,
            """
            INSERT INTO rich(app, id, addressee, message, rich_type, content, secure, created)
            SELECT 1, n, 'u', 'm', 't', CAST(n AS text), 0, \(now) FROM \(all)
            """,
            """
            INSERT INTO dead(queue, type, message, digest, app, number, reason, body, size, at, job, work)
            SELECT 'q', 't', 'm', n, 'default', n, 'r', '', 0, \(at), decode(md5('j' || n), 'hex'), '{}' FROM \(all)
            """,
            """
            INSERT INTO template(app, digest, content) SELECT 1, CAST(CAST(n AS text) AS bytea), '{"body":"b","headers":[]}' FROM \(all)
            """,
            """
            INSERT INTO registration(app, id, pns, handle, digest, "user", state, version, updated, expires, ended_at, template, credential, tags)
            SELECT 1, CAST(n AS text), 1, 'h' || n, CASE WHEN \(half) THEN CAST(CAST(n AS text) AS bytea) END, 'u', CASE WHEN \(half) THEN 1 ELSE 2 END,
                1, 1, CASE WHEN \(half) THEN \(at) END, CASE WHEN \(half) THEN NULL ELSE \(at) END, n, n % 100 + 1,
                CASE WHEN \(half) THEN '[1,' || n || ']' END FROM \(all)
            """,
            """
            INSERT INTO dead_handle("row", handle, credential, before, reason) SELECT n, 'h' || n, 0, \(now), 'r' FROM \(all)
            """,
            // An app has a few.
            "INSERT INTO credential(app, pns, name) SELECT 1, 1, 'c' || n FROM generate_series(1, 100) AS n",
            // The first is a tag that all have, and each has another.
            "INSERT INTO tag_name(app, name) SELECT 1, 'x' || n FROM \(all)",
            "INSERT INTO tagged SELECT tag, 1, n FROM \(all) CROSS JOIN LATERAL (VALUES (1), (n)) AS list(tag) WHERE \(half)",
            "INSERT INTO released_handle SELECT 1, 1, CAST(CAST(n AS text) AS bytea), 1, \(at) - 2592000000 FROM \(all)",
            "INSERT INTO tombstone SELECT 1, CAST(n AS text), 'u', 1, \(at) - 2592000000 FROM \(all)",
            "INSERT INTO removed_user SELECT 1, n, 1, \(at) FROM \(all)",
            """
            INSERT INTO account(app, name, role, password, disabled, created) SELECT 1, 'a' || n, 'user', 'p', 0, \(at) FROM \(all)
            """,
            "INSERT INTO suspect SELECT CAST(CAST(n AS text) AS bytea), \(at) FROM \(all)",
            Self.acts(of: "1", at: at)
        )
        let numbers = PostgreSQLStatement(
            "SELECT setval('job_sequence', \(2 * Self.filling)), setval('message_number', \(Self.filling))"
        )
        // Of the other tests' tables there may be thousands.
        let analysis = PostgreSQLStatement("ANALYZE \(Schema.tableNames.joined(separator: ", "))")
        _ = try TestServer.owner(self.schema).exchange(
            [numbers, analysis],
            until: .now + .seconds(60)
        )
    }

    /// Gives the app `default` many acts.
    func fillActs() async throws {
        try await self.run(Self.acts(of: .app(.default), at: "\(self.engine.clock.wall)"))
        _ = try TestServer.owner(self.schema).exchange([PostgreSQLStatement("ANALYZE act")], until: .now + .seconds(60))
    }

    /// Acts of an app by a hundred operators.
    private static func acts(of app: SQLStatement, at: SQLStatement) -> SQLStatement {
        """
        INSERT INTO act(app, at, actor, via, origin, kind, state)
        SELECT \(app), \(at), 'key:k' || n % 100, 'api', '::1', 'queue.pause', 'done' FROM generate_series(1, \(raw: "\(Self.filling)")) AS n
        """
    }
}
