import Foundation
import GRDB
package import PushModel
package import Store
import StoreKit

extension SQLiteStore: AppStore {
    package func apply(_ spec: AppSpec, to app: AppID) async throws -> Bool {
        let text = try StoredJSON.text(spec)
        return try await self.write { context in
            try context.compareUsers(of: app, as: spec.users)
            let changes = try context.database.change(
                """
                INSERT INTO app(name, spec) VALUES (?, ?)
                ON CONFLICT (name) DO UPDATE SET spec = excluded.spec WHERE spec IS NOT excluded.spec
                """,
                [app.name, text]
            )
            if changes > 0 { try context.setLimits(spec, app: context.database.ensureNumber(of: app)) }
            return changes > 0
        }
    }

    package func app(_ app: AppID) async throws -> AppSpec? {
        try await self.read { database in
            try database.first("SELECT spec FROM app WHERE name = ? AND spec IS NOT NULL", [app.name]) {
                try StoredJSON.value(AppSpec.self, from: $0[0])
            }
        }
    }

    package func apps() async throws -> [AppID: AppSpec] {
        try await self.read { database in
            let rows = try database.all("SELECT name, spec FROM app WHERE spec IS NOT NULL ORDER BY name") {
                (try AppID(stored: $0[0]), try StoredJSON.value(AppSpec.self, from: $0[1]))
            }
            return Dictionary(uniqueKeysWithValues: rows)
        }
    }
}

extension SQLiteStore: AccountStore {
    @discardableResult
    package func change(_ change: AccountChange) async throws -> Bool {
        switch change {
        case .put(let account, let passwordHash): try await self.put(account, passwordHash: passwordHash)
        case .setDisabled(let isDisabled, let name, let app):
            return try await self.setDisabled(isDisabled, account: name, app: app)
        case .addKey(let key, let hash): try await self.add(key, hash: hash)
        case .revokeKey(let name, let app): return try await self.revokeKey(named: name, app: app)
        }
        return true
    }

    private func put(_ account: Account, passwordHash: String) async throws {
        try await self.write { context in
            let changes = try context.database.change(
                """
                INSERT INTO account(app, name, name_shown, role, password, disabled, created) VALUES (?, ?, ?, ?, ?, 0, ?)
                ON CONFLICT (app, name) DO UPDATE SET role = excluded.role, password = excluded.password, disabled = 0
                    WHERE name_shown IS excluded.name_shown
                """,
                [
                    context.database.ensureNumber(of: account.app), account.name.key, account.name.shown,
                    account.role.rawValue, passwordHash, account.created.milliseconds,
                ]
            )
            guard changes > 0 else {
                throw StoreError(.conflict, "the app has an account whose name differs by letter case alone")
            }
        }
    }

    package func account(_ name: UserName, app: AppID) async throws -> (account: Account, passwordHash: String)? {
        try await self.read { database in
            try database.first(
                """
                SELECT account.name, name_shown, role, disabled, created, password FROM account JOIN app ON app.number = account.app
                WHERE app.name = ? AND account.name = ?
                """,
                [app.name, name.key]
            ) { (try Account($0, app: app), $0[5] as String) }
        }
    }

    package func accounts(app: AppID) async throws -> [Account] {
        try await self.read { database in
            try database.all(
                """
                SELECT account.name, name_shown, role, disabled, created FROM account JOIN app ON app.number = account.app
                WHERE app.name = ? ORDER BY account.name
                """,
                [app.name]
            ) { try Account($0, app: app) }
        }
    }

    private func setDisabled(_ disabled: Bool, account: UserName, app: AppID) async throws -> Bool {
        try await self.write { context in
            try context.database.change(
                "UPDATE account SET disabled = ? WHERE app = (SELECT number FROM app WHERE name = ?) AND name = ?",
                [disabled, app.name, account.key]
            ) > 0
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
    /// Sets the comparison of an app's user names.
    ///
    /// - Parameters:
    ///   - app: The app, declared or not.
    ///   - users: The comparison.
    /// - Throws: ``StoreError`` if rows are stored under keys of the other comparison, or two accounts would become
    ///   one.
    fileprivate func compareUsers(of app: AppID, as users: AppSpec.Users) throws {
        let known = try self.database.first(
            "SELECT number, spec FROM app WHERE name = ? AND spec IS NOT NULL",
            [app.name]
        ) { (number: $0[0] as Int64, spec: try StoredJSON.value(AppSpec.self, from: $0[1])) }
        guard let known, known.spec.users != users else { return }
        for table in ["registration", "job", "content"]
        where try self.database.exists("SELECT 1 FROM \(table) WHERE app = ? LIMIT 1", [known.number]) {
            throw StoreError(
                .conflict,
                """
                users is fixed once an app has registrations, jobs or contents: say users: \(known.spec.users.rawValue), or declare a new app with users: \(users.rawValue) \
                and bring the registrations over with pushline registrations export and import
                """
            )
        }
        try self.rekeyAccounts(of: known.number, as: users)
    }

    private func rekeyAccounts(of app: Int64, as users: AppSpec.Users) throws {
        let names = try self.database.all("SELECT name, name_shown FROM account WHERE app = ?", [app]) { row in
            try UserName(stored: row[0], shown: row[1])
        }
        let new = try names.map { try UserName($0.name, users) }
        guard Set(new).count == new.count else {
            throw StoreError(
                .conflict,
                "users cannot be \(users.rawValue): the app has accounts whose names differ by letter case alone"
            )
        }
        for (old, new) in zip(names, new) {
            try self.database.run(
                "UPDATE account SET name = ?, name_shown = ? WHERE app = ? AND name = ?",
                [new.key, new.shown, app, old.key]
            )
        }
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
