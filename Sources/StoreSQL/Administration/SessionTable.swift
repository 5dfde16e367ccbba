package import PushModel
package import Store
import StoreKit

/// The table `session`.
enum SessionTable {
    static func change(_ change: SessionChange, now: Int64) -> SQLTransaction<Bool> {
        switch change {
        case .renew(let hash, let idle):
            let ends = now + idle.milliseconds
            return SQLTransaction(
                """
                UPDATE session SET ends = CASE WHEN latest < \(ends) THEN latest ELSE \(ends) END
                WHERE hash = \(hash) AND ends > \(now)
                """
            )
        case .end(let hash, let app):
            return SQLTransaction("DELETE FROM session WHERE hash = \(hash) AND app = \(SQLStatement.app(app))")
        }
    }

    /// Opens a session.
    ///
    /// Somebody may have changed the password since it was compared, or change it now: what it let in goes with it. So the account's row
    /// is held until the session is there, and a change of the account waits, and then finds the session.
    static func open(_ session: NewSession, at clock: StoreClock) -> SQLTransaction<Session?> {
        let isDemonstration = session.passwordHash == nil
        let app = SQLStatement.app(session.app)
        let account: SQLStatement = """
            SELECT 1 AS found FROM account
            WHERE app = \(app) AND name = \(session.user.key.text) AND password = \(session.passwordHash) AND disabled = 0
            """
        let now = clock.now
        let latest = now + session.lifetime.milliseconds
        let ends = min(latest, now + session.idle.milliseconds)
        let opened = Session(
            app: session.app,
            user: session.user,
            isDemonstration: isDemonstration,
            expires: Timestamp(milliseconds: clock.wall.milliseconds + session.lifetime.milliseconds),
            left: .milliseconds(ends - now)
        )
        let insertion: SQLStatement = """
            INSERT INTO session(hash, app, "user", user_shown, demonstration, expires, ends, latest) VALUES (
                \(session.hash), \(app), \(session.user.key.text), \(session.user.shown), \(isDemonstration), \(opened.expires),
                \(ends), \(latest))
            ON CONFLICT (hash) DO NOTHING
            """
        let writes: [SQLStatement] = [
            .mention(session.app),
            insertion.expecting(1, otherwise: StoreError(.conflict, "a session has that secret")),
            """
            DELETE FROM session WHERE app = \(app) AND "user" = \(session.user.key.text) AND number NOT IN (
                SELECT number FROM session WHERE app = \(app) AND "user" = \(session.user.key.text)
                ORDER BY number DESC LIMIT \(session.limit))
            """,
        ]
        guard !isDemonstration else { return SQLTransaction(SQLDecision(writing: writes, giving: opened)) }
        return SQLTransaction(reading: account) { accounts in
            guard !accounts.isEmpty else { return .nothing(nil) }
            let hold: SQLStatement = "\(account)\(lock: .share)"
            return SQLDecision(writing: [hold.expecting(1)] + writes, giving: opened)
        }
    }
}

extension SQLStatement {
    /// Ends all sessions of a user.
    package static func endSessions(of user: UserName, app: SQLStatement) -> SQLStatement {
        "DELETE FROM session WHERE app = \(app) AND \"user\" = \(user.key.text)"
    }
}

extension SessionStore where Self: SQLEngine {
    package func openSession(_ session: NewSession) async throws -> Session? {
        try await self.perform(SessionTable.open(session, at: self.clock))
    }

    package func session(hash: [UInt8]) async throws -> Session? {
        let now = self.clock.now
        let rows = try await self.rows(
            """
            SELECT app.name AS app_name, session."user", user_shown, demonstration, expires, ends
            FROM session JOIN app ON app.number = session.app WHERE hash = \(hash) AND ends > \(now)
            """
        )
        return try rows.first.map { row in
            Session(
                app: try AppID(stored: row["app_name"]),
                user: try UserName(stored: row["user"], shown: row["user_shown"]),
                isDemonstration: try row["demonstration"],
                expires: try row["expires"],
                left: .milliseconds((try row["ends"] as Int64).clampedSubtracting(now))
            )
        }
    }
}
