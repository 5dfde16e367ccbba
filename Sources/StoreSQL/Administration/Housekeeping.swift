import PushModel
package import Store
import StoreKit

/// What a driver removes its own way, for there is most of it.
package protocol JobRetention: SQLEngine {
    /// Removes single devices that were recorded before that age; the cursor is the last row of the chunk before.
    func removeDevices(olderThan age: Duration, after cursor: Int64, limit: Int) async throws -> ChoreChunk

    /// Removes jobs that were final before that time, in milliseconds of the wall clock, with all that is theirs.
    func removeJobs(before: Int64, from cursor: Int64, limit: Int) async throws -> ChoreChunk
}

extension HousekeepingStore where Self: JobRetention {
    package func perform(_ chore: Chore, limit: Int) async throws -> ChoreChunk {
        switch chore {
        case .startScheduled: ChoreChunk(rows: try await self.startScheduled(limit: limit))
        case .expireJobs: ChoreChunk(rows: try await self.expireJobs(limit: limit))
        case .pruneRegistrations: ChoreChunk(rows: try await self.pruneRegistrations(limit: limit))
        case .expireRegistrations: ChoreChunk(rows: try await self.expireRegistrations(limit: limit))
        case .remove(let kind, let age, let cursor):
            try await self.remove(kind, olderThan: age, after: cursor, limit: limit)
        }
    }

    private func remove(
        _ kind: Retained,
        olderThan age: Duration,
        after cursor: Int64,
        limit: Int
    ) async throws -> ChoreChunk {
        let before = self.clock.cautious.milliseconds - age.milliseconds
        switch kind {
        case .devices: return try await self.removeDevices(olderThan: age, after: cursor, limit: limit)
        case .jobs: return try await self.removeJobs(before: before, from: cursor, limit: limit)
        case .contents: return try await self.removeContents(before: before, from: cursor, limit: limit)
        case .registrations: return try await self.removeRegistrations(before: before, limit: limit)
        case .deadLetters: return try await self.removeDeadLetters(before: before, limit: limit)
        case .sessions: return try await self.removeSessions(limit: limit)
        case .templates: return try await self.removeTemplates(after: cursor, limit: limit)
        case .recipients: return try await self.removeRecipients(after: cursor, limit: limit)
        }
    }
}
