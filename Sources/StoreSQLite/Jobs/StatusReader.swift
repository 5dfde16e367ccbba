import PushModel
import Store
import StoreKit

/// Reads how batches stand, those of a message in one go.
struct StatusReader {
    private let database: Database
    private let message: MessageID?
    private let now: Int64
    /// The message's inline batches, in the order of their jobs.
    private var inline: [InlineRow] = []

    private struct InlineRow {
        let job: JobID
        let sequence: Int64
        let pns: Int64
        let status: BatchStatus
        let began: Int64
        let waiter: String?
    }

    /// The inline batches of a message between two jobs.
    static let inlineBatches = """
        SELECT sequence, id, inline_pns, state, ends, coalesce(starts_at, accepted), waiter FROM job
        WHERE sequence BETWEEN ? AND ? AND message = ? AND \(BatchTable.isInline) ORDER BY sequence
        """

    init(database: Database, message: MessageID?, now: Int64) throws {
        self.database = database
        self.message = message
        self.now = now
        guard let message, let range = try database.jobRange(of: message.number) else { return }
        let statement = try PreparedStatement(Self.inlineBatches, in: database)
        defer { statement.reset() }
        try statement.restart(range.lowerBound, range.upperBound, message.number)
        while try statement.step() {
            guard let id = JobID(bytes: statement.bytes(1)) else {
                throw StoreError(.corrupt, "a row's job id is not 16 bytes")
            }
            self.inline.append(
                InlineRow(
                    job: id,
                    sequence: statement.integer(0),
                    pns: statement.integer(2),
                    status: BatchStatus(
                        ofOpen: try Job.State(number: Int(statement.integer(3))),
                        ends: statement.integer(4),
                        at: now
                    ),
                    began: statement.integer(5),
                    waiter: statement.text(6)
                )
            )
        }
    }

    func status(of batches: [BatchKey]) throws -> [LocatedStatus] {
        let jobs = try PreparedStatement(
            """
            SELECT sequence, state, ends, inline_pns, message, coalesce(starts_at, accepted), waiter FROM job
            WHERE id = ? AND finished IS NULL
            """,
            in: self.database
        )
        let rows = try PreparedStatement(
            "SELECT message FROM batch WHERE job = ? AND pns = ? AND page = ? AND attempt = ? AND open = 1",
            in: self.database
        )
        defer {
            jobs.reset()
            rows.reset()
        }
        // A message's batches come in the order of their jobs.
        var next = 0
        return try batches.map { key in
            if let found = self.inlineBatch(key, next: &next) { return found }
            jobs.reset()
            try jobs.bind(key.job.bytes, at: 1)
            guard try jobs.step() else { return LocatedStatus(.closed) }
            let home: Int64
            // Services count from 1: 0 is what NULL reads as.
            if key.page == 0, key.attempt == 0, jobs.integer(3) == key.pns.number {
                home = jobs.integer(4)
            } else {
                try rows.restart(jobs.integer(0), Int64(key.pns.number), Int64(key.page), Int64(key.attempt))
                guard try rows.step() else { return LocatedStatus(.closed) }
                home = rows.integer(0)
            }
            guard self.message == nil || self.message?.number == home else { return LocatedStatus(.closed) }
            let state = try Job.State(number: Int(jobs.integer(1)))
            return LocatedStatus(
                BatchStatus(ofOpen: state, ends: jobs.integer(2), at: self.now),
                began: Timestamp(milliseconds: jobs.integer(5)),
                waiter: jobs.text(6)
            )
        }
    }

    private func inlineBatch(_ key: BatchKey, next: inout Int) -> LocatedStatus? {
        guard let message = self.message, key.page == 0, key.attempt == 0 else { return nil }
        let isNext = next < self.inline.count && self.inline[next].job == key.job
        guard let index = isNext ? next : self.inline.firstIndex(where: { $0.job == key.job }),
            self.inline[index].pns == key.pns.number
        else { return nil }
        next = index + 1
        let batch = self.inline[index]
        return LocatedStatus(
            batch.status,
            hint: RowHint(job: batch.sequence, message: message),
            began: Timestamp(milliseconds: batch.began),
            waiter: batch.waiter
        )
    }
}
