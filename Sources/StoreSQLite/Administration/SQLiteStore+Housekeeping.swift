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
}

/// The system lets go of the lock with the open file, also where the process is killed.
extension FileLock: Leadership {}
