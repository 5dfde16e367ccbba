import PushModel
package import Store
import StoreKit
import StoreSQL

extension SQLiteStore: HousekeepingStore {
    package func lead(as role: LeaderRole) async throws -> (any Leadership)? {
        let lock = try FileLock(path: "\(self.configuration.path).\(role.rawValue)")
        return lock.tryLock() ? lock : nil
    }

    package func isSweepLate(by lateness: Duration) async throws -> Bool {
        // While jobs wait for room, a sweep that is in time keeps their window more than half full.
        var window = self.configuration.window
        window.jobMessages = (window.jobMessages + 1) / 2
        // As a sweep would have found it then: of what a rate limit lets go only now nothing is late.
        let then = self.clock.now - lateness.milliseconds
        let flow = FlowControl(now: then, window: window)
        let queues = Set(PushService.allCases.map(WorkQueue.deliver)).union([.register, .send])
        let finder = DueMessages(flow: flow, roundRobin: RoundRobin(), queues: queues, overdue: .zero)
        return try await self.read { try !finder.find(limit: 1, in: $0, now: then).isEmpty }
    }

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
}

/// The system lets go of the lock with the open file, also where the process is killed.
extension FileLock: Leadership {}
