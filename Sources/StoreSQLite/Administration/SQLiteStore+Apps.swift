import Foundation
import GRDB
package import PushModel
import Store
import StoreKit

extension SQLiteStore: AppStore {
    package func apply(_ spec: AppSpec, to app: AppID) async throws -> Bool {
        let text = try StoredJSON.text(spec)
        return try await self.write { context in
            try context.keepKind(of: app, spec)
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

extension WriteContext {
    /// Refuses another kind of hub for an app whose devices or sends are at the one that it has.
    fileprivate func keepKind(of app: AppID, _ spec: AppSpec) throws {
        let known = try self.database.first(
            "SELECT number, spec FROM app WHERE name = ? AND spec IS NOT NULL",
            [app.name]
        ) { (number: $0[0] as Int64, spec: try StoredJSON.value(AppSpec.self, from: $0[1])) }
        guard let known, (known.spec.azureHub == nil) != (spec.azureHub == nil) else { return }
        for table in ["registration", "job"]
        where try self.database.exists("SELECT 1 FROM \(table) WHERE app = ? LIMIT 1", [known.number]) {
            throw StoreError(
                .conflict,
                "hub, embedded or azure, is fixed once an app has registrations or jobs: declare a new app with the other one"
            )
        }
    }

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
                [new.key.text, new.shown, app, old.key.text]
            )
        }
    }
}
