import GRDB
package import PushModel
package import Store
import StoreKit

/// The calls of hubs over a wire.
enum HubCallTable {
    static let schema = """
        -- A row a call, by its number in the job's list. until: after this nobody is at it, where it is being made. notification: the
        -- hub's id. outcome and devices: what the hub says became of it. asked: how often it was. due: when it is again.
        CREATE TABLE hub_call(
            job INTEGER NOT NULL,
            pns INTEGER NOT NULL,
            number INTEGER NOT NULL,
            state TEXT NOT NULL,
            until INTEGER NOT NULL,
            notification TEXT,
            outcome TEXT,
            devices TEXT,
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

    package func beginHubCall(_ call: HubCallKey, lasting time: Duration) async throws -> HubCallStart {
        try await self.write { context in
            let database = context.database
            let row = try database.first(
                "SELECT state, until FROM hub_call WHERE \(HubCallTable.key)",
                call.arguments
            ) { (state: try HubCall.State(stored: $0[0]), until: $0[1] as Int64) }
            switch row?.state {
            case .taken: return .taken
            case .unknown: return .unknown
            case .submitting:
                let left = (row?.until ?? 0) - context.now
                guard left <= 0 else { return .underWay(.milliseconds(left)) }
                try context.set(.unknown, call)
                return .unknown
            case .waiting, .refused, nil:
                let written = try database.change(
                    """
                    INSERT INTO hub_call(job, pns, number, state, until) SELECT sequence, ?, ?, ?, ? FROM job WHERE id = ?
                    ON CONFLICT DO UPDATE SET state = excluded.state, until = excluded.until
                    """,
                    [
                        call.pns.number, call.number, HubCall.State.submitting.rawValue,
                        context.now + time.milliseconds, call.job.blob,
                    ]
                )
                guard written > 0 else { throw StoreError(.corrupt, "a call of a hub is of no job") }
                return .begun
            }
        }
    }

    package func endHubCall(_ call: HubCallKey, _ end: HubCallEnd) async throws {
        try await self.write { context in
            guard case .taken(let id) = end else { return try context.set(end.state, call) }
            try context.database.run(
                "UPDATE hub_call SET state = ?, notification = ?, due = ? WHERE \(HubCallTable.key) AND state = ?",
                [HubCall.State.taken.rawValue, id, id.map { _ in context.now + Self.firstLook }] + call.arguments
                    + [HubCall.State.submitting.rawValue]
            )
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

    package func noteHubCall(_ call: HubCallKey, _ outcome: HubCall.Outcome?, againIn wait: Duration?) async throws {
        let devices = try outcome.map { try StoredJSON.text($0.devices) }
        try await self.write { context in
            try context.database.run(
                """
                UPDATE hub_call SET asked = asked + 1, due = ?, outcome = coalesce(?, outcome), devices = coalesce(?, devices)
                WHERE \(HubCallTable.key)
                """,
                [wait.map { context.now + $0.milliseconds }, outcome?.state, devices] + call.arguments
            )
        }
    }

    package func hubCalls(of job: JobID, app: AppID, limit: Int) async throws -> [HubCall] {
        let now = self.clock.now
        return try await self.read { database in
            try database.all(
                """
                SELECT pns, hub_call.number, hub_call.state, until, notification, outcome, devices FROM hub_call
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
                    outcome: (row[5] as String?).map { HubCall.Outcome(state: $0, devices: devices ?? [:]) }
                )
            }
        }
    }
}

extension WriteContext {
    /// Ends a call that is being made.
    fileprivate func set(_ state: HubCall.State, _ call: HubCallKey) throws {
        try self.database.run(
            "UPDATE hub_call SET state = ? WHERE \(HubCallTable.key) AND state = ?",
            [state.rawValue] + call.arguments + [HubCall.State.submitting.rawValue]
        )
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

extension HubCall.State {
    fileprivate init(stored text: String) throws {
        guard let state = HubCall.State(rawValue: text) else {
            throw StoreError(.corrupt, "a call of a hub has no such state")
        }
        self = state
    }
}
