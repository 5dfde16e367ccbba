import Foundation
import PushModel
import Store
import StoreKit
import StoreSQL

extension WriteContext {
    /// Accepts jobs of one app, as ``JobAdmission`` decides.
    func accept(
        _ listed: [ListedJob],
        works: [StoredWork],
        joining message: MessageID?,
        backlog: Int?,
        window: InFlightWindow
    ) throws -> AcceptedJobs {
        guard let app = try ListedJob.app(of: listed) else { return AcceptedJobs() }
        let number = try self.database.ensureNumber(of: app)
        var admission = JobAdmission(
            count: listed.count,
            wall: self.wall,
            window: window,
            joining: try message.flatMap { try self.joinable($0, app: number) }
        )
        if let backlog {
            let counts = try self.backlog()
            admission.limit(to: backlog, unfinished: counts.unfinished, scheduled: counts.scheduled)
        }
        for priority in Priority.allCases {
            for (index, job) in listed.map(\.job).enumerated() where job.priority == priority {
                try admission.decide(
                    on: job,
                    at: index,
                    earlier: job.idempotency.flatMap { try self.earlier(with: $0, app: number) },
                    underWay: self.removalUnderWay(askedBy: job, app: number)
                ) { queue, most in
                    try self.database.jobLoad(of: number, in: queue, priority, now: self.now, most: most)
                }
            }
        }
        return try self.write(admission, listed, works: works, app: number)
    }

    private func write(
        _ admission: JobAdmission,
        _ listed: [ListedJob],
        works: [StoredWork],
        app: Int64
    ) throws -> AcceptedJobs {
        guard !admission.jobs.isEmpty else { return admission.accepted(from: 0, messages: []) }
        // Inside the write transaction the numbers are consecutive.
        let last: Int64? = try self.database.value("SELECT seq FROM sqlite_sequence WHERE name = 'job'")
        let first = (last ?? 0) + 1
        let messages = try admission.messages.map { try self.put($0, from: first, app: app) }
        let rows = admission.jobs.map { admitted in
            JobInserter.NewRow(
                listed: listed[admitted.index],
                work: works[admitted.index],
                state: admitted.state,
                message: admitted.message.map { messages[$0] }
            )
        }
        try JobInserter(context: self, app: app).insert(rows, from: first)
        return admission.accepted(from: first, messages: messages)
    }

    /// Writes a message of new jobs, the first of which has that sequence; returns its number.
    private func put(_ message: JobAdmission.Message, from first: Int64, app: Int64) throws -> Int64 {
        guard let joined = message.joined else {
            return try self.insert(NewMessage(message, from: first, app: app, now: self.now))
        }
        // It was looked at in this transaction.
        let join = try PreparedStatement(
            "UPDATE message SET open = open + ?2, last = ?3 WHERE id = ?1",
            in: self.database
        )
        try join.run(joined, [message.count, Int(message.jobs(from: first).upperBound)])
        return joined
    }

    /// A send message of the app that is neither published nor claimed.
    private func joinable(_ message: MessageID, app: Int64) throws -> JobAdmission.Joinable? {
        try self.database.first(
            """
            SELECT id, priority, open FROM message
            WHERE id = ? AND app = ? AND queue = ? AND state <> \(MessageState.published.rawValue) AND epoch = 0
            """,
            [message.number, app, WorkQueue.send.number]
        ) { .init(id: $0["id"], priority: try Priority(number: $0["priority"]), members: $0["open"]) }
    }

    private func earlier(with key: NewJob.Idempotency, app: Int64) throws -> JobAdmission.Earlier? {
        try self.database.first(
            """
            SELECT idempotency.hash, job.id FROM idempotency JOIN job ON job.sequence = idempotency.job
            WHERE idempotency.app = ? AND idempotency.caller = ? AND idempotency.route = ? AND idempotency.key = ?
            """,
            [app, key.caller, key.route, key.key]
        ) { .init(hash: $0["hash"], job: try JobID(blob: $0["id"])) }
    }

    private func removalUnderWay(askedBy job: NewJob, app: Int64) throws -> JobID? {
        guard let user = job.removal?.user else { return nil }
        let found = try self.database.answer(self.registrations(of: app).removalUnderWay(of: user)).rows.first
        return try found.map { try $0["id"] }
    }
}

/// Inserts jobs, many in one statement: it costs two thirds of one each.
private struct JobInserter {
    /// A job as it is to be inserted.
    struct NewRow {
        let listed: ListedJob
        /// As it is stored.
        let work: StoredWork
        let state: Job.State
        /// nil if it starts later.
        let message: Int64?

        var job: NewJob { self.listed.job }
    }

    private static let jobs = RowInsert(
        """
        job(id, app, user, user_shown, key, kind, priority, platforms, state, work, message, expires, waiter, accepted, starts_at, ends,
            label, request)
        """,
        most: 16
    )
    private static let keys = RowInsert("idempotency(app, caller, route, key, hash, job, created)", most: 16)

    let context: WriteContext
    let app: Int64

    /// Inserts jobs in their order, and what belongs to them.
    ///
    /// - Parameters:
    ///   - rows: The jobs.
    ///   - first: The sequence of the first; the others follow it.
    /// - Throws: ``StoreError`` where they got others; SQLite's error.
    func insert(_ rows: [NewRow], from first: Int64) throws {
        let (database, now, wall) = (self.context.database, self.context.now, self.context.wall)
        try Self.jobs.insert(rows, into: database) { statement, index, row in
            let job = row.job
            try statement.bind(
                [
                    job.id.bytes, self.app, job.user?.key.text, job.user?.shown, job.key, job.work.kind.number,
                    job.priority.rank, job.work.platformBits, row.state.number, row.work.text, row.message,
                    job.expires(accepted: wall), job.waiter, wall, job.startsAt,
                    row.state == .scheduled ? nil : now + job.lifetime.milliseconds, job.label?.text,
                    job.request?.stored,
                ],
                from: index
            )
        }
        guard database.lastInsertedRowID == first + Int64(rows.count - 1) else {
            throw StoreError(.corrupt, "jobs have other sequences than those that were next")
        }
        let keys = zip(first..., rows).compactMap { job, row in row.job.idempotency.map { (job: job, key: $0) } }
        try Self.keys.insert(keys, into: database) { statement, index, keyed in
            let key = keyed.key
            try statement.bind(
                [self.app, key.caller, key.route, key.key, key.hash, keyed.job, wall],
                from: index
            )
        }
        for (sequence, row) in zip(first..., rows) {
            self.context.count(BacklogChange(from: nil, to: row.state))
            if let notification = row.job.notification {
                try self.context.perform(RichRoom.keep(notification, app: "\(self.app)", at: self.context.wall))
            }
            if let tags = row.work.audience {
                try database.run("INSERT INTO audience(job, tags) VALUES (?, ?)", [sequence, tags])
            }
            try self.context.insert(row.listed.recipients, of: sequence, app: self.app)
            if let removal = row.job.removal {
                let registrations = self.context.registrations(of: self.app)
                _ = try self.context.perform(registrations.begin(removal, job: sequence, act: row.job.act))
            }
        }
    }
}
