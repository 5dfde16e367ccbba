import PushModel
import Store
import StoreKit
import StoreSQL

/// A group of outcomes, each of which is recorded once and on its own (rule 3).
///
/// What is open is read in one round trip, and all is written in another, guarded by what was read. So what comes of each outcome is known
/// before anything is written, and a lost answer takes nothing away. Inline batches whose devices were all accepted need not be read: the
/// look before they were sent has found them, and where something has become of one since, the group is read after all.
struct OutcomeRecording: Sendable {
    let outcomes: [BatchOutcome]
    /// Whether inline batches are taken to be where they were found before they were sent.
    let trustsHints: Bool
    let clock: StoreClock
    let handles: HandleDigest

    private func hint(of outcome: BatchOutcome) -> RowHint? {
        let isInline = outcome.key.page == 0 && outcome.key.attempt == 0 && outcome.isAllAccepted
        return self.trustsHints && isInline ? outcome.hint : nil
    }

    var transaction: SQLTransaction<Ended<[Bool]>> { SQLTransaction(reading: self.reads, decide: self.decide) }

    // MARK: Reading

    /// The places of the outcomes whose batches are read.
    private var read: [Int] { self.outcomes.indices.filter { self.hint(of: self.outcomes[$0]) == nil } }

    var reads: [SQLStatement] {
        let places = self.read
        guard !places.isEmpty else { return [] }
        let open = self.open(places)
        let retried = places.filter { !self.outcomes[$0].retries.isEmpty }
        return retried.isEmpty ? [open] : [open, self.calls(retried)]
    }

    private func integers(_ places: [Int], _ value: (BatchOutcome) -> Int64) -> SQLArray {
        .integers(places.map { value(self.outcomes[$0]) })
    }

    private func jobs(_ places: [Int]) -> SQLStatement {
        "\(SQLArray.integers(places.map { Int64($0) })), \(SQLArray.byteStrings(places.map { Array(self.outcomes[$0].key.job.bytes) }))"
    }

    /// The open batches of outcomes, in either form.
    ///
    /// Each is found by its key, and not among all that are open.
    private func open(_ places: [Int]) -> SQLStatement {
        """
        WITH asked AS (
            SELECT * FROM unnest(\(self.jobs(places)), \(self.integers(places) { Int64($0.key.pns.number) }),
                \(self.integers(places) { Int64($0.key.page) }), \(self.integers(places) { Int64($0.key.attempt) })
                ) AS key(place, id, pns, page, attempt))
        SELECT asked.place, job.sequence, job.state, job.ends, job.app, job.priority, batch.from_id, batch.to_id, batch.size, batch.message,
            \(raw: OpenBatch.platform) AS platform, 0 AS is_inline
        FROM asked JOIN job ON job.id = asked.id JOIN batch ON batch.job = job.sequence AND batch.pns = asked.pns
            AND batch.page = asked.page AND batch.attempt = asked.attempt AND +batch.open = 1
            LEFT JOIN template ON template.number = batch.template
        UNION ALL SELECT asked.place, job.sequence, job.state, job.ends, job.app, job.priority, 0, job.inline_to, job.inline_size, job.message,
            NULL, 1
        FROM asked JOIN job ON job.id = asked.id AND job.inline_pns = asked.pns AND job.finished IS NULL
        WHERE asked.page = 0 AND asked.attempt = 0
        """
    }

    /// The calls of hubs of stopped jobs for the devices that are to be tried again.
    private func calls(_ places: [Int]) -> SQLStatement {
        """
        SELECT asked.place, hub_call.number, hub_call.state, hub_call.until
        FROM unnest(\(self.jobs(places)), \(self.integers(places) { Int64($0.key.pns.number) }),
            \(self.integers(places) { $0.retries.map(\.row).min() ?? 0 }), \(self.integers(places) { $0.retries.map(\.row).max() ?? 0 })
            ) AS asked(place, id, pns, first, last)
            JOIN job ON job.id = asked.id AND job.stopped IS NOT NULL
            JOIN hub_call ON hub_call.job = job.sequence AND hub_call.pns = asked.pns
                AND hub_call.number BETWEEN asked.first AND asked.last
        """
    }

    // MARK: Deciding

    /// - Parameter answers: What ``reads`` give.
    /// - Returns: What is written, and for each outcome whether it is recorded.
    /// - Throws: ``StoreError`` unless each accounts for exactly the devices of its attempt.
    func decide(_ answers: [[SQLRow]]) throws -> SQLDecision<Ended<[Bool]>> {
        let open = try (answers.first ?? []).reduce(into: [Int: RecordedBatch]()) {
            $0[try $1["place"]] = try RecordedBatch($1)
        }
        let calls = try Dictionary(grouping: answers.dropFirst().first ?? []) { try $0["place"] as Int }
        var writes = OutcomeWrites(clock: self.clock, handles: self.handles)
        var seen: Set<BatchKey> = []
        let areRecorded = try self.outcomes.enumerated().map { place, outcome in
            guard seen.insert(outcome.key).inserted else { return false }
            if let hint = self.hint(of: outcome) {
                writes.accept(outcome, job: hint.job, message: hint.message.number)
                return true
            }
            guard let batch = open[place] else { return false }
            try writes.record(outcome, of: batch, calls: calls[place] ?? [])
            return true
        }
        let ended = Ended(value: areRecorded, states: writes.ended, closed: writes.closed)
        return SQLDecision(writing: try writes.statements(), giving: ended)
    }
}

/// An open batch that an outcome belongs to.
struct RecordedBatch {
    let job: Int64
    let state: Job.State
    let ends: Int64
    let app: Int64
    let priority: Int
    let rows: (from: Int64, to: Int64)
    let size: Int
    let message: Int64
    let platform: String?
    let isInline: Bool

    fileprivate init(_ row: SQLRow) throws {
        (self.job, self.state) = (try row["sequence"], try Job.State(number: row["state"]))
        (self.ends, self.app, self.priority) = (try row["ends"], try row["app"], try row["priority"])
        (self.rows, self.size) = ((try row["from_id"], try row["to_id"]), try row["size"])
        (self.message, self.platform, self.isInline) = (try row["message"], try row["platform"], try row["is_inline"])
    }
}
