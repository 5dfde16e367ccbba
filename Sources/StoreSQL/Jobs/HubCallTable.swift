package import PushModel
package import Store
import StoreKit

/// The table `hub_call`.
package enum HubCallTable {
    /// How long whoever takes calls to ask about has them.
    private static let lease: Int64 = 60_000
    /// When a hub is first asked what became of a call.
    private static let firstLook: Int64 = 2000

    /// Asks to make calls.
    ///
    /// Two processes could begin one call, or one could begin behind the change that stops its job. So a call begins only where its row is
    /// as it was read, and its job too.
    static func begin(
        _ calls: [HubCallKey],
        lasting time: Duration,
        isWithdrawn: Bool,
        clock: StoreClock
    ) -> SQLTransaction<[HubCallStart]> {
        let reads = calls.flatMap { call -> [SQLStatement] in
            [
                "SELECT state, until FROM hub_call WHERE \(self.row(of: call))",
                "SELECT state, ends FROM job WHERE id = \(call.job)",
            ]
        }
        return SQLTransaction(reading: reads) { rows in
            // Not when the caller began to wait for this: a call that lasts must not be taken for over.
            let now = clock.now
            var writes: [SQLStatement] = []
            let starts = try calls.enumerated().map { index, call -> HubCallStart in
                let stored = try rows[2 * index].first.map { try StoredHubCall($0) }
                if let known = stored?.known(at: now) {
                    if stored?.state == .submitting, known == .unknown { writes.append(self.end(call, .unknown)) }
                    return known
                }
                guard let job = rows[2 * index + 1].first else {
                    throw StoreError(.corrupt, "a call of a hub is of no job")
                }
                let (state, ends) = (try Job.State(number: job["state"]), try job["ends"] as Int64?)
                // Behind the change that stops a job none of its calls begins.
                let isOpen = [.scheduled, .queued, .running, .retrying].contains(state) && (ends ?? 0) > now
                guard !isWithdrawn, isOpen else { return .withdrawn }
                writes.append(self.submission(of: call, in: state, until: now + time.milliseconds).expecting(1))
                return .begun
            }
            return SQLDecision(writing: writes, giving: starts)
        }
    }

    private static func submission(of call: HubCallKey, in state: Job.State, until: Int64) -> SQLStatement {
        """
        INSERT INTO hub_call(job, pns, number, state, until)
        SELECT sequence, \(call.pns.number), \(call.number), \(HubCall.State.submitting.rawValue), \(until) FROM job
        WHERE id = \(call.job) AND state = \(raw: "\(state.number)")\(lock: .share)
        ON CONFLICT (job, pns, number) DO UPDATE SET state = excluded.state, until = excluded.until
        WHERE hub_call.state IN (\(HubCall.State.waiting.rawValue), \(HubCall.State.refused.rawValue))
        """
    }

    static func record(_ calls: [HubCallKey], _ fact: HubCallFact, now: Int64) throws -> SQLTransaction<Void> {
        let writes = try calls.enumerated().map { index, call in
            switch fact {
            case .ended(let end): self.end(call, end, isFirst: index == 0, now: now)
            case .said(let news): try self.note(call, news, now: now)
            }
        }
        return SQLTransaction(SQLDecision(writing: writes, giving: ()))
    }

    private static func end(_ call: HubCallKey, _ end: HubCallEnd, isFirst: Bool, now: Int64) -> SQLStatement {
        guard case .taken(let id) = end, let telemetry = end.telemetry(isFirst: isFirst) else {
            return self.end(call, end.state)
        }
        return """
            UPDATE hub_call SET state = \(end.state.rawValue), notification = \(id), telemetry = \(telemetry.rawValue),
                due = \(telemetry == .pending ? now + self.firstLook : nil as Int64?)
            WHERE \(self.row(of: call)) AND state = \(HubCall.State.submitting.rawValue)
            """
    }

    /// Ends a call that is being made.
    package static func end(_ call: HubCallKey, _ state: HubCall.State) -> SQLStatement {
        """
        UPDATE hub_call SET state = \(state.rawValue)
        WHERE \(self.row(of: call)) AND state = \(HubCall.State.submitting.rawValue)
        """
    }

    /// The calls of a batch's range.
    package static func range(_ job: Int64, _ pns: Int, from: Int64, to: Int64) -> SQLStatement {
        "job = \(job) AND pns = \(pns) AND number > \(from) AND number <= \(to)"
    }

    /// What became of calls, by their numbers; those that were never made are left out.
    package static func known(_ rows: [SQLRow], at now: Int64) throws -> [Int64: HubCallStart] {
        try rows.reduce(into: [:]) { known, row in
            known[try row["number"]] = try StoredHubCall(row).known(at: now)
        }
    }

    /// Goes on only where as many calls are being made as were read.
    static func underWay(_ range: SQLStatement, as read: [SQLRow]) throws -> SQLStatement {
        let submitting = HubCall.State.submitting.rawValue
        let found: SQLStatement = "SELECT 1 AS found FROM hub_call WHERE \(range) AND state = \(submitting)"
        return found.expecting(try read.count { try $0["state"] == submitting })
    }

    /// Ends calls whose process died while it made them.
    package static func endOverdue(_ condition: SQLStatement, now: Int64) -> SQLStatement {
        """
        UPDATE hub_call SET state = \(HubCall.State.unknown.rawValue)
        WHERE \(condition) AND state = \(HubCall.State.submitting.rawValue) AND until <= \(now)
        """
    }

    /// Takes calls that are due, each for one: whoever else has read it finds another time.
    static func take(limit: Int, clock: StoreClock) -> SQLTransaction<[AskedHubCall]> {
        let due: SQLStatement = """
            SELECT job.id, job.request, pns, hub_call.number, app.name, notification, asked, due FROM hub_call
            JOIN job ON job.sequence = hub_call.job JOIN app ON app.number = +job.app
            WHERE hub_call.due <= \(clock.now) ORDER BY hub_call.due LIMIT \(limit)
            """
        return SQLTransaction(reading: due) { rows in
            let calls = try rows.map { (call: try AskedHubCall($0), due: try $0["due"] as Int64) }
            let until = clock.now + self.lease
            let writes = calls.map { call, due -> SQLStatement in
                let write: SQLStatement = """
                    UPDATE hub_call SET due = \(until) WHERE \(self.row(of: call.key)) AND due = \(due)
                    """
                return write.expecting(1)
            }
            return SQLDecision(writing: writes, giving: calls.map(\.call))
        }
    }

    private static func note(_ call: HubCallKey, _ news: HubCallNews, now: Int64) throws -> SQLStatement {
        let devices = try news.outcome.map { try StoredJSON.text($0.devices) }
        return """
            UPDATE hub_call SET asked = asked + 1, due = \(news.wait.map { now + $0.milliseconds }),
                outcome = coalesce(\(news.outcome?.state), outcome), devices = coalesce(\(devices), devices),
                telemetry = \(news.telemetry.rawValue)
            WHERE \(self.row(of: call))
            """
    }

    private static func row(of call: HubCallKey) -> SQLStatement {
        """
        job = (SELECT sequence FROM job WHERE id = \(call.job)) AND pns = \(call.pns.number) AND number = \(call.number)
        """
    }
}

extension HubCallStore where Self: SQLEngine {
    package func beginHubCalls(
        _ calls: [HubCallKey],
        lasting time: Duration,
        isWithdrawn: Bool
    ) async throws -> [HubCallStart] {
        try await self.perform(
            HubCallTable.begin(calls, lasting: time, isWithdrawn: isWithdrawn, clock: self.clock)
        )
    }

    package func recordHubCalls(_ calls: [HubCallKey], _ fact: HubCallFact) async throws {
        try await self.perform(HubCallTable.record(calls, fact, now: self.clock.now))
    }

    package func takeHubCalls(limit: Int) async throws -> [AskedHubCall] {
        let now = self.clock.now
        // Looks before it writes: an idle store stays idle.
        guard try await !self.rows("SELECT 1 AS found FROM hub_call WHERE due <= \(now) LIMIT 1").isEmpty else {
            return []
        }
        return try await self.perform(HubCallTable.take(limit: limit, clock: self.clock))
    }

    package func hubCalls(of job: JobID, app: AppID, limit: Int) async throws -> [HubCall] {
        let now = self.clock.now
        let rows = try await self.rows(
            """
            SELECT pns, hub_call.number, hub_call.state, until, notification, outcome, devices, telemetry FROM hub_call
            JOIN job ON job.sequence = hub_call.job JOIN app ON app.number = job.app
            WHERE job.id = \(job) AND app.name = \(app.name) ORDER BY pns, hub_call.number LIMIT \(limit)
            """
        )
        return try rows.map { try HubCall($0, job: job, at: now) }
    }
}

extension StoredHubCall {
    package init(_ row: SQLRow) throws {
        self.init(state: try HubCall.State(stored: row["state"]), until: try row["until"])
    }
}

extension AskedHubCall {
    fileprivate init(_ row: SQLRow) throws {
        self.init(
            key: HubCallKey(job: try row["id"], pns: try PushService(stored: row["pns"]), number: try row["number"]),
            app: try AppID(stored: row["name"]),
            id: try row["notification"],
            asked: try row["asked"],
            request: try RequestID(row)
        )
    }
}

extension HubCall {
    fileprivate init(_ row: SQLRow, job: JobID, at now: Int64) throws {
        let devices = try (row["devices"] as String?).map { try StoredJSON.value([String: Int].self, from: $0) }
        self.init(
            key: HubCallKey(job: job, pns: try PushService(stored: row["pns"]), number: try row["number"]),
            // Nobody is at it any more: whoever comes next finds out.
            state: try StoredHubCall(row).state(at: now),
            id: try row["notification"],
            outcome: try (row["outcome"] as String?).map { HubCall.Outcome(state: $0, devices: devices ?? [:]) },
            telemetry: try (row["telemetry"] as String?).map { try HubCall.Telemetry(stored: $0) }
        )
    }
}
