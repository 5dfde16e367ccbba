package import PushModel
package import Store
import StoreKit

/// The table `hub_rule`.
enum HubRuleTable {
    static func change(_ change: HubRuleChange) -> SQLTransaction<Bool> {
        switch change {
        case .add(let rule):
            let rights = rule.rights.sorted().map(\.rawValue).joined(separator: ",")
            return SQLTransaction(
                mentioning: rule.app,
                adding: """
                    INSERT INTO hub_rule(app, name, rights, primary_key, secondary_key, created) VALUES (
                        \(SQLStatement.app(rule.app)), \(rule.name), \(rights), \(rule.primaryKey), \(rule.secondaryKey), \(rule.created))
                    ON CONFLICT DO NOTHING
                    """,
                conflict: "the app has a rule of that name"
            )
        case .replace(let key, let text, let name, let app):
            let column = key == .primary ? "primary_key" : "secondary_key"
            return SQLTransaction(
                finding: "app = \(SQLStatement.app(app)) AND name = \(name)",
                in: "hub_rule",
                write: "UPDATE hub_rule SET \(raw: column) = \(text)"
            )
        case .delete(let name, let app):
            return SQLTransaction(
                finding: "app = \(SQLStatement.app(app)) AND name = \(name)",
                in: "hub_rule",
                write: "DELETE FROM hub_rule"
            )
        }
    }
}

extension HubRuleStore where Self: SQLEngine {
    package func hubRules(app: AppID) async throws -> [HubRule] {
        let rows = try await self.rows(
            """
            SELECT name, rights, primary_key, secondary_key, created FROM hub_rule
            WHERE app = \(SQLStatement.app(app)) ORDER BY name
            """
        )
        return try rows.map { row in
            let rights: String = try row["rights"]
            return HubRule(
                app: app,
                name: try row["name"],
                rights: Set(rights.split(separator: ",").compactMap { HubRule.Right(rawValue: String($0)) }),
                primaryKey: try row["primary_key"],
                secondaryKey: try row["secondary_key"],
                created: try row["created"]
            )
        }
    }
}
