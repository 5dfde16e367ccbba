import Foundation
import GRDB
import PushModel
import Store
import StoreKit
import StoreSQL

extension WriteContext {
    /// Accepts jobs of one app, those of one priority next to each other.
    func accept(
        _ listed: [ListedJob],
        works: [StoredWork],
        joining message: MessageID?,
        backlog: Int?,
        flow: FlowControl
    ) throws -> AcceptedJobs {
        let jobs = listed.map(\.job)
        guard let app = jobs.first?.app else { return AcceptedJobs() }
        guard jobs.count <= OutboxMessage.maximumMembers, jobs.allSatisfy({ $0.app == app }) else {
            throw StoreError(.corrupt, "jobs that cannot be accepted together")
        }
        var group = try JobGroup(context: self, app: app, backlog: backlog, count: jobs.count, joining: message)
        for priority in Priority.allCases {
            var window = JobWindow(flow: flow, now: self.now, app: group.number, priority: priority)
            for (index, job) in jobs.enumerated() where job.priority == priority {
                try group.take(index, job, listed[index].recipients, work: works[index], within: &window)
            }
            try group.end(priority)
        }
        return group.result
    }
}

/// Accepts the jobs of a group one after the other, and inserts many in one statement.
private struct JobGroup {
    private let context: WriteContext
    private let app: AppID
    let number: Int64
    private let inserter: JobInserter
    /// How many more may be accepted that start now, and that start later.
    private var capacity = (now: Int.max, later: Int.max)
    private var next: [(index: Int, row: JobInserter.NewRow)] = []
    /// The most jobs that are accepted.
    private let count: Int
    /// A message that small sends may join.
    private let joining: MessageID?
    /// The message that small sends of the present priority share.
    private var shared: SharedMessage?
    /// New messages for which the app's window has no room.
    private var deferred: Set<Int64> = []
    private(set) var result = AcceptedJobs()

    private struct SharedMessage {
        let id: Int64
        /// Whether it was there before.
        var isJoined = false
        var members = 0
        var jobs: ClosedRange<Int64>?

        mutating func add(_ job: Int64) {
            self.members += 1
            self.jobs = (self.jobs?.lowerBound ?? job)...job
        }
    }

    init(context: WriteContext, app: AppID, backlog: Int?, count: Int, joining: MessageID?) throws {
        self.context = context
        (self.count, self.joining) = (count, joining)
        self.app = app
        self.number = try context.database.ensureNumber(of: app)
        self.inserter = JobInserter(context: context, app: self.number)
        self.result.answers = Array(repeating: .backlogFull, count: count)
        guard let backlog else { return }
        let counts = try context.backlog()
        self.capacity = (max(0, backlog - counts.unfinished), max(0, backlog - counts.scheduled))
    }

    mutating func take(
        _ index: Int,
        _ job: NewJob,
        _ recipients: [Recipient],
        work: StoredWork,
        within window: inout JobWindow
    ) throws {
        if let key = job.idempotency {
            // The first request with that key may be among those that are not written yet.
            if self.next.contains(where: { $0.row.job.idempotency?.isSame(as: key) == true }) { try self.insert() }
            if let earlier = try self.earlierAnswer(key) {
                self.result.answers[index] = earlier
                return
            }
        }
        if case .register(.removeUser(let user?, _)) = job.work,
            let underWay = try self.context.removal(of: user, app: self.number)
        {
            self.result.answers[index] = .repeated(underWay)
            return
        }
        // Jobs scheduled for later do not use up the backlog of present ones.
        let isScheduled = job.startsLater(than: self.context.wall)
        guard (isScheduled ? self.capacity.later : self.capacity.now) > 0 else { return }
        if isScheduled { self.capacity.later -= 1 } else { self.capacity.now -= 1 }
        if let notification = job.notification {
            try self.context.perform(RichTable.keep(notification, app: "\(self.number)", at: self.context.wall))
        }
        let message = isScheduled ? nil : try self.message(for: job, within: &window)
        let state: Job.State = isScheduled ? .scheduled : .queued
        let row = JobInserter.NewRow(job: job, recipients: recipients, work: work, state: state, message: message)
        self.next.append((index, row))
        if self.next.count == JobInserter.most { try self.insert() }
    }

    /// Writes the remaining jobs of a priority, and ends its shared message.
    mutating func end(_ priority: Priority) throws {
        try self.insert()
        guard let shared = self.shared, let jobs = shared.jobs else { return }
        try self.setMembers(of: shared.id, count: shared.members, jobs: jobs)
        self.shared = nil
        if !shared.isJoined { self.add(shared.id, in: .send, priority) }
    }

    /// Adds a new message to the result.
    private mutating func add(_ id: Int64, in queue: WorkQueue, _ priority: Priority) {
        let message = OutboxMessage(id: MessageID(number: id), app: self.app, queue: queue, priority: priority)
        if self.deferred.contains(id) {
            self.result.deferred.append(message)
        } else {
            self.result.messages.append(message)
        }
    }

    /// The message of a job that starts now: one that it shares, where it is a send to one tag.
    private mutating func message(for job: NewJob, within window: inout JobWindow) throws -> Int64 {
        if job.work.isSmall {
            if self.shared == nil { self.shared = try self.messageToJoin(job.priority) }
            if let shared = self.shared { return shared.id }
        }
        let queue: WorkQueue = job.work.kind == .register ? .register : .send
        let state = try window.begin(in: queue, self.context.database)
        let id = try self.context.insertMessage(
            queue: queue,
            app: self.number,
            priority: job.priority.rank,
            state: state,
            due: self.context.now,
            members: 1
        )
        if state == .deferred { self.deferred.insert(id) }
        if job.work.isSmall { self.shared = SharedMessage(id: id) }
        return id
    }

    /// The message that sends of a priority may join, as it is.
    private func messageToJoin(_ priority: Priority) throws -> SharedMessage? {
        guard let joining else { return nil }
        return try self.context.database.first(
            """
            SELECT id, open, first, last FROM message
            WHERE id = ? AND app = ? AND priority = ? AND queue = ? AND state <> ? AND epoch = 0 AND open + ? <= ?
            """,
            [
                joining.number, self.number, priority.rank, WorkQueue.send.number, MessageState.published.rawValue,
                self.count,
                OutboxMessage.maximumMembers,
            ]
        ) { SharedMessage(id: $0[0], isJoined: true, members: $0[1], jobs: $0[2]...($0[3] as Int64)) }
    }

    private mutating func insert() throws {
        guard !self.next.isEmpty else { return }
        let first = try self.inserter.insert(self.next.map(\.row))
        for (offset, (index, row)) in self.next.enumerated() {
            let sequence = first + Int64(offset)
            self.result.answers[index] = .accepted(
                row.job.job(sequence: sequence, accepted: self.context.wall, state: row.state)
            )
            guard let message = row.message else { continue }
            if self.shared?.id == message {
                self.shared?.add(sequence)
            } else {
                try self.setMembers(of: message, count: 1, jobs: sequence...sequence)
                self.add(message, in: row.job.work.kind == .register ? .register : .send, row.job.priority)
            }
        }
        self.next = []
    }

    private func setMembers(of message: Int64, count: Int, jobs: ClosedRange<Int64>) throws {
        let set = try RawStatement(
            "UPDATE message SET open = ?2, first = ?3, last = ?4 WHERE id = ?1",
            in: self.context.database
        )
        try set.run(message, [count, Int(jobs.lowerBound), Int(jobs.upperBound)])
    }

    private func earlierAnswer(_ key: NewJob.Idempotency) throws -> JobAcceptance? {
        let kept = try self.context.database.first(
            """
            SELECT idempotency.hash, job.id FROM idempotency JOIN job ON job.sequence = idempotency.job
            WHERE idempotency.app = ? AND idempotency.caller = ? AND idempotency.route = ? AND idempotency.key = ?
            """,
            [self.number, key.caller, key.route, key.key]
        ) { (hash: $0[0] as Data, id: try JobID(blob: $0[1])) }
        return kept.map { $0.hash.elementsEqual(key.hash) ? .repeated($0.id) : .keyReused }
    }
}

/// Inserts jobs, many in one statement: it costs two thirds of one each, and no object for each of their values.
private struct JobInserter {
    /// A job as it is to be inserted.
    struct NewRow {
        let job: NewJob
        let recipients: [Recipient]
        let work: StoredWork
        let state: Job.State
        /// nil where it starts later.
        let message: Int64?
    }

    /// The most jobs in one statement.
    static let most = 16
    /// So many are inserted at a time, as many as are left: statements that stay prepared.
    private static let statements = [Self.most, 8, 4, 2, 1].map { (rows: $0, sql: Self.statement(rows: $0)) }

    let context: WriteContext
    let app: Int64

    /// Inserts jobs in their order.
    ///
    /// - Parameter rows: At most ``most``, and at least one.
    /// - Returns: The sequence of the first; the others follow it.
    /// - Throws: SQLite's error.
    func insert(_ rows: [NewRow]) throws -> Int64 {
        var rest = rows[...]
        for step in Self.statements {
            while rest.count >= step.rows {
                try self.insert(rest.prefix(step.rows), by: RawStatement(step.sql, in: self.context.database))
                rest = rest.dropFirst(step.rows)
            }
        }
        // Inside the write transaction the numbers are consecutive.
        let first = self.context.database.lastInsertedRowID - Int64(rows.count - 1)
        for (offset, row) in rows.enumerated() {
            let isScheduled = row.state == .scheduled
            self.context.countBacklog(unfinished: isScheduled ? 0 : 1, scheduled: isScheduled ? 1 : 0)
            let sequence = first + Int64(offset)
            if let tags = row.work.audience { try self.context.database.insertAudience(tags, of: sequence) }
            try self.context.insert(row.recipients, of: sequence, app: self.app)
            if let key = row.job.idempotency { try self.insert(key, of: sequence) }
            if case .register(.removeUser(let user?, let withAccount)) = row.job.work {
                try self.context.beginRemoval(of: user, withAccount: withAccount, app: self.app, job: sequence)
            }
        }
        return first
    }

    private static func statement(rows: Int) -> String {
        """
        INSERT INTO job(id, app, user, user_shown, key, kind, priority, platforms, state, work, message, expires, waiter, accepted,
            starts_at, ends, label)
        VALUES \(Array(repeating: "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", count: rows).joined(separator: ", "))
        """
    }

    private func insert(_ rows: ArraySlice<NewRow>, by statement: RawStatement) throws {
        var place: Int32 = 0
        func next() -> Int32 {
            place += 1
            return place
        }
        for row in rows {
            let job = row.job
            try statement.bind(job.id.bytes, at: next())
            try statement.bind(self.app, at: next())
            try statement.bind(job.user?.key.text, at: next())
            try statement.bind(job.user?.shown, at: next())
            try statement.bind(job.key, at: next())
            try statement.bind(Int64(job.work.kind.number), at: next())
            try statement.bind(Int64(job.priority.rank), at: next())
            try statement.bind(Int64(job.work.platformBits), at: next())
            try statement.bind(Int64(row.state.number), at: next())
            try statement.bind(row.work.text, at: next())
            try statement.bind(row.message, at: next())
            try statement.bind(job.expires(accepted: self.context.wall).milliseconds, at: next())
            try statement.bind(job.waiter, at: next())
            try statement.bind(self.context.wall.milliseconds, at: next())
            try statement.bind(job.startsAt?.milliseconds, at: next())
            let ends = self.context.now + job.lifetime.milliseconds
            try statement.bind(row.state == .scheduled ? nil : ends, at: next())
            try statement.bind(job.label?.text, at: next())
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

extension Job.Work {
    /// Whether it is a send that can be fanned out in one step, together with others: to the devices of one tag, or to a few.
    fileprivate var isSmall: Bool {
        guard case .send(let send) = self else { return false }
        if let count = send.audience.listed { return count <= SmallSend.maximumDevices }
        return send.audience.onlyTag != nil && send.content.kind == .native
    }

    /// The services that the work names, as bits; 0 = it names none.
    fileprivate var platformBits: Int {
        switch self {
        case .send(let request): request.platforms.reduce(0) { $0 | $1.bit }
        case .register(.upsert(_, let upsert)), .register(.create(_, let upsert)): upsert.pns.bit
        case .register(.install(let installation)): installation.parts.reduce(0) { $0 | $1.upsert.pns.bit }
        case .register(.issue), .register(.patch), .register(.delete), .register(.removeUser), .register(.channel): 0
        }
    }
}

extension NewJob {
    fileprivate func startsLater(than now: Timestamp) -> Bool { self.startsAt.map { $0 > now } ?? false }
}

extension NewJob.Idempotency {
    /// Whether both are for one request, be it the same or not.
    fileprivate func isSame(as other: Self) -> Bool {
        ExactText(self.key) == ExactText(other.key) && ExactText(self.caller) == ExactText(other.caller)
            && self.route == other.route
    }
}
