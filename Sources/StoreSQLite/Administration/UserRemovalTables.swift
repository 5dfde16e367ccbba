import PushModel
import Store
import StoreKit
import StoreSQL

/// The removal of users: how far each is, and what stops earlier changes that arrive later (decision 33).
enum UserRemovalTables {
    static let schema = """
        -- Removals under way, each by its register job: the highest numbers of contents and notifications that are the user's, and
        -- how far it is (UserRemoval.Step).
        CREATE TABLE user_removal(
            job INTEGER PRIMARY KEY REFERENCES job,
            app INTEGER NOT NULL REFERENCES app,
            user TEXT NOT NULL,
            content INTEGER NOT NULL,
            rich INTEGER NOT NULL,
            step INTEGER NOT NULL,
            after INTEGER NOT NULL,
            UNIQUE (app, user)
        ) STRICT;
        -- The last removal of each user, by a digest of the name: an earlier change of theirs that comes late does nothing.
        CREATE TABLE removed_user(
            app INTEGER NOT NULL REFERENCES app,
            digest INTEGER NOT NULL,
            version INTEGER NOT NULL,
            at INTEGER NOT NULL,
            PRIMARY KEY (app, digest)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX removed_user_version ON removed_user(version);
        CREATE INDEX removed_user_at ON removed_user(at);
        """

    /// A removal that has nothing to do any more: its job was ended otherwise than by it, and cannot be replayed after its time.
    static let isOver = """
        SELECT user_removal.job FROM user_removal JOIN job ON job.sequence = user_removal.job
        WHERE job.finished IS NOT NULL AND job.ends <= ? LIMIT ?
        """
}

extension WriteContext {
    /// The removal of a user that is under way, and after whose acceptance no account or registration of that name was made: another
    /// one would do nothing that it does not.
    func removal(of user: UserName, app: Int64) throws -> JobID? {
        try self.database.first(
            """
            SELECT job.id FROM user_removal JOIN job ON job.sequence = user_removal.job
            WHERE user_removal.app = ?1 AND user_removal.user = ?2 AND job.finished IS NULL
            AND NOT EXISTS (SELECT 1 FROM account WHERE app = ?1 AND name = ?2)
            AND NOT EXISTS (SELECT 1 FROM registration WHERE app = ?1 AND user = ?2 AND version > user_removal.job)
            """,
            [app, user.key.text]
        ) { try JobID(blob: $0[0]) }
    }

    /// Begins a removal, with the acceptance of its job: the account goes, and what is there now is marked.
    ///
    /// - Parameters:
    ///   - user: The user.
    ///   - withAccount: Whether an account of that name may go.
    ///   - app: The app's number.
    ///   - job: The sequence of the register job.
    /// - Throws: ``StoreError``: ``StoreError/Code/conflict`` where there is an account that may not go,
    ///   ``StoreError/Code/lastOperator``.
    func beginRemoval(of user: UserName, withAccount: Bool, app: Int64, job: Int64) throws {
        let database = self.database
        if withAccount {
            _ = try self.perform(AccountTable.removal(of: user, app: "\(app)"))
        } else if try database.exists("SELECT 1 FROM account WHERE app = ? AND name = ?", [app, user.key.text]) {
            throw StoreError(.conflict, "an account has the name of the user to remove")
        }
        _ = try database.answer(.endSessions(of: user, app: "\(app)"))
        // One that was ended otherwise, as by a dead letter, or that this one does the rest of.
        try database.run("DELETE FROM user_removal WHERE app = ? AND user = ?", [app, user.key.text])
        try database.run(
            """
            INSERT INTO user_removal(job, app, user, content, rich, step, after)
            SELECT ?, ?, ?, coalesce((SELECT max(number) FROM content), 0), coalesce((SELECT max(number) FROM rich), 0), 0, 0
            """,
            [job, app, user.key.text]
        )
        try database.run(
            """
            INSERT INTO removed_user(app, digest, version, at) VALUES (?, ?, ?, ?)
            ON CONFLICT (app, digest) DO UPDATE SET version = max(version, excluded.version), at = excluded.at
            """,
            [app, self.nameDigest(of: user), job, self.now]
        )
    }

    /// Whether a user was removed after a change.
    func isRemoved(_ user: UserName?, app: Int64, after sequence: Int64) throws -> Bool {
        guard let user, try self.isAnyRemoved(after: sequence) else { return false }
        return try self.database.exists(
            "SELECT 1 FROM removed_user WHERE app = ? AND digest = ? AND version > ?",
            [app, self.nameDigest(of: user), sequence]
        )
    }

    /// Whether any user was removed after a change: nearly always not.
    func isAnyRemoved(after sequence: Int64) throws -> Bool {
        try self.database.exists("SELECT 1 FROM removed_user WHERE version > ? LIMIT 1", [sequence])
    }

    func forgetRemovals(before time: Int64, limit: Int) throws {
        try self.database.run(
            """
            DELETE FROM removed_user WHERE (app, digest) IN (
                SELECT app, digest FROM removed_user WHERE at <= ? ORDER BY at LIMIT ?)
            """,
            [time, limit]
        )
        try self.database.run(
            "DELETE FROM user_removal WHERE job IN (\(UserRemovalTables.isOver))",
            [self.now, limit]
        )
    }

    /// A number that stands for a name and does not tell it without the store's key.
    private func nameDigest(of user: UserName) -> Int64 {
        Int64(bitPattern: self.digest.hash(Array("user \(user.key.text)".utf8)))
    }
}
