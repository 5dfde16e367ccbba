import PushModel
package import Store
import StoreKit
import StoreSQL

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
}
