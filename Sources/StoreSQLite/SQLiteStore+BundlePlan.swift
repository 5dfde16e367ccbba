import GRDB
package import PushModel
package import Store
import StoreKit

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
        return try await self.read(isShort: true) { database in
            let found = try database.first(
                "SELECT epoch, claims, app, priority FROM bundle WHERE id = ?",
                [bundle.number],
                read: ClaimedBundle.init
            )
            guard let found else { return nil }
            var claim = try database.claim(bundle, found, isHeld: false)
            let sends = try database.smallSends(of: claim, devices: devices)
            var rooms: [PNS: FeedRoom] = [:]
            for pns in sends.services where pns.isInService {
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
            return try await self.write(.of(rows: plan.sends.count)) { context in
                guard try context.hold(claim, lease: lease) else { return .lost }
                var writer = try BundleWriter(context: context, claim: claim, plan: plan, grace: grace)
                return try writer.write()
            }
        } catch is BundleWriter.NoRoom {
            return .noRoom
        }
    }
}

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
        return BundleClaim(
            bundle: SendBundle(id: bundle, app: app, priority: claimed.priority),
            epoch: claimed.epoch,
            claims: claimed.claims,
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

    private let app: Int64?
    private let claim: BundleClaim
    /// The most devices of one send.
    private let limit: Int
    private let through: Int64
    private let jobs: RawStatement
    private let tags: TagFinder
    private let devices: PreparedTagQuery

    init(database: Database, claim: BundleClaim, limit: Int) throws {
        self.app = try database.number(of: claim.bundle.app)
        self.tags = try TagFinder(database, app: self.app)
        self.claim = claim
        self.limit = limit
        // At each reading anew: a send may have joined the bundle since it was claimed, and its devices been registered.
        self.through = try database.first("SELECT coalesce(max(row), 0) FROM registration") { $0[0] as Int64 } ?? 0
        self.jobs = try RawStatement(
            """
            SELECT sequence, id, work, accepted, expires, traceparent FROM job
            WHERE sequence BETWEEN ? AND ? AND +app = ? AND priority = ? AND \(BundleWriter.isPending) ORDER BY sequence
            """,
            in: database
        )
        self.devices = try PreparedTagQuery(Self.query, in: database)
    }

    func sends(from first: Int64, through last: Int64) throws -> [SmallSend] {
        defer { self.jobs.reset() }
        try self.jobs.bind(first, at: 1)
        try self.jobs.bind(last, at: 2)
        try self.jobs.bind(self.app, at: 3)
        try self.jobs.bind(Int64(self.claim.bundle.priority.rank), at: 4)
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
            if case .all(let reaches) = audience { for reach in reaches { count += reach.devices.count } }
            sends.append(
                SmallSend(
                    sequence: self.jobs.integer(0),
                    id: id,
                    request: request,
                    accepted: Timestamp(milliseconds: self.jobs.integer(3)),
                    expires: Timestamp(milliseconds: self.jobs.integer(4)),
                    traceparent: self.jobs.text(5),
                    audience: audience,
                    through: self.through
                )
            )
        }
        return sends
    }

    private func audience(of request: SendRequest) throws -> SmallSend.Audience {
        guard let only = request.audience.onlyTag else { return .large }
        guard let tag = try self.tags.find(only) else { return .all([]) }
        let devices = try self.devices.start(tag, self.through, Int64(self.limit + 1))
        defer { devices.reset() }
        var reaches: [SmallSend.Reach] = []
        var count = 0
        while try devices.step() {
            count += 1
            if count > self.limit { return .large }
            let pns = try PNS(number: Int(devices.integer(0)))
            guard request.platforms.isEmpty || request.platforms.contains(pns) else { continue }
            // They come service by service.
            if reaches.last?.pns != pns { reaches.append(SmallSend.Reach(pns: pns)) }
            reaches[reaches.count - 1].devices.rows.append(devices.integer(1))
            devices.append(2, to: &reaches[reaches.count - 1].devices.handles)
        }
        return .all(reaches)
    }
}
