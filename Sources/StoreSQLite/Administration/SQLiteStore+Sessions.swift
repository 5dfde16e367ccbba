import Foundation
import GRDB
package import PushModel
package import Store
import StoreKit

/// The table of sessions.
enum SessionTable {
    static let schema = """
        -- Sessions in browsers, by SHA-256 of their secrets. demonstration: opened without an account. expires: what the user was told.
        -- ends: without use; latest: in any case.
        CREATE TABLE session(
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            hash BLOB NOT NULL UNIQUE,
            app INTEGER NOT NULL REFERENCES app,
            user TEXT NOT NULL,
            user_shown TEXT,
            demonstration INTEGER NOT NULL,
            expires INTEGER NOT NULL,
            ends INTEGER NOT NULL,
            latest INTEGER NOT NULL
        ) STRICT;
        CREATE INDEX session_user ON session(app, user);
        CREATE INDEX session_ends ON session(ends);
        """
}

extension SQLiteStore: SessionStore {
    package func open(_ session: NewSession) async throws -> Session? {
        try await self.write { try $0.open(session) }
    }

    package func session(hash: [UInt8]) async throws -> Session? {
        let now = self.clock.now
        return try await self.read { database in
            try database.first(
                """
                SELECT app.name, user, user_shown, demonstration, expires, ends FROM session JOIN app ON app.number = session.app
                WHERE hash = ? AND ends > ?
                """,
                [Data(hash), now]
            ) { row in
                Session(
                    app: try AppID(stored: row[0]),
                    user: try UserName(stored: row[1], shown: row[2]),
                    isDemonstration: row[3],
                    expires: Timestamp(milliseconds: row[4]),
                    left: .milliseconds((row[5] as Int64).clampedSubtracting(now))
                )
            }
        }
    }

    package func renewSession(hash: [UInt8], idle: Duration) async throws {
        try await self.write { context in
            try context.database.run(
                "UPDATE session SET ends = min(latest, ?) WHERE hash = ? AND ends > ?",
                [context.now + idle.milliseconds, Data(hash), context.now]
            )
        }
    }

    @discardableResult
    package func endSession(hash: [UInt8], app: AppID) async throws -> Bool {
        try await self.write { context in
            try context.database.change(
                "DELETE FROM session WHERE hash = ? AND app = (SELECT number FROM app WHERE name = ?)",
                [Data(hash), app.name]
            ) > 0
        }
    }

    /// Removes sessions that have ended.
    func removeSessions(limit: Int) async throws -> RetentionChunk {
        let now = self.clock.now
        let ended = try await self.read { database in
            try database.exists("SELECT 1 FROM session WHERE ends <= ? LIMIT 1", [now])
        }
        guard ended else { return RetentionChunk(removed: 0, next: nil) }
        let removed = try await self.write { context in
            try context.database.change(
                "DELETE FROM session WHERE number IN (SELECT number FROM session WHERE ends <= ? ORDER BY ends LIMIT ?)",
                [now, limit]
            )
        }
        return RetentionChunk(removed: removed, next: removed == limit ? 0 : nil)
    }
}

extension WriteContext {
    fileprivate func open(_ session: NewSession) throws -> Session? {
        let app = try self.database.ensureNumber(of: session.app)
        if let password = session.passwordHash {
            // Somebody may have changed the password since it was checked: what it let in goes with it.
            let isCurrent = try self.database.exists(
                "SELECT 1 FROM account WHERE app = ? AND name = ? AND password = ? AND disabled = 0",
                [app, session.user.key.text, password]
            )
            guard isCurrent else { return nil }
        }
        let latest = self.now + session.lifetime.milliseconds
        let ends = min(latest, self.now + session.idle.milliseconds)
        let expires = Timestamp(milliseconds: self.wall.milliseconds + session.lifetime.milliseconds)
        try self.database.run(
            """
            INSERT INTO session(hash, app, user, user_shown, demonstration, expires, ends, latest) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
            """,
            [
                Data(session.hash), app, session.user.key.text, session.user.shown, session.passwordHash == nil,
                expires.milliseconds, ends, latest,
            ]
        )
        try self.database.run(
            """
            DELETE FROM session WHERE app = ?1 AND user = ?2 AND number NOT IN (
                SELECT number FROM session WHERE app = ?1 AND user = ?2 ORDER BY number DESC LIMIT ?3)
            """,
            [app, session.user.key.text, session.limit]
        )
        return Session(
            app: session.app,
            user: session.user,
            isDemonstration: session.passwordHash == nil,
            expires: expires,
            left: .milliseconds(ends - self.now)
        )
    }

    /// Ends all sessions of a user.
    ///
    /// - Parameters:
    ///   - user: The user.
    ///   - app: The app's number.
    /// - Throws: SQLite's error.
    func endSessions(of user: UserName, app: Int64) throws {
        try self.database.run("DELETE FROM session WHERE app = ? AND user = ?", [app, user.key.text])
    }
}
