package import PushModel
package import StoreKit

/// Ends jobs behind the transactions that closed their batches, for engines with several writers (rule 14).
///
/// Of two that close the last two batches of a job neither sees the other's. So each looks again when its own is durable: the later of them
/// sees both. Where a process dies in between, the sweep looks.
package enum JobCompletion {
    /// An unfinished job whose audience is in batches that have rows, for a column that is null in all others and so in most of them.
    package static let isFannedOut = "fanned_out = 1 AND finished IS NULL AND inline_pns IS NULL"
    /// How many unfinished jobs a sweep looks at together.
    static let most = 1000

    /// Those of some jobs of which nothing is open any more.
    package static func closed(among jobs: Set<Int64>) -> SQLStatement {
        """
        SELECT job.sequence FROM unnest(\(SQLArray.integers(jobs.sorted()))) AS asked(job) JOIN job ON job.sequence = asked.job
        WHERE \(raw: JobTransition.complete.circumstances) ORDER BY job.sequence
        """
    }

    /// The next unfinished jobs behind one whose audience is in batches, and whether nothing of them is open any more.
    ///
    /// A small send whose only batch has no row is not among them.
    package static func fannedOut(after job: Int64) -> SQLStatement {
        """
        SELECT job.sequence, CASE WHEN \(raw: JobTransition.complete.circumstances) THEN 1 ELSE 0 END AS is_closed
        FROM job WHERE job.closing > \(job) ORDER BY job.closing LIMIT \(Self.most)
        """
    }

    /// Makes jobs final of which nothing is open, in the transaction of whoever holds them.
    package static func complete(_ jobs: SQLArray, _ wall: Timestamp, now: Int64) -> SQLStatement {
        self.complete.statement([.array(jobs), wall.sqlValue, now.sqlValue])
    }

    private static let complete = JobTransitions(.complete, varying: [1])

    /// Makes jobs final, those that are unfinished and of which nothing is open still.
    ///
    /// They are held before: a replay may give one of them another batch.
    package static func completion(of jobs: [Int64], clock: StoreClock) -> SQLTransaction<Ended<Int>> {
        let numbers = SQLArray.integers(jobs.sorted())
        let hold: SQLStatement = """
            SELECT sequence FROM job WHERE sequence = ANY(\(numbers)) ORDER BY sequence\(lock: .update)
            """
        let complete: SQLStatement = "\(Self.complete(numbers, clock.wall, now: clock.now)) RETURNING job.state"
        return SQLTransaction(
            SQLDecision(writing: [hold, complete, JobEndings.backlog(of: jobs)]) { answers in
                let states = try answers[1].rows.map { try Job.State(number: $0["state"]) }
                return Ended(value: states.count, states: states)
            }
        )
    }

    /// How far a sweep has come, and how many jobs it has ended.
    package struct Sweep: Sendable, Equatable {
        /// The job behind which the next one begins; 0 = it begins anew.
        package let mark: Int64
        package let completed: Int
    }
}

extension SQLEngine {
    /// Ends those of some jobs of which nothing is open any more; to be asked behind the transactions that closed their batches.
    ///
    /// - Throws: ``StoreError``; the sweep ends them later.
    package func completeJobs(among jobs: [Int64]) async throws {
        // Looks before it writes: nearly always other batches are open.
        let closed = try await self.rows(JobCompletion.closed(among: Set(jobs))).map { try $0["sequence"] as Int64 }
        guard !closed.isEmpty else { return }
        _ = try await self.end(JobCompletion.completion(of: closed, clock: self.clock))
    }

    /// Ends jobs of which nothing is open any more, though whoever closed their last batch did not come to it: a chore of the leader's.
    ///
    /// - Parameter mark: How far the sweep has come, 0 at first.
    /// - Returns: How far it has come now.
    /// - Throws: ``StoreError``.
    package func completeClosedJobs(after mark: Int64) async throws -> JobCompletion.Sweep {
        let found = try await self.rows(JobCompletion.fannedOut(after: mark))
        let closed = try found.filter { try $0["is_closed"] }.map { try $0["sequence"] as Int64 }
        let completed =
            closed.isEmpty ? 0 : try await self.end(JobCompletion.completion(of: closed, clock: self.clock))
        let last: Int64? = found.count < JobCompletion.most ? nil : try found.last?["sequence"]
        return JobCompletion.Sweep(mark: last ?? 0, completed: completed)
    }
}
