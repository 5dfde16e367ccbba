import PushModel
package import Store
import StoreKit
import StoreSQL

extension SQLiteStore: JobRetention {
    /// Goes through the table in the order of recording; devices of jobs that are not final are passed over.
    package func removeDevices(olderThan age: Duration, after cursor: Int64, limit: Int) async throws -> ChoreChunk {
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

    /// Removes some of a job's rows, by a table's primary key.
    static func removal(of key: String, from table: String) -> String {
        "DELETE FROM \(table) WHERE (\(key)) IN (SELECT \(key) FROM \(table) WHERE job = ?1 LIMIT ?2)"
    }

    package func removeJobs(before: Int64, from cursor: Int64, limit: Int) async throws -> ChoreChunk {
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
        for (table, key) in [
            ("delivery", "id"), ("outcome", "job, pns, page, attempt"), ("batch", "job, pns, page, attempt"),
            ("recipient", "job, pns, number"), ("hub_call", "job, pns, number"),
        ] {
            left -= try self.database.change(SQLiteStore.removal(of: key, from: table), [job, left])
            guard left > 0 else {
                // Its rows no longer add up, and the audit skips cleared jobs.
                try self.database.run("UPDATE job SET cleared = 1 WHERE sequence = ?", [job])
                return false
            }
        }
        // A handful each.
        for table in ["cursor", "audience", "delivery_count", "user_removal", "platform_count", "idempotency"] {
            left -= try self.database.change("DELETE FROM \(table) WHERE job = ?", [job])
        }
        left -= try self.database.change("DELETE FROM job WHERE sequence = ?", [job])
        return true
    }
}
