import GRDB
package import PushModel
package import Store
import StoreKit

/// Rich notifications, which an app fetches after a silent push.
enum KeptNotification {
    /// The numbers ascend, so that a list of them has an order; counts of apps, so that a quota costs no counting.
    static let tables = """
        CREATE TABLE rich(
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            app INTEGER NOT NULL REFERENCES app,
            id INTEGER NOT NULL,
            sender TEXT,
            sender_shown TEXT,
            addressee TEXT NOT NULL,
            addressee_shown TEXT,
            message TEXT NOT NULL,
            rich_type TEXT NOT NULL,
            content TEXT,
            secure INTEGER NOT NULL,
            created INTEGER NOT NULL,
            read INTEGER,
            UNIQUE (app, id)
        ) STRICT;
        CREATE INDEX rich_created ON rich(created);
        CREATE INDEX rich_content ON rich(app, content, addressee) WHERE content IS NOT NULL;
        CREATE INDEX rich_app ON rich(app);
        CREATE INDEX rich_sender ON rich(app, sender);
        CREATE INDEX rich_addressee ON rich(app, addressee);
        -- What makes place for another of its sender's.
        CREATE INDEX rich_read ON rich(app, sender) WHERE read IS NOT NULL;

        CREATE TABLE rich_count(app INTEGER PRIMARY KEY REFERENCES app, count INTEGER NOT NULL) STRICT;
        CREATE TRIGGER rich_added AFTER INSERT ON rich BEGIN
            INSERT INTO rich_count VALUES (new.app, 1) ON CONFLICT (app) DO UPDATE SET count = count + 1;
        END;
        CREATE TRIGGER rich_removed AFTER DELETE ON rich BEGIN
            UPDATE rich_count SET count = count - 1 WHERE app = old.app;
        END;
        """

    fileprivate static let columns =
        """
        number, id, sender, addressee, message, rich_type, content, secure, created, read, sender_shown, addressee_shown
        """
}

extension SQLiteStore {
    /// See ``ContentStore/richNotifications(_:)``.
    package func richNotifications(_ query: RichNotificationQuery) async throws -> Page<RichNotification> {
        let before = try self.cursors.open(query.cursor, .notifications, of: query.app) ?? .max
        let cursors = self.cursors
        return try await self.read { database in
            guard let app = try database.number(of: query.app) else { return Page(items: [], cursor: nil) }
            let limit = min(max(1, query.limit), 1000)
            var conditions = "app = ? AND number < ?"
            var arguments: StatementArguments = [app, before]
            if let id = query.id {
                conditions += " AND id = ?"
                arguments += [id]
            }
            if let sender = query.sender {
                conditions += " AND sender = ?"
                arguments += [sender.key.text]
            }
            if let addressee = query.addressee {
                conditions += " AND addressee = ?"
                arguments += [addressee.key.text]
            }
            if let content = query.content {
                conditions += " AND content = ?"
                arguments += [content]
            }
            if let since = query.since {
                // Not for choosing an index: the order is that of the numbers.
                conditions += " AND +created >= ?"
                arguments += [since.milliseconds]
            }
            let rows = try database.all(
                "SELECT \(KeptNotification.columns) FROM rich WHERE \(conditions) ORDER BY number DESC LIMIT ?",
                arguments + [limit + 1]
            ) { (number: $0[0] as Int64, notification: try RichNotification($0)) }
            return Page(
                rows,
                limit: limit,
                cursor: { cursors.seal($0.number, .notifications, of: query.app) },
                item: \.notification
            )
        }
    }

    /// See ``ContentStore/markRead(_:app:at:)``.
    package func markRead(_ id: Int32, app: AppID, at: Timestamp) async throws -> Bool {
        try await self.write { context in
            let marked = try context.database.change(
                """
                UPDATE rich SET read = ? WHERE app = (SELECT number FROM app WHERE name = ?) AND id = ? AND read IS NULL
                """,
                [at.milliseconds, app.name, id]
            )
            return marked > 0
        }
    }
}

extension WriteContext {
    /// Keeps a rich notification, where its quotas have place.
    func insert(_ notification: NewRichNotification, app: Int64) throws {
        try self.makePlace(for: notification, app: app)
        let added = try self.database.change(
            """
            INSERT INTO rich(app, id, sender, sender_shown, addressee, addressee_shown, message, rich_type, content, secure, created)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING
            """,
            [
                app, notification.id, notification.sender?.key.text, notification.sender?.shown,
                notification.addressee.key.text,
                notification.addressee.shown, notification.message, notification.richType, notification.content,
                notification.isSecure, self.wall.milliseconds,
            ]
        )
        guard added > 0 else { throw StoreError(.conflict, "the id of a rich notification is taken") }
    }

    private func makePlace(for notification: NewRichNotification, app: Int64) throws {
        let (quota, sender) = (notification.quota, notification.sender?.key.text)
        let own = try self.database.first(
            "SELECT count(*) FROM (SELECT 1 FROM rich WHERE app = ? AND sender IS ? LIMIT ?)",
            [app, sender, quota.perSender]
        ) { $0[0] as Int }
        let all = try self.database.first("SELECT count FROM rich_count WHERE app = ?", [app]) { $0[0] as Int }
        let isOver = (own ?? 0) >= quota.perSender
        guard isOver || (all ?? 0) >= quota.perApp else { return }
        let removed = try self.database.change(
            """
            DELETE FROM rich WHERE number = (
                SELECT number FROM rich WHERE app = ? AND sender IS ? AND read IS NOT NULL ORDER BY number LIMIT 1)
            """,
            [app, sender]
        )
        guard removed == 0 else { return }
        let whose =
            isOver
            ? "\(quota.perSender) rich notifications of this account are unread"
            : "\(quota.perApp) rich notifications of the app are stored, and this account has no read one to replace"
        throw StoreError(.quotaReached, "\(whose): the quota is reached until one is read or expires")
    }
}

extension RichNotification {
    fileprivate init(_ row: Row) throws {
        self.init(
            id: row[1],
            sender: try (row[2] as String?).map { try UserName(stored: $0, shown: row[10]) },
            addressee: try UserName(stored: row[3], shown: row[11]),
            message: row[4],
            richType: row[5],
            content: row[6],
            isSecure: row[7],
            created: Timestamp(milliseconds: row[8]),
            read: (row[9] as Int64?).map(Timestamp.init(milliseconds:))
        )
    }
}
