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

    package func names(_ content: String, in notificationsOf: UserName, app: AppID) async throws -> Bool {
        try await self.read { database in
            try database.exists(
                """
                SELECT 1 FROM rich WHERE app = (SELECT number FROM app WHERE name = ?) AND content = ? AND addressee = ?
                LIMIT 1
                """,
                [app.name, content, notificationsOf.name]
            )
        }
    }
}
