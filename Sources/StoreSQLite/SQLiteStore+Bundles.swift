import Foundation
import GRDB
package import PushModel
package import Store
import StoreKit

extension SQLiteStore: BundleStore {
    package func accept(together jobs: [NewJob], joining mayJoin: Bool) async throws -> GroupAcceptance {
        let works = try jobs.map { try StoredJSON.text(work: $0.work) }
        let limit = self.configuration.maximumBacklog
        return try await self.write(.of(rows: jobs.count)) {
            try $0.accept(jobs, works: works, joining: mayJoin, backlog: limit)
        }
    }

    package func markPublished(bundles: [SendBundle], lease: Duration) async throws {
        guard !bundles.isEmpty else { return }
        // Looks before it writes: most have been taken by the time they are marked.
        let left = try await self.read { database in
            try bundles.filter { bundle in
                try database.exists(
                    "SELECT 1 FROM bundle WHERE id = ? AND epoch = ?",
                    [bundle.id.number, bundle.epoch]
                )
            }
        }
        guard !left.isEmpty else { return }
        try await self.write { context in
            for bundle in left {
                try context.database.run(
                    // A planner that took it meanwhile has given it a lease, or has given it back: that stays.
                    "UPDATE bundle SET due = max(due, ?) WHERE id = ? AND epoch = ?",
                    [context.now + lease.milliseconds, bundle.id.number, bundle.epoch]
                )
            }
        }
    }

    package func dueBundles(overdue: Duration, limit: Int) async throws -> [SendBundle] {
        let before = self.clock.now - overdue.milliseconds
        return try await self.read { database in
            var found: [SendBundle] = []
            for priority in Priority.allCases.sorted() where found.count < limit {
                found += try database.dueBundles(priority, before: before, limit: limit - found.count)
            }
            return found
        }
    }

    package func takeApart(_ bundle: BundleID) async throws {
        try await self.write { try $0.takeApart(bundle) }
    }

    package func markPublished(parcels: [ParcelID], lease: Duration) async throws {
        guard !parcels.isEmpty else { return }
        // Looks before it writes: most have been delivered by the time they are marked.
        let open = try await self.read { database in
            try parcels.filter { try database.exists("SELECT 1 FROM parcel WHERE id = ?", [$0.number]) }
        }
        guard !open.isEmpty else { return }
        try await self.write { context in
            for parcel in open {
                try context.database.run(
                    "UPDATE parcel SET due = ? WHERE id = ?",
                    [context.now + lease.milliseconds, parcel.number]
                )
            }
        }
    }

    package func takeApartParcels(limit: Int) async throws -> Int {
        let now = self.clock.now
        // Looks before it writes: an idle store stays idle.
        let due = try await self.read { database in
            try database.all(
                "SELECT id, last - first + 1 FROM parcel WHERE due <= ? ORDER BY due LIMIT ?",
                [now, limit]
            ) { (id: ParcelID(number: $0[0]), jobs: $0[1] as Int) }
        }
        var room = limit
        let taken = due.prefix { parcel in
            defer { room -= parcel.jobs }
            return room == limit || parcel.jobs <= room
        }
        guard !taken.isEmpty else { return 0 }
        try await self.write { context in
            for parcel in taken { try context.takeApart(parcel.id, ifDueBy: now) }
        }
        return taken.count
    }
}

extension Database {
    /// Due bundles of a priority, of each app its share: however many one has, the others are found behind its first.
    fileprivate func dueBundles(_ priority: Priority, before: Int64, limit: Int) throws -> [SendBundle] {
        var apps: [Int64] = []
        while let next = try self.first(
            "SELECT app FROM bundle WHERE priority = ? AND app > ? ORDER BY app LIMIT 1",
            [priority.rank, apps.last ?? -1],
            read: { $0[0] as Int64 }
        ) {
            apps.append(next)
        }
        var found: [SendBundle] = []
        for (index, app) in apps.enumerated() where found.count < limit {
            guard try !self.isPaused(.send, app: app) else { continue }
            // What one app leaves of its share is the next ones'.
            let share = max(1, (limit - found.count) / (apps.count - index))
            found += try self.all(
                """
                SELECT bundle.id, app.name, bundle.epoch FROM bundle JOIN app ON app.number = bundle.app
                WHERE bundle.priority = ? AND bundle.app = ? AND bundle.due <= ? ORDER BY bundle.due LIMIT ?
                """,
                [priority.rank, app, before, share]
            ) {
                SendBundle(
                    id: BundleID(number: $0[0]),
                    app: try AppID(stored: $0[1]),
                    priority: priority,
                    epoch: $0[2]
                )
            }
        }
        return found
    }
}

extension WriteContext {
    /// Accepts jobs of one app, those of one priority next to each other, so that a bundle is a range of them.
    fileprivate func accept(
        _ jobs: [NewJob],
        works: [String],
        joining mayJoin: Bool,
        backlog: Int?
    ) throws -> GroupAcceptance {
        var result = GroupAcceptance()
        guard let app = jobs.first?.app else { return result }
        guard jobs.count <= SendBundle.maximumJobs, jobs.allSatisfy({ $0.app == app }) else {
            throw StoreError(.corrupt, "jobs that cannot be accepted together")
        }
        let number = try self.database.ensureNumber(of: app)
        // For those that start now, and for those that start later.
        var (room, later) = (Int.max, Int.max)
        if let backlog {
            let counts = try self.backlog()
            (room, later) = (max(0, backlog - counts.unfinished), max(0, backlog - counts.scheduled))
        }
        var answers = [GroupAcceptance.Answer](repeating: .backlogFull, count: jobs.count)
        let inserter = JobInserter(context: self, app: number)
        for priority in Priority.allCases {
            var range: ClosedRange<Int64>?
            var next: [Int] = []
            func insert() throws {
                guard !next.isEmpty else { return }
                let first = try inserter.insert(next.map { (jobs[$0], works[$0]) })
                for (offset, index) in next.enumerated() {
                    let sequence = first + Int64(offset)
                    let accepted = jobs[index].job(
                        sequence: sequence,
                        accepted: self.wall,
                        state: inserter.state(of: jobs[index])
                    )
                    answers[index] = .accepted(accepted)
                    if inserter.isBundled(jobs[index]) {
                        range = (range?.lowerBound ?? sequence)...sequence
                    } else if accepted.state == .queued {
                        result.singles.append(accepted)
                    }
                }
                next = []
            }
            for (index, job) in jobs.enumerated() where job.priority == priority {
                if let key = job.idempotency {
                    // The first request with that key may be among those that are not written yet.
                    if next.contains(where: { jobs[$0].idempotency?.isSame(as: key) == true }) { try insert() }
                    if let earlier = try self.earlierAnswer(key, app: number) {
                        answers[index] = earlier
                        continue
                    }
                }
                let isScheduled = job.startsLater(than: self.wall)
                guard (isScheduled ? later : room) > 0 else { continue }
                if isScheduled { later -= 1 } else { room -= 1 }
                next.append(index)
                if next.count == JobInserter.most { try insert() }
            }
            try insert()
            guard let range else { continue }
            let joined = mayJoin ? try self.extendBundle(by: range, app: number, priority: priority) : nil
            let id = try joined ?? self.insertBundle(of: range, app: number, priority: priority)
            result.bundles.append(SendBundle(id: id, app: app, priority: priority))
        }
        result.answers = answers
        return result
    }

    private func earlierAnswer(_ key: NewJob.Idempotency, app: Int64) throws -> GroupAcceptance.Answer? {
        let kept = try self.database.first(
            """
            SELECT idempotency.hash, job.id FROM idempotency JOIN job ON job.sequence = idempotency.job
            WHERE idempotency.app = ? AND idempotency.caller = ? AND idempotency.route = ? AND idempotency.key = ?
            """,
            [app, key.caller, key.route, key.key]
        ) { (hash: $0[0] as Data, id: try JobID(blob: $0[1])) }
        return kept.map { $0.hash.elementsEqual(key.hash) ? .repeated($0.id) : .keyReused }
    }

    /// Adds jobs to the latest bundle.
    ///
    /// A planner that has looked at it goes on with them: whether it is at the end is asked in the transaction that ends it. One that
    /// is claimed may wait for a window or a lease, and is left alone.
    ///
    /// - Returns: The bundle; nil where it is another app's or priority's, is claimed or full, or there is none.
    private func extendBundle(by jobs: ClosedRange<Int64>, app: Int64, priority: Priority) throws -> BundleID? {
        try self.database.first(
            """
            UPDATE bundle SET last = ?1
            WHERE id = (SELECT max(id) FROM bundle) AND app = ?2 AND priority = ?3 AND epoch = 0 AND ?1 - first < ?4
            RETURNING id
            """,
            [jobs.upperBound, app, priority.rank, SendBundle.maximumJobs]
        ) { BundleID(number: $0[0]) }
    }

    private func insertBundle(of jobs: ClosedRange<Int64>, app: Int64, priority: Priority) throws -> BundleID {
        try self.database.run(
            "INSERT INTO bundle(app, priority, first, last, due) VALUES (?, ?, ?, ?, ?)",
            [app, priority.rank, jobs.lowerBound, jobs.upperBound, self.now]
        )
        return BundleID(number: self.database.lastInsertedRowID)
    }

    /// Has what is left of a bundle go the ordinary way.
    func takeApart(_ bundle: BundleID) throws {
        let range = try self.database.first(
            "DELETE FROM bundle WHERE id = ? RETURNING first, last, app, priority",
            [bundle.number]
        ) { (first: $0[0] as Int64, last: $0[1] as Int64, app: $0[2] as Int64, priority: $0[3] as Int) }
        guard let range else { return }
        try self.database.run(
            """
            UPDATE job SET due = ? WHERE sequence BETWEEN ? AND ? AND +app = ? AND priority = ?
                AND \(BundleWriter.isPending)
            """,
            [self.now, range.first, range.last, range.app, range.priority]
        )
    }

    /// Has what is open of a parcel be published for itself.
    ///
    /// - Parameters:
    ///   - parcel: The parcel.
    ///   - moment: Only where it is due by then; nil = in any case.
    /// - Throws: What SQLite says.
    func takeApart(_ parcel: ParcelID, ifDueBy moment: Int64 = .max) throws {
        try self.free(parcel, ifDueBy: moment, published: 0, due: self.now, reason: nil)
    }

    /// Gives what is open of a parcel back.
    func park(_ parcel: ParcelID, for pause: Duration, reason: String) throws {
        try self.free(parcel, published: -1, due: self.now + pause.milliseconds, reason: String(reason.prefix(200)))
    }

    /// Ends a parcel, and has each of its open batches stand for itself.
    private func free(
        _ parcel: ParcelID,
        ifDueBy moment: Int64 = .max,
        published: Int,
        due: Int64,
        reason: String?
    ) throws {
        let range = try self.database.first(
            "DELETE FROM parcel WHERE id = ? AND due <= ? RETURNING first, last",
            [parcel.number, moment]
        ) { (first: $0[0] as Int64, last: $0[1] as Int64) }
        guard let range else { return }
        try self.writeOutBatches(of: parcel.number, jobs: range.first...range.last)
        try self.database.run(
            """
            UPDATE batch SET published = ?, due = ?, parcel = NULL, carried_reason = ?
            WHERE job BETWEEN ? AND ? AND parcel = ? AND open = 1
            """,
            [published, due, reason, range.first, range.last, parcel.number]
        )
    }
}

extension Job.Work {
    /// Whether it is a send that can be planned in one step, together with others: to the devices of one tag.
    fileprivate var isSmall: Bool {
        if case .send(let send) = self { send.audience.onlyTag != nil } else { false }
    }
}

extension NewJob.Idempotency {
    /// Whether both are for one request, be it the same or not.
    fileprivate func isSame(as other: Self) -> Bool {
        self.key == other.key && self.caller == other.caller && self.route == other.route
    }
}

/// Inserts the jobs of a group, many in one statement: it costs two thirds of one each, and no object for each of their values.
private struct JobInserter {
    /// The most jobs in one statement.
    static let most = 16
    /// So many are inserted at a time, as many as are left: statements that stay prepared.
    private static let statements = [Self.most, 8, 4, 2, 1].map { (rows: $0, sql: Self.statement(rows: $0)) }

    private let context: WriteContext
    private let app: Int64

    init(context: WriteContext, app: Int64) {
        self.context = context
        self.app = app
    }

    func state(of job: NewJob) -> Job.State { job.startsLater(than: self.context.wall) ? .scheduled : .queued }

    func isBundled(_ job: NewJob) -> Bool { job.work.isSmall && self.state(of: job) == .queued }

    /// Inserts jobs in their order.
    ///
    /// - Parameter jobs: With their works as they are stored; at most ``most``, and at least one.
    /// - Returns: The sequence of the first; the others follow it.
    /// - Throws: What SQLite says.
    func insert(_ jobs: [(job: NewJob, work: String)]) throws -> Int64 {
        var rest = jobs[...]
        for step in Self.statements {
            while rest.count >= step.rows {
                try self.insertRows(rest.prefix(step.rows), by: RawStatement(step.sql, in: self.context.database))
                rest = rest.dropFirst(step.rows)
            }
        }
        // Nobody else writes meanwhile, and each has the number behind the last.
        let first = self.context.database.lastInsertedRowID - Int64(jobs.count - 1)
        for (offset, (job, _)) in jobs.enumerated() {
            self.context.countAccepted(self.state(of: job))
            let sequence = first + Int64(offset)
            try self.context.database.insertAudience(of: job.work, job: sequence)
            if let key = job.idempotency { try self.insert(key, of: sequence) }
        }
        return first
    }

    private static func statement(rows: Int) -> String {
        """
        INSERT INTO job(id, app, user, key, kind, priority, platforms, state, work, due, expires, waiter, traceparent, accepted,
            starts_at, ends)
        VALUES \(Array(repeating: "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", count: rows).joined(separator: ", "))
        """
    }

    private func insertRows(_ jobs: ArraySlice<(job: NewJob, work: String)>, by statement: RawStatement) throws {
        var place: Int32 = 0
        func next() -> Int32 {
            place += 1
            return place
        }
        for (job, work) in jobs {
            let state = self.state(of: job)
            try statement.bind(job.id.bytes, at: next())
            try statement.bind(self.app, at: next())
            try statement.bind(job.user?.name, at: next())
            try statement.bind(job.key, at: next())
            try statement.bind(Int64(job.work.kind.number), at: next())
            try statement.bind(Int64(job.priority.rank), at: next())
            try statement.bind(Int64(job.work.platformBits), at: next())
            try statement.bind(Int64(state.number), at: next())
            try statement.bind(work, at: next())
            try statement.bind(self.isBundled(job) || state == .scheduled ? nil : self.context.now, at: next())
            try statement.bind(job.expires(accepted: self.context.wall).milliseconds, at: next())
            try statement.bind(job.waiter, at: next())
            try statement.bind(job.traceparent, at: next())
            try statement.bind(self.context.wall.milliseconds, at: next())
            try statement.bind(job.startsAt?.milliseconds, at: next())
            try statement.bind(state == .scheduled ? nil : self.context.end(of: job), at: next())
        }
        // Sixteen large ones are some megabytes.
        defer { statement.clear() }
        try statement.run()
    }

    private func insert(_ key: NewJob.Idempotency, of job: Int64) throws {
        let statement = try RawStatement(
            "INSERT INTO idempotency(app, caller, route, key, hash, job, created) VALUES (?, ?, ?, ?, ?, ?, ?)",
            in: self.context.database
        )
        try statement.bind(self.app, at: 1)
        try statement.bind(key.caller, at: 2)
        try statement.bind(key.route, at: 3)
        try statement.bind(key.key, at: 4)
        try statement.bind(key.hash, at: 5)
        try statement.bind(job, at: 6)
        try statement.bind(self.context.wall.milliseconds, at: 7)
        try statement.run()
    }
}
