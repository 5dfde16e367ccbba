import PushModel
package import Store
import StoreKit

// What is old enough goes in chunks. Each looks before it writes: an idle store stays idle.

extension SQLEngine {
    /// Removes rich notifications, and then contents that none of those left names, and that are not an app's default picture.
    package func removeContents(before: Int64, from cursor: Int64, limit: Int) async throws -> ChoreChunk {
        let rich: SQLStatement = "SELECT number FROM rich WHERE created <= \(before) ORDER BY created"
        if try await !self.rows("\(rich) LIMIT 1").isEmpty {
            let removed = try await self.remove("DELETE FROM rich WHERE number IN (\(rich) LIMIT \(limit))")
            return ChoreChunk(rows: removed, next: cursor)
        }
        // Each is some megabytes.
        let limit = min(limit, 16)
        let (contents, apps) = try await self.rows(
            """
            SELECT number, app, id, created FROM content WHERE created >= \(cursor) AND created <= \(before)
            ORDER BY created LIMIT \(limit)
            """,
            "SELECT number, spec FROM app WHERE spec IS NOT NULL"
        )
        guard !contents.isEmpty else { return ChoreChunk(rows: 0) }
        let pictures = try Dictionary(
            uniqueKeysWithValues: apps.map { row in
                let spec = try StoredJSON.value(AppSpec.self, from: row["spec"])
                return (try row["number"] as Int64, spec.richDefault.content)
            }
        )
        let old = try contents.filter { try pictures[$0["app"]] ?? nil != $0["id"] as String? }
        let numbers: [Int64] = try old.map { try $0["number"] }
        var removed = 0
        if !numbers.isEmpty {
            removed = try await self.remove(
                """
                DELETE FROM content WHERE number IN (\(numbers: numbers))
                    AND NOT EXISTS (SELECT 1 FROM rich WHERE rich.app = content.app AND rich.content = content.id)
                """
            )
        }
        let times: [Int64] = try contents.map { try $0["created"] }
        return ChoreChunk(rows: removed, next: ChoreChunk.next(times, from: cursor, limit: limit))
    }

    /// Removes the first rows of a table that has one more row each time; those with a time in the future, from a wrong clock, stay and block
    /// no others.
    ///
    /// - Parameters:
    ///   - table: The table, with the column `at`.
    ///   - number: The column of its numbers.
    ///   - before: Until when a row must have been written.
    ///   - limit: The most rows.
    /// - Returns: How many rows went.
    /// - Throws: ``StoreError``.
    package func removeFirst(
        of table: String,
        by number: String,
        before: Int64,
        limit: Int
    ) async throws -> ChoreChunk {
        let first: SQLStatement = "SELECT \(raw: number) FROM \(raw: table) ORDER BY \(raw: number) LIMIT \(limit)"
        let old: SQLStatement = "\(raw: number) IN (\(first)) AND at <= \(before)"
        guard try await !self.rows("SELECT 1 AS found FROM \(raw: table) WHERE \(old) LIMIT 1").isEmpty else {
            return ChoreChunk(rows: 0)
        }
        let removed = try await self.remove("DELETE FROM \(raw: table) WHERE \(old)")
        return ChoreChunk(rows: removed, next: removed == limit ? 0 : nil)
    }

    /// Removes sessions that have ended.
    package func removeSessions(limit: Int) async throws -> ChoreChunk {
        let ended: SQLStatement = "SELECT number FROM session WHERE ends <= \(self.clock.now) ORDER BY ends"
        guard try await !self.rows("\(ended) LIMIT 1").isEmpty else { return ChoreChunk(rows: 0) }
        let removed = try await self.remove("DELETE FROM session WHERE number IN (\(ended) LIMIT \(limit))")
        return ChoreChunk(rows: removed, next: removed == limit ? 0 : nil)
    }

    /// Removes templates that nobody has any more, and that no open batch is for, among so many numbers.
    package func removeTemplates(after cursor: Int64, limit: Int) async throws -> ChoreChunk {
        let through = cursor + Int64(limit)
        let unused: SQLStatement = """
            SELECT number FROM template WHERE number > \(cursor) AND number <= \(through)
                AND NOT EXISTS (SELECT 1 FROM registration WHERE registration.template = template.number)
                AND NOT EXISTS (SELECT 1 FROM batch WHERE batch.template = template.number AND batch.open = 1)
            """
        let (all, some) = try await self.rows(
            "SELECT coalesce(max(number), 0) AS last FROM template",
            "\(unused) LIMIT 1"
        )
        let last: Int64 = try all.first?["last"] ?? 0
        let removed =
            some.isEmpty ? 0 : try await self.remove("DELETE FROM template WHERE number IN (\(unused))")
        return ChoreChunk(rows: removed, next: through < last ? through : nil)
    }

    /// - Returns: How many rows went.
    func remove(_ statement: SQLStatement) async throws -> Int {
        try await self.perform(SQLTransaction(SQLDecision(writing: statement, value: \.count)))
    }
}
