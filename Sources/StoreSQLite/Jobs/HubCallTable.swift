import GRDB
package import PushModel
package import Store
import StoreKit

/// The calls of hubs over a wire.
enum HubCallTable {
    static let schema = """
        -- A row a call, by its number in the job's list. until: after this nobody is at it, where it is being made. notification: the
        -- hub's id. outcome and devices: what the hub says became of it. telemetry: whether it says more, of a call that it took. asked: how
        -- often it was. due: when it is again.
        CREATE TABLE hub_call(
            job INTEGER NOT NULL,
            pns INTEGER NOT NULL,
            number INTEGER NOT NULL,
            state TEXT NOT NULL,
            until INTEGER NOT NULL,
            notification TEXT,
            outcome TEXT,
            devices TEXT,
            telemetry TEXT,
            asked INTEGER NOT NULL DEFAULT 0,
            due INTEGER,
            PRIMARY KEY (job, pns, number)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX hub_call_due ON hub_call(due) WHERE due IS NOT NULL;
        """

    static let remove = """
        DELETE FROM hub_call WHERE job = ?1 AND (pns, number) IN (SELECT pns, number FROM hub_call WHERE job = ?1 LIMIT ?2)
        """

    static let key = "job = (SELECT sequence FROM job WHERE id = ?) AND pns = ? AND number = ?"
}

extension HubCallKey {
    fileprivate var arguments: StatementArguments {
        [self.job.blob, self.pns.number, self.number]
    }
}

extension SQLiteStore: HubCallStore {
    /// How long whoever takes calls to ask about has them.
    private static let lease: Int64 = 60_000
    /// When a hub is first asked what became of a call.
    private static let firstLook: Int64 = 2000

    package func beginHubCalls(
        _ calls: [HubCallKey],
        lasting time: Duration,
        isWithdrawn: Bool
    ) async throws -> [HubCallStart] {
        try await self.write { context in
            try calls.map { try context.begin($0, lasting: time, isWithdrawn: isWithdrawn) }
        }
    }

    package func endHubCalls(_ calls: [HubCallKey], _ end: HubCallEnd) async throws {
        try await self.write { context in
            for (index, call) in calls.enumerated() {
                guard case .taken(let id) = end else {
                    try context.set(end.state, call)
                    continue
                }
                // A tier without telemetry gives no id to ask by.
                let telemetry: HubCall.Telemetry = id == nil ? .notOffered : index == 0 ? .pending : .together
                let due = telemetry == .pending ? context.now + Self.firstLook : nil
                try context.database.run(
                    """
                    UPDATE hub_call SET state = ?, notification = ?, telemetry = ?, due = ?
                    WHERE \(HubCallTable.key) AND state = ?
                    """,
                    [HubCall.State.taken.rawValue, id, telemetry.rawValue, due] + call.arguments
                        + [HubCall.State.submitting.rawValue]
                )
            }
        }
    }

    package func takeHubCalls(limit: Int) async throws -> [AskedHubCall] {
        let now = self.clock.now
        // Looks before it writes: an idle store stays idle.
        let isDue = try await self.read { try $0.exists("SELECT 1 FROM hub_call WHERE due <= ? LIMIT 1", [now]) }
        guard isDue else { return [] }
        return try await self.write { context in
            let calls = try context.database.all(
                """
                SELECT job.id, pns, hub_call.number, app.name, notification, asked FROM hub_call
                JOIN job ON job.sequence = hub_call.job JOIN app ON app.number = job.app
                WHERE hub_call.due <= ? ORDER BY hub_call.due LIMIT ?
                """,
                [context.now, limit]
            ) { row in
                AskedHubCall(
                    key: HubCallKey(job: try JobID(blob: row[0]), pns: try PushService(stored: row[1]), number: row[2]),
                    app: try AppID(stored: row[3]),
                    id: row[4],
                    asked: row[5]
                )
            }
            for call in calls {
                try context.database.run(
                    "UPDATE hub_call SET due = ? WHERE \(HubCallTable.key)",
                    [context.now + Self.lease] + call.key.arguments
                )
            }
            return calls
        }
    }

    package func noteHubCall(_ call: HubCallKey, _ news: HubCallNews) async throws {
        let outcome = news.outcome
        let devices = try outcome.map { try StoredJSON.text($0.devices) }
        try await self.write { context in
            try context.database.run(
                """
                UPDATE hub_call SET asked = asked + 1, due = ?, outcome = coalesce(?, outcome), devices = coalesce(?, devices),
                telemetry = ?
                WHERE \(HubCallTable.key)
                """,
                [
                    news.wait.map { context.now + $0.milliseconds }, outcome?.state, devices, news.telemetry.rawValue,
                ] + call.arguments
            )
        }
    }

    package func hubCalls(of job: JobID, app: AppID, limit: Int) async throws -> [HubCall] {
        let now = self.clock.now
        return try await self.read { database in
            try database.all(
                """
                SELECT pns, hub_call.number, hub_call.state, until, notification, outcome, devices, telemetry FROM hub_call
                JOIN job ON job.sequence = hub_call.job JOIN app ON app.number = job.app
                WHERE job.id = ? AND app.name = ? ORDER BY pns, hub_call.number LIMIT ?
                """,
                [job.blob, app.name, limit]
            ) { row in
                let state = try HubCall.State(stored: row[2])
                // Nobody is at it any more: whoever comes next finds out.
                let isLost = state == .submitting && (row[3] as Int64) <= now
                let devices = try (row[6] as String?).map { try StoredJSON.value([String: Int].self, from: $0) }
                return HubCall(
                    key: HubCallKey(job: job, pns: try PushService(stored: row[0]), number: row[1]),
                    state: isLost ? .unknown : state,
                    id: row[4],
                    outcome: (row[5] as String?).map { HubCall.Outcome(state: $0, devices: devices ?? [:]) },
                    telemetry: try (row[7] as String?).map(HubCall.Telemetry.init(stored:))
                )
            }
        }
    }
}

extension WriteContext {
    fileprivate func begin(
        _ call: HubCallKey,
        lasting time: Duration,
        isWithdrawn: Bool
    ) throws -> HubCallStart {
        let row = try self.database.first(
            "SELECT state, until FROM hub_call WHERE \(HubCallTable.key)",
            call.arguments
        ) { (state: try HubCall.State(stored: $0[0]), until: $0[1] as Int64) }
        switch row?.state {
        case .taken: return .taken
        case .unknown: return .unknown
        case .submitting:
            let left = (row?.until ?? 0) - self.now
            guard left <= 0 else { return .underWay(.milliseconds(left)) }
            try self.set(.unknown, call)
            return .unknown
        case .waiting, .refused, nil: break
        }
        let job = try self.database.first(
            "SELECT state, ends FROM job WHERE id = ?",
            [call.job.blob]
        ) { (state: try Job.State(number: $0[0]), ends: $0[1] as Int64?) }
        guard let job else { throw StoreError(.corrupt, "a call of a hub is of no job") }
        // Behind the change that stops a job none of its calls begins.
        guard !isWithdrawn, job.state.stopCause == nil, !job.state.isFinal, job.ends ?? 0 > self.now else {
            return .withdrawn
        }
        try self.database.run(
            """
            INSERT INTO hub_call(job, pns, number, state, until) SELECT sequence, ?, ?, ?, ? FROM job WHERE id = ?
            ON CONFLICT DO UPDATE SET state = excluded.state, until = excluded.until
            """,
            [
                call.pns.number, call.number, HubCall.State.submitting.rawValue, self.now + time.milliseconds,
                call.job.blob,
            ]
        )
        return .begun
    }

    /// Ends a call that is being made.
    fileprivate func set(_ state: HubCall.State, _ call: HubCallKey) throws {
        try self.database.run(
            "UPDATE hub_call SET state = ? WHERE \(HubCallTable.key) AND state = ?",
            [state.rawValue] + call.arguments + [HubCall.State.submitting.rawValue]
        )
    }

    /// What became of the calls of a stopped job.
    ///
    /// - Parameters:
    ///   - job: The job's number.
    ///   - pns: The service's number.
    ///   - from: Behind which number a page begins.
    ///   - to: Its last number.
    /// - Returns: By their numbers those that the hub took, that are unknown, or that are under way.
    /// - Throws: ``StoreError`` for a malformed row; SQLite's error.
    func calls(of job: Int64, pns: Int, from: Int64, to: Int64) throws -> [Int64: HubCallStart] {
        let found = try self.database.all(
            "SELECT number, state, until FROM hub_call WHERE job = ? AND pns = ? AND number > ? AND number <= ?",
            [job, pns, from, to]
        ) { (number: $0[0] as Int64, state: try HubCall.State(stored: $0[1]), until: $0[2] as Int64) }
        var calls: [Int64: HubCallStart] = [:]
        for call in found {
            switch call.state {
            case .taken: calls[call.number] = .taken
            case .unknown: calls[call.number] = .unknown
            case .submitting where call.until > self.now:
                calls[call.number] = .underWay(.milliseconds(call.until.clampedSubtracting(self.now)))
            case .submitting:
                calls[call.number] = .unknown
                try self.database.run(
                    "UPDATE hub_call SET state = ? WHERE job = ? AND pns = ? AND number = ?",
                    [HubCall.State.unknown.rawValue, job, pns, call.number]
                )
            case .waiting, .refused: break
            }
        }
        return calls
    }
}

extension HubCallEnd {
    fileprivate var state: HubCall.State {
        switch self {
        case .taken: .taken
        case .notTaken: .waiting
        case .refused: .refused
        case .unknown: .unknown
        }
    }
}

extension HubCallNews {
    fileprivate var outcome: HubCall.Outcome? {
        switch self {
        case .pending(let outcome, _), .ended(let outcome): outcome
        case .complete(let outcome): outcome
        case .notOffered: nil
        }
    }

    /// When to ask again; nil = never.
    fileprivate var wait: Duration? { if case .pending(_, let wait) = self { wait } else { nil } }

    fileprivate var telemetry: HubCall.Telemetry {
        switch self {
        case .pending: .pending
        case .complete: .complete
        case .notOffered: .notOffered
        case .ended: .ended
        }
    }
}

extension HubCall.Telemetry {
    fileprivate init(stored text: String) throws {
        guard let telemetry = HubCall.Telemetry(rawValue: text) else {
            throw StoreError(.corrupt, "a call of a hub has no such telemetry")
        }
        self = telemetry
    }
}

extension HubCall.State {
    fileprivate init(stored text: String) throws {
        guard let state = HubCall.State(rawValue: text) else {
            throw StoreError(.corrupt, "a call of a hub has no such state")
        }
        self = state
    }
}
