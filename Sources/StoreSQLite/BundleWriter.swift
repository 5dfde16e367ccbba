import GRDB
import PushModel
import Store
import StoreKit

/// Writes what is planned of a bundle, within a transaction.
struct BundleWriter {
    /// A rate limit is used up: what was counted for other services, and the claim, are taken back with all else.
    struct NoRoom: Error {}

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
    private static let isBundled = "sequence = ? AND \(Self.isPending)"
    /// A send that is not planned, and that a bundle stands for.
    static let isPending = "kind = 2 AND state = 1 AND planned = 0 AND due IS NULL"

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
            UPDATE job SET state = 2, hub_state = 'Enqueued', planned = 1, planner_epoch = planner_epoch + 1, started = ?,
                inline_pns = ?, inline_to = ?, inline_size = ?, inline_parcel = ?
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
            guard try self.context.feed(devices, app: self.app, pns: pns, priority: priority, as: .first) else {
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
                if isWritten { self.context.countBacklog(unfinished: -1) }
            case .planned(let batches):
                // One that is alone needs no row of its own.
                let only = batches.count == 1 ? batches.first : nil
                isWritten = try self.start(send, with: only)
                if isWritten { for batch in batches { try self.put(batch, of: send.sequence, isInline: only != nil) } }
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

    /// Has a send be under way.
    ///
    /// - Parameters:
    ///   - send: The send.
    ///   - only: Its batch, where its job's row stands for it.
    /// - Returns: Whether its bundle still stood for it.
    /// - Throws: ``StoreError``; what SQLite says.
    private mutating func start(_ send: PlannedSend, with only: SmallBatch?) throws -> Bool {
        try self.start.bind(self.context.wall.milliseconds, at: 1)
        try self.start.bind(only.map { Int64($0.pns.number) }, at: 2)
        try self.start.bind(only.map { _ in self.plan.through }, at: 3)
        try self.start.bind(only.map { Int64($0.size) }, at: 4)
        try self.start.bind(try only.map { try self.parcel(for: $0, of: send.sequence).id }, at: 5)
        try self.start.bind(send.sequence, at: 6)
        try self.start.run()
        return self.context.database.changesCount > 0
    }

    /// The parcel that a batch travels in, begun if it is its first.
    private mutating func parcel(for batch: SmallBatch, of job: Int64) throws -> Parcel {
        guard self.parcels.indices.contains(batch.parcel) else {
            throw StoreError(.corrupt, "a batch in a parcel that the plan does not have")
        }
        if let begun = self.parcels[batch.parcel] { return begun }
        try self.context.database.run(
            """
            INSERT INTO parcel(app, pns, priority, first, last, open, devices, due) VALUES (?, ?, ?, ?, ?, 0, 0, ?)
            """,
            [self.app, batch.pns.number, self.claim.bundle.priority.rank, job, job, self.due]
        )
        let parcel = Parcel(id: self.context.database.lastInsertedRowID, first: job, last: job)
        self.parcels[batch.parcel] = parcel
        return parcel
    }

    private mutating func put(_ batch: SmallBatch, of job: Int64, isInline: Bool) throws {
        var parcel = try self.parcel(for: batch, of: job)
        parcel.last = job
        parcel.count += 1
        parcel.devices += batch.size
        self.parcels[batch.parcel] = parcel
        guard !isInline else { return }
        try self.batch.bind(job, at: 1)
        try self.batch.bind(Int64(batch.pns.number), at: 2)
        try self.batch.bind(self.app, at: 3)
        try self.batch.bind(Int64(self.claim.bundle.priority.rank), at: 4)
        try self.batch.bind(self.plan.through, at: 5)
        try self.batch.bind(Int64(batch.size), at: 6)
        try self.batch.bind(parcel.id, at: 7)
        try self.batch.run()
    }

    private mutating func finishParcels() throws {
        for (index, parcel) in self.parcels.enumerated() {
            guard let parcel else { continue }
            guard parcel.count > 0 else {
                // Begun for a send that was lost.
                try self.context.database.run("DELETE FROM parcel WHERE id = ?", [parcel.id])
                self.parcels[index] = nil
                continue
            }
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
        guard let last = self.plan.sends.last?.sequence else {
            // Nothing was found; what was added since must not go with it.
            return try database.change(
                """
                DELETE FROM bundle WHERE id = ? AND NOT EXISTS (
                    SELECT 1 FROM job WHERE sequence BETWEEN bundle.first AND bundle.last AND +app = bundle.app
                        AND priority = bundle.priority AND \(Self.isPending))
                """,
                [bundle]
            ) > 0
        }
        if try database.change("DELETE FROM bundle WHERE id = ? AND last <= ?", [bundle, last]) > 0 { return true }
        try database.run("UPDATE bundle SET first = ?, claims = 0 WHERE id = ?", [last + 1, bundle])
        return false
    }
}
