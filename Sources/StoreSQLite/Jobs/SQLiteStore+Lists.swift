package import PushModel
package import Store
import StoreKit

extension SQLiteStore {
    /// See ``JobStore/jobs(_:)``.
    package func jobs(_ query: JobQuery) async throws -> Page<Job> {
        let before = try self.cursors.open(query.cursor, .jobs, of: query.app) ?? .max
        let (clock, cursors) = (self.clock, self.cursors)
        return try await self.read { database in
            guard let app = try database.number(of: query.app) else { return Page(items: [], cursor: nil) }
            let limit = min(max(1, query.limit), 1000)
            let end = try query.end(in: database, app: app, before: before)
            let (conditions, arguments) = query.conditions(app: app, before: before, end: end)
            var (rows, bytes) = ([JobRow](), 0)
            try database.read(
                """
                SELECT \(JobRow.columns) FROM \(JobRow.source) WHERE \(conditions)
                ORDER BY job.sequence DESC LIMIT ?
                """,
                arguments + [limit + 1]
            ) { row in
                bytes += (row[JobRow.workColumn] as String).utf8.count
                bytes += (row[JobRow.resultColumn] as String?)?.utf8.count ?? 0
                rows.append(try JobRow(row))
                return bytes < Self.pageBytes
            }
            let isCut = rows.count > limit || bytes >= Self.pageBytes
            let page = rows.prefix(limit)
            let next = isCut ? page.last?.plain.sequence : end
            return Page(
                items: try page.map { try $0.job(in: database, clock: clock) },
                cursor: next.map { cursors.seal($0, .jobs, of: query.app) }
            )
        }
    }

    /// The most text of sends and results that a page of jobs is read from, in bytes: a page of large ones is short.
    private static let pageBytes = 1 << 20

    /// See ``JobStore/deliveries(_:)``.
    package func deliveries(_ query: DeliveryQuery) async throws -> Page<DeliveryRecord> {
        let after = try self.cursors.open(query.cursor, .deliveries, of: query.app) ?? 0
        let cursors = self.cursors
        return try await self.read { database in
            guard let job = try database.jobRow(query.job, app: query.app) else { return Page(items: [], cursor: nil) }
            let limit = min(max(1, query.limit), 1000)
            var conditions = "delivery.job = ? AND delivery.id > ?"
            var arguments: Database.Values = [job.plain.sequence, after]
            if let outcome = query.outcome {
                conditions += " AND delivery.class = ?"
                arguments += [outcome.count.number]
            }
            if let pns = query.pns {
                conditions += " AND delivery.pns = ?"
                arguments += [pns.number]
            }
            let rows = try database.all(
                """
                SELECT delivery.id, delivery.pns, delivery.row, delivery.class, delivery.status, delivery.reason, delivery.at,
                    registration.id, registration.user, registration.user_shown, delivery.reference
                FROM delivery LEFT JOIN registration ON registration.row = delivery.row
                WHERE \(conditions) ORDER BY delivery.id LIMIT ?
                """,
                arguments + [limit + 1]
            ) { (id: $0[0] as Int64, record: try DeliveryRecord($0, job: query.job)) }
            return Page(rows, limit: limit, cursor: { cursors.seal($0.id, .deliveries, of: query.app) }, item: \.record)
        }
    }
}

extension JobQuery {
    /// The most jobs of a label or a caller that a page looks at, where no index finds those that are asked for.
    private static let most = 5_000

    /// The row at which reading for a page ends, with or without results; nil for the end of the list.
    ///
    /// Otherwise a filter that matches none of very many jobs would keep a reader busy for long.
    fileprivate func end(in database: Database, app: Int64, before: Int64) throws -> Int64? {
        var isFiltered = self.kind != nil || self.since != nil || self.pns != nil || self.state != nil
        let caller = self.user.map { ("user", $0.key.text) } ?? self.key.map { ("key", $0) }
        if self.label != nil { isFiltered = isFiltered || caller != nil }
        guard isFiltered, let (column, owner) = self.label.map({ ("label", $0.text) }) ?? caller else { return nil }
        return try database.first(
            "SELECT sequence FROM job WHERE app = ? AND \(column) = ? AND sequence < ? ORDER BY sequence DESC LIMIT 1 OFFSET ?",
            [app, owner, before, Self.most]
        ) { $0[0] as Int64 }
    }

    /// The rows' conditions, with their values.
    fileprivate func conditions(
        app: Int64,
        before: Int64,
        end: Int64?
    ) -> (sql: String, arguments: Database.Values) {
        var sql = "job.app = ? AND job.sequence < ?"
        var arguments: Database.Values = [app, before]
        func require(_ condition: String, _ values: Database.Values) {
            sql += " AND " + condition
            arguments += values
        }
        if let end { require("job.sequence >= ?", [end]) }
        if let label = self.label { require("job.label = ?", [label.text]) }
        // A label finds fewer: with one, the index of callers is not to be chosen.
        let free = self.label == nil ? "" : "+"
        if let user = self.user { require("\(free)job.user = ?", [user.key.text]) }
        if let key = self.key { require("\(free)job.key = ?", [key]) }
        if let kind = self.kind { require("job.kind = ?", [kind.number]) }
        if let since = self.since { require("job.accepted >= ?", [since.milliseconds]) }
        if let pns = self.pns {
            require(
                """
                (job.platforms & ? != 0 OR job.inline_pns = ? AND job.finished IS NOT NULL
                    OR EXISTS (SELECT 1 FROM delivery_count WHERE delivery_count.job = job.sequence AND delivery_count.pns = ?))
                """,
                [pns.bit, pns.number, pns.number]
            )
        }
        if let state = self.state {
            // As a number in the text, for the index of states is partial; not for choosing an index where there is a better.
            let isIndexed = self.user == nil && self.key == nil && self.label == nil
            let stored = "\(isIndexed ? "" : "+")job.state = \(state.number)"
            switch state {
            case .retrying: require("(\(stored) AND \(Self.isWaiting) OR \(Self.isDeferred))", [])
            case .running: require("\(stored) AND NOT \(Self.isWaiting)", [])
            case .queued: require("\(stored) AND NOT \(Self.isDeferred)", [])
            default: require(stored, [])
            }
            // The states in the index; most jobs are completed and not in it.
            if isIndexed, state != .completed {
                require(state.isFinal ? "job.\(JobTransition.failed)" : "job.finished IS NULL", [])
            }
        }
        return (sql, arguments)
    }

    /// A register job that its worker deferred, as ``JobRow`` shows it.
    private static let isDeferred = """
        (+job.state = \(Job.State.queued.number) AND job.kind = \(JobKind.register.number) AND EXISTS (
            SELECT 1 FROM message WHERE message.id = job.message
                AND message.state = \(MessageState.deferred.rawValue) AND message.reason IS NOT NULL))
        """

    /// All that is open of a job that is fanned out waits for a later try.
    private static let isWaiting = """
        (job.fanned_out = 1 AND job.kind = \(JobKind.send.number) AND NOT EXISTS (
            SELECT 1 FROM message WHERE message.id = job.message AND message.state = \(MessageState.published.rawValue))
            AND NOT EXISTS (
                SELECT 1 FROM batch JOIN message ON message.id = batch.message
                WHERE batch.job = job.sequence AND batch.open = 1 AND message.state = \(MessageState.published.rawValue)))
        """
}

extension DeliveryRecord {
    fileprivate init(_ row: Row, job: JobID) throws {
        let number: Int64 = row[2]
        self.init(
            pns: try PushService(stored: row[1]),
            row: number,
            registration: try (row[7] as String?).map { try RegistrationID(stored: $0) },
            user: try (row[8] as String?).map { try UserName(stored: $0, shown: row[9]) },
            reference: row[10],
            outcome: try Outcome(DeliveryCountClass(number: row[3])),
            status: row[4],
            reason: row[5],
            at: Timestamp(milliseconds: row[6]),
            notificationID: job.notificationID(row: number)
        )
    }
}

extension DeliveryRecord.Outcome {
    fileprivate var count: DeliveryCountClass {
        switch self {
        case .accepted: .accepted
        case .failed(let failure): .failed(failure)
        }
    }

    fileprivate init(_ kind: DeliveryCountClass) throws(StoreError) {
        switch kind {
        case .accepted: self = .accepted
        case .failed(let failure): self = .failed(failure)
        case .targets, .expired, .cancelled: throw StoreError(.corrupt, "a device's row has no outcome")
        }
    }
}
