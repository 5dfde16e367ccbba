import NIOConcurrencyHelpers
import PushModel
package import Store
import StoreKit
import StoreSQL

extension PostgreSQLStore: HousekeepingStore {
    package func lead(as role: LeaderRole) async throws -> (any Leadership)? { try await Lease.take(role, self) }

    package func isSweepLate(by lateness: Duration) async throws -> Bool {
        let flow = FlowControl(ofSweepInTime: lateness, clock: self.clock, window: self.limits.window)
        let queues = Set(WorkQueue.allCases)
        // Of the first that are due some may not be taken.
        guard let found = try await self.dueMessages(in: queues, limit: 32, flow) else { return false }
        let finder = DueMessages(flow: flow, roundRobin: RoundRobin(), queues: queues, overdue: .zero)
        return try !finder.find(limit: 1, in: found).isEmpty
    }

    /// Goes on where this process has looked up to: of the jobs whose time is over all but a few are final, and no index leaves those out.
    ///
    /// A commit that comes late, or from a host whose clock is behind, may leave a job behind that place. So the stored place stays a minute
    /// behind, and is gone back to twice a minute.
    package func jobsToExpire(limit: Int) async throws -> [Int64] {
        let now = self.clock.now
        var place = self.expired.withLockedValue { $0 }
        if place.read.map({ now - $0 >= OverduePlace.rereading }) ?? true {
            let stored: Int64 = try await self.rows("SELECT through FROM overdue").first?["through"] ?? 0
            place = OverduePlace(through: stored, read: now)
        }
        defer { self.expired.withLockedValue { [place] in $0 = place } }
        for _ in 0..<OverduePlace.pieces {
            let last = try await self.rows(OverduePlace.end(behind: place.through, now: now)).first
            let end: Int64 = try last?["ends"] ?? now
            let found = try await self.rows(OverduePlace.jobs(behind: place.through, through: end, limit: limit))
            // They are stopped now, and the next look finds nothing here.
            guard found.isEmpty else { return try found.map { try $0["sequence"] } }
            guard last != nil else {
                // One may begin in this millisecond that has no time.
                place.through = max(place.through, now - 1)
                break
            }
            place.through = end
            let safe = min(end, now - OverduePlace.lateness)
            let note: SQLStatement = "UPDATE overdue SET through = \(safe) WHERE through < \(safe)"
            try await self.perform(SQLTransaction(SQLDecision(writing: [note], giving: ())))
        }
        return []
    }

    /// All of them in turn, some at a time.
    package func completeLeftJobs() async throws -> Int {
        let sweep = try await self.completeClosedJobs(after: self.completedThrough.withLockedValue { $0 })
        self.completedThrough.withLockedValue { $0 = sweep.mark }
        return sweep.completed
    }
}

extension PostgreSQLStore: StoreHealth {
    /// Its disk is PostgreSQL's, and so are its backups.
    package var room: StoreRoom { StoreRoom(space: nil, backup: nil) }
}

/// How far has been looked for jobs whose time is over, by the store's clock.
struct OverduePlace: Sendable {
    /// How many ended jobs are looked at in one go, and how often at a time.
    static let (piece, pieces) = (5000, 20)
    /// How long after it was over a job may still appear.
    static let lateness: Int64 = 60_000
    static let rereading: Int64 = 30_000

    var through: Int64 = 0
    /// When the stored place was read; nil = it was not yet.
    var read: Int64?

    /// The end of a piece; no row where less is left.
    static func end(behind place: Int64, now: Int64) -> SQLStatement {
        """
        SELECT ends FROM job WHERE ends > \(place) AND ends <= \(now) ORDER BY ends LIMIT 1 OFFSET \(raw: "\(Self.piece - 1)")
        """
    }

    static func jobs(behind place: Int64, through end: Int64, limit: Int) -> SQLStatement {
        """
        SELECT sequence FROM job WHERE ends > \(place) AND ends <= \(end) AND finished IS NULL AND stopped IS NULL
        ORDER BY ends LIMIT \(limit)
        """
    }
}
