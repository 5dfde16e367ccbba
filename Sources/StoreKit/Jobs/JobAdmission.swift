package import PushModel
package import Store

/// Decides what comes of new jobs of one app, one after the other: earlier requests with their keys (rule 17), the limits of the
/// backlog (rule 19), and the messages that stand for them (rules 12 and 15).
///
/// The limits are those at the beginning: a second writer would exceed them by what it accepts at the same time, which is documented and
/// not prevented.
package struct JobAdmission {
    /// An earlier request with a job's key.
    package struct Earlier {
        let hash: [UInt8]
        let job: JobID

        package init(hash: [UInt8], job: JobID) {
            self.hash = hash
            self.job = job
        }
    }

    /// A message that small sends may join: neither published nor claimed.
    package struct Joinable {
        let id: Int64
        let priority: Priority
        let members: Int

        package init(id: Int64, priority: Priority, members: Int) {
            self.id = id
            self.priority = priority
            self.members = members
        }
    }

    /// A message of the jobs.
    package struct Message {
        /// The number of one that they join; nil = it is new.
        package let joined: Int64?
        package let queue: WorkQueue
        package let priority: Priority
        package let state: MessageState
        /// Whether small sends share it, and later ones may join them.
        package let isShared: Bool
        /// Its new members among ``JobAdmission/jobs``, the first and the last, and how many they are.
        package fileprivate(set) var members: ClosedRange<Int>
        package fileprivate(set) var count = 1

        /// The sequences of its first and last member, where those of all jobs begin with that.
        package func jobs(from first: Int64) -> ClosedRange<Int64> {
            (first + Int64(self.members.lowerBound))...(first + Int64(self.members.upperBound))
        }
    }

    /// A job that is accepted.
    package struct Admitted {
        /// Among those that came.
        package let index: Int
        package let job: NewJob
        package let state: Job.State
        /// Its message among ``JobAdmission/messages``; nil if it starts later.
        package let message: Int?
    }

    /// What makes requests the same (rule 17), but for their content.
    private struct Key: Hashable {
        let caller: ExactText
        let route: String
        let key: ExactText

        init(_ key: NewJob.Idempotency) {
            (self.caller, self.route, self.key) = (ExactText(key.caller), key.route, ExactText(key.key))
        }
    }

    /// The jobs that are accepted, in the order of their sequences.
    package private(set) var jobs: [Admitted] = []
    package private(set) var messages: [Message] = []
    /// What comes of the others, by their places among those that came.
    package private(set) var refusals: [Int: JobAcceptance] = [:]

    private let wall: Timestamp
    /// How many jobs come.
    private let count: Int
    /// How many more may be accepted that start now, and that start later.
    private var capacity = (now: Int.max, later: Int.max)
    private let joinable: Joinable?
    /// The messages that small sends share, by priority.
    private var shared: [Priority: Int] = [:]
    private var windows: [Priority: JobWindow] = [:]
    private let window: InFlightWindow
    private var keys: [Key: Earlier] = [:]
    /// The removals that are accepted, by the keys of their users.
    private var removals: [ExactText: JobID] = [:]

    package init(count: Int, wall: Timestamp, window: InFlightWindow, joining joinable: Joinable? = nil) {
        self.count = count
        self.wall = wall
        self.window = window
        self.joinable = joinable
    }

    /// Accepts only as many as a limit leaves.
    ///
    /// - Parameters:
    ///   - backlog: The most unfinished jobs, and the most scheduled ones.
    ///   - unfinished: How many are unfinished.
    ///   - scheduled: How many wait for their start.
    package mutating func limit(to backlog: Int, unfinished: Int, scheduled: Int) {
        self.capacity = (max(0, backlog - unfinished), max(0, backlog - scheduled))
    }

    /// The most new messages that some jobs need.
    package static func mostMessages(of jobs: [NewJob]) -> Int {
        let alone = jobs.count { !$0.work.isSmall }
        return min(jobs.count, alone + Priority.allCases.count)
    }

    /// Decides on the next job; those of one priority come next to each other.
    ///
    /// - Parameters:
    ///   - job: The job.
    ///   - index: Its place among those that come.
    ///   - earlier: What was accepted with its key.
    ///   - underWay: The removal of the user that it asks for, where one is under way.
    ///   - load: Reads what the app has of jobs in a queue at the job's priority.
    /// - Throws: What `load` does.
    package mutating func decide(
        on job: NewJob,
        at index: Int,
        earlier: Earlier?,
        underWay: JobID?,
        load: (WorkQueue, _ most: Int) throws -> JobLoad
    ) rethrows {
        let key = job.idempotency.map(Key.init)
        if let idempotency = job.idempotency, let earlier = earlier ?? key.flatMap({ self.keys[$0] }) {
            self.refusals[index] = earlier.hash == idempotency.hash ? .repeated(earlier.job) : .keyReused
            return
        }
        let removed = job.removal?.user.key
        if let underWay = underWay ?? removed.flatMap({ self.removals[$0] }) {
            self.refusals[index] = .repeated(underWay)
            return
        }
        // Jobs scheduled for later do not use up the backlog of present ones.
        let isScheduled = job.startsAt.map { $0 > self.wall } ?? false
        guard (isScheduled ? self.capacity.later : self.capacity.now) > 0 else {
            self.refusals[index] = .backlogFull
            return
        }
        if isScheduled { self.capacity.later -= 1 } else { self.capacity.now -= 1 }
        let message = isScheduled ? nil : try self.message(for: job, load)
        self.jobs.append(
            Admitted(index: index, job: job, state: isScheduled ? .scheduled : .queued, message: message)
        )
        if let key, let idempotency = job.idempotency {
            self.keys[key] = Earlier(hash: idempotency.hash, job: job.id)
        }
        if let removed { self.removals[removed] = job.id }
    }

    /// The message of the next job, which starts now: one that it shares, if it is a small send.
    private mutating func message(
        for job: NewJob,
        _ load: (WorkQueue, _ most: Int) throws -> JobLoad
    ) rethrows -> Int {
        let (place, isSmall) = (self.jobs.count, job.work.isSmall)
        if isSmall, let shared = self.shared[job.priority] {
            self.messages[shared].members = self.messages[shared].members.lowerBound...place
            self.messages[shared].count += 1
            return shared
        }
        let joined = isSmall ? self.joinable(at: job.priority) : nil
        let queue: WorkQueue = job.work.kind == .register ? .register : .send
        var state = MessageState.ready
        if joined == nil {
            state = try self.windows[job.priority, default: JobWindow(self.window)].begin(in: queue, load: load)
        }
        self.messages.append(
            Message(
                joined: joined,
                queue: queue,
                priority: job.priority,
                state: state,
                isShared: isSmall,
                members: place...place
            )
        )
        if isSmall { self.shared[job.priority] = self.messages.count - 1 }
        return self.messages.count - 1
    }

    /// What came of the jobs, once those that are accepted have numbers.
    ///
    /// - Parameters:
    ///   - first: The sequence of the first; the others follow it.
    ///   - numbers: Those of ``messages``.
    /// - Returns: What came of each, and the new messages.
    package func accepted(from first: Int64, messages numbers: [Int64]) -> AcceptedJobs {
        var accepted = AcceptedJobs(answers: (0..<self.count).map { self.refusals[$0] ?? .backlogFull })
        for (sequence, admitted) in zip(first..., self.jobs) {
            accepted.answers[admitted.index] = .accepted(
                admitted.job.job(sequence: sequence, accepted: self.wall, state: admitted.state)
            )
        }
        // Those that small sends share are the last.
        for isShared in [false, true] {
            for (message, number) in zip(self.messages, numbers)
            where message.joined == nil && message.isShared == isShared {
                let new = OutboxMessage(
                    id: MessageID(number: number),
                    app: self.jobs[message.members.lowerBound].job.app,
                    queue: message.queue,
                    priority: message.priority
                )
                if message.state == .deferred { accepted.deferred.append(new) } else { accepted.messages.append(new) }
            }
        }
        // Those that join a message are not what it comes from.
        for admitted in self.jobs {
            guard let place = admitted.message, let span = admitted.job.request?.span else { continue }
            let id = MessageID(number: numbers[place])
            if self.messages[place].joined == nil, accepted.spans[id] == nil { accepted.spans[id] = span }
        }
        return accepted
    }

    private func joinable(at priority: Priority) -> Int64? {
        guard let joinable = self.joinable, joinable.priority == priority,
            joinable.members + self.count <= OutboxMessage.maximumMembers
        else { return nil }
        return joinable.id
    }
}

extension NewJob {
    /// The removal of a user that it asks for.
    package var removal: (user: UserName, withAccount: Bool)? {
        guard case .register(.removeUser(let user?, let withAccount)) = self.work else { return nil }
        return (user, withAccount)
    }
}

extension Job.Work {
    /// Whether it is a send that can be fanned out in one step, together with others: to the devices of one tag, or to a few.
    var isSmall: Bool {
        guard case .send(let send) = self else { return false }
        if let count = send.audience.listed { return count <= SmallSend.maximumDevices }
        return send.audience.onlyTag != nil && send.content.kind == .native
    }
}
