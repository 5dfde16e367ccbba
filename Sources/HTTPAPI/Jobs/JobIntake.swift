import HTTPTypes
import PushModel
import ServiceLifecycle
import Store

/// Accepts jobs, has them published, and waits for the hub's answer where somebody wants it.
final class JobIntake: Sendable {
    private let store: any JobStore
    private let acceptor: JobAcceptor
    private let groups: SendGroups
    private let waiter: OutcomeWaiter
    private let drainWait: Duration

    /// - Parameters:
    ///   - store: The store of jobs.
    ///   - publisher: Publishes their messages.
    ///   - waiter: Receives the hub's answers.
    ///   - drainWait: The longest wait once the process drains.
    init(store: any ResultStore, publisher: JobPublisher, waiter: OutcomeWaiter, drainWait: Duration) {
        self.store = store
        self.acceptor = JobAcceptor(store: store, publisher: publisher)
        self.groups = SendGroups(acceptor: self.acceptor)
        self.waiter = waiter
        self.drainWait = drainWait
    }

    /// The result of a job within the wait.
    ///
    /// A reference, so that steps hand it on without copying the job.
    final class Answer: Sendable {
        /// As it is now.
        let job: Job
        /// Whether the hub has answered.
        let isAnswered: Bool
        /// Whether the same request had been accepted before.
        let isRepeat: Bool

        init(job: Job, isAnswered: Bool, isRepeat: Bool) {
            self.job = job
            self.isAnswered = isAnswered
            self.isRepeat = isRepeat
        }

        /// A job without a waiting caller.
        convenience init(accepted job: Job, isRepeat: Bool) {
            self.init(job: job, isAnswered: job.hubHasAnswered, isRepeat: isRepeat)
        }
    }

    /// - Parameters:
    ///   - job: The job to accept.
    ///   - wait: How long to wait for the hub's answer; zero = not at all.
    /// - Returns: The job as it is at the hub's answer, or at the end of the wait.
    /// - Throws: ``Problem`` 422 when the idempotency key was used for another request; `StoreError`.
    func take(_ job: NewJob, wait: Duration) async throws -> Answer {
        guard wait > .zero else { return try await self.accept(job) }
        // The place is taken before the commit: an answer that comes right after it is heard.
        let waited = job.waited(by: self.waiter.routingKey)
        let deadline = ContinuousClock.now + wait
        let ticket = self.waiter.enter(job.id)
        defer { self.waiter.leave(ticket) }
        let accepted = try await self.accept(waited)
        if accepted.isAnswered { return accepted }
        if accepted.job.id != job.id {
            let other = self.waiter.enter(accepted.job.id)
            defer { self.waiter.leave(other) }
            return await self.wait(for: accepted, ticket: other, until: deadline)
        }
        return await self.wait(for: accepted, ticket: ticket, until: deadline)
    }

    /// Waits for the end of a job that was accepted.
    ///
    /// - Parameters:
    ///   - id: The job.
    ///   - app: Whose it is.
    ///   - deadline: The end of the wait.
    /// - Returns: The job as it is when it ends, or when the wait ends; nil = the app has no job of that id.
    /// - Throws: `StoreError`.
    func end(of id: JobID, app: AppID, until deadline: ContinuousClock.Instant) async throws -> Job? {
        let ticket = self.waiter.enter(id)
        defer { self.waiter.leave(ticket) }
        guard let job = try await self.store.job(id, app: app) else { return nil }
        if job.state.isFinal { return job }
        let accepted = Answer(accepted: job, isRepeat: false)
        return await self.wait(for: accepted, ticket: ticket, until: deadline) { $0.state.isFinal }.job
    }

    /// Accepts jobs of one app together, without waiting for the hub.
    ///
    /// - Parameter jobs: At most ``OutboxMessage/maximumMembers``.
    /// - Returns: The result for each job.
    /// - Throws: `StoreError` when nothing was accepted.
    func accept(_ jobs: [NewJob]) async throws -> [JobAcceptance] { try await self.acceptor.accept(jobs) }

    /// Accepts jobs of one app together; see `JobTaker`.
    func take(_ jobs: [NewJob]) async throws -> [JobID?] {
        guard !jobs.isEmpty else { return [] }
        let ids = try await self.accept(jobs).map { answer throws(Problem) -> JobID? in
            switch answer {
            case .accepted(let job): job.id
            case .repeated(let id): id
            case .keyReused: throw Self.keyReused
            case .backlogFull: nil
            }
        }
        guard ids.contains(where: { $0 != nil }) else { throw Self.backlogFull }
        return ids
    }

    private func accept(_ job: NewJob) async throws -> Answer {
        let answer = try await job.isToFew ? self.groups.accept(job) : self.acceptor.accept([job])[0]
        switch answer {
        case .accepted(let accepted): return Answer(accepted: accepted, isRepeat: false)
        case .repeated(let id):
            guard let first = try await self.store.job(id, app: job.app) else {
                throw StoreError(.corrupt, "an idempotency key without its job")
            }
            return Answer(accepted: first, isRepeat: true)
        case .keyReused: throw Self.keyReused
        case .backlogFull: throw Self.backlogFull
        }
    }

    private static let backlogFull = StoreError(.backlogFull, "too many jobs are unfinished")

    private static let keyReused = Problem(
        .unprocessableContent,
        "the header Idempotency-Key was used for another request; choose a new one",
        errors: [InvalidValue(member: "Idempotency-Key", "was used for another request")],
        type: "idempotency-key-reused"
    )

    private func wait(
        for accepted: Answer,
        ticket: OutcomeWaiter.Ticket,
        until deadline: ContinuousClock.Instant,
        or isDone: @escaping @Sendable (Job) -> Bool = { _ in true }
    ) async -> Answer {
        let answered = await withTaskGroup(of: Job?.self) { group in
            group.addTask { await ticket.answers.first(where: isDone) }
            group.addTask {
                // Cancelled = the other was first.
                do { try await Task.sleep(until: deadline, clock: .continuous) } catch { return nil }
                return nil
            }
            group.addTask {
                // A request that may wait for a minute is answered before the process ends, with the accepted job.
                do {
                    try await gracefulShutdown()
                    try await Task.sleep(for: self.drainWait)
                } catch { return nil }
                return nil
            }
            defer { group.cancelAll() }
            return await group.next() ?? nil
        }
        if let answered { return Answer(job: answered, isAnswered: true, isRepeat: accepted.isRepeat) }
        // Once more at the deadline. The job is accepted: a store that cannot be read now must not turn that into a failure.
        let job = accepted.job
        let last: Job
        do { last = try await self.store.job(job.id, app: job.app) ?? job } catch { last = job }
        return Answer(accepted: last, isRepeat: accepted.isRepeat)
    }
}

extension NewJob {
    /// Whether it is a send to one user, who has few devices, or to a few: it is accepted together with others (rule 15).
    fileprivate var isToFew: Bool {
        // A rich notification may exceed a quota, and its refusal would split the group.
        guard self.notification == nil, case .send(let send) = self.work else { return false }
        if let count = send.audience.listed { return count <= 10 }
        guard let tags = send.audience.alternatives, tags.count == 1 else { return false }
        return tags[0].owned == .user
    }
}

extension Job {
    /// Whether the hub has answered.
    var hubHasAnswered: Bool {
        switch self.work {
        case .register: self.result != nil || self.state.isFinal
        case .send: self.hubState != nil || self.state.isFinal
        }
    }
}
