import PushModel
import Store
import StoreKit

extension SQLiteStore {
    /// Goes through the table in the order of recording; devices of jobs that are not final are passed over.
    func removeDevices(olderThan age: Duration, after cursor: Int64, limit: Int) async throws -> ChoreChunk {
        let age = RetentionAge(olderThan: age, by: self.clock)
        let old = try await self.read { database in
            try database.all("SELECT id, at FROM delivery WHERE id > ? ORDER BY id LIMIT ?", [cursor, limit]) {
                (id: $0["id"] as Int64, at: $0["at"] as Int64)
            }
        }.prefix { age.passes($0.at) }
        guard let last = old.last else { return ChoreChunk(rows: 0) }
        let removed = try await self.write { context in
            try context.database.change(
                """
                DELETE FROM delivery WHERE id > ? AND id <= ? AND at <= ?
                    AND EXISTS (SELECT 1 FROM job WHERE sequence = delivery.job AND finished IS NOT NULL)
                """,
                [cursor, last.id, age.before]
            )
        }
        return ChoreChunk(rows: removed, next: old.count == limit ? last.id : nil)
    }

    func removeJobs(before: Int64, from cursor: Int64, limit: Int) async throws -> ChoreChunk {
        let jobs = try await self.read { database in
            try database.all(
                "SELECT sequence, finished FROM job WHERE finished >= ? AND finished <= ? ORDER BY finished LIMIT ?",
                [cursor, before, limit]
            ) { (row: $0["sequence"] as Int64, time: $0["finished"] as Int64) }
        }
        guard !jobs.isEmpty else { return ChoreChunk(rows: 0) }
        return try await self.write { context in
            var left = limit
            let now = context.clock.cautious.milliseconds
            for job in jobs where try context.retained(job.row)?.mayGo(before: before, now: now) == true {
                let isGone = try context.remove(job: job.row, limit: &left)
                if !isGone || left <= 0 { return ChoreChunk(rows: limit - left, next: job.time) }
            }
            return ChoreChunk(
                rows: limit - left,
                next: ChoreChunk.next(jobs.map(\.time), from: cursor, limit: limit)
            )
        }
    }
}

extension WriteContext {
    fileprivate func retained(_ job: Int64) throws -> RetainedJob? {
        try self.database.first(
            """
            SELECT finished, accepted, expires, ends, (SELECT max(created) FROM idempotency WHERE idempotency.job = job.sequence) AS key,
                EXISTS (SELECT 1 FROM dead WHERE dead.job = job.id) AS has_letter
            FROM job WHERE sequence = ?
            """,
            [job]
        ) {
            RetainedJob(
                finished: $0["finished"],
                accepted: $0["accepted"],
                expires: $0["expires"],
                ends: $0["ends"],
                key: $0["key"],
                hasDeadLetter: $0["has_letter"]
            )
        }
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
