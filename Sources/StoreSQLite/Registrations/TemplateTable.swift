package import PushModel
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
}

extension SQLiteStore {
    package func templates(_ numbers: Set<Int64>) async throws -> [Int64: DeviceTemplate.Content] {
        try await self.read { database in
            var found: [Int64: DeviceTemplate.Content] = [:]
            for number in numbers {
                let text: String? = try database.value("SELECT content FROM template WHERE number = ?", [number])
                found[number] = try text.map { try StoredJSON.value(DeviceTemplate.Content.self, from: $0) }
            }
            return found
        }
    }
}
