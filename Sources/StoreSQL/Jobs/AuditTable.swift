import PushModel
package import Store
import StoreKit

/// What an audit reads, of all jobs of a piece together.
private struct AuditedPiece {
    /// The jobs behind the first number, up to the last.
    let after: Int64
    let through: Int64

    /// The devices of lists that are counted in one read, but for the last list.
    static let listed = 20_000

    private func range(_ column: String) -> SQLStatement {
        "\(raw: column) > \(self.after) AND \(raw: column) <= \(self.through)"
    }

    /// Those to look at: how many devices they have shows in the work of those that are not done.
    static func jobs(after: Int64, limit: Int) -> SQLStatement {
        """
        SELECT sequence, CASE WHEN finished IS NULL AND kind = \(raw: "\(JobKind.send.number)") THEN work END AS work FROM job
        WHERE sequence > \(after) ORDER BY sequence LIMIT \(limit)
        """
    }

    /// Adds a row to the jobs that are audited.
    typealias Take = (SQLRow, inout [Int64: AuditedJob]) throws -> Void

    /// Each read, and what its rows say.
    var reads: [(statement: SQLStatement, take: Take)] {
        [
            (self.sends, { row, jobs in jobs[try row["sequence"]] = try AuditedJob(row) }),
            (
                self.counts,
                { row, jobs in
                    let (kind, pns) = (try DeliveryCountClass(number: row["class"]), try row["pns"] as Int)
                    try jobs[row["job"]]?.counts[pns, default: JobSums()].add(row["count"], of: kind)
                }
            ),
            (
                self.batches,
                { row, jobs in
                    try jobs[row["job"]]?.batches = (row["batches"], row["open"], row["lost"], row["unmatched"])
                }
            ),
            (
                self.outcomes,
                { row, jobs in
                    let job: Int64 = try row["job"]
                    try jobs[job]?.outcomes[row["pns"]] = JobSums(row)
                    try jobs[job]?.attempts.orphans += row["orphans"]
                    try jobs[job]?.attempts.unmatched += row["unmatched"]
                }
            ),
            (self.recipients, { row, jobs in try jobs[row["job"]]?.recipients = row["recipients"] }),
        ]
    }

    private var sends: SQLStatement {
        """
        SELECT sequence, job.id, job.state, cleared, fanned_out, finished IS NOT NULL AS is_finished,
            stopped IS NOT NULL AS is_stopped, inline_pns, inline_size, work, message.id IS NOT NULL AS has_message
        FROM job LEFT JOIN message ON message.id = job.message
        WHERE \(self.range("sequence")) AND kind = \(raw: "\(JobKind.send.number)") ORDER BY sequence
        """
    }

    private var counts: SQLStatement { "SELECT job, pns, class, count FROM job_counts WHERE \(self.range("job"))" }

    private var batches: SQLStatement {
        """
        SELECT batch.job, count(*) AS batches, CAST(sum(batch.open) AS bigint) AS open,
            count(CASE WHEN batch.open = 1 AND message.id IS NULL THEN 1 END) AS lost,
            count(CASE WHEN (batch.open = 1) = (outcome.job IS NOT NULL) THEN 1 END) AS unmatched
        FROM batch LEFT JOIN message ON message.id = batch.message
            LEFT JOIN outcome ON outcome.job = batch.job AND outcome.pns = batch.pns AND outcome.page = batch.page
                AND outcome.attempt = batch.attempt
        WHERE \(self.range("batch.job")) GROUP BY batch.job
        """
    }

    private var outcomes: SQLStatement {
        """
        SELECT this.job, this.pns, CAST(sum(this.accepted) AS bigint) AS accepted, CAST(sum(this.failed) AS bigint) AS failed,
            CAST(sum(this.expired) AS bigint) AS expired, CAST(sum(this.cancelled) AS bigint) AS cancelled,
            CAST(sum(CASE WHEN this.attempt = 0 THEN
                this.accepted + this.failed + this.expired + this.cancelled + this.retries ELSE 0 END) AS bigint) AS targets,
            count(CASE WHEN batch.job IS NULL THEN 1 END) AS orphans,
            count(CASE WHEN this.retries <> coalesce(
                later.accepted + later.failed + later.expired + later.cancelled + later.retries, waiting.size, 0) THEN 1 END) AS unmatched
        FROM outcome AS this
            LEFT JOIN batch ON batch.job = this.job AND batch.pns = this.pns AND batch.page = this.page
                AND batch.attempt = this.attempt
            LEFT JOIN outcome AS later ON later.job = this.job AND later.pns = this.pns AND later.page = this.page
                AND later.attempt = this.attempt + 1
            LEFT JOIN batch AS waiting ON waiting.job = this.job AND waiting.pns = this.pns AND waiting.page = this.page
                AND waiting.attempt = this.attempt + 1
        WHERE \(self.range("this.job")) GROUP BY this.job, this.pns
        """
    }

    private var recipients: SQLStatement {
        "SELECT job, count(*) AS recipients FROM recipient WHERE \(self.range("job")) GROUP BY job"
    }

    /// The counts of unfinished jobs, which limits go by, and messages whose count of open members is wrong: they would never be deleted,
    /// or too early.
    static let totals: [SQLStatement] = [
        Counts.backlog,
        """
        SELECT count(CASE WHEN NOT \(Self.isScheduled) THEN 1 END) AS unfinished, count(CASE WHEN \(Self.isScheduled) THEN 1 END) AS scheduled
        FROM job WHERE finished IS NULL
        """,
        """
        SELECT count(*) AS wrong FROM message AS m WHERE open <> (
            SELECT count(*) FROM job WHERE sequence BETWEEN m.first AND m.last AND message = m.id AND finished IS NULL)
            + (SELECT count(*) FROM batch WHERE batch.message = m.id AND batch.open = 1)
        """,
    ]

    private static let isScheduled: SQLStatement = "state = \(raw: "\(Job.State.scheduled.number)")"

    static func faults(of totals: ArraySlice<[SQLRow]>) throws -> [String] {
        var rows = totals.compactMap(\.first)[...]
        guard let backlog = rows.popFirst(), let jobs = rows.popFirst(), let messages = rows.popFirst()
        else { return [] }
        let kept = (try backlog["unfinished"] as Int, try backlog["scheduled"] as Int)
        let counted = (try jobs["unfinished"] as Int, try jobs["scheduled"] as Int)
        var faults: [String] = []
        if kept != counted {
            faults.append(
                "\(kept.0) jobs are kept as unfinished and \(kept.1) as scheduled; they are \(counted.0) and \(counted.1)"
            )
        }
        let wrong: Int = try messages["wrong"]
        if wrong > 0 { faults.append("\(wrong) messages count other open members than they have") }
        return faults
    }
}

extension StoreHealth where Self: SQLEngine {
    package func audit(after cursor: Int64, limit: Int) async throws -> Audit {
        let found = try await self.rows(AuditedPiece.jobs(after: cursor, limit: limit))
        var (numbers, listed) = ([Int64](), 0)
        for row in found where listed < AuditedPiece.listed {
            numbers.append(try row["sequence"])
            listed += try (row["work"] as String?).flatMap(Job.Work.listed(in:)) ?? 0
        }
        let piece = AuditedPiece(after: cursor, through: numbers.last ?? cursor)
        let (reads, totals) = (piece.reads, cursor == 0 ? AuditedPiece.totals : [])
        // Together: what changes meanwhile is not to look like a fault.
        let answers = try await self.rows(reads.map(\.statement) + totals)
        var jobs: [Int64: AuditedJob] = [:]
        for (read, rows) in zip(reads, answers) { for row in rows { try read.take(row, &jobs) } }
        var faults = try AuditedPiece.faults(of: answers.dropFirst(reads.count))
        for number in numbers { faults += try jobs[number]?.faults() ?? [] }
        let isWhole = numbers.count == found.count && numbers.count < limit
        return Audit(jobs: numbers.count, faults: faults, next: isWhole ? nil : numbers.last)
    }
}

extension JobSums {
    fileprivate init(_ row: SQLRow) throws {
        self.init(
            targets: try row["targets"],
            accepted: try row["accepted"],
            failed: try row["failed"],
            expired: try row["expired"],
            cancelled: try row["cancelled"]
        )
    }
}

extension AuditedJob {
    fileprivate init(_ row: SQLRow) throws {
        self.init(id: try row["id"], state: try Job.State(number: row["state"]))
        self.isCleared = try row["cleared"]
        self.isFannedOut = try row["fanned_out"]
        self.isFinished = try row["is_finished"]
        self.isStopped = try row["is_stopped"]
        self.hasMessage = try row["has_message"]
        if let pns = try row["inline_pns"] as Int? { self.only = (pns, try row["inline_size"]) }
        self.listed = Job.Work.listed(in: try row["work"])
    }
}

extension Job.Work {
    /// How many devices a stored send's list has; nil if it has none, or cannot be read.
    fileprivate static func listed(in text: String) -> Int? {
        guard case .send(let send) = try? StoredJSON.work(from: Array(text.utf8)), case .list(let list) = send.audience
        else { return nil }
        return list.count
    }
}
