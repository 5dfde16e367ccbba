import HTTPTypes
import PushModel
import PushlineLogging
import ServiceLifecycle
import Store

/// Accepts jobs, has them published, and waits for them where somebody wants it.
final class JobIntake: Sendable {
    private let store: any JobStore
    private let acceptor: JobAcceptor
    private let groups: SendGroups
    private let waiter: OutcomeWaiter
    private let drainWait: Duration

    /// - Parameters:
    ///   - store: The store of jobs.
    ///   - publisher: Publishes their messages.
    ///   - waiter: Sees what becomes of them.
    ///   - drainWait: The longest wait once the process drains.
    init(store: any ResultStore, publisher: JobPublisher, waiter: OutcomeWaiter, drainWait: Duration) {
        self.store = store
        self.acceptor = JobAcceptor(store: store, publisher: publisher)
        self.groups = SendGroups(acceptor: self.acceptor)
        self.waiter = waiter
        self.drainWait = drainWait
    }

    /// Accepts a job, and waits for it.
    ///
    /// - Parameters:
    ///   - job: The job to accept.
    ///   - wait: What to wait for, and how long.
    /// - Returns: The job as it is when that has come, or at the end of the wait.
    /// - Throws: ``Problem`` 422 when the idempotency key was used for another request; `StoreError`.
    func take(_ job: NewJob, _ wait: JobWait) async throws -> JobAnswer {
        guard wait.time > .zero else { return try await self.accept(job, wait) }
        // The place is taken before the commit: what comes right after it is heard.
        let deadline = ContinuousClock.now + wait.time
        let ticket = self.waiter.enter(job.id, for: wait.event)
        defer { self.waiter.leave(ticket) }
        let accepted = try await self.accept(job.waited(by: self.waiter.routingKey), wait)
        if accepted.hasCome { return accepted }
        guard accepted.job.id != job.id else { return await self.wait(for: accepted, ticket, until: deadline) }
        let other = self.waiter.enter(accepted.job.id, for: wait.event)
        defer { self.waiter.leave(other) }
        return await self.wait(for: accepted, other, until: deadline)
    }

    /// Waits for a job that was accepted before.
    ///
    /// - Parameters:
    ///   - id: The job.
    ///   - app: Whose it is.
    ///   - wait: What to wait for, and how long.
    /// - Returns: The job as it is when that has come, or at the end of the wait; nil = the app has no job of that id.
    /// - Throws: `StoreError`.
    func find(_ id: JobID, app: AppID, _ wait: JobWait) async throws -> JobAnswer? {
        let deadline = ContinuousClock.now + wait.time
        let ticket = self.waiter.enter(id, for: wait.event)
        defer { self.waiter.leave(ticket) }
        guard let job = try await self.store.job(id, app: app) else { return nil }
        let found = JobAnswer(job, wait)
        return found.hasCome ? found : await self.wait(for: found, ticket, until: deadline)
    }

    /// Accepts jobs of one app together, without waiting for them.
    ///
    /// - Parameter jobs: At most ``OutboxMessage/maximumMembers``.
    /// - Returns: The result for each job.
    /// - Throws: `StoreError` when nothing was accepted.
    func accept(_ jobs: [NewJob]) async throws -> [JobAcceptance] {
        let answers = try await self.acceptor.accept(jobs)
        for answer in answers { if let id = answer.id { LogContext.add(job: id) } }
        return answers
    }

    /// Accepts jobs of one app together; see `JobTaker`.
    func take(_ jobs: [NewJob]) async throws -> [JobID?] {
        guard !jobs.isEmpty else { return [] }
        let ids = try await self.accept(jobs).map { answer throws(Problem) -> JobID? in
            if case .keyReused = answer { throw Self.keyReused }
            return answer.id
        }
        guard ids.contains(where: { $0 != nil }) else { throw Self.backlogFull }
        return ids
    }

    private func accept(_ job: NewJob, _ wait: JobWait) async throws -> JobAnswer {
        let answer = try await job.isToFew ? self.groups.accept(job) : self.acceptor.accept([job])[0]
        if let id = answer.id { LogContext.add(job: id) }
        switch answer {
        case .accepted(let accepted): return JobAnswer(accepted, wait)
        case .repeated(let id):
            guard let first = try await self.store.job(id, app: job.app) else {
                throw StoreError(.corrupt, "an idempotency key without its job")
            }
            return JobAnswer(first, wait)
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
        for accepted: JobAnswer,
        _ ticket: OutcomeWaiter.Ticket,
        until deadline: ContinuousClock.Instant
    ) async -> JobAnswer {
        let answered = await withTaskGroup(of: Job?.self) { group in
            group.addTask { await ticket.jobs.first { _ in true } }
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
        if let answered { return JobAnswer(answered, accepted.wait) }
        // Once more at the deadline. The job is accepted: a store that cannot be read now must not turn that into a failure.
        let job = accepted.job
        let last: Job
        do { last = try await self.store.job(job.id, app: job.app) ?? job } catch { last = job }
        return JobAnswer(last, accepted.wait)
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

extension JobAcceptance {
    /// The job, or that of the request which this one repeats.
    fileprivate var id: JobID? {
        switch self {
        case .accepted(let job): job.id
        case .repeated(let id): id
        case .keyReused, .backlogFull: nil
        }
    }
}
