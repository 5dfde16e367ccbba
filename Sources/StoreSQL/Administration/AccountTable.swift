package import PushModel
package import Store
import StoreKit

/// The table `account`.
package enum AccountTable {
    static func change(_ change: AccountChange) -> SQLTransaction<Bool> {
        switch change {
        case .put(let account, let hash):
            return self.addition(
                of: account,
                hash,
                """
                DO UPDATE SET role = excluded.role, password = excluded.password, disabled = 0
                WHERE account.name_shown IS NOT DISTINCT FROM excluded.name_shown
                """,
                conflict: "the app has an account whose name differs by letter case alone"
            )
        case .add(let account, let hash):
            return self.addition(
                of: account,
                hash,
                "DO NOTHING",
                conflict: "the app has an account of that name, or of one that differs by letter case alone"
            )
        case .update(let update, let name, let app): return self.change(name, app: .app(app), update)
        case .remove(let name, let app): return self.removal(of: name, app: .app(app))
        }
    }

    /// Removes an account, and its sessions with it.
    ///
    /// - Parameters:
    ///   - name: Its name.
    ///   - app: The app's number.
    /// - Returns: The transaction: whether there was such an account.
    package static func removal(of name: UserName, app: SQLStatement) -> SQLTransaction<Bool> {
        self.change(name, app: app, nil)
    }

    /// Adds an account under the name that it has by the app's present declaration: this may compare names otherwise than the one that the
    /// caller knows.
    private static func addition(
        of account: Account,
        _ hash: String,
        _ onConflict: SQLStatement,
        conflict: String
    ) -> SQLTransaction<Bool> {
        let app = SQLStatement.app(account.app)
        return SQLTransaction(reading: AppTable.declaration(app)) { declarations in
            let spec = try declarations.first.flatMap { try $0["spec"] as String? }
            let users = try spec.map { try StoredJSON.value(AppSpec.self, from: $0).users }
            let name = try users.map { try UserName(account.name.name, $0) } ?? account.name
            let insertion: SQLStatement = """
                INSERT INTO account(app, name, name_shown, role, password, disabled, created) VALUES (
                    \(app), \(name.key.text), \(name.shown), \(account.role.rawValue), \(hash), 0, \(account.created))
                ON CONFLICT (app, name) \(onConflict)
                """
            return SQLDecision(
                writing: [
                    .mention(account.app), .hold(app), AppTable.isDeclared(app, as: spec).expecting(1),
                    insertion.expecting(1, otherwise: StoreError(.conflict, conflict)),
                    .endSessions(of: name, app: app),
                ],
                giving: true
            )
        }
    }

    /// Changes an account, or removes it, unless the app would be left without an operator.
    ///
    /// Two changes at a time could each see the other's operator stay. So whoever takes an operator away holds the app's row, and looks
    /// again behind that.
    private static func change(
        _ name: UserName,
        app: SQLStatement,
        _ update: AccountUpdate?
    ) -> SQLTransaction<Bool> {
        let (known, others) = (self.standing(of: name, app: app), self.otherOperator(than: name, app: app))
        return SQLTransaction(reading: known, others) { accounts, operators in
            guard let row = accounts.first else { return .nothing(false) }
            let before = AccountStanding(role: try Role(stored: row["role"]), isDisabled: try row["disabled"])
            let after = update.map(before.after)
            let needsOthers = try LastOperator.check(before, becoming: after, hasOthers: !operators.isEmpty)
            var writes = needsOthers ? [SQLStatement.hold(app).expecting(1)] : []
            let condition: SQLStatement = """
                app = \(app) AND name = \(name.key.text) AND role = \(before.role.rawValue) AND disabled = \(before.isDisabled)
                """
            if let update, let after {
                let change: SQLStatement = """
                    UPDATE account SET role = \(after.role.rawValue), disabled = \(after.isDisabled),
                        password = coalesce(\(update.passwordHash), password)
                    WHERE \(condition)
                    """
                writes.append(change.expecting(1))
            } else {
                writes.append(("DELETE FROM account WHERE \(condition)" as SQLStatement).expecting(1))
            }
            if needsOthers { writes.append(others.expecting(1, otherwise: LastOperator.refusal)) }
            if update == nil || update?.passwordHash != nil || update?.isDisabled == true {
                writes.append(.endSessions(of: name, app: app))
            }
            return SQLDecision(writing: writes, giving: true)
        }
    }

    private static func standing(of name: UserName, app: SQLStatement) -> SQLStatement {
        "SELECT role, disabled FROM account WHERE app = \(app) AND name = \(name.key.text)"
    }

    /// A row where another account or a key may act as the app's operator.
    private static func otherOperator(than name: UserName, app: SQLStatement) -> SQLStatement {
        let role = Role.operator.rawValue
        return """
            SELECT 1 AS found FROM account WHERE app = \(app) AND role = \(role) AND disabled = 0 AND name <> \(name.key.text)
            UNION ALL SELECT 1 FROM api_key WHERE app = \(app) AND role = \(role) AND revoked IS NULL LIMIT 1
            """
    }
}

extension AccountStore where Self: SQLEngine {
    package func accounts(_ query: AccountQuery) async throws -> Page<StoredAccount> {
        let (cursors, app) = (self.cursors, query.app)
        let after = try cursors.open(query.cursor, .accounts, of: app) ?? 0
        let limit = min(max(1, query.limit), 1000)
        let named: SQLStatement = query.name.map { "AND name = \($0.key.text)" } ?? ""
        let rows = try await self.rows(
            """
            SELECT number, name, name_shown, role, disabled, created, password FROM account
            WHERE app = \(SQLStatement.app(app)) AND number > \(after) \(named) ORDER BY number LIMIT \(limit + 1)
            """
        )
        return try Page(
            rows.map { (number: try $0["number"] as Int64, account: try StoredAccount($0, app: app)) },
            limit: limit,
            cursor: { cursors.seal($0.number, .accounts, of: app) },
            item: \.account
        )
    }
}

extension StoredAccount {
    fileprivate init(_ row: SQLRow, app: AppID) throws {
        self.init(
            account: Account(
                app: app,
                name: try UserName(stored: row["name"], shown: row["name_shown"]),
                role: try Role(stored: row["role"]),
                isDisabled: try row["disabled"],
                created: try row["created"]
            ),
            passwordHash: try row["password"]
        )
    }
}
