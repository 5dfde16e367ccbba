package import Broker
package import Logging
package import PushModel
import PushlineLogging
package import PushlineTracing
package import ServiceLifecycle
package import Store

/// Accepts jobs, has them published, and waits for them where somebody wants it.
package final class JobIntake: Sendable {
    /// Run these as long as jobs are taken; they are to be shut down after that.
    package let services: [any Service]
    /// The lifetime of a job whose sender gives none.
    package let jobLifetime: Duration
    private let store: any JobStore
    private let acceptor: JobAcceptor
    private let groups: SendGroups
    private let waiter: OutcomeWaiter
    private let drainWait: Duration

    /// - Parameters:
    ///   - store: The store of jobs.
    ///   - broker: The broker that they are published to.
    ///   - limits: How long its steps may take.
    ///   - traces: Begins the spans of messages.
    ///   - logger: The logger of what is done behind the answers.
    package init(
        store: any ResultStore,
        broker: any MessageBroker,
        limits: IntakeLimits,
        traces: Traces = .off,
        logger: Logger
    ) {
        let publisher = JobPublisher(
            store: store,
            broker: broker,
            deadline: limits.publishTime,
            traces: traces,
            logger: logger
        )
        self.waiter = OutcomeWaiter(broker: broker, logger: logger) { try await store.jobs($0) }
        self.services = [publisher, self.waiter]
        self.store = store
        self.acceptor = JobAcceptor(store: store, publisher: publisher)
        self.groups = SendGroups(acceptor: self.acceptor)
        self.jobLifetime = limits.jobLifetime
        self.drainWait = limits.drainWait
    }

    /// Accepts a job, and waits for it.
    ///
    /// - Parameters:
    ///   - job: The job to accept.
    ///   - event: What to wait for.
    ///   - time: The longest wait; zero = none.
    /// - Returns: The job, or that of the request which this one repeats, as it is when that has come, or at the end of the wait.
    /// - Throws: `Refusal` when the idempotency key was used for another request; `StoreError`.
    package func take(_ job: NewJob, until event: AwaitedEvent, within time: Duration) async throws -> Job {
        guard time > .zero else { return try await self.accept(job) }
        // The place is taken before the commit: what comes right after it is heard.
        let deadline = ContinuousClock.now + time
        let ticket = self.waiter.enter(job.id, for: event)
        defer { self.waiter.leave(ticket) }
        let accepted = try await self.accept(job.waited(by: self.waiter.routingKey))
        if event.hasCome(to: accepted) { return accepted }
        guard accepted.id != job.id else { return await self.wait(for: accepted, ticket, until: deadline) }
        let other = self.waiter.enter(accepted.id, for: event)
        defer { self.waiter.leave(other) }
        return await self.wait(for: accepted, other, until: deadline)
    }

    /// Waits for a job that was accepted before.
    ///
    /// - Parameters:
    ///   - id: The job.
    ///   - app: Whose it is.
    ///   - event: What to wait for.
    ///   - time: The longest wait.
    /// - Returns: The job as it is when that has come, or at the end of the wait; nil = the app has no job of that id.
    /// - Throws: `StoreError`.
    package func find(
        _ id: JobID,
        app: AppID,
        until event: AwaitedEvent,
        within time: Duration
    ) async throws -> Job? {
        let deadline = ContinuousClock.now + time
        let ticket = self.waiter.enter(id, for: event)
        defer { self.waiter.leave(ticket) }
        guard let job = try await self.store.job(id, app: app) else { return nil }
        return event.hasCome(to: job) ? job : await self.wait(for: job, ticket, until: deadline)
    }

    /// Accepts jobs of one app together, without waiting for them.
    ///
    /// - Parameter jobs: At most ``OutboxMessage/maximumMembers``.
    /// - Returns: The result for each job.
    /// - Throws: `StoreError` when nothing was accepted.
    package func accept(_ jobs: [NewJob]) async throws -> [JobAcceptance] {
        let answers = try await self.acceptor.accept(jobs)
        for answer in answers { if let id = answer.id { LogContext.add(job: id) } }
        return answers
    }

    /// Accepts jobs of one app together, where each is one of the same request.
    ///
    /// - Returns: For each its id, or that of the job which the same request made before; nil = too many jobs are unfinished.
    /// - Throws: `Refusal` when the key of one was used for another request; `StoreError` when none was accepted.
    package func take(_ jobs: [NewJob]) async throws -> [JobID?] {
        guard !jobs.isEmpty else { return [] }
        let ids = try await self.accept(jobs).map { answer throws(Refusal) -> JobID? in
            if case .keyReused = answer { throw Self.keyReused }
            return answer.id
        }
        guard ids.contains(where: { $0 != nil }) else { throw Self.backlogFull }
        return ids
    }

    private func accept(_ job: NewJob) async throws -> Job {
        let answer = try await job.isToFew ? self.groups.accept(job) : self.acceptor.accept([job])[0]
        if let id = answer.id { LogContext.add(job: id) }
        switch answer {
        case .accepted(let accepted): return accepted
        case .repeated(let id):
            guard let first = try await self.store.job(id, app: job.app) else {
                throw StoreError(.corrupt, "an idempotency key without its job")
            }
            return first
        case .keyReused: throw Self.keyReused
        case .backlogFull: throw Self.backlogFull
        }
    }

    private static let backlogFull = StoreError(.backlogFull, "too many jobs are unfinished")

    private static let keyReused = Refusal(
        .impossible,
        "the header Idempotency-Key was used for another request; choose a new one",
        fault: InvalidValue(member: "Idempotency-Key", "was used for another request"),
        code: "idempotency-key-reused"
    )

    private func wait(
        for job: Job,
        _ ticket: OutcomeWaiter.Ticket,
        until deadline: ContinuousClock.Instant
    ) async -> Job {
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
        if let answered { return answered }
        // Once more at the deadline. The job is accepted: a store that cannot be read now must not turn that into a failure.
        do { return try await self.store.job(job.id, app: job.app) ?? job } catch { return job }
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
