import PushModel
package import Store
import StoreKit

/// The lists of jobs of which nothing will be sent again.
package enum RecipientRetention {
    /// Jobs with a list from a number on, each found by one look, and whether it is over.
    package static func listed(after cursor: Int64, now: Int64, limit: Int) -> SQLStatement {
        """
        WITH RECURSIVE listed(job) AS (
            SELECT min(job) FROM recipient WHERE job > \(cursor)
            UNION ALL SELECT (SELECT min(r.job) FROM recipient AS r WHERE r.job > listed.job) FROM listed
                WHERE listed.job IS NOT NULL
        )
        SELECT job, EXISTS (SELECT 1 FROM job WHERE sequence = listed.job AND \(self.isOver(at: now))) AS is_over
        FROM listed WHERE job IS NOT NULL LIMIT \(limit)
        """
    }

    /// Removes the first devices of lists that are over still.
    package static func removal(of jobs: [Int64], now: Int64, limit: Int) -> SQLStatement {
        """
        DELETE FROM recipient WHERE (job, pns, number) IN (
            SELECT r.job, r.pns, r.number FROM recipient AS r WHERE r.job IN (
                SELECT sequence FROM job WHERE sequence IN (\(numbers: jobs)) AND \(self.isOver(at: now))) LIMIT \(limit))
        """
    }

    /// Whether nothing of a job will be sent again: its dead letters cannot be replayed after its time, nor where it was stopped.
    private static func isOver(at now: Int64) -> SQLStatement {
        """
        finished IS NOT NULL AND (ends <= \(now)
            OR state IN (\(raw: "\(Job.State.cancelled.number), \(Job.State.expired.number)"))
            OR NOT EXISTS (SELECT 1 FROM dead WHERE dead.job = job.id))
        """
    }
}

extension SQLEngine {
    /// Removes lists of which nothing will be sent again.
    package func removeRecipients(after cursor: Int64, limit: Int) async throws -> ChoreChunk {
        let (now, most) = (self.clock.now, min(limit, 500))
        // Looks before it writes, and at some hundred jobs at a time.
        let found = try await self.rows(RecipientRetention.listed(after: cursor, now: now, limit: most))
        let jobs: [Int64] = try found.map { try $0["job"] }
        let over: [Int64] = try found.filter { try $0["is_over"] }.map { try $0["job"] }
        let next = jobs.count == most ? jobs.last : nil
        guard let first = over.first else { return ChoreChunk(rows: 0, next: next) }
        let removal = RecipientRetention.removal(of: over, now: now, limit: limit)
        let removed = try await self.perform(SQLTransaction(SQLDecision(writing: removal, value: \.count)))
        // The rest of these lists is next.
        return ChoreChunk(rows: removed, next: removed == limit ? first - 1 : next)
    }
}
