import GRDB
package import PushModel
package import Store

// Planning the jobs of a bundle (rules 2 and 4): claimed, read and written together.
extension SQLiteStore {
    /// See ``BundleStore/claim(_:lease:)``.
    package func claim(_ bundle: BundleID, lease: Duration) async throws -> BundleClaim? {
        try await self.write { context in
            let database = context.database
            let claimed = try database.first(
                """
                UPDATE bundle SET epoch = epoch + 1, claims = claims + 1, due = ? WHERE id = ?
                RETURNING epoch, claims, app, priority
                """,
                [context.now + lease.milliseconds, bundle.number],
                read: ClaimedBundle.init
            )
            return try claimed.map { try database.claim(bundle, $0, isHeld: true) }
        }
    }

    /// See ``BundleStore/look(at:devices:)``.
    package func look(at bundle: BundleID, devices: Int) async throws -> BundleClaim? {
        let feeding = self.feeding
        return try await self.read { database in
            let found = try database.first(
                "SELECT epoch, claims, app, priority FROM bundle WHERE id = ?",
                [bundle.number],
                read: ClaimedBundle.init
            )
            guard let found else { return nil }
            var claim = try database.claim(bundle, found, isHeld: false)
            let sends = try database.smallSends(of: claim, devices: devices)
            var rooms: [PNS: FeedRoom] = [:]
            for pns in Set(sends.flatMap(\.services)) where pns.isInService {
                rooms[pns] = try feeding.room(
                    for: .first,
                    app: found.app,
                    pns: pns,
                    priority: found.priority,
                    in: database
                )
            }
            claim.glimpse = BundleGlimpse(sends: sends, rooms: rooms)
            return claim
        }
    }

    /// See ``BundleStore/release(_:pause:)``.
    package func release(_ claim: BundleClaim, pause: Duration) async throws {
        try await self.write { context in
            try context.database.run(
                "UPDATE bundle SET due = ?, claims = 0 WHERE id = ? AND epoch = ?",
                [context.now + pause.milliseconds, claim.bundle.id.number, claim.epoch]
            )
        }
    }

    /// See ``BundleStore/extend(_:lease:)``.
    package func extend(_ claim: BundleClaim, lease: Duration) async throws -> Bool {
        try await self.write { try $0.hold(claim, lease: lease) }
    }

    /// See ``BundleStore/smallSends(of:devices:)``.
    package func smallSends(of claim: BundleClaim, devices: Int) async throws -> [SmallSend] {
        try await self.read { try $0.smallSends(of: claim, devices: devices) }
    }

    /// See ``BundleStore/commit(_:of:lease:grace:)``.
    package func commit(
        _ plan: BundlePlan,
        of claim: BundleClaim,
        lease: Duration,
        grace: Duration
    ) async throws -> BundleResult {
        do {
            return try await self.write { context in
                guard try context.hold(claim, lease: lease) else { return .lost }
                var writer = try BundleWriter(context: context, claim: claim, plan: plan, grace: grace)
                return try writer.write()
            }
        } catch is NoRoom {
            return .noRoom
        }
    }
}

/// A rate limit is used up: what was counted for other services, and the claim, are taken back with all else.
private struct NoRoom: Error {}

extension WriteContext {
    /// Extends the lease of a claim, if it is the latest; one that only looked takes the bundle over.
    fileprivate func hold(_ claim: BundleClaim, lease: Duration) throws -> Bool {
        try self.database.change(
            "UPDATE bundle SET epoch = ?, due = ? WHERE id = ? AND epoch = ?",
            [claim.held.epoch, self.now + lease.milliseconds, claim.bundle.id.number, claim.epoch]
        ) > 0
    }
}

/// What the table `bundle` says of a claim.
private struct ClaimedBundle {
    let epoch: Int
    let claims: Int
    let app: Int64
    let priority: Priority

    init(_ row: Row) throws {
        self.epoch = row[0]
        self.claims = row[1]
        self.app = row[2]
        self.priority = try Priority(number: row[3])
    }
}

extension Database {
    fileprivate func smallSends(of claim: BundleClaim, devices: Int) throws -> [SmallSend] {
        let range = try self.first(
            "SELECT first, last FROM bundle WHERE id = ? AND epoch = ?",
            [claim.bundle.id.number, claim.epoch]
        ) { (first: $0[0] as Int64, last: $0[1] as Int64) }
        guard let range else { return [] }
        return try SmallSendReader(database: self, claim: claim, limit: devices)
            .sends(from: range.first, through: range.last)
    }

    fileprivate func claim(_ bundle: BundleID, _ claimed: ClaimedBundle, isHeld: Bool) throws -> BundleClaim {
        let app = try self.first("SELECT name FROM app WHERE number = ?", [claimed.app]) {
            try AppID(stored: $0[0])
        }
        guard let app else { throw StoreError(.corrupt, "a bundle of an unknown app") }
        let through = try self.first("SELECT coalesce(max(row), 0) FROM registration") { $0[0] as Int64 } ?? 0
        return BundleClaim(
            bundle: SendBundle(id: bundle, app: app, priority: claimed.priority),
            epoch: claimed.epoch,
            claims: claimed.claims,
            through: through,
            isHeld: isHeld
        )
    }
}

/// Reads a bundle's sends with their devices.
struct SmallSendReader {
    static let query = TagQuery(
        ofNumber: """
            SELECT t.pns, t.row, r.handle FROM tagged AS t CROSS JOIN registration AS r ON r.row = t.row
            WHERE t.tag = ?1 AND t.row <= ?3 ORDER BY t.pns, t.row LIMIT ?4
            """,
        ofUser: """
            SELECT pns, row, handle FROM registration WHERE user = ?1 AND app = ?2 AND state = 1
            AND row <= ?3 ORDER BY pns, row LIMIT ?4
            """
    )

    private let claim: BundleClaim
    /// The most devices of one send.
    private let limit: Int
    private let jobs: RawStatement
    private let tags: TagFinder
    private let devices: PreparedTagQuery

    init(database: Database, claim: BundleClaim, limit: Int) throws {
        self.tags = try TagFinder(database, app: database.number(of: claim.bundle.app))
        self.claim = claim
        self.limit = limit
        self.jobs = try RawStatement(
            """
            SELECT sequence, id, work, accepted, expires, traceparent FROM job
            WHERE sequence BETWEEN ? AND ? AND kind = ? AND state = 1 AND planned = 0 AND due IS NULL ORDER BY sequence
            """,
            in: database
        )
        self.devices = try PreparedTagQuery(Self.query, in: database)
    }

    func sends(from first: Int64, through last: Int64) throws -> [SmallSend] {
        defer { self.jobs.reset() }
        try self.jobs.bind(first, at: 1)
        try self.jobs.bind(last, at: 2)
        try self.jobs.bind(Int64(JobKind.send.number), at: 3)
        var sends: [SmallSend] = []
        var count = 0
        // A hundred large ones do not fill the memory: the rest is read next time.
        while count < 100 * self.limit, try self.jobs.step() {
            let text = self.jobs.bytes(2)
            let request: SendRequest
            if let read = StoredSend.read(text) {
                request = read
            } else {
                let work = try StoredJSON.value(Job.Work.self, from: String(decoding: text, as: UTF8.self))
                guard case .send(let send) = work else { throw StoreError(.corrupt, "a bundle holds no send") }
                request = send
            }
            guard let id = JobID(bytes: self.jobs.bytes(1)) else {
                throw StoreError(.corrupt, "a row's job id is not 16 bytes")
            }
            let audience = try self.audience(of: request)
            if case .all(let services) = audience { for (_, devices) in services { count += devices.count } }
            sends.append(
                SmallSend(
                    sequence: self.jobs.integer(0),
                    id: id,
                    request: request,
                    accepted: Timestamp(milliseconds: self.jobs.integer(3)),
                    expires: Timestamp(milliseconds: self.jobs.integer(4)),
                    traceparent: self.jobs.text(5),
                    audience: audience
                )
            )
        }
        return sends
    }

    private func audience(of request: SendRequest) throws -> SmallSend.Audience {
        guard let only = request.audience.onlyTag else { return .large }
        guard let tag = try self.tags.find(only) else { return .all([:]) }
        let devices = try self.devices.start(tag, self.claim.through, Int64(self.limit + 1))
        defer { devices.reset() }
        var services: [PNS: DeliverBatch.Devices] = [:]
        var count = 0
        while try devices.step() {
            count += 1
            if count > self.limit { return .large }
            let pns = try PNS(number: Int(devices.integer(0)))
            guard request.platforms.isEmpty || request.platforms.contains(pns) else { continue }
            let row = devices.integer(1)
            services[pns, default: DeliverBatch.Devices()].rows.append(row)
            services[pns, default: DeliverBatch.Devices()].handles.append(devices.bytes(2))
        }
        return .all(services)
    }
}

/// Writes what is planned of a bundle, within a transaction.
private struct BundleWriter {
    private let context: WriteContext
    private let claim: BundleClaim
    private let plan: BundlePlan
    private let due: Int64
    private let app: Int64
    private let start: RawStatement
    private let finish: RawStatement
    private let release: RawStatement
    private let batch: RawStatement
    private var parcels: [Parcel?]

    /// A parcel that is being filled.
    private struct Parcel {
        let id: Int64
        let first: Int64
        var last: Int64
        var count = 0
        var devices = 0
    }

    /// Where a job stands that its bundle still stands for.
    private static let isBundled = "sequence = ? AND kind = 2 AND state = 1 AND planned = 0 AND due IS NULL"

    init(context: WriteContext, claim: BundleClaim, plan: BundlePlan, grace: Duration) throws {
        self.context = context
        self.claim = claim
        self.plan = plan
        self.due = context.now + grace.milliseconds
        self.parcels = Array(repeating: nil, count: plan.parcels)
        let database = context.database
        self.app = try database.ensureNumber(of: claim.bundle.app)
        self.start = try RawStatement(
            """
            UPDATE job SET state = 2, hub_state = 'Enqueued', planned = 1, planner_epoch = planner_epoch + 1, started = ?
            WHERE \(Self.isBundled)
            """,
            in: database
        )
        self.finish = try RawStatement(
            """
            UPDATE job SET state = 10, hub_state = 'NoTargetFound', planned = 1, planner_epoch = planner_epoch + 1,
                started = ?1, finished = ?1
            WHERE \(Self.isBundled)
            """,
            in: database
        )
        self.release = try RawStatement("UPDATE job SET due = ? WHERE \(Self.isBundled)", in: database)
        self.batch = try RawStatement(
            """
            INSERT INTO batch(job, pns, page, attempt, app, priority, from_id, to_id, size, open, published, parcel)
            VALUES (?, ?, 0, 0, ?, ?, 0, ?, ?, 1, 2, ?)
            """,
            in: database
        )
    }

    mutating func write() throws -> BundleResult {
        for (pns, devices) in self.plan.devices {
            let priority = self.claim.bundle.priority
            guard try self.context.feed(devices, app: self.app, pns: pns, priority: priority, isOwed: false) else {
                throw NoRoom()
            }
        }
        var lost: Set<Int64> = []
        for send in self.plan.sends {
            let isWritten: Bool
            switch send.fate {
            case .single: isWritten = try self.mark(send, by: self.release, self.context.now)
            case .planned(let batches) where batches.isEmpty:
                isWritten = try self.mark(send, by: self.finish, self.context.wall.milliseconds)
            case .planned(let batches):
                isWritten = try self.mark(send, by: self.start, self.context.wall.milliseconds)
                if isWritten { for batch in batches { try self.insert(batch, of: send.sequence) } }
            }
            if !isWritten { lost.insert(send.sequence) }
        }
        try self.finishParcels()
        let isDone = try self.advance()
        return .written(parcels: self.parcels.map { $0.map { ParcelID(number: $0.id) } }, lost: lost, isDone: isDone)
    }

    private func mark(_ send: PlannedSend, by statement: RawStatement, _ moment: Int64) throws -> Bool {
        try statement.bind(moment, at: 1)
        try statement.bind(send.sequence, at: 2)
        try statement.run()
        return self.context.database.changesCount > 0
    }

    private mutating func insert(_ batch: SmallBatch, of job: Int64) throws {
        guard self.parcels.indices.contains(batch.parcel) else {
            throw StoreError(.corrupt, "a batch in a parcel that the plan does not have")
        }
        var parcel: Parcel
        if let begun = self.parcels[batch.parcel] {
            parcel = begun
        } else {
            try self.context.database.run(
                """
                INSERT INTO parcel(app, pns, priority, first, last, open, devices, due) VALUES (?, ?, ?, ?, ?, 0, 0, ?)
                """,
                [self.app, batch.pns.number, self.claim.bundle.priority.rank, job, job, self.due]
            )
            parcel = Parcel(id: self.context.database.lastInsertedRowID, first: job, last: job)
        }
        parcel.last = job
        parcel.count += 1
        parcel.devices += batch.size
        self.parcels[batch.parcel] = parcel
        try self.batch.bind(job, at: 1)
        try self.batch.bind(Int64(batch.pns.number), at: 2)
        try self.batch.bind(self.app, at: 3)
        try self.batch.bind(Int64(self.claim.bundle.priority.rank), at: 4)
        try self.batch.bind(self.claim.through, at: 5)
        try self.batch.bind(Int64(batch.size), at: 6)
        try self.batch.bind(parcel.id, at: 7)
        try self.batch.run()
    }

    private func finishParcels() throws {
        for case let parcel? in self.parcels {
            try self.context.database.run(
                "UPDATE parcel SET last = ?, open = ?, devices = ? WHERE id = ?",
                [parcel.last, parcel.count, parcel.devices, parcel.id]
            )
        }
    }

    /// Moves the bundle behind what was planned, or ends it.
    ///
    /// - Returns: Whether it is ended.
    private func advance() throws -> Bool {
        let database = self.context.database
        let bundle = self.claim.bundle.id.number
        let last = self.plan.sends.last?.sequence ?? .max
        if try database.change("DELETE FROM bundle WHERE id = ? AND last <= ?", [bundle, last]) > 0 { return true }
        try database.run("UPDATE bundle SET first = ?, claims = 0 WHERE id = ?", [last + 1, bundle])
        return false
    }
}
