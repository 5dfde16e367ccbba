import Crypto
import Foundation
import PushModel
import Store
import StoreKit

/// The table of templates: each content of an app once, however many devices have it.
enum TemplateTable {
    static let schema = """
        -- AUTOINCREMENT: a batch that names one must not find another's. content: JSON of a DeviceTemplate.Content.
        CREATE TABLE template(
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            app INTEGER NOT NULL REFERENCES app,
            digest BLOB NOT NULL,
            content TEXT NOT NULL,
            UNIQUE (app, digest)
        ) STRICT;
        """

    /// Those from a number on that nobody has, and no open batch is for.
    static let unused = """
        SELECT number FROM template WHERE number > ?1 AND number <= ?2
            AND NOT EXISTS (SELECT 1 FROM registration WHERE registration.template = template.number)
            AND NOT EXISTS (SELECT 1 FROM batch WHERE batch.template = template.number AND batch.open = 1)
        """
}

extension Database {
    /// The number of a template, given now if need be.
    func ensureNumber(of template: DeviceTemplate?, app: Int64) throws -> Int64? {
        guard let content = template?.content else { return nil }
        let text = try StoredJSON.text(content)
        let digest = Array(SHA256.hash(data: Data(text.utf8)))
        let sql = "SELECT number FROM template WHERE app = ? AND digest = ?"
        if let found: Int64 = try self.value(sql, [app, digest]) { return found }
        try self.run("INSERT INTO template(app, digest, content) VALUES (?, ?, ?)", [app, digest, text])
        return self.lastInsertedRowID
    }
}

extension SQLiteStore {
    /// Removes templates that nobody has any more.
    ///
    /// - Parameters:
    ///   - cursor: The last number that was looked at.
    ///   - limit: How many numbers are looked at.
    /// - Returns: How many were removed.
    /// - Throws: ``StoreError``.
    func removeTemplates(after cursor: Int64, limit: Int) async throws -> RetentionChunk {
        let (last, hasUnused) = try await self.read { database in
            let last: Int64 = try database.value("SELECT coalesce(max(number), 0) FROM template") ?? 0
            let sql = "\(TemplateTable.unused) LIMIT 1"
            return (last, try database.exists(sql, [cursor, cursor + Int64(limit)]))
        }
        let through = cursor + Int64(limit)
        var removed = 0
        if hasUnused {
            removed = try await self.write { context in
                try context.database.change(
                    "DELETE FROM template WHERE number IN (\(TemplateTable.unused))",
                    [cursor, through]
                )
            }
        }
        return RetentionChunk(removed: removed, next: through < last ? through : nil)
    }
}
