package import PushModel
package import Store
import StoreKit

extension JobStore where Self: SQLEngine {
    package func jobs(_ selection: JobSelection) async throws -> Page<Job> {
        switch selection {
        case .list(let query): return try await self.list(query)
        case .ids(let ids, let app):
            let size: ReadSize = ids.count == 1 ? .short : .ordinary
            let found = try await self.rows(ids.map { JobTable.row($0, app: app) }, size: size)
            let rows = try found.compactMap(\.first).map { try JobRow($0) }
            return Page(items: try await self.shown(rows, size: size), cursor: nil)
        }
    }

    /// A page of jobs, newest first.
    private func list(_ query: JobQuery) async throws -> Page<Job> {
        let cursors = self.cursors
        var before = try cursors.open(query.cursor, .jobs, of: query.app) ?? .max
        if query.cursor == nil, let id = query.upTo {
            let job: SQLStatement = "SELECT sequence FROM job WHERE id = \(id) AND app = \(SQLStatement.app(query.app))"
            guard let row = try await self.rows(job).first else { return Page(items: [], cursor: nil) }
            before = try row["sequence"] + 1
        }
        let limit = min(max(1, query.limit), 1000)
        var last: Int64?
        if let end = query.end(before: before, findsStates: self.findsJobsByState) {
            last = try await self.rows(end).first.map { try $0["sequence"] }
        }
        var (rows, bytes, next) = ([JobRow](), 0, last)
        reading: while true {
            // The last look is only for whether there are more.
            let count = min(bytes < JobQuery.pageBytes ? JobQuery.piece : 1, limit + 1 - rows.count)
            let conditions = query.conditions(before: before, from: last ?? 0)
            let found = try await self.rows(
                JobTable.rows("\(conditions) ORDER BY job.sequence DESC LIMIT \(count)")
            )
            for row in found {
                guard rows.count < limit, bytes < JobQuery.pageBytes else {
                    next = before
                    break reading
                }
                rows.append(try JobRow(row))
                before = try row["sequence"]
                let result = try row["result"] as String?
                bytes += (try row["work"] as String).utf8.count + (result?.utf8.count ?? 0)
            }
            if found.count < count { break }
        }
        return Page(
            items: try await self.shown(rows),
            cursor: next.map { cursors.seal($0, .jobs, of: query.app) }
        )
    }

    /// Jobs for display, those that were removed meanwhile left out.
    ///
    /// What is beside a row is read after it: a row that has another state by then is read again, for its counts would not fit it.
    private func shown(_ rows: [JobRow], size: ReadSize = .ordinary) async throws -> [Job] {
        let details = rows.flatMap { JobTable.details(of: $0) }
        guard !details.isEmpty else { return try rows.map { try JobTable.job($0, [], clock: self.clock) } }
        let states: SQLStatement = """
            SELECT sequence, state FROM job WHERE sequence IN (\(numbers: rows.map(\.plain.sequence)))
            """
        var found = try await self.rows([states] + details, size: size)[...]
        let present = try found.removeFirst().reduce(into: [Int64: Int]()) { $0[try $1["sequence"]] = try $1["state"] }
        var jobs: [Job] = []
        for row in rows {
            let sequence = row.plain.sequence
            if present[sequence] == row.state.number {
                jobs.append(try JobTable.job(row, found, clock: self.clock))
            } else {
                let newer = try await self.rows(JobTable.rows("job.sequence = \(sequence)"), size: size)
                jobs += try await self.shown(try newer.map { try JobRow($0) }, size: size)
            }
            found = found.dropFirst(row.needs.count)
        }
        return jobs
    }

    package func registerJobs(of message: MessageID) async throws -> [Job] {
        let rows = try await self.readWork(unless: \.isEmpty) {
            try await self.rows(JobTable.registers(of: message, now: self.clock.now))
        }
        return try rows.map { try JobRow($0).plain }
    }

    package func deliveries(_ query: DeliveryQuery) async throws -> Page<DeliveryRecord> {
        let (cursors, app) = (self.cursors, query.app)
        let after = try cursors.open(query.cursor, .deliveries, of: app) ?? 0
        let limit = min(max(1, query.limit), 1000)
        let outcome: SQLStatement = query.outcome.map { "AND delivery.class = \($0.count.number)" } ?? ""
        let pns: SQLStatement = query.pns.map { "AND delivery.pns = \($0.number)" } ?? ""
        let job: SQLStatement = "(SELECT sequence FROM job WHERE id = \(query.job) AND app = \(SQLStatement.app(app)))"
        var last: Int64?
        if query.outcome != nil || query.pns != nil {
            last = try await self.rows(
                """
                SELECT id FROM delivery WHERE job = \(job) AND id > \(after) ORDER BY id LIMIT 1 OFFSET \(raw: "\(DeliveryQuery.most)")
                """
            ).first.map { try $0["id"] }
        }
        let rows = try await self.rows(
            """
            SELECT delivery.id AS number, delivery.pns, delivery.row, delivery.class, delivery.status, delivery.reason, delivery.at,
                registration.id, registration."user", registration.user_shown, delivery.reference
            FROM delivery LEFT JOIN registration ON registration.row = delivery.row
            WHERE delivery.job = \(job) AND delivery.id > \(after) AND delivery.id <= \(last ?? .max) \(outcome) \(pns)
            ORDER BY delivery.id LIMIT \(limit + 1)
            """
        )
        let page = try Page(
            rows.map { (number: try $0["number"] as Int64, record: try DeliveryRecord($0, job: query.job)) },
            limit: limit,
            cursor: { cursors.seal($0.number, .deliveries, of: app) },
            item: \.record
        )
        guard page.cursor == nil, let last else { return page }
        return Page(items: page.items, cursor: cursors.seal(last, .deliveries, of: app))
    }
}

extension DeliveryQuery {
    /// The most devices that a page looks at, where few of many are asked for.
    fileprivate static let most = 20_000
}

extension JobQuery {
    /// The most text of sends and results that a page is read from, in bytes: a page of large ones is short.
    fileprivate static let pageBytes = 1 << 20
    /// The jobs that are read in one go: their works may be large, and no page is to be read from much more text than it shows.
    fileprivate static let piece = 32
    /// The most jobs of a label, a caller or an app that a page looks at, where no index finds those that are asked for.
    private static let most = 5_000

    private var isOfCaller: Bool { self.user != nil || self.key != nil }

    /// Finds the row at which reading for a page ends, with or without results; nil, or no row, for the end of the list.
    ///
    /// Otherwise a filter that matches none of very many jobs would keep a reader busy for long.
    fileprivate func end(before: Int64, findsStates: Bool) -> SQLStatement? {
        let isFiltered =
            self.kind != nil || self.since != nil || self.pns != nil || self.state != nil || self.isUnfinished
            || self.hasFailures
        guard isFiltered || self.label != nil && self.isOfCaller else { return nil }
        let owner: SQLStatement? =
            self.label.map { "AND label = \($0.text)" } ?? self.user.map { "AND \"user\" = \($0.key.text)" }
            ?? self.key.map { "AND key = \($0)" }
        // What failed stands in no index.
        let all: SQLStatement? = (findsStates || self.isOfFailed) && !self.hasFailures ? nil : ""
        guard let owner = owner ?? all else { return nil }
        return """
            SELECT sequence FROM job WHERE app = \(SQLStatement.app(self.app)) \(owner) AND sequence < \(before)
            ORDER BY sequence DESC LIMIT 1 OFFSET \(raw: "\(Self.most)")
            """
    }

    /// Whether it is for jobs of one state that ended otherwise than completed: these every engine has an index of.
    private var isOfFailed: Bool { self.state.map { $0.isFinal && $0 != .completed } ?? false }

    /// The rows' conditions.
    fileprivate func conditions(before: Int64, from: Int64) -> SQLStatement {
        var conditions: [SQLStatement] = [
            "job.app = \(SQLStatement.app(self.app)) AND job.sequence < \(before) AND job.sequence >= \(from)"
        ]
        if let label = self.label { conditions.append("job.label = \(label.text)") }
        // A label finds fewer: with one, the index of callers is not to be chosen.
        func caller(_ column: String) -> SQLStatement {
            self.label == nil ? "\(raw: column)" : "coalesce(\(raw: column), '')"
        }
        if let user = self.user { conditions.append("\(caller("job.\"user\"")) = \(user.key.text)") }
        if let key = self.key { conditions.append("\(caller("job.key")) = \(key)") }
        if let kind = self.kind { conditions.append("job.kind = \(raw: "\(kind.number)")") }
        if let since = self.since { conditions.append("job.accepted >= \(since)") }
        if let pns = self.pns {
            conditions.append(
                """
                (job.platforms & \(pns.bit) <> 0 OR job.inline_pns = \(pns.number) AND job.finished IS NOT NULL
                    OR EXISTS (SELECT 1 FROM delivery_count AS sent WHERE sent.job = job.sequence AND sent.pns = \(pns.number)))
                """
            )
        }
        if let state = self.state { conditions.append(self.condition(of: state)) }
        // As with states: in an index of the unfinished, which only what has a better one does not go by.
        if self.isUnfinished {
            let isIndexed = !self.isOfCaller && self.label == nil
            conditions.append(isIndexed ? "job.finished IS NULL" : "coalesce(job.finished, 0) = 0")
        }
        if self.hasFailures { conditions.append(Self.isFailing) }
        return SQLStatement(joining: conditions, with: " AND ")
    }

    private func condition(of state: Job.State) -> SQLStatement {
        // As a number in the text, for the index of states is partial; not for choosing an index where there is a better.
        let isIndexed = !self.isOfCaller && self.label == nil
        let stored: SQLStatement = "\(raw: isIndexed ? "" : "+")job.state = \(raw: "\(state.number)")"
        let shown: SQLStatement =
            switch state {
            case .retrying: "(\(stored) AND \(Self.isWaiting) OR \(Self.isDeferred))"
            case .running: "\(stored) AND NOT \(Self.isWaiting)"
            case .queued: "\(stored) AND NOT \(Self.isDeferred)"
            default: stored
            }
        // The states in the index; most jobs are completed and not in it.
        guard isIndexed, state != .completed else { return shown }
        guard state.isFinal else { return "\(shown) AND job.finished IS NULL" }
        return "\(shown) AND \(JobTable.isFailed(as: state))"
    }

    /// A send of which something failed; of a count that several write, the sum of their rows.
    private static let isFailing: SQLStatement = {
        let states = [Job.State.abandoned, .expired].map { String($0.number) }.joined(separator: ", ")
        let classes: [DeliveryCountClass] = [.expired] + FailureClass.allCases.map { .failed($0) }
        let numbers = classes.map { String($0.number) }.joined(separator: ", ")
        return """
            job.kind = \(raw: "\(JobKind.send.number)") AND (+job.state IN (\(raw: states)) OR EXISTS (
                SELECT 1 FROM delivery_count AS wrong
                WHERE wrong.job = job.sequence AND wrong.class IN (\(raw: numbers))
                GROUP BY wrong.class HAVING sum(wrong.count) > 0))
            """
    }()

    private static let isPublished: SQLStatement = "message.state = \(raw: "\(MessageState.published.rawValue)")"

    /// A register job that its worker deferred, as ``JobRow`` shows it.
    private static let isDeferred: SQLStatement = """
        (+job.state = \(raw: "\(Job.State.queued.number)") AND job.kind = \(raw: "\(JobKind.register.number)") AND EXISTS (
            SELECT 1 FROM message WHERE message.id = job.message
                AND message.state = \(raw: "\(MessageState.deferred.rawValue)") AND message.reason IS NOT NULL))
        """

    /// All that is open of a job that is fanned out waits for a later try.
    private static let isWaiting: SQLStatement = """
        (job.fanned_out = 1 AND job.kind = \(raw: "\(JobKind.send.number)")
            AND NOT EXISTS (SELECT 1 FROM message WHERE message.id = job.message AND \(Self.isPublished))
            AND NOT EXISTS (
                SELECT 1 FROM batch JOIN message ON message.id = batch.message
                WHERE batch.job = job.sequence AND batch.open = 1 AND \(Self.isPublished)))
        """
}

extension DeliveryRecord {
    fileprivate init(_ row: SQLRow, job: JobID) throws {
        let number: Int64 = try row["row"]
        self.init(
            pns: try PushService(stored: row["pns"]),
            row: number,
            registration: try (row["id"] as String?).map { try RegistrationID(stored: $0) },
            user: try (row["user"] as String?).map { try UserName(stored: $0, shown: row["user_shown"]) },
            reference: try row["reference"],
            outcome: try Outcome(DeliveryCountClass(number: row["class"])),
            status: try row["status"],
            reason: try row["reason"],
            at: try row["at"],
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
