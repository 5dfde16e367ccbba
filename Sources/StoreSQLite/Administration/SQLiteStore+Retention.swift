import GRDB
import PushModel
package import Store
import StoreKit
import StoreSQL

extension SQLiteStore {
    /// The lifetime of an idempotency key, in milliseconds (rule 17).
    static let keyLife: Int64 = 86_400_000

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
        case .devices: return try await self.removeDevices(before: before, after: cursor, limit: limit)
        case .jobs: return try await self.removeJobs(before: before, from: cursor, limit: limit)
        case .contents: return try await self.removeContents(before: before, from: cursor, limit: limit)
        case .registrations: return try await self.removeRegistrations(before: before, limit: limit)
        case .deadLetters: return try await self.removeDeadLetters(before: before, limit: limit)
        case .sessions: return try await self.removeSessions(limit: limit)
        case .templates: return try await self.removeTemplates(after: cursor, limit: limit)
        case .recipients: return try await self.removeRecipients(after: cursor, limit: limit)
        }
    }

    /// Goes through the table in the order of recording; devices of jobs that are not final are passed over.
    private func removeDevices(before: Int64, after cursor: Int64, limit: Int) async throws -> RetentionChunk {
        let latest = self.clock.latest.milliseconds
        let old = try await self.read { database in
            try database.all("SELECT id, job, at FROM delivery WHERE id > ? ORDER BY id LIMIT ?", [cursor, limit]) {
                (id: $0[0] as Int64, job: $0[1] as Int64, at: $0[2] as Int64)
            }
        }.prefix { $0.at <= before || $0.at > latest }
        guard let last = old.last else { return RetentionChunk(removed: 0, next: nil) }
        let removed = try await self.write { context in
            var removed = 0
            let final = try Set(old.map(\.job)).filter {
                try context.database.exists("SELECT 1 FROM job WHERE sequence = ? AND finished IS NOT NULL", [$0])
            }
            // A row with a time in the future comes from a wrong clock: it stays and blocks no others.
            for device in old where device.at <= before && final.contains(device.job) {
                removed += try context.database.change("DELETE FROM delivery WHERE id = ?", [device.id])
            }
            return removed
        }
        return RetentionChunk(removed: removed, next: old.count == limit ? last.id : nil)
    }

    private func removeJobs(before: Int64, from cursor: Int64, limit: Int) async throws -> RetentionChunk {
        let jobs = try await self.read { database in
            try database.all(
                "SELECT sequence, finished FROM job WHERE finished >= ? AND finished <= ? ORDER BY finished LIMIT ?",
                [cursor, before, limit]
            ) { (row: $0[0] as Int64, time: $0[1] as Int64) }
        }
        guard !jobs.isEmpty else { return RetentionChunk(removed: 0, next: nil) }
        return try await self.write { context in
            var left = limit
            for job in jobs where try context.mayRemove(job: job.row, before: before) {
                let isGone = try context.remove(job: job.row, limit: &left)
                if !isGone || left <= 0 { return RetentionChunk(removed: limit - left, next: job.time) }
            }
            return RetentionChunk(
                removed: limit - left,
                next: RetentionChunk.next(jobs.map(\.time), from: cursor, limit: limit)
            )
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

extension WriteContext {
    /// Whether a job is final, old enough and no longer referenced.
    fileprivate func mayRemove(job: Int64, before: Int64) throws -> Bool {
        let id = try self.database.first(
            // `ends` less its life is when it was accepted by the store's clock: a wall clock that was behind then, as at the start of
            // a machine that keeps no time, made it no older.
            """
            SELECT id FROM job
            WHERE sequence = ?1 AND finished <= ?2
                AND coalesce(ends - (expires - accepted), accepted) <= ?2
                AND NOT EXISTS (
                    SELECT 1 FROM idempotency WHERE idempotency.job = job.sequence
                        AND max(idempotency.created, coalesce(ends - (expires - accepted), accepted)) > ?3)
            """,
            [job, before, self.clock.cautious.milliseconds - SQLiteStore.keyLife]
        ) { try JobID(blob: $0[0]) }
        guard let id else { return false }
        return try !self.database.exists("SELECT 1 FROM dead WHERE job = ?", [id.blob])
    }

    /// Removes rows of a job.
    ///
    /// The job's own row is last, because it has the counts.
    ///
    /// - Parameters:
    ///   - job: Its sequence.
    ///   - left: The most rows; reduced by the rows removed.
    /// - Returns: Whether all rows of the job are removed.
    /// - Throws: SQLite's error.
    fileprivate func remove(job: Int64, limit left: inout Int) throws -> Bool {
        for sql in [
            "DELETE FROM delivery WHERE id IN (SELECT id FROM delivery WHERE job = ?1 LIMIT ?2)",
            """
            DELETE FROM outcome WHERE job = ?1 AND (pns, page, attempt) IN (
                SELECT pns, page, attempt FROM outcome WHERE job = ?1 LIMIT ?2)
            """,
            """
            DELETE FROM batch WHERE job = ?1 AND (pns, page, attempt) IN (
                SELECT pns, page, attempt FROM batch WHERE job = ?1 LIMIT ?2)
            """,
            RecipientTable.remove, HubCallSchema.remove,
        ] {
            left -= try self.database.change(sql, [job, left])
            guard left > 0 else {
                // Its rows no longer add up, and the audit skips cleared jobs.
                try self.database.run("UPDATE job SET cleared = 1 WHERE sequence = ?", [job])
                return false
            }
        }
        // A handful each.
        for sql in [
            "DELETE FROM cursor WHERE job = ?", "DELETE FROM audience WHERE job = ?",
            "DELETE FROM delivery_count WHERE job = ?", "DELETE FROM user_removal WHERE job = ?",
            "DELETE FROM platform_count WHERE job = ?", "DELETE FROM idempotency WHERE job = ?",
            "DELETE FROM job WHERE sequence = ?",
        ] {
            left -= try self.database.change(sql, [job])
        }
        return true
    }
}
