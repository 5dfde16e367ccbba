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
        let flow = FlowControl(ofSweepInTime: lateness, clock: self.clock, window: self.configuration.window)
        let queues = Set(WorkQueue.allCases)
        let finder = DueMessages(flow: flow, roundRobin: RoundRobin(), queues: queues, overdue: .zero)
        return try await self.read { try !finder.find(limit: 1, in: $0, now: flow.now).isEmpty }
    }
}

/// The system lets go of the lock with the open file, also where the process is killed.
extension FileLock: Leadership {
    var isHeld: Bool { true }
}
