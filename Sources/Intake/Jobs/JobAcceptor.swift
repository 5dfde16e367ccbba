import FaultInjection
import Metrics
import PushModel
import PushlineMetrics
import Store

/// Accepts jobs, and has their messages published behind the answers to their callers (rule 15).
struct JobAcceptor: Sendable {
    let store: any OutboxStore
    let publisher: JobPublisher
    private let registers = MetricDescription.jobsAccepted.counter([.kind: JobKind.register.rawValue])
    private let sends = MetricDescription.jobsAccepted.counter([.kind: JobKind.send.rawValue])

    init(store: any OutboxStore, publisher: JobPublisher) {
        self.store = store
        self.publisher = publisher
    }

    /// See ``OutboxStore/accept(_:joining:)``.
    ///
    /// - Parameter jobs: Jobs of one app, at most ``OutboxMessage/maximumMembers``.
    /// - Returns: The result for each job.
    /// - Throws: `StoreError` when nothing was accepted.
    func accept(_ jobs: [NewJob]) async throws -> [JobAcceptance] {
        let accepted = try await self.store.accept(jobs)
        self.count(accepted.answers)
        CrashPoint.apiAccepted.reach()
        self.publisher.publish(accepted.messages.map { ($0, accepted.spans[$0.id]) })
        return accepted.answers
    }

    /// Accepts jobs of a burst: their message lingers, so that further ones can join it.
    ///
    /// - Parameters:
    ///   - jobs: As in ``accept(_:)``.
    ///   - message: The lingering message; nil = none.
    /// - Returns: The result for each job, and the new lingering message; nil if it is the same.
    /// - Throws: `StoreError` when nothing was accepted.
    func accept(
        _ jobs: [NewJob],
        joining message: MessageID?
    ) async throws -> (answers: [JobAcceptance], lingering: MessageID?) {
        let accepted = try await self.store.accept(jobs, joining: message)
        self.count(accepted.answers)
        CrashPoint.apiAccepted.reach()
        // What is urgent waits for nobody.
        let lingering = (accepted.messages + accepted.deferred).last { $0.priority != .high }
        let messages = accepted.messages.map { (row: $0, span: accepted.spans[$0.id]) }
        self.publisher.publish(messages.filter { $0.row != lingering })
        // The sweeper publishes one that is deferred; until it does, others can join it too.
        if let later = messages.first(where: { $0.row == lingering }) { self.publisher.publishLater(later) }
        return (accepted.answers, lingering?.id)
    }

    private func count(_ answers: [JobAcceptance]) {
        var (registers, sends) = (0, 0)
        for case .accepted(let job) in answers {
            switch job.work {
            case .register: registers += 1
            case .send: sends += 1
            }
        }
        if registers > 0 { self.registers.increment(by: registers) }
        if sends > 0 { self.sends.increment(by: sends) }
    }
}
