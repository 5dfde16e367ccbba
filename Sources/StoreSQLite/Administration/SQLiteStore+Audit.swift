import PushModel
package import Store
import StoreKit

extension SQLiteStore {
    /// The devices of lists that are counted in one read transaction, but for the last list.
    private static let listedARead = 20_000

    /// See ``StoreHealth/audit(after:limit:)``.
    package func audit(after cursor: Int64, limit: Int) async throws -> Audit {
        try await self.read { database in
            let jobs = try database.all(
                """
                SELECT sequence, id, kind, state, cleared,
                    CASE WHEN kind = \(JobKind.send.number) AND finished IS NULL THEN \(AuditedJob.listed) END
                FROM job WHERE sequence > ? ORDER BY sequence LIMIT ?
                """,
                [cursor, limit]
            ) {
                AuditedJob(
                    sequence: $0[0],
                    id: try JobID(blob: $0[1]),
                    isSend: $0[2] == JobKind.send.number,
                    isFinal: try Job.State(number: $0[3]).isFinal,
                    isCleared: $0[4],
                    listed: $0[5] as Int? ?? 0
                )
            }
            var faults = cursor == 0 ? try database.backlogFaults() + database.outboxFaults() : []
            var (count, listed) = (0, 0)
            for job in jobs where listed < Self.listedARead {
                if job.isSend { faults += try job.faults(in: database).map { "job \(job.id): \($0)" } }
                count += 1
                listed += job.listed
            }
            let isWhole = count == jobs.count && count < limit
            return Audit(jobs: count, faults: faults, next: isWhole ? nil : jobs.prefix(count).last?.sequence)
        }
    }
}

extension Database {
    /// The counts of unfinished jobs, which limits go by.
    fileprivate func backlogFaults() throws -> [String] {
        let kept = try self.first("SELECT unfinished, scheduled FROM backlog") { ($0[0] as Int, $0[1] as Int) }
        let counted = try self.first(
            """
            SELECT coalesce(sum(NOT \(JobTransition.scheduled)), 0), coalesce(sum(\(JobTransition.scheduled)), 0)
            FROM job INDEXED BY job_open WHERE finished IS NULL
            """
        ) { ($0[0] as Int, $0[1] as Int) }
        guard let kept, let counted, kept != counted else { return [] }
        return [
            "\(kept.0) jobs are kept as unfinished and \(kept.1) as scheduled; they are \(counted.0) and \(counted.1)"
        ]
    }
}

extension Database {
    /// Messages whose count of open members is wrong: they would never be deleted, or too early.
    fileprivate func outboxFaults() throws -> [String] {
        let wrong =
            try self.first(
                """
                SELECT count(*) FROM message AS m WHERE open <> (
                    SELECT count(*) FROM job WHERE sequence BETWEEN m.first AND m.last AND message = m.id AND finished IS NULL)
                    + (SELECT count(*) FROM batch WHERE batch.message = m.id AND batch.open = 1)
                """
            ) { $0[0] as Int } ?? 0
        return wrong == 0 ? [] : ["\(wrong) messages count other open members than they have"]
    }
}

/// A job whose rows are checked.
private struct AuditedJob {
    let sequence: Int64
    let id: JobID
    let isSend: Bool
    let isFinal: Bool
    /// Part of its rows was removed since it ended: they do not add up any more, its counts still do.
    let isCleared: Bool
    /// How many devices its list has that are to be counted.
    let listed: Int

    func faults(in database: Database) throws -> [String] {
        let audit = JobAudit(counts: try self.counts(in: database))
        var faults = self.isFinal ? try audit.unaccounted() : []
        guard !self.isCleared else { return faults }
        faults += try audit.differences(from: self.outcomes(in: database))
        for (sql, words) in Self.checks where !(words.isOfFinal && !self.isFinal) {
            let count = try database.first(sql, [self.sequence]) { $0[0] as Int } ?? 0
            if count > 0 { faults.append("\(count) \(words.text)") }
        }
        return faults
    }

    /// How many devices its list has; null where it has none.
    static let listed = "json_extract(job.work, '$.send._0.audience.count')"

    /// Queries for rows that must not exist.
    private static let checks: [(sql: String, (text: String, isOfFinal: Bool))] = [
        (
            "SELECT count(*) FROM batch WHERE batch.job = ? AND batch.open = 1",
            ("batches are open though it is final", true)
        ),
        (
            """
            SELECT count(*) FROM batch LEFT JOIN outcome USING (job, pns, page, attempt)
            WHERE batch.job = ? AND (batch.open = 1) = (outcome.accepted IS NOT NULL)
            """,
            ("batches are closed without an outcome, or open with one", false)
        ),
        (
            """
            SELECT count(*) FROM outcome LEFT JOIN batch USING (job, pns, page, attempt)
            WHERE outcome.job = ? AND batch.size IS NULL
            """,
            ("outcomes have no batch", false)
        ),
        (
            """
            SELECT count(*) FROM outcome AS o
            LEFT JOIN outcome AS n ON n.job = o.job AND n.pns = o.pns AND n.page = o.page AND n.attempt = o.attempt + 1
            LEFT JOIN batch AS b ON b.job = o.job AND b.pns = o.pns AND b.page = o.page AND b.attempt = o.attempt + 1
            WHERE o.job = ? AND o.retries <> coalesce(
                n.accepted + n.failed + n.expired + n.cancelled + n.retries, b.size, 0)
            """,
            ("attempts have other devices than were retried in them", false)
        ),
        (
            """
            SELECT count(*) FROM job JOIN batch ON batch.job = job.sequence
            WHERE job.sequence = ? AND job.inline_pns IS NOT NULL
            """,
            ("batches stand beside the only one", false)
        ),
        (
            """
            SELECT count(*) FROM job WHERE sequence = ? AND inline_pns IS NOT NULL AND (
                state NOT IN (\(Job.State.running.number), \(Job.State.completed.number))
                OR state = \(Job.State.running.number)
                    AND NOT EXISTS (SELECT 1 FROM message WHERE message.id = job.message))
            """,
            ("only batches are in no message, or of a job that was not completed", false)
        ),
        (
            """
            SELECT count(*) FROM batch WHERE batch.job = ? AND batch.open = 1
                AND NOT EXISTS (SELECT 1 FROM message WHERE message.id = batch.message)
            """,
            ("batches are open and in no message", false)
        ),
        (
            """
            SELECT count(*) FROM job WHERE sequence = ? AND fanned_out = 0 AND finished IS NULL AND NOT \(JobTransition.scheduled)
                AND NOT EXISTS (SELECT 1 FROM message WHERE message.id = job.message)
            """,
            ("jobs are unfinished and in no message", false)
        ),
        (
            """
            SELECT abs(coalesce(\(Self.listed) - (SELECT count(*) FROM recipient WHERE job = ?1), 0)) FROM job
            WHERE sequence = ?1 AND finished IS NULL
            """,
            ("devices of its list are missing, or more than it counts", false)
        ),
        (
            """
            SELECT max(0, coalesce(
                (SELECT sum(count) FROM job_counts WHERE job = ?1 AND class = \(DeliveryCountClass.targets.number)) - \(Self.listed), 0))
            FROM job WHERE sequence = ?1
            """,
            ("targets are more than its list has", false)
        ),
        (
            """
            SELECT count(*) FROM job WHERE sequence = ?1 AND (finished IS NULL) <> (state < \(Job.State.completed.number))
                OR sequence = ?1 AND (state IN (\(Job.State.cancelling.number), \(Job.State.expiring.number)))
                    <> (stopped IS NOT NULL)
            """,
            ("of its times, of its stop or its end, do not go with its state", false)
        ),
    ]

    private func counts(in database: Database) throws -> [Int: JobSums] {
        var sums: [Int: JobSums] = [:]
        let rows = try database.all("SELECT pns, class, count FROM job_counts WHERE job = ?", [self.sequence]) {
            (pns: $0[0] as Int, kind: try DeliveryCountClass(number: $0[1]), count: $0[2] as Int)
        }
        for row in rows { sums[row.pns, default: JobSums()].add(row.count, of: row.kind) }
        return sums
    }

    private func outcomes(in database: Database) throws -> [Int: JobSums] {
        let rows = try database.all(
            """
            SELECT pns, sum(accepted), sum(failed), sum(expired), sum(cancelled),
                sum(CASE attempt WHEN 0 THEN accepted + failed + expired + cancelled + retries ELSE 0 END)
            FROM outcome WHERE job = ?1 GROUP BY pns
            UNION ALL SELECT inline_pns, inline_size, 0, 0, 0, inline_size FROM job
            WHERE sequence = ?1 AND inline_pns IS NOT NULL AND finished IS NOT NULL
            """,
            [self.sequence]
        ) {
            ($0[0] as Int, JobSums(targets: $0[5], accepted: $0[1], failed: $0[2], expired: $0[3], cancelled: $0[4]))
        }
        // One row per service. A batch row beside an inline batch is reported as a fault of its own.
        return Dictionary(rows) { first, _ in first }
    }
}
