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

    static let isBeingMade = "state = '\(HubCall.State.submitting.rawValue)'"

    static let key = "job = (SELECT sequence FROM job WHERE id = ?) AND pns = ? AND number = ?"
}

extension HubCallKey {
    fileprivate var arguments: StatementArguments {
        [self.job.blob, self.pns.number, self.number]
    }
}

extension SQLiteStore: HubCallStore {
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
                let telemetry = HubCall.Telemetry(ofTaken: id, isFirst: index == 0)
                let due = telemetry == .pending ? context.now + StoredHubCall.firstLook.milliseconds : nil
                try context.database.run(
                    """
                    UPDATE hub_call SET state = '\(HubCall.State.taken.rawValue)', notification = ?, telemetry = ?, due = ?
                    WHERE \(HubCallTable.key) AND \(HubCallTable.isBeingMade)
                    """,
                    [id, telemetry.rawValue, due] + call.arguments
                )
            }
        }
    }

    package func takeHubCalls(limit: Int) async throws -> [AskedHubCall] {
        let now = self.clock.now
        // Looks before it writes: an idle store stays idle.
        let isDue = try await self.read { try $0.exists("SELECT 1 FROM hub_call WHERE due <= ? LIMIT 1", [now]) }
        guard isDue else { return [] }
        // Of two writers both would find the same rows: each has to take them by one UPDATE that passes over what the other has locked.
        return try await self.write { context in
            let calls = try context.database.all(
                """
                SELECT job.id AS job, pns, hub_call.number, app.name AS app, notification, asked FROM hub_call
                JOIN job ON job.sequence = hub_call.job JOIN app ON app.number = job.app
                WHERE hub_call.due <= ? ORDER BY hub_call.due LIMIT ?
                """,
                [context.now, limit]
            ) { row in
                AskedHubCall(
                    key: HubCallKey(
                        job: try JobID(blob: row["job"]),
                        pns: try PushService(stored: row["pns"]),
                        number: row["number"]
                    ),
                    app: try AppID(stored: row["app"]),
                    id: row["notification"],
                    asked: row["asked"]
                )
            }
            for call in calls {
                try context.database.run(
                    "UPDATE hub_call SET due = ? WHERE \(HubCallTable.key)",
                    [context.now + StoredHubCall.lease.milliseconds] + call.key.arguments
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
                let devices = try (row["devices"] as String?).map {
                    try StoredJSON.value([String: Int].self, from: $0)
                }
                return HubCall(
                    key: HubCallKey(job: job, pns: try PushService(stored: row["pns"]), number: row["number"]),
                    state: try StoredHubCall(row).state(at: now),
                    id: row["notification"],
                    outcome: (row["outcome"] as String?).map { HubCall.Outcome(state: $0, devices: devices ?? [:]) },
                    telemetry: try (row["telemetry"] as String?).map(HubCall.Telemetry.init(stored:))
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
            call.arguments,
            read: StoredHubCall.init
        )
        if let row, let start = row.start(at: self.now) {
            if row.isLost(at: self.now) { try self.set(.unknown, call) }
            return start
        }
        let job = try self.database.first("SELECT state, ends FROM job WHERE id = ?", [call.job.blob]) {
            (state: try Job.State(number: $0["state"]), ends: $0["ends"] as Int64?)
        }
        guard let job else { throw StoreError(.corrupt, "a call of a hub is of no job") }
        guard !isWithdrawn, StoredHubCall.mayBegin(of: job.state, ends: job.ends, at: self.now) else {
            return .withdrawn
        }
        try self.database.run(
            """
            INSERT INTO hub_call(job, pns, number, state, until)
            SELECT sequence, ?, ?, '\(HubCall.State.submitting.rawValue)', ? FROM job WHERE id = ?
            ON CONFLICT DO UPDATE SET state = excluded.state, until = excluded.until
            """,
            [call.pns.number, call.number, self.now + time.milliseconds, call.job.blob]
        )
        return .begun
    }

    /// Ends a call that is being made.
    fileprivate func set(_ state: HubCall.State, _ call: HubCallKey) throws {
        try self.database.run(
            "UPDATE hub_call SET state = '\(state.rawValue)' WHERE \(HubCallTable.key) AND \(HubCallTable.isBeingMade)",
            call.arguments
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
        ) { (number: $0["number"] as Int64, call: try StoredHubCall($0)) }
        for found in found where found.call.isLost(at: self.now) {
            try self.database.run(
                """
                UPDATE hub_call SET state = '\(HubCall.State.unknown.rawValue)' WHERE job = ? AND pns = ? AND number = ?
                """,
                [job, pns, found.number]
            )
        }
        return Dictionary(
            uniqueKeysWithValues: found.compactMap { found in
                found.call.start(at: self.now).map { (found.number, $0) }
            }
        )
    }
}

extension StoredHubCall {
    /// Reads the columns `state` and `until`.
    fileprivate init(_ row: Row) throws {
        self.init(state: try HubCall.State(stored: row["state"]), until: row["until"])
    }
}
