package import PushModel
package import Store
import StoreKit

/// Reads how batches stand: the open ones of a message in one go, or single ones by their keys.
enum BatchStatusTable {
    private static let job: SQLStatement =
        "job.sequence, job.id, job.state, job.ends, coalesce(job.starts_at, job.accepted) AS began, job.waiter, job.request"

    /// Batches that have no row of their own: their job's names their message.
    static func inline(in message: MessageID) -> SQLStatement {
        """
        SELECT \(self.job), job.inline_pns AS pns, 0 AS page, 0 AS attempt FROM job
        WHERE \(JobTable.isMember(of: message.number)) AND \(raw: OpenBatch.isInline)
        """
    }

    static func rows(in message: MessageID) -> SQLStatement {
        """
        SELECT \(self.job), batch.pns, batch.page, batch.attempt FROM batch JOIN job ON job.sequence = batch.job
        WHERE batch.message = \(message.number) AND batch.open = 1 AND job.finished IS NULL
        """
    }

    /// The job of a batch, while that is open; no engine is to look for it among all that are open.
    static func job(of key: BatchKey) -> SQLStatement {
        let (pns, isFirst) = (key.pns.number, key.page == 0 && key.attempt == 0)
        return """
            SELECT \(self.job) FROM job
            WHERE job.id = \(key.job) AND job.finished IS NULL AND (\(isFirst) = 1 AND job.inline_pns = \(pns) OR (
                SELECT batch.open FROM batch WHERE batch.job = job.sequence AND batch.pns = \(pns) AND batch.page = \(key.page)
                    AND batch.attempt = \(key.attempt)) = 1)
            """
    }
}

extension OutcomeSink where Self: SQLEngine {
    package func status(of batches: [BatchKey], in message: MessageID?) async throws -> [LocatedStatus] {
        let (now, size) = (self.clock.now, batches.count <= 16 ? ReadSize.short : .ordinary)
        guard let message else {
            let jobs = try await self.rows(batches.map(BatchStatusTable.job), size: size)
            return try jobs.map { try $0.first.map { try LocatedStatus($0, at: now) } ?? LocatedStatus(.closed) }
        }
        return try await self.readWork(unless: { $0.contains { $0.status == .closed } }) {
            try await self.status(of: batches, memberOf: message, size: size)
        }
    }

    private func status(
        of batches: [BatchKey],
        memberOf message: MessageID,
        size: ReadSize
    ) async throws -> [LocatedStatus] {
        let now = self.clock.now
        let (inline, rows) = try await self.rows(
            BatchStatusTable.inline(in: message),
            BatchStatusTable.rows(in: message),
            size: size
        )
        var open: [BatchKey: LocatedStatus] = [:]
        for row in inline {
            open[try BatchKey(row)] = try LocatedStatus(
                row,
                hint: RowHint(job: try row["sequence"], message: message),
                at: now
            )
        }
        for row in rows { open[try BatchKey(row)] = try LocatedStatus(row, at: now) }
        return batches.map { open[$0] ?? LocatedStatus(.closed) }
    }

    package func users(ofLive rows: [Int64]) async throws -> [UserName?] {
        let found = try await self.rows(
            """
            SELECT "user" FROM registration WHERE "row" IN (\(numbers: rows)) AND \(raw: KeptRegistration.live) ORDER BY "row"
            """
        )
        return try found.map { row in try (row["user"] as String?).map { try UserName(stored: $0, shown: nil) } }
    }
}

extension BatchKey {
    fileprivate init(_ row: SQLRow) throws {
        self.init(
            job: try row["id"],
            pns: try PushService(stored: row["pns"]),
            page: try row["page"],
            attempt: try row["attempt"]
        )
    }
}

extension LocatedStatus {
    fileprivate init(_ row: SQLRow, hint: RowHint? = nil, at now: Int64) throws {
        self.init(
            BatchStatus(ofOpen: try Job.State(number: row["state"]), ends: try row["ends"], at: now),
            hint: hint,
            began: try row["began"],
            waiter: try row["waiter"],
            request: try RequestID(row)
        )
    }
}
