package import PushModel
package import Store
import StoreKit

/// The table `api_key`.
enum KeyTable {
    static func change(_ change: KeyChange, at wall: Timestamp) -> SQLTransaction<Bool> {
        switch change {
        case .add(let key, let hash):
            SQLTransaction(
                mentioning: key.app,
                adding: """
                    INSERT INTO api_key(app, name, role, hash, created, revoked) VALUES (
                        \(SQLStatement.app(key.app)), \(key.name), \(key.role.rawValue), \(hash), \(key.created), \(key.revoked))
                    ON CONFLICT DO NOTHING
                    """,
                conflict: "the app has a key of that name"
            )
        case .revoke(let name, let app):
            SQLTransaction(
                finding: "app = \(SQLStatement.app(app)) AND name = \(name) AND revoked IS NULL",
                in: "api_key",
                write: "UPDATE api_key SET revoked = \(wall)"
            )
        }
    }
}

extension AccountStore where Self: SQLEngine {
    package func keys(_ query: KeyQuery) async throws -> [APIKey] {
        let condition: SQLStatement =
            switch query {
            case .app(let app): "app.name = \(app.name)"
            case .hash(let hash): "api_key.hash = \(hash)"
            }
        let rows = try await self.rows(
            """
            SELECT api_key.name, role, created, revoked, app.name AS app_name FROM api_key JOIN app ON app.number = api_key.app
            WHERE \(condition) ORDER BY api_key.name
            """
        )
        return try rows.map { row in
            APIKey(
                app: try AppID(stored: row["app_name"]),
                name: try row["name"],
                role: try Role(stored: row["role"]),
                created: try row["created"],
                revoked: try row["revoked"]
            )
        }
    }
}

extension Role {
    init(stored name: String) throws(StoreError) {
        guard let role = Role(rawValue: name) else { throw StoreError(.corrupt, "a row names an unknown role") }
        self = role
    }
}
