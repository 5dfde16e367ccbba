import Foundation
import GRDB
package import PushModel
package import Store

extension SQLiteStore: ContentStore {
    package func put(_ content: StoredContent, app: AppID) async throws -> String {
        let id = RegistrationID.random().text
        try await self.write { context in
            try context.database.run(
                "INSERT INTO content(app, id, owner, media_type, bytes, created) VALUES (?, ?, ?, ?, ?, ?)",
                [
                    context.database.ensureNumber(of: app), id, content.owner?.name, content.mediaType,
                    Data(content.bytes), context.wall.milliseconds,
                ]
            )
        }
        return id
    }

    package func content(_ id: String, app: AppID) async throws -> StoredContent? {
        try await self.read { database in
            try database.first(
                """
                SELECT owner, media_type, bytes FROM content
                WHERE app = (SELECT number FROM app WHERE name = ?) AND id = ?
                """,
                [app.name, id]
            ) { row in
                StoredContent(
                    owner: try (row[0] as String?).map { try UserName(stored: $0) },
                    mediaType: row[1],
                    bytes: [UInt8](row[2] as Data)
                )
            }
        }
    }

    package func add(_ notification: NewRichNotification, app: AppID) async throws -> Int32 {
        try await self.write { context in
            let app = try context.database.ensureNumber(of: app)
            // 31 random bits meet now and then among many; then another is drawn.
            for _ in 0..<64 {
                let id = Int32.random(in: 1...Int32.max)
                let added = try context.database.change(
                    """
                    INSERT INTO rich(app, id, sender, addressee, message, rich_type, content, secure, created)
                    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING
                    """,
                    [
                        app, id, notification.sender?.name, notification.addressee.name, notification.message,
                        notification.richType, notification.content, notification.isSecure, context.wall.milliseconds,
                    ]
                )
                if added > 0 { return id }
            }
            throw StoreError(.conflict, "no free id was found for a rich notification")
        }
    }

    package func richNotification(_ id: Int32, app: AppID) async throws -> RichNotification? {
        try await self.read { database in
            try database.first(
                """
                SELECT sender, addressee, message, rich_type, content, secure, created, read FROM rich
                WHERE app = (SELECT number FROM app WHERE name = ?) AND id = ?
                """,
                [app.name, id]
            ) { row in
                RichNotification(
                    id: id,
                    sender: try (row[0] as String?).map { try UserName(stored: $0) },
                    addressee: try UserName(stored: row[1]),
                    message: row[2],
                    richType: row[3],
                    content: row[4],
                    isSecure: row[5],
                    created: Timestamp(milliseconds: row[6]),
                    read: (row[7] as Int64?).map(Timestamp.init(milliseconds:))
                )
            }
        }
    }

    package func markRead(_ id: Int32, app: AppID, at: Timestamp) async throws {
        try await self.write { context in
            try context.database.run(
                """
                UPDATE rich SET read = ? WHERE app = (SELECT number FROM app WHERE name = ?) AND id = ? AND read IS NULL
                """,
                [at.milliseconds, app.name, id]
            )
        }
    }
}
