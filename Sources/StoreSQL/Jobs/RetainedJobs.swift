import PushModel
import Store
import StoreKit

/// Jobs that are kept no longer, with all that belongs to them.
enum RetainedJobs {
    /// A table with rows of jobs.
    struct Table {
        let name: String
        /// Its primary key.
        let key: String

        /// How many rows some jobs have in it, counted up to a limit of all of them; nil = all.
        func sizes(of jobs: [Int64], limit: Int?) -> SQLStatement {
            let end: SQLStatement = limit.map { "LIMIT \($0)" } ?? ""
            return """
                SELECT job, count(*) AS size FROM (SELECT job FROM \(raw: self.name) WHERE job IN (\(numbers: jobs)) \(end)) AS counted
                GROUP BY job
                """
        }

        func removal(of jobs: [Int64]) -> SQLStatement {
            "DELETE FROM \(raw: self.name) WHERE job IN (\(numbers: jobs))"
        }

        func removal(of jobs: [Int64], limit: Int) -> SQLStatement {
            """
            DELETE FROM \(raw: self.name) WHERE (\(raw: self.key)) IN (
                SELECT \(raw: self.key) FROM \(raw: self.name) WHERE job IN (\(numbers: jobs)) LIMIT \(limit))
            """
        }
    }

    /// Those in which a job may have any number of rows.
    static let large = [
        Table(name: "delivery", key: "id"), Table(name: "outcome", key: "job, pns, page, attempt"),
        Table(name: "batch", key: "job, pns, page, attempt"), Table(name: "recipient", key: "job, pns, number"),
        Table(name: "hub_call", key: "job, pns, number"),
    ]

    /// Those in which a job has a handful.
    private static let small = [
        "cursor", "audience", "delivery_count", "user_removal", "platform_count", "idempotency",
    ].map { Table(name: $0, key: "job") }

    /// What is looked at of jobs that may go, in the order of their acceptance: no number is that of two, as the time of an end may be, and
    /// so a page of those that may not go keeps none behind it.
    ///
    /// - Parameters:
    ///   - cursor: The number of the first.
    ///   - limit: The most jobs.
    /// - Returns: The statement.
    static func candidates(from cursor: Int64, limit: Int) -> SQLStatement {
        """
        SELECT sequence, finished, accepted, expires, ends,
            (SELECT max(created) FROM idempotency WHERE idempotency.job = job.sequence) AS key,
            EXISTS (SELECT 1 FROM dead WHERE dead.job = job.id) AS has_letter
        FROM job WHERE sequence >= \(cursor) ORDER BY sequence LIMIT \(limit)
        """
    }

    /// What a chunk removes.
    struct Removal: Sendable {
        let rows: Int
        /// The first job that is left; nil = all are gone.
        let next: Int64?
    }

    /// How many rows the jobs have, a statement a table; a limit that is reached says that there are more.
    static func sizes(of jobs: [Int64], limit: Int) -> [SQLStatement] {
        self.large.map { $0.sizes(of: jobs, limit: limit + 1) } + self.small.map { $0.sizes(of: jobs, limit: nil) }
    }

    /// Removes final jobs whole, as many as have so few rows; where the first has more, or nobody knows which has how many, some rows.
    static func removal(of jobs: [Int64], before: Int64, limit: Int) -> SQLTransaction<Removal> {
        // Somebody else may have removed some, or a dead letter may be replayed.
        let present: SQLStatement = "SELECT sequence FROM job WHERE \(self.areOld(jobs, before))"
        return SQLTransaction(reading: [present] + self.sizes(of: jobs, limit: limit)) { answers in
            let found = Set(try answers[0].map { try $0["sequence"] as Int64 })
            let sizes = try answers.dropFirst().map { rows in
                try rows.reduce(into: [Int64: Int]()) { $0[try $1["job"]] = try $1["size"] }
            }
            return self.removal(of: jobs.filter(found.contains), sizes, before: before, limit: limit)
        }
    }

    private static func removal(
        of jobs: [Int64],
        _ sizes: [[Int64: Int]],
        before: Int64,
        limit: Int
    ) -> SQLDecision<Removal> {
        let large = sizes.prefix(self.large.count)
        guard let first = jobs.first else { return .nothing(Removal(rows: 0, next: nil)) }
        guard large.allSatisfy({ $0.values.reduce(0, +) <= limit }) else {
            return self.part(of: jobs, sizes: sizes, before: before, limit: limit)
        }
        func size(_ job: Int64, _ sizes: some Sequence<[Int64: Int]>) -> Int {
            sizes.reduce(0) { $0 + ($1[job] ?? 0) }
        }
        var (whole, rows) = ([Int64](), 0)
        for job in jobs {
            let size = 1 + size(job, sizes)
            guard rows + size <= limit else { break }
            whole.append(job)
            rows += size
        }
        if whole.isEmpty {
            guard size(first, large) == 0 else {
                return self.part(of: [first], sizes: sizes, before: before, limit: limit)
            }
            (whole, rows) = ([first], 1 + size(first, sizes))
        }
        // The job's own row is last, because it has the counts.
        let removals = (self.large + self.small).map { $0.removal(of: whole) }
        let last: SQLStatement = "DELETE FROM job WHERE sequence IN (\(numbers: whole))"
        return SQLDecision(
            writing: [self.hold(whole, before: before)] + removals + [last],
            giving: Removal(rows: rows, next: jobs.dropFirst(whole.count).first)
        )
    }

    /// Removes some rows of jobs of which more than a chunk's are left.
    private static func part(
        of jobs: [Int64],
        sizes: [[Int64: Int]],
        before: Int64,
        limit: Int
    ) -> SQLDecision<Removal> {
        let asked = Set(jobs)
        var (writes, left) = ([self.hold(jobs, before: before)], limit)
        for (table, sizes) in zip(self.large, sizes) where left > 0 {
            let count = min(left, sizes.reduce(0) { $0 + (asked.contains($1.key) ? $1.value : 0) })
            guard count > 0 else { continue }
            writes.append(table.removal(of: jobs, limit: count))
            left -= count
        }
        // Their rows no longer add up, and the audit skips cleared jobs.
        writes.append("UPDATE job SET cleared = 1 WHERE sequence IN (\(numbers: jobs)) AND cleared = 0")
        return SQLDecision(writing: writes, giving: Removal(rows: limit - left, next: jobs.first))
    }

    private static func areOld(_ jobs: [Int64], _ before: Int64) -> SQLStatement {
        "sequence IN (\(numbers: jobs)) AND finished <= \(before)"
    }

    /// Nobody replays a dead letter of theirs meanwhile.
    private static func hold(_ jobs: [Int64], before: Int64) -> SQLStatement {
        let held: SQLStatement = """
            SELECT sequence FROM job WHERE \(self.areOld(jobs, before)) ORDER BY sequence\(lock: .update)
            """
        return held.expecting(jobs.count)
    }
}

extension SQLEngine {
    /// Removes single devices of final jobs that are old enough.
    ///
    /// Goes through the table in the order of recording; devices of jobs that are not final are passed over.
    func removeDevices(_ age: RetentionAge, after cursor: Int64, limit: Int) async throws -> ChoreChunk {
        let rows = try await self.rows("SELECT id, at FROM delivery WHERE id > \(cursor) ORDER BY id LIMIT \(limit)")
        let old = try rows.prefix { age.passes(try $0["at"]) }
        guard let last: Int64 = try old.last?["id"] else { return ChoreChunk(rows: 0) }
        let removed = try await self.remove(
            """
            DELETE FROM delivery WHERE id > \(cursor) AND id <= \(last) AND at <= \(age.before)
                AND EXISTS (SELECT 1 FROM job WHERE sequence = delivery.job AND finished IS NOT NULL)
            """
        )
        return ChoreChunk(rows: removed, next: old.count == limit ? last : nil)
    }

    /// Removes jobs that were final then, with all that is theirs.
    func removeJobs(_ age: RetentionAge, from cursor: Int64, limit: Int) async throws -> ChoreChunk {
        let most = min(limit, 500)
        let found = try await self.rows(RetainedJobs.candidates(from: cursor, limit: most)).map { row in
            (sequence: try row["sequence"] as Int64, job: try RetainedJob(row))
        }
        let now = self.clock.cautious.milliseconds
        let old = found.filter { $0.job.mayGo(before: age.before, now: now) }
        // Those behind a page that is too young are younger; behind one job they need not be, for one that started late began late.
        let goesOn = found.count == most && found.contains { age.passes($0.job.began) }
        let next = goesOn ? found.last.map { $0.sequence + 1 } : nil
        guard !old.isEmpty else { return ChoreChunk(rows: 0, next: next) }
        let removed = try await self.perform(
            RetainedJobs.removal(of: old.map(\.sequence), before: age.before, limit: limit)
        )
        return ChoreChunk(rows: removed.rows, next: removed.next ?? next)
    }
}

extension RetainedJob {
    fileprivate init(_ row: SQLRow) throws {
        self.init(
            finished: try row["finished"],
            accepted: try row["accepted"],
            expires: try row["expires"],
            ends: try row["ends"],
            key: try row["key"],
            hasDeadLetter: try row["has_letter"]
        )
    }
}
