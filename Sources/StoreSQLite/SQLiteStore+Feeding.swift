import Foundation
import GRDB
import Logging
package import PushModel
package import Store
import StoreKit

// What may be fed to a push service, and what is due and may be fed (rule 12).
extension SQLiteStore {
    /// See ``PlanStore/room(for:app:pns:priority:)``.
    package func room(for kind: FeedKind, app: AppID, pns: PNS, priority: Priority) async throws -> FeedRoom {
        let feeding = self.feeding
        return try await self.read { database in
            guard let number = try database.number(of: app) else { return FeedRoom(devices: 0) }
            return try feeding.room(for: kind, app: number, pns: pns, priority: priority, in: database)
        }
    }

    /// See ``JobStore/dueJobs(overdue:limit:)``.
    package func dueJobs(overdue: Duration, limit: Int) async throws -> [DueJob] {
        let feeding = self.feeding
        return try await self.read { database in
            var found: [DueJob] = []
            for priority in Priority.allCases.sorted() where found.count < limit {
                found += try feeding.dueJobs(priority, overdue: overdue, limit: limit - found.count, in: database)
            }
            return found
        }
    }

    /// See ``PlanStore/dueBatches(limit:)``.
    package func dueBatches(limit: Int) async throws -> [DueBatch] {
        let feeding = self.feeding
        let logger = self.logger
        let found = try await self.read { database in
            var jobs: [Int64: (job: Job, request: SendRequest)] = [:]
            var found: [DueBatch] = []
            for priority in Priority.allCases.sorted() where found.count < limit {
                for row in try feeding.dueBatches(priority, limit: limit - found.count, in: database) {
                    do {
                        if jobs[row.job] == nil, let job = try database.jobRow(sequence: row.job),
                            case .send(let request) = job.work
                        {
                            jobs[row.job] = (try job.job(in: database, clock: feeding.clock), request)
                        }
                        guard let (job, request) = jobs[row.job] else { continue }
                        found.append(try row.batch(job: job, request: request, now: feeding.now))
                    } catch let error as StoreError {
                        // As another release wrote it, perhaps. Its job ends with its expiry; the others go on.
                        logger.debug("A due batch cannot be read", metadata: ["store.error": "\(error)"])
                    }
                }
            }
            return found
        }
        return try await self.whole(found)
    }

    /// So many audiences of many tags are taken up at a time; what is due of others comes the next time.
    private static let audiencesATime = 4

    /// The batches with all of their sends' audiences.
    private func whole(_ batches: [DueBatch]) async throws -> [DueBatch] {
        guard batches.contains(where: { $0.request.omitted > 0 }) else { return batches }
        var requests: [Int64: SendRequest] = [:]
        var whole: [DueBatch] = []
        for batch in batches {
            let job = batch.job.sequence
            if batch.request.omitted > 0, requests[job] == nil {
                guard requests.count < Self.audiencesATime else { continue }
                requests[job] = try await self.whole(batch.request, job: job)
            }
            whole.append(requests[job].map(batch.with) ?? batch)
        }
        return whole
    }

    var feeding: Feeding { Feeding(clock: self.clock, window: self.configuration.window) }
}

/// One look at what is due.
///
/// Due rows are read in groups that an index keeps apart, one app's after the other's: however many rows of a group there are, the
/// others are found behind its first.
struct Feeding: Sendable {
    let clock: StoreClock
    let window: FeedWindow
    /// The store's clock.
    let now: Int64

    /// How many jobs of a group are woken at once: each is a message that may find the room gone.
    private static let wakeLimit = 256
    /// In the column `waits`: it has planned pages before.
    static let hasPlanned = 1

    init(clock: StoreClock, window: FeedWindow) {
        self.clock = clock
        self.window = window
        self.now = clock.now
    }

    // MARK: Room

    func room(for kind: FeedKind, app: Int64, pns: PNS, priority: Priority, in database: Database) throws -> FeedRoom {
        guard try !database.isPaused(.deliver(pns), app: app) else { return FeedRoom(devices: 0, isPaused: true) }
        let open = try database.first(
            """
            SELECT count(*), coalesce(sum(size), 0) FROM batch
            WHERE app = ? AND pns = ? AND priority = ? AND open = 1 AND published IN (-1, 1)
            """,
            [app, pns.number, priority.rank]
        ) { (batches: $0[0] as Int, devices: $0[1] as Int) }
        // A parcel takes the place of a batch.
        let parcels = try database.first(
            "SELECT count(*), coalesce(sum(devices), 0) FROM parcel WHERE app = ? AND pns = ? AND priority = ?",
            [app, pns.number, priority.rank]
        ) { (count: $0[0] as Int, devices: $0[1] as Int) }
        let batches = (open?.batches ?? 0) + (parcels?.count ?? 0)
        let devices = (open?.devices ?? 0) + (parcels?.devices ?? 0)
        guard batches < kind.share(of: self.window.batches) else { return FeedRoom(devices: 0) }
        var left = kind.share(of: self.window.devices) - devices
        // What campaigns may not fill they must not take with their first page either.
        if kind == .first { left = min(left, DeliverBatch.maximumDevices) }
        guard let bucket = try database.bucket(app: app, pns: pns, now: self.now) else {
            // Whole batches: a window that is nearly full must not be filled up with small ones.
            return FeedRoom(devices: max(0, left - left % DeliverBatch.maximumDevices))
        }
        // Of what is limited no more is under way than goes out in two seconds: else it all went out at once after a pause.
        let ahead = kind.share(of: max(1, Int(bucket.rate) * 2)) - devices
        let nanoseconds = self.now * 1_000_000
        // What was begun comes before what is new: planners take all that is free as soon as it is worth a step.
        let isUrgent = priority == .high || kind == .retry
        var free = bucket.devices(at: nanoseconds, isUrgent: isUrgent)
        // Where campaigns have left nothing, small sends pass them.
        if free == 0, kind == .first { free = bucket.devices(at: nanoseconds, isUrgent: true) }
        guard free > 0 else {
            let wait = bucket.wait(at: nanoseconds, isUrgent: isUrgent || kind == .first)
            return FeedRoom(devices: 0, wait: .nanoseconds(wait))
        }
        return FeedRoom(devices: max(0, min(free, left, ahead)))
    }

    // MARK: Jobs

    func dueJobs(_ priority: Priority, overdue: Duration, limit: Int, in database: Database) throws -> [DueJob] {
        var groups: [(app: Int64, waits: Int)] = []
        var last: (app: Int64, waits: Int) = (-1, 0)
        while let next = try database.nextJobGroup(priority, after: last) {
            groups.append(next)
            last = next
        }
        var found: [DueJob] = []
        for (index, group) in groups.enumerated() where found.count < limit {
            // What one group leaves of its share is the next ones'.
            var share = max(1, (limit - found.count) / (groups.count - index))
            let before = group.waits == 0 ? self.now - overdue.milliseconds : self.now
            if let queue = Self.held(group.waits) {
                guard try !database.isPaused(queue, app: group.app) else { continue }
            } else if group.waits != 0 {
                share = min(share, try self.wakes(of: group, priority: priority, in: database))
            }
            guard share > 0 else { continue }
            found += try database.dueJobs(priority, group: group, before: before, limit: share)
        }
        return found
    }

    /// How many jobs that wait for room may find some now.
    private func wakes(of group: (app: Int64, waits: Int), priority: Priority, in database: Database) throws -> Int {
        let hasPlanned = group.waits & Self.hasPlanned != 0
        var wakes = 0
        for pns in PNS.allCases where group.waits & pns.bit != 0 {
            let kind: FeedKind = hasPlanned ? .page : .first
            let room = try self.room(for: kind, app: group.app, pns: pns, priority: priority, in: database)
            // A campaign takes what there is, a small send little.
            let jobs =
                hasPlanned
                ? (room.devices + DeliverBatch.maximumDevices - 1) / DeliverBatch.maximumDevices : room.devices
            wakes = max(wakes, jobs)
        }
        return min(wakes, Self.wakeLimit)
    }

    // MARK: Batches

    fileprivate func dueBatches(_ priority: Priority, limit: Int, in database: Database) throws -> [DueBatchRow] {
        var groups: [BatchGroup] = []
        var last = BatchGroup(app: -1, pns: 0, published: 0)
        while let next = try database.nextBatchGroup(priority, after: last) {
            groups.append(next)
            last = next
        }
        var found: [DueBatchRow] = []
        for (index, group) in groups.enumerated() where found.count < limit {
            let share = max(1, (limit - found.count) / (groups.count - index))
            let pns = try PNS(number: group.pns)
            guard try !database.isPaused(.deliver(pns), app: group.app) else { continue }
            let rows = try database.dueBatches(priority, group: group, before: self.now, limit: share)
            if rows.isEmpty { continue }
            var room = Int.max
            // What was at the broker before is in the window already.
            if group.published == 0 {
                room = try self.room(for: .retry, app: group.app, pns: pns, priority: priority, in: database).devices
            }
            for row in rows where room > 0 {
                found.append(row)
                room -= row.size
            }
        }
        return found
    }
}

extension FeedKind {
    /// How much of a window this kind may fill.
    fileprivate func share(of whole: Int) -> Int {
        switch self {
        case .page: whole
        case .first: whole + (whole + 3) / 4
        case .retry: whole * 2
        }
    }
}

/// Due batches that a window counts together: of an app and service, and whether they are at the broker.
private struct BatchGroup {
    let app: Int64
    let pns: Int
    let published: Int
}

extension Database {
    fileprivate func nextJobGroup(
        _ priority: Priority,
        after last: (app: Int64, waits: Int)
    ) throws -> (app: Int64, waits: Int)? {
        try self.first(
            """
            SELECT app, waits FROM job WHERE priority = ? AND due IS NOT NULL AND (app, waits) > (?, ?)
            ORDER BY app, waits LIMIT 1
            """,
            [priority.rank, last.app, last.waits]
        ) { ($0[0], $0[1]) }
    }

    fileprivate func dueJobs(
        _ priority: Priority,
        group: (app: Int64, waits: Int),
        before: Int64,
        limit: Int
    ) throws -> [DueJob] {
        try self.all(
            """
            SELECT job.id, app.name, job.kind, job.traceparent, job.planner_epoch FROM job JOIN app ON app.number = job.app
            WHERE job.priority = ? AND job.app = ? AND job.waits = ? AND job.due <= ? ORDER BY job.due LIMIT ?
            """,
            [priority.rank, group.app, group.waits, before, limit]
        ) { row in
            DueJob(
                id: try JobID(blob: row[0]),
                app: try AppID(stored: row[1]),
                kind: try JobKind(number: row[2]),
                priority: priority,
                traceparent: row[3],
                epoch: row[4]
            )
        }
    }

    fileprivate func nextBatchGroup(_ priority: Priority, after last: BatchGroup) throws -> BatchGroup? {
        try self.first(
            """
            SELECT app, pns, published FROM batch
            WHERE priority = ? AND open = 1 AND due IS NOT NULL AND (app, pns, published) > (?, ?, ?)
            ORDER BY app, pns, published LIMIT 1
            """,
            [priority.rank, last.app, last.pns, last.published]
        ) { BatchGroup(app: $0[0], pns: $0[1], published: $0[2]) }
    }

    fileprivate func dueBatches(
        _ priority: Priority,
        group: BatchGroup,
        before: Int64,
        limit: Int
    ) throws -> [DueBatchRow] {
        try self.all(
            """
            SELECT job, pns, page, attempt, from_id, to_id, due, carried, size FROM batch
            WHERE priority = ? AND app = ? AND pns = ? AND published = ? AND open = 1 AND due <= ? ORDER BY due LIMIT ?
            """,
            [priority.rank, group.app, group.pns, group.published, before, limit],
            read: DueBatchRow.init
        )
    }

    /// The rate limit of an app at a service, if it has one.
    fileprivate func bucket(app: Int64, pns: PNS, now: Int64) throws -> GCRA? {
        try self.first("SELECT rate, used FROM pace WHERE app = ? AND pns = ?", [app, pns.number]) { row in
            GCRA(rate: row[0], tat: row[1], now: now * 1_000_000)
        }
    }
}

extension WriteContext {
    /// Counts devices for the rate limit.
    ///
    /// - Parameters:
    ///   - devices: How many are fed.
    ///   - app: The app's number.
    ///   - pns: Where they go.
    ///   - priority: Urgent ones may go ahead of the limit for a moment.
    ///   - kind: First pages may do so too; retries go in any case, and what is too much is waited for later.
    /// - Returns: false when there is no room for them; then nothing is counted.
    /// - Throws: What SQLite says.
    func feed(_ devices: Int, app: Int64, pns: PNS, priority: Priority, as kind: FeedKind) throws -> Bool {
        guard devices > 0, var bucket = try self.database.bucket(app: app, pns: pns, now: self.now) else { return true }
        let nanoseconds = self.now * 1_000_000
        let mayGoAhead = priority == .high || kind == .first
        guard kind == .retry || bucket.devices(at: nanoseconds, isUrgent: mayGoAhead) >= devices else { return false }
        bucket.take(devices, at: nanoseconds)
        try self.database.run(
            "UPDATE pace SET used = ? WHERE app = ? AND pns = ?",
            [bucket.tat, app, pns.number]
        )
        return true
    }

    /// Counts the devices of a batch that was published again for the rate limit, where they are sent to once more.
    ///
    /// Also where its outcome stands already: the worker was faster than this. What was planned and never came to the broker was
    /// counted then, and what a worker gave back was not sent to.
    func feedAgain(_ key: BatchKey, of job: Int64) throws {
        let batch = try self.database.first(
            """
            SELECT app, priority, size FROM batch
            WHERE job = ? AND pns = ? AND page = ? AND attempt = ? AND (published = 1 OR published = 0 AND attempt > 0)
            """,
            [job, key.pns.number, key.page, key.attempt]
        ) { (app: $0[0] as Int64, priority: try Priority(number: $0[1]), size: $0[2] as Int) }
        guard let batch else { return }
        _ = try self.feed(batch.size, app: batch.app, pns: key.pns, priority: batch.priority, as: .retry)
    }

    /// Takes over the rate limits of an app's declaration.
    func setLimits(_ spec: AppSpec, app: Int64) throws {
        for pns in PNS.allCases {
            guard let rate = spec.devicesPerSecond(for: pns) else {
                try self.database.run("DELETE FROM pace WHERE app = ? AND pns = ?", [app, pns.number])
                continue
            }
            try self.database.run(
                """
                INSERT INTO pace(app, pns, rate, used) VALUES (?, ?, ?, ?)
                ON CONFLICT (app, pns) DO UPDATE SET rate = excluded.rate
                """,
                [app, pns.number, rate, self.now * 1_000_000]
            )
        }
    }

    /// What the column `waits` says of a planner that gave its job back.
    func waits(of claim: PlannerClaim, for services: [PNS]) -> Int {
        guard !services.isEmpty else { return 0 }
        // Of those that it waits for: whoever has only begun at others is not behind a campaign that has begun here.
        let hasPlanned = claim.lanes.contains { services.contains($0.pns) && $0.nextPage > 0 }
        return services.reduce(hasPlanned ? Feeding.hasPlanned : 0) { $0 | $1.bit }
    }
}
