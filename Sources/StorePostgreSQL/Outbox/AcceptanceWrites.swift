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
        for job in self.jobs {
            if let user = job.removedUser { reads.append(self.registrations.removalUnderWay(of: user)) }
            reads += self.parts(of: job, sequence: 0).flatMap(\.reads)
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

    /// What else is kept with a job, by rules that all drivers share.
    private func parts(of job: NewJob, sequence: Int64) -> [Part] {
        var parts: [Part] = []
        if let notification = job.notification {
            parts.append(Part(RichTable.keep(notification, app: "\(self.number)", at: self.clock.wall)))
        }
        if case .register(.removeUser(let user?, let withAccount)) = job.work {
            let removal = self.registrations.beginRemoval(
                of: user,
                withAccount: withAccount,
                job: sequence,
                act: job.act
            )
            parts.append(Part(removal))
        }
        return parts
    }

    private struct Part {
        let reads: [SQLStatement]
        let writes: ([[SQLRow]]) throws -> [SQLStatement]

        init<Value: Sendable>(_ transaction: SQLTransaction<Value>) {
            self.reads = transaction.reads
            self.writes = { try transaction.decide($0).writes }
        }
    }

    // MARK: Deciding

    /// - Parameter answers: What ``reads`` give.
    /// - Returns: What is written, and what comes of the jobs.
    /// - Throws: ``StoreError``.
    func decide(_ answers: [[SQLRow]]) throws -> SQLDecision<AcceptedJobs> {
        var answers = answers[...]
        guard let own = answers.removeFirst().first else { throw StoreError(.corrupt, "there are no numbers") }
        let first: Int64 = try own["first"]
        let free: [Int64] = try answers.removeFirst().map { try $0["number"] }
        var numbers = free[...]
        var admission = try self.admission(
            backlog: answers.removeFirst().first,
            joining: answers.removeFirst().first.map { try JobAdmission.Joinable($0) }
        )
        let earlier = try Dictionary(
            uniqueKeysWithValues: answers.removeFirst().map { row in
                (try row["place"] as Int, JobAdmission.Earlier(hash: try row["hash"], job: try row["id"]))
            }
        )
        var loads: [Window: JobLoad] = [:]
        for window in self.windows { loads[window] = try answers.removeFirst().first.map { try JobLoad($0) } }
        var (underWay, beside) = ([Int: JobID](), [Int: [[SQLRow]]]())
        for (index, job) in self.jobs.enumerated() {
            if job.removedUser != nil { underWay[index] = try answers.removeFirst().first?["id"] }
            let count = self.parts(of: job, sequence: 0).reduce(0) { $0 + $1.reads.count }
            beside[index] = Array(answers.prefix(count))
            answers.removeFirst(count)
        }
        for priority in Priority.allCases {
            for (index, job) in self.jobs.enumerated() where job.priority == priority {
                admission.decide(on: job, at: index, earlier: earlier[index], underWay: underWay[index]) { _, _ in
                    loads[Window(job)] ?? JobLoad(inFlight: 0, waiting: 0)
                }
            }
        }
        guard !admission.jobs.isEmpty else {
            return .nothing(admission.accepted(from: 0, messages: []))
        }
        let messages = try admission.messages.map { message in
            guard let number = message.joined ?? numbers.popFirst() else {
                throw StoreError.tooFewNumbers
            }
            return number
        }
        let insertion = self.insertion(of: admission, from: first, messages)
        var writes: [SQLStatement] = []
        // While an app has nothing, its declaration may change, which holds its row.
        if try !(own["is_used"] as Bool) {
            writes.append("SELECT number FROM app WHERE number = \(self.number)\(lock: .share)")
        }
        writes += insertion.statements
        for (sequence, admitted) in zip(first..., admission.jobs) {
            var rows = beside[admitted.index, default: []][...]
            for part in self.parts(of: admitted.job, sequence: sequence) {
                writes += try part.writes(Array(rows.prefix(part.reads.count)))
                rows.removeFirst(part.reads.count)
            }
        }
        writes += insertion.sums
        let accepted = admission.accepted(from: first, messages: messages)
        return SQLDecision(writing: writes, giving: accepted)
    }

    private func admission(backlog: SQLRow?, joining: JobAdmission.Joinable?) throws -> JobAdmission {
        var admission = JobAdmission(
            count: self.listed.count,
            wall: self.clock.wall,
            window: self.limits.window,
            joining: joining
        )
        if let most = self.limits.backlog {
            guard let backlog else { throw StoreError.noBacklog }
            admission.limit(to: most, unfinished: try backlog["unfinished"], scheduled: try backlog["scheduled"])
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

extension NewJob {
    /// The user whose removal it asks for.
    fileprivate var removedUser: UserName? {
        guard case .register(.removeUser(let user?, _)) = self.work else { return nil }
        return user
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
