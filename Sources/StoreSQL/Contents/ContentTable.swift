package import PushModel
package import Store
import StoreKit

/// The tables `content` and `content_usage`; triggers of the schema keep the second.
package enum ContentTable {
    /// Stores a content within the quotas.
    ///
    /// Two contents at a time could both have the last place. So this holds the app's row, and compares the usage behind that.
    ///
    /// - Parameters:
    ///   - content: The content.
    ///   - id: Its id.
    ///   - app: The app.
    ///   - quota: The limits of the uploader and of the whole app.
    ///   - wall: When it is made.
    /// - Returns: The transaction.
    package static func put(
        _ content: StoredContent,
        id: String,
        app: AppID,
        quota: AppSpec.Contents,
        at wall: Timestamp
    ) -> SQLTransaction<ContentAcceptance> {
        let number = SQLStatement.app(app)
        let own = self.usage(of: content.owner.map(\.caller) ?? "key:\(content.key ?? "")", app: number)
        let all = self.usage(of: "", app: number)
        return SQLTransaction(reading: "SELECT \(own) AS own, \(all) AS total") { usage in
            let (used, total): (Int, Int) = try (usage.first?["own"] ?? 0, usage.first?["total"] ?? 0)
            if let refusal = ContentQuota.refusal(of: content, own: used, all: total, quota: quota) {
                return .nothing(refusal)
            }
            let isNoFuller: SQLStatement = "SELECT 1 AS found WHERE \(own) <= \(used) AND \(all) <= \(total)"
            return SQLDecision(
                writing: [
                    .mention(app), .hold(number), isNoFuller.expecting(1),
                    """
                    INSERT INTO content(app, id, owner, key, media_type, bytes, created) VALUES (
                        \(number), \(id), \(content.owner?.key.text), \(content.key), \(content.mediaType), \(content.bytes), \(wall))
                    """,
                ],
                giving: .kept(id)
            )
        }
    }

    /// How many bytes of contents an uploader has, or all of the app with the name "".
    private static func usage(of uploader: String, app: SQLStatement) -> SQLStatement {
        "coalesce((SELECT bytes FROM content_usage WHERE app = \(app) AND uploader = \(uploader)), 0)"
    }
}

extension ContentStore where Self: SQLEngine {
    package func content(_ id: String, app: AppID) async throws -> StoredContent? {
        let rows = try await self.rows(
            "SELECT owner, key, media_type, bytes FROM content WHERE app = \(SQLStatement.app(app)) AND id = \(id)"
        )
        return try rows.first.map { row in
            StoredContent(
                owner: try (row["owner"] as String?).map { try UserName(stored: $0, shown: nil) },
                key: try row["key"],
                mediaType: try row["media_type"],
                bytes: try row["bytes"]
            )
        }
    }
}
