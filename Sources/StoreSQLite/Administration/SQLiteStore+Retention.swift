import GRDB
import PushModel
package import Store
import StoreKit

extension SQLiteStore {
    /// See ``HousekeepingStore/remove(_:olderThan:after:limit:)``.
    package func remove(
        _ kind: Retained,
        olderThan age: Duration,
        after cursor: Int64,
        limit: Int
    ) async throws -> RetentionChunk {
        let before = self.clock.cautious.milliseconds - age.milliseconds
        // Each looks before it writes: an idle store stays idle.
        switch kind {
        case .devices: return try await self.removeDevices(olderThan: age, after: cursor, limit: limit)
        case .jobs: return try await self.removeJobs(before: before, from: cursor, limit: limit)
        case .contents: return try await self.removeContents(before: before, from: cursor, limit: limit)
        case .registrations: return try await self.removeRegistrations(before: before, limit: limit)
        case .deadLetters: return try await self.removeDeadLetters(before: before, limit: limit)
        case .sessions: return try await self.removeSessions(limit: limit)
        case .templates: return try await self.removeTemplates(after: cursor, limit: limit)
        case .recipients: return try await self.removeRecipients(after: cursor, limit: limit)
        }
    }

    /// The next cursor of a list ordered by time: its last time, because more rows may share it.
    static func next(_ times: [Int64], from cursor: Int64, limit: Int) -> Int64? {
        guard times.count == limit, let last = times.last else { return nil }
        return max(last, cursor + 1)
    }

    private func removeContents(before: Int64, from cursor: Int64, limit: Int) async throws -> RetentionChunk {
        let rich = try await self.read { database in
            try database.all("SELECT app, id FROM rich WHERE created <= ? ORDER BY created LIMIT ?", [before, limit]) {
                (app: $0[0] as Int64, id: $0[1] as Int64)
            }
        }
        guard rich.isEmpty else {
            let removed = try await self.write { context in
                try rich.reduce(0) {
                    $0 + (try context.database.change("DELETE FROM rich WHERE app = ? AND id = ?", [$1.app, $1.id]))
                }
            }
            return RetentionChunk(removed: removed, next: cursor)
        }
        // Each is some megabytes.
        let limit = min(limit, 16)
        let found = try await self.read { database in
            (
                contents: try database.all(
                    "SELECT number, created FROM content WHERE created >= ? AND created <= ? ORDER BY created LIMIT ?",
                    [cursor, before, limit]
                ) { (row: $0[0] as Int64, time: $0[1] as Int64) },
                pictures: try database.all("SELECT number, spec FROM app WHERE spec IS NOT NULL") {
                    (app: $0[0] as Int64, content: try StoredJSON.value(AppSpec.self, from: $0[1]).richDefault.content)
                }
            )
        }
        guard !found.contents.isEmpty else { return RetentionChunk(removed: 0, next: nil) }
        let removed = try await self.write { context in
            try found.contents.reduce(0) { $0 + (try context.remove(content: $1.row, but: found.pictures)) }
        }
        return RetentionChunk(
            removed: removed,
            next: Self.next(found.contents.map(\.time), from: cursor, limit: limit)
        )
    }

    private func removeRegistrations(before: Int64, limit: Int) async throws -> RetentionChunk {
        let condition = "state <> 1 AND coalesce(ended_at, updated) <= ? AND \(RegistrationChange.isFinal)"
        let now = self.clock.now
        let rows = try await self.read { database in
            try database.all(
                "SELECT row FROM registration WHERE \(condition) ORDER BY coalesce(ended_at, updated) LIMIT ?",
                [before, now, limit]
            ) { $0[0] as Int64 }
        }
        guard !rows.isEmpty else { return RetentionChunk(removed: 0, next: nil) }
        let removed = try await self.write { context in
            try rows.reduce(0) {
                // It may have come back to life since it was looked at.
                $0
                    + (try context.database.change(
                        "DELETE FROM registration WHERE row = ? AND \(condition)",
                        [$1, before, now]
                    ))
            }
        }
        return RetentionChunk(removed: removed, next: rows.count == limit ? 0 : nil)
    }

    private func removeDeadLetters(before: Int64, limit: Int) async throws -> RetentionChunk {
        let limit = min(limit, 100)
        let latest = self.clock.latest.milliseconds
        let rows = try await self.read { database in
            try database.all("SELECT id, at FROM dead ORDER BY id LIMIT ?", [limit]) {
                (id: $0[0] as Int64, at: $0[1] as Int64)
            }
        }
        // As with devices, rows with a time in the future block no others.
        let old = rows.prefix { $0.at <= before || $0.at > latest }.filter { $0.at <= before }
        guard !old.isEmpty else { return RetentionChunk(removed: 0, next: nil) }
        let removed = try await self.write { context in
            try old.reduce(0) { $0 + (try context.database.change("DELETE FROM dead WHERE id = ?", [$1.id])) }
        }
        return RetentionChunk(removed: removed, next: old.count == limit ? 0 : nil)
    }
}

extension WriteContext {
    fileprivate func remove(content row: Int64, but pictures: [(app: Int64, content: String?)]) throws -> Int {
        let content = try self.database.first("SELECT app, id FROM content WHERE number = ?", [row]) {
            (app: $0[0] as Int64, id: $0[1] as String)
        }
        guard let content, !pictures.contains(where: { $0.app == content.app && $0.content == content.id }) else {
            return 0
        }
        let isNamed = try self.database.exists(
            "SELECT 1 FROM rich WHERE app = ? AND content = ?",
            [content.app, content.id]
        )
        return isNamed ? 0 : try self.database.change("DELETE FROM content WHERE number = ?", [row])
    }
}
