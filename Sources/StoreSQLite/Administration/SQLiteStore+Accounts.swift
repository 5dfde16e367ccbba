import Foundation
import GRDB
package import PushModel
package import Store
import StoreKit

extension SQLiteStore: AccountStore {
    @discardableResult
    package func change(_ change: AccountChange) async throws -> Bool {
        switch change {
        case .put(let account, let hash):
            try await self.write { try $0.put(account, passwordHash: hash, mayChange: true) }
        case .add(let account, let hash):
            try await self.write { try $0.put(account, passwordHash: hash, mayChange: false) }
        case .update(let update, let name, let app):
            return try await self.write { try $0.update(name, of: app, update) }
        case .remove(let name, let app): return try await self.write { try $0.remove(account: name, of: app) }
        case .addKey(let key, let hash): try await self.add(key, hash: hash)
        case .revokeKey(let name, let app): return try await self.revokeKey(named: name, app: app)
        }
        return true
    }

    package func account(_ name: UserName, app: AppID) async throws -> (account: Account, passwordHash: String)? {
        try await self.read { database in
            try database.first(
                """
                SELECT account.name, name_shown, role, disabled, created, password FROM account JOIN app ON app.number = account.app
                WHERE app.name = ? AND account.name = ?
                """,
                [app.name, name.key.text]
            ) { (try Account($0, app: app), $0[5] as String) }
        }
    }

    package func accounts(app: AppID, cursor: String?, limit: Int) async throws -> Page<Account> {
        let after = try self.cursors.open(cursor, .accounts, of: app) ?? 0
        let cursors = self.cursors
        let limit = min(max(1, limit), 1000)
        return try await self.read { database in
            guard let number = try database.number(of: app) else { return Page(items: [], cursor: nil) }
            let rows = try database.all(
                """
                SELECT name, name_shown, role, disabled, created, number FROM account
                WHERE app = ? AND number > ? ORDER BY number LIMIT ?
                """,
                [number, after, limit + 1]
            ) { (account: try Account($0, app: app), number: $0[5] as Int64) }
            return Page(rows, limit: limit, cursor: { cursors.seal($0.number, .accounts, of: app) }, item: \.account)
        }
    }

    private func add(_ key: APIKey, hash: [UInt8]) async throws {
        try await self.write { context in
            do {
                try context.database.run(
                    "INSERT INTO api_key(app, name, role, hash, created, revoked) VALUES (?, ?, ?, ?, ?, ?)",
                    [
                        context.database.ensureNumber(of: key.app), key.name, key.role.rawValue, Data(hash),
                        key.created.milliseconds, key.revoked?.milliseconds,
                    ]
                )
            } catch let error as DatabaseError where error.resultCode == .SQLITE_CONSTRAINT {
                throw StoreError(.conflict, "the app has a key of that name")
            }
        }
    }

    package func key(hash: [UInt8]) async throws -> APIKey? {
        try await self.read { database in
            try database.first(
                """
                SELECT api_key.name, role, created, revoked, app.name FROM api_key JOIN app ON app.number = api_key.app
                WHERE hash = ?
                """,
                [Data(hash)]
            ) { try APIKey($0, app: AppID(stored: $0[4])) }
        }
    }

    package func keys(app: AppID) async throws -> [APIKey] {
        try await self.read { database in
            try database.all(
                """
                SELECT api_key.name, role, created, revoked FROM api_key JOIN app ON app.number = api_key.app
                WHERE app.name = ? ORDER BY api_key.name
                """,
                [app.name]
            ) { try APIKey($0, app: app) }
        }
    }

    private func revokeKey(named name: String, app: AppID) async throws -> Bool {
        try await self.write { context in
            try context.database.change(
                """
                UPDATE api_key SET revoked = ? WHERE app = (SELECT number FROM app WHERE name = ?) AND name = ?
                    AND revoked IS NULL
                """,
                [context.wall.milliseconds, app.name, name]
            ) > 0
        }
    }
}

extension WriteContext {
    /// Adds an account, or gives an existing one another role and password.
    fileprivate func put(_ account: Account, passwordHash: String, mayChange: Bool) throws {
        let change = """
            DO UPDATE SET role = excluded.role, password = excluded.password, disabled = 0
                WHERE name_shown IS excluded.name_shown
            """
        let changes = try self.database.change(
            """
            INSERT INTO account(app, name, name_shown, role, password, disabled, created) VALUES (?, ?, ?, ?, ?, 0, ?)
            ON CONFLICT (app, name) \(mayChange ? change : "DO NOTHING")
            """,
            [
                self.database.ensureNumber(of: account.app), account.name.key.text, account.name.shown,
                account.role.rawValue, passwordHash, account.created.milliseconds,
            ]
        )
        guard changes > 0 else {
            throw StoreError(
                .conflict,
                mayChange
                    ? "the app has an account whose name differs by letter case alone"
                    : "the app has an account of that name, or of one that differs by letter case alone"
            )
        }
        try self.endSessions(of: account.name, app: self.database.ensureNumber(of: account.app))
    }

    fileprivate func update(_ name: UserName, of app: AppID, _ update: AccountUpdate) throws -> Bool {
        guard let number = try self.database.number(of: app) else { return false }
        if update.passwordHash != nil || update.isDisabled == true { try self.endSessions(of: name, app: number) }
        return try self.keepingAnOperator(of: number) {
            try self.database.change(
                """
                UPDATE account SET role = coalesce(?, role), password = coalesce(?, password), disabled = coalesce(?, disabled)
                WHERE app = ? AND name = ?
                """,
                [update.role?.rawValue, update.passwordHash, update.isDisabled, number, name.key.text]
            ) > 0
        }
    }

    fileprivate func remove(account name: UserName, of app: AppID) throws -> Bool {
        guard let number = try self.database.number(of: app) else { return false }
        return try self.remove(account: name, app: number)
    }

    /// Removes an account.
    ///
    /// - Parameters:
    ///   - name: Its name.
    ///   - app: The app's number.
    /// - Returns: Whether there was one.
    /// - Throws: ``StoreError`` for the app's last operator.
    @discardableResult
    func remove(account name: UserName, app: Int64) throws -> Bool {
        try self.endSessions(of: name, app: app)
        return try self.keepingAnOperator(of: app) {
            try self.database.change("DELETE FROM account WHERE app = ? AND name = ?", [app, name.key.text]) > 0
        }
    }

    /// Makes a change of accounts, unless it ends the app's last operator.
    ///
    /// Keys may be revoked whoever is left: a secret that has leaked must not work on, and the host can always make another.
    private func keepingAnOperator(of app: Int64, _ change: () throws -> Bool) throws -> Bool {
        let hadOperator = try self.database.hasOperator(app)
        let isDone = try change()
        guard try !hadOperator || self.database.hasOperator(app) else {
            throw StoreError(.lastOperator, "the app would be left without an operator")
        }
        return isDone
    }
}

extension Database {
    /// Whether an account or key may act as the app's operator.
    fileprivate func hasOperator(_ app: Int64) throws -> Bool {
        try self.exists(
            """
            SELECT 1 FROM account WHERE app = ?1 AND role = ?2 AND disabled = 0
            UNION ALL SELECT 1 FROM api_key WHERE app = ?1 AND role = ?2 AND revoked IS NULL
            """,
            [app, Role.operator.rawValue]
        )
    }
}

extension Role {
    fileprivate init(stored name: String) throws(StoreError) {
        guard let role = Role(rawValue: name) else { throw StoreError(.corrupt, "a row names an unknown role") }
        self = role
    }
}

extension Account {
    fileprivate init(_ row: Row, app: AppID) throws {
        self.init(
            app: app,
            name: try UserName(stored: row[0], shown: row[1]),
            role: try Role(stored: row[2]),
            isDisabled: row[3],
            created: Timestamp(milliseconds: row[4])
        )
    }
}

extension APIKey {
    fileprivate init(_ row: Row, app: AppID) throws {
        self.init(
            app: app,
            name: row[0],
            role: try Role(stored: row[1]),
            created: Timestamp(milliseconds: row[2]),
            revoked: (row[3] as Int64?).map(Timestamp.init(milliseconds:))
        )
    }
}
