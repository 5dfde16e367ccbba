package import PushModel
package import Store
import StoreKit

/// The tables `rich` and `rich_count`; triggers of the schema keep the second.
package enum RichTable {
    static func insertion(
        of notification: NewRichNotification,
        app: SQLStatement,
        at wall: Timestamp
    ) -> SQLStatement {
        let (sender, addressee) = (notification.sender, notification.addressee)
        return """
            INSERT INTO rich(app, id, sender, sender_shown, addressee, addressee_shown, message, rich_type, content, secure, created)
            VALUES (
                \(app), \(notification.id), \(sender?.key.text), \(sender?.shown), \(addressee.key.text), \(addressee.shown),
                \(notification.message), \(notification.richType), \(notification.content), \(notification.isSecure), \(wall))
            ON CONFLICT DO NOTHING
            """
    }

    fileprivate static func conditions(of query: RichNotificationQuery, before: Int64) -> SQLStatement {
        var conditions: [SQLStatement] = ["app = \(SQLStatement.app(query.app))", "number < \(before)"]
        if let id = query.id { conditions.append("id = \(id)") }
        if let sender = query.sender { conditions.append("sender = \(sender.key.text)") }
        if let addressee = query.addressee { conditions.append("addressee = \(addressee.key.text)") }
        if let content = query.content { conditions.append("content = \(content)") }
        // Not for choosing an index: the order is that of the numbers.
        if let since = query.since { conditions.append("+created >= \(since)") }
        return SQLStatement(joining: conditions, with: " AND ")
    }
}

extension ContentStore where Self: SQLEngine {
    package func richNotifications(_ query: RichNotificationQuery) async throws -> Page<RichNotification> {
        let (cursors, app) = (self.cursors, query.app)
        let before = try cursors.open(query.cursor, .notifications, of: app) ?? .max
        let limit = min(max(1, query.limit), 1000)
        let rows = try await self.rows(
            """
            SELECT number, id, sender, sender_shown, addressee, addressee_shown, message, rich_type, content, secure, created, read
            FROM rich WHERE \(RichTable.conditions(of: query, before: before)) ORDER BY number DESC LIMIT \(limit + 1)
            """
        )
        return try Page(
            rows.map { (number: try $0["number"] as Int64, notification: try RichNotification($0)) },
            limit: limit,
            cursor: { cursors.seal($0.number, .notifications, of: app) },
            item: \.notification
        )
    }

    package func markRead(_ id: Int32, app: AppID, at: Timestamp) async throws -> Bool {
        try await self.perform(
            SQLTransaction(
                "UPDATE rich SET read = \(at) WHERE app = \(SQLStatement.app(app)) AND id = \(id) AND read IS NULL"
            )
        )
    }
}

extension RichNotification {
    fileprivate init(_ row: SQLRow) throws {
        self.init(
            id: try row["id"],
            sender: try (row["sender"] as String?).map { try UserName(stored: $0, shown: row["sender_shown"]) },
            addressee: try UserName(stored: row["addressee"], shown: row["addressee_shown"]),
            message: try row["message"],
            richType: try row["rich_type"],
            content: try row["content"],
            isSecure: try row["secure"],
            created: try row["created"],
            read: try row["read"]
        )
    }
}
