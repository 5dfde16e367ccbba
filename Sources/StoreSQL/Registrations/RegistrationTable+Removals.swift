package import PushModel
package import Store
import StoreKit

// The tables `user_removal` and `removed_user`: how far each removal of a user is, and what stops earlier changes that arrive later
// (decision 33).
extension RegistrationTable {
    /// Reads the job of the removal of a user that is under way, and after whose acceptance no account or registration of that name was
    /// made: another one would do nothing that it does not.
    package func removalUnderWay(of user: UserName) -> SQLStatement {
        let name = user.key.text
        return """
            SELECT job.id FROM user_removal JOIN job ON job.sequence = user_removal.job
            WHERE user_removal.app = \(self.app) AND user_removal."user" = \(name) AND job.finished IS NULL
                AND NOT EXISTS (SELECT 1 FROM account WHERE app = \(self.app) AND name = \(name))
                AND NOT EXISTS (
                    SELECT 1 FROM registration WHERE app = \(self.app) AND "user" = \(name) AND version > user_removal.job)
            """
    }

    /// Begins a removal, with the acceptance of its job: the account goes, and what is there now is marked.
    ///
    /// - Parameters:
    ///   - removal: Whose, and whether an account of that name may go.
    ///   - job: The sequence of the register job.
    ///   - act: The act that it is.
    /// - Returns: The transaction. It throws ``StoreError``: ``StoreError/Code/conflict`` where there is an account that may not go,
    ///   ``StoreError/Code/lastOperator``.
    package func begin(
        _ removal: (user: UserName, withAccount: Bool),
        job: Int64,
        act: NewAct?
    ) -> SQLTransaction<Bool> {
        let (user, app, name) = (removal.user, self.app, removal.user.key.text)
        let account = SQLTransaction<Bool>(
            reading: "SELECT 1 AS found FROM account WHERE app = \(app) AND name = \(name)"
        ) { accounts in
            guard accounts.isEmpty else {
                throw StoreError(.conflict, "an account has the name of the user to remove")
            }
            return .nothing(false)
        }
        let locks = self.hasOtherWriters ? RegistrationFence(table: self).removal(of: user) : []
        let writes: [SQLStatement] = [
            .endSessions(of: user, app: "\(app)"),
            // One that was ended otherwise, as by a dead letter, or that this one does the rest of.
            "DELETE FROM user_removal WHERE app = \(app) AND \"user\" = \(name)",
            """
            INSERT INTO user_removal(job, app, "user", content, rich, step, after)
            VALUES (\(job), \(app), \(name), coalesce((SELECT max(number) FROM content), 0),
                coalesce((SELECT max(number) FROM rich), 0), 0, 0)
            """,
            """
            INSERT INTO removed_user(app, digest, version, at)
            VALUES (\(app), \(self.digest.number(of: user)), \(job), \(self.clock.now))
            ON CONFLICT (app, digest) DO UPDATE SET at = excluded.at,
                version = CASE WHEN excluded.version > removed_user.version THEN excluded.version ELSE removed_user.version END
            """,
        ]
        let entry = act.map { [ActTable.insertion($0, at: self.clock.wall)] } ?? []
        let start = removal.withAccount ? AccountTable.removal(of: user, app: "\(app)") : account
        return start.adding(locks + writes + entry)
    }

    /// Finds a row where a user was removed after a change.
    package func removal(of user: UserName?, after sequence: Int64) -> SQLStatement {
        """
        SELECT 1 AS found FROM removed_user
        WHERE app = \(self.app) AND digest = \(user.map(self.digest.number)) AND version > \(sequence)
        """
    }
}
