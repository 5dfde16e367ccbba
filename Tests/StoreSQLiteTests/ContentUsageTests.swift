import Foundation
import GRDB
import PushModel
import Store
import Testing

@testable import StoreSQLite

/// The counters behind the quotas of contents.
struct ContentUsageTests {
    /// What was uploaded before there were quotas counts for its account and its app; that of keys for the app alone.
    @Test func aStoreOfBeforeIsCarriedOver() throws {
        let before = try #require(Schema.migrator.migrations.prefix { $0 != "21 content quotas" }.last)
        let queue = try DatabaseQueue()
        try Schema.migrator.migrate(queue, upTo: before)
        try queue.write { database in
            try database.execute(
                sql: """
                    INSERT INTO app(number, name) VALUES (1, 'default'), (2, 'other');
                    INSERT INTO content(app, id, owner, media_type, bytes, created) VALUES
                        (1, 'a', 'ann', 'a/b', zeroblob(1000), 1), (1, 'b', 'ann', 'a/b', zeroblob(2000), 2),
                        (1, 'c', 'bob', 'a/b', zeroblob(0), 3), (1, 'd', NULL, 'a/b', zeroblob(5000), 4),
                        (2, 'e', 'ann', 'a/b', zeroblob(7), 5);
                    """
            )
        }
        try Schema.migrator.migrate(queue)
        func usage() throws -> [String: Int] {
            try queue.read { database in
                let rows = try Row.fetchAll(database, sql: "SELECT app, uploader, bytes FROM content_usage")
                return Dictionary(
                    rows.map { ("\($0[0] as Int) \($0[1] as String)", $0[2] as Int) },
                    uniquingKeysWith: { $1 }
                )
            }
        }
        #expect(
            try usage() == [
                "1 account:ann": 5048, "1 account:bob": 1024, "1 key:": 6024, "1 ": 12_096,
                "2 account:ann": 1031, "2 ": 1031,
            ]
        )
        try queue.write { try $0.execute(sql: "DELETE FROM content WHERE id <> 'a'") }
        #expect(try usage() == ["1 account:ann": 2024, "1 ": 2024])
    }
}
