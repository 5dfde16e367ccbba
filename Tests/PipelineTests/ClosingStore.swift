import PushModel
import Store

/// A store in which a copy of a batch is recorded by another worker just before its redelivery is counted.
struct ClosingStore: OutboxStore, OutcomeSink, PauseStore, SuspectStore {
    let base: any ResultStore
    let batch: BatchKey

    func redelivered(_ message: MessageID) async throws -> (count: Int, members: Int)? {
        _ = try await self.base.record([BatchOutcome(key: self.batch, accepted: 1, at: .now)])
        return try await self.base.redelivered(message)
    }

    func accept(_ jobs: [NewJob], joining message: MessageID?) async throws -> AcceptedJobs {
        try await self.base.accept(jobs, joining: message)
    }

    func markPublished(_ messages: [OutboxMessage]) async throws { try await self.base.markPublished(messages) }

    func takeDue(_ queues: Set<WorkQueue>, overdue: Duration, limit: Int) async throws -> [OutboxMessage] {
        try await self.base.takeDue(queues, overdue: overdue, limit: limit)
    }

    func `defer`(_ message: MessageID, epoch: Int?, _ deferral: Deferral) async throws -> Bool {
        try await self.base.defer(message, epoch: epoch, deferral)
    }

    func suspect(_ fingerprint: [UInt8]) async throws -> Bool { try await self.base.suspect(fingerprint) }

    func clear(suspect fingerprint: [UInt8]) async throws { try await self.base.clear(suspect: fingerprint) }

    func split(_ message: MessageID) async throws { try await self.base.split(message) }

    func status(of batches: [BatchKey], in message: MessageID?) async throws -> [LocatedStatus] {
        try await self.base.status(of: batches, in: message)
    }

    func record(_ outcomes: [BatchOutcome]) async throws -> [Bool] { try await self.base.record(outcomes) }

    func users(ofLive rows: [Int64]) async throws -> [UserName?] { try await self.base.users(ofLive: rows) }

    func pauses() async throws -> [Pause] { try await self.base.pauses() }
}
