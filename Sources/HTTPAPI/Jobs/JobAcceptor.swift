import FaultInjection
import PushModel
import Store

/// Accepts jobs, and has their messages published behind the answers to their callers (rule 15).
struct JobAcceptor: Sendable {
    let store: any OutboxStore
    let publisher: JobPublisher

    /// See ``OutboxStore/accept(_:)``.
    ///
    /// - Parameter jobs: Those of one app, at most ``OutboxMessage/maximumMembers``.
    /// - Returns: What came of each.
    /// - Throws: `StoreError` when nothing was accepted.
    func accept(_ jobs: [NewJob]) async throws -> [JobAcceptance] {
        let accepted = try await self.store.accept(jobs)
        CrashPoint.apiAccepted.reach()
        self.publisher.publish(accepted.messages)
        return accepted.answers
    }
}
