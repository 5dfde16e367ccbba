import PushModel
package import Store
import StoreKit

extension HousekeepingStore where Self: SQLEngine {
    package func perform(_ chore: Chore, limit: Int) async throws -> ChoreChunk {
        switch chore {
        case .startScheduled: ChoreChunk(rows: try await self.startScheduled(limit: limit))
        case .expireJobs: ChoreChunk(rows: try await self.expireJobs(limit: limit))
        case .pruneRegistrations: ChoreChunk(rows: try await self.pruneRegistrations(limit: limit))
        case .expireRegistrations: ChoreChunk(rows: try await self.expireRegistrations(limit: limit))
        case .remove(let kind, let age, let cursor):
            try await self.remove(kind, RetentionAge(olderThan: age, by: self.clock), after: cursor, limit: limit)
        }
    }

    private func remove(
        _ kind: Retained,
        _ age: RetentionAge,
        after cursor: Int64,
        limit: Int
    ) async throws -> ChoreChunk {
        switch kind {
        case .devices: return try await self.removeDevices(age, after: cursor, limit: limit)
        case .jobs: return try await self.removeJobs(age, from: cursor, limit: limit)
        case .contents: return try await self.removeContents(before: age.before, from: cursor, limit: limit)
        case .registrations: return try await self.removeRegistrations(before: age.before, limit: limit)
        case .deadLetters:
            return try await self.removeFirst(of: "dead", by: "id", before: age.before, limit: min(limit, 100))
        case .acts: return try await self.removeFirst(of: "act", by: "number", before: age.before, limit: limit)
        case .sessions: return try await self.removeSessions(limit: limit)
        case .templates: return try await self.removeTemplates(after: cursor, limit: limit)
        case .recipients: return try await self.removeRecipients(after: cursor, limit: limit)
        }
    }
}
