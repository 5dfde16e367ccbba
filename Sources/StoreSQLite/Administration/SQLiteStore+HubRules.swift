import GRDB
package import PushModel
import Store
import StoreKit

extension SQLiteStore: HubRuleStore {
    package func add(_ rule: HubRule) async throws {
        try await self.write { context in
            do {
                try context.database.run(
                    """
                    INSERT INTO hub_rule(app, name, rights, primary_key, secondary_key, created) VALUES (?, ?, ?, ?, ?, ?)
                    """,
                    [
                        context.database.ensureNumber(of: rule.app), rule.name,
                        rule.rights.sorted().map(\.rawValue).joined(separator: ","), rule.primaryKey, rule.secondaryKey,
                        rule.created.milliseconds,
                    ]
                )
            } catch let error as DatabaseError where error.resultCode == .SQLITE_CONSTRAINT {
                throw StoreError(.conflict, "the app has a rule of that name")
            }
        }
    }

    package func replace(
        _ key: HubRule.Key,
        with text: String,
        ofRule name: String,
        app: AppID
    ) async throws -> Bool {
        let column = key == .primary ? "primary_key" : "secondary_key"
        return try await self.write { context in
            try context.database.change(
                "UPDATE hub_rule SET \(column) = ? WHERE app = (SELECT number FROM app WHERE name = ?) AND name = ?",
                [text, app.name, name]
            ) > 0
        }
    }

    package func deleteHubRule(named name: String, app: AppID) async throws -> Bool {
        try await self.write { context in
            try context.database.change(
                "DELETE FROM hub_rule WHERE app = (SELECT number FROM app WHERE name = ?) AND name = ?",
                [app.name, name]
            ) > 0
        }
    }

    package func hubRules(app: AppID) async throws -> [HubRule] {
        try await self.read { database in
            try database.all(
                """
                SELECT hub_rule.name, rights, primary_key, secondary_key, created FROM hub_rule
                JOIN app ON app.number = hub_rule.app WHERE app.name = ? ORDER BY hub_rule.name
                """,
                [app.name]
            ) { row in
                HubRule(
                    app: app,
                    name: row[0],
                    rights: Set(
                        (row[1] as String).split(separator: ",").compactMap { HubRule.Right(rawValue: String($0)) }
                    ),
                    primaryKey: row[2],
                    secondaryKey: row[3],
                    created: Timestamp(milliseconds: row[4])
                )
            }
        }
    }
}
