import PushModel
import Store
import StoreKit
import StoreSQL

/// New jobs of one app, which are accepted in two round trips, however many they are.
///
/// The first reads what ``StoreKit/JobAdmission`` decides by, and takes numbers: so what comes of the jobs is known before anything is
/// written. The second writes all of it, guarded by what was read.
struct AcceptanceWrites: Sendable {
    let listed: [ListedJob]
    let works: [StoredWork]
    /// The app's.
    let number: Int64
    let joining: MessageID?
    let limits: JobLimits
    let clock: StoreClock
    let registrations: RegistrationTable

    private var jobs: [NewJob] { self.listed.map(\.job) }

    /// Messages of jobs for which an app has a window.
    private struct Window: Hashable {
        let queue: WorkQueue
        let priority: Priority

        init(_ job: NewJob) {
            (self.queue, self.priority) = (job.work.kind == .register ? .register : .send, job.priority)
        }
    }

    private var windows: [Window] {
        var windows: [Window] = []
        for window in self.jobs.map(Window.init) where !windows.contains(window) { windows.append(window) }
        return windows
    }

    // MARK: Reading

    /// Not of one snapshot: each is a limit or is guarded, and numbers are taken.
    var reads: [SQLStatement] {
        var reads: [SQLStatement] = [
            """
            SELECT nextval('job_sequence') AS first, EXISTS (SELECT 1 FROM job WHERE app = \(self.number)) AS is_used
            """,
            """
            SELECT nextval('message_number') AS number FROM generate_series(1, \(JobAdmission.mostMessages(of: self.jobs)))
            """,
            Counts.backlog, self.joinable, self.earlier,
        ]
        reads += self.windows.map(self.load)
        reads += RichRoom.reads(for: self.notifications, app: "\(self.number)")
        for removal in self.jobs.compactMap(\.removal) {
            reads.append(self.registrations.removalUnderWay(of: removal.user))
            reads += self.registrations.begin(removal, job: 0, act: nil).reads
        }
        return reads
    }

    private var joinable: SQLStatement {
        """
        SELECT id, priority, open FROM message WHERE id = \(self.joining?.number ?? 0) AND app = \(self.number)
            AND queue = \(WorkQueue.send.number) AND state <> \(raw: "\(MessageState.published.rawValue)") AND epoch = 0
        """
    }

    /// What was accepted with the keys of the jobs, by their places.
    private var earlier: SQLStatement {
        let keyed = self.jobs.enumerated().compactMap { place, job in job.idempotency.map { (place: place, key: $0) } }
        return """
            SELECT asked.place, idempotency.hash, job.id
            FROM unnest(\(SQLArray.integers(keyed.map { Int64($0.place) })), \(SQLArray.texts(keyed.map { $0.key.caller })),
                \(SQLArray.texts(keyed.map { $0.key.route })), \(SQLArray.texts(keyed.map { $0.key.key }))
                ) AS asked(place, caller, route, key)
                JOIN idempotency ON idempotency.app = \(self.number) AND idempotency.caller = asked.caller
                    AND idempotency.route = asked.route AND idempotency.key = asked.key
                JOIN job ON job.sequence = idempotency.job
            """
    }

    private func load(_ window: Window) -> SQLStatement {
        let most = self.limits.window.jobMessages
        return Self.load(of: "\(self.number)", in: window.queue, window.priority, now: self.clock.now, most: most)
    }

    /// What an app has of jobs in a queue, for ``StoreKit/JobLoad``.
    static func load(
        of app: SQLStatement,
        in queue: WorkQueue,
        _ priority: Priority,
        now: Int64,
        most: Int
    ) -> SQLStatement {
        let messages: SQLStatement = """
            SELECT 1 FROM message WHERE priority = \(priority.rank) AND app = \(app) AND queue = \(queue.number)
            """
        return """
            SELECT (SELECT count(*) FROM (\(messages) AND \(raw: Self.isInFlight) LIMIT \(most)) AS present) AS in_flight,
                (SELECT count(*) FROM (\(messages) AND state = \(raw: "\(MessageState.deferred.rawValue)") AND blocked_on = 0
                    AND due <= \(now) LIMIT \(most)) AS waiting) AS waiting
            """
    }

    /// Of a message of jobs: published, or about to be.
    static let isInFlight = "state IN (\(MessageState.ready.rawValue), \(MessageState.published.rawValue))"

    private var notifications: [NewRichNotification] { self.jobs.compactMap(\.notification) }

    /// What ``reads`` give.
    private struct Found {
        let first: Int64
        let isUsed: Bool
        /// Of new messages.
        var numbers: ArraySlice<Int64>
        let backlog: SQLRow?
        let joinable: JobAdmission.Joinable?
        let earlier: [Int: JobAdmission.Earlier]
        private(set) var loads: [Window: JobLoad] = [:]
        var room: RichRoom
        /// Of those who ask for the removal of a user, by their places: the one that is under way, and what its beginning reads.
        private(set) var removals: [Int: (underWay: JobID?, rows: [[SQLRow]])] = [:]

        init(_ answers: [[SQLRow]], for writes: AcceptanceWrites) throws {
            var answers = answers[...]
            guard let own = answers.removeFirst().first else { throw StoreError(.corrupt, "there are no numbers") }
            (self.first, self.isUsed) = (try own["first"], try own["is_used"])
            self.numbers = try answers.removeFirst().map { try $0["number"] as Int64 }[...]
            self.backlog = answers.removeFirst().first
            self.joinable = try answers.removeFirst().first.map { try JobAdmission.Joinable($0) }
            self.earlier = try Dictionary(
                uniqueKeysWithValues: answers.removeFirst().map { row in
                    (try row["place"] as Int, JobAdmission.Earlier(hash: try row["hash"], job: try row["id"]))
                }
            )
            let loads = answers.prefix(writes.windows.count)
            answers.removeFirst(loads.count)
            self.room = try RichRoom(for: writes.notifications, app: "\(writes.number)", &answers)
            for (window, rows) in zip(writes.windows, loads) {
                self.loads[window] = try rows.first.map { try JobLoad($0) }
            }
            for (index, job) in writes.jobs.enumerated() {
                guard let removal = job.removal else { continue }
                let underWay: JobID? = try answers.removeFirst().first?["id"]
                let rows = Array(answers.prefix(writes.registrations.begin(removal, job: 0, act: nil).reads.count))
                self.removals[index] = (underWay, rows)
                answers.removeFirst(rows.count)
            }
        }
    }

    // MARK: Deciding

    /// - Parameter answers: What ``reads`` give.
    /// - Returns: What is written, and what comes of the jobs.
    /// - Throws: ``StoreError``.
    func decide(_ answers: [[SQLRow]]) throws -> SQLDecision<AcceptedJobs> {
        var found = try Found(answers, for: self)
        let admission = try self.admission(found)
        guard !admission.jobs.isEmpty else {
            return .nothing(admission.accepted(from: 0, messages: []))
        }
        let messages = try admission.messages.map { message in
            guard let number = message.joined ?? found.numbers.popFirst() else {
                throw StoreError.tooFewNumbers
            }
            return number
        }
        let insertion = self.insertion(of: admission, from: found.first, messages)
        var others: [SQLStatement] = []
        for (sequence, admitted) in zip(found.first..., admission.jobs) {
            if let notification = admitted.job.notification {
                others += try found.room.keep(notification, at: self.clock.wall)
            }
            guard let removal = admitted.job.removal, let read = found.removals[admitted.index] else { continue }
            others += try self.registrations.begin(removal, job: sequence, act: admitted.job.act).decide(read.rows)
                .writes
        }
        var writes = found.room.guards
        // While an app has nothing, its declaration may change, which holds its row.
        if !found.isUsed { writes.append("SELECT number FROM app WHERE number = \(self.number)\(lock: .share)") }
        writes += insertion.statements + others + insertion.sums
        return SQLDecision(writing: writes, giving: admission.accepted(from: found.first, messages: messages))
    }

    private func admission(_ found: Found) throws -> JobAdmission {
        var admission = JobAdmission(
            count: self.listed.count,
            wall: self.clock.wall,
            window: self.limits.window,
            joining: found.joinable
        )
        if let most = self.limits.backlog {
            guard let backlog = found.backlog else { throw StoreError.noBacklog }
            admission.limit(to: most, unfinished: try backlog["unfinished"], scheduled: try backlog["scheduled"])
        }
        for priority in Priority.allCases {
            for (index, job) in self.jobs.enumerated() where job.priority == priority {
                let underWay = found.removals[index]?.underWay
                admission.decide(on: job, at: index, earlier: found.earlier[index], underWay: underWay) { _, _ in
                    found.loads[Window(job)] ?? JobLoad(inFlight: 0, waiting: 0)
                }
            }
        }
        return admission
    }

    private func insertion(of admission: JobAdmission, from first: Int64, _ messages: [Int64]) -> JobInsertion {
        JobInsertion(
            rows: zip(first..., admission.jobs).map { sequence, admitted in
                JobInsertion.NewRow(
                    sequence: sequence,
                    job: admitted.job,
                    recipients: self.listed[admitted.index].recipients,
                    work: self.works[admitted.index],
                    state: admitted.state,
                    message: admitted.message.map { messages[$0] }
                )
            },
            messages: zip(messages, admission.messages).map { (id: $0, message: $1) },
            first: first,
            app: self.number,
            now: self.clock.now,
            wall: self.clock.wall
        )
    }
}

extension JobAdmission.Joinable {
    fileprivate init(_ row: SQLRow) throws {
        self.init(id: try row["id"], priority: try Priority(number: row["priority"]), members: try row["open"])
    }
}

extension JobLoad {
    init(_ row: SQLRow) throws { self.init(inFlight: try row["in_flight"], waiting: try row["waiting"]) }
}
