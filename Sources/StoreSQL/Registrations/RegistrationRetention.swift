import PushModel
package import Store
import StoreKit

// What ends by itself. Each looks before it writes: an idle store stays idle.

extension SQLEngine {
    /// Ends registrations whose handles push services called dead, unless they were registered again since (rule 9).
    ///
    /// - Returns: How many marks were looked at.
    package func pruneRegistrations(limit: Int) async throws -> Int {
        guard try await !self.rows("SELECT 1 AS found FROM dead_handle LIMIT 1").isEmpty else { return 0 }
        let marks: SQLStatement = "SELECT id FROM dead_handle ORDER BY id LIMIT \(limit)"
        let found: SQLStatement = """
            SELECT \(RegistrationTable.columns), registration.app, dead_handle.reason
            FROM dead_handle JOIN registration ON registration.row = dead_handle.row
            WHERE dead_handle.id IN (\(marks)) AND registration.handle = dead_handle.handle
                AND registration.updated < dead_handle.before AND coalesce(registration.credential, 0) = dead_handle.credential
                AND registration.\(raw: KeptRegistration.live)
            """
        let (clock, digest) = (self.clock, self.handles)
        return try await self.perform(
            SQLTransaction(reading: found, marks) { registrations, marks in
                var writes = try registrations.flatMap { row in
                    try row.ending(as: .pruned, reason: row["reason"], at: clock, digest)
                }
                let ids: [Int64] = try marks.map { try $0["id"] }
                writes.append("DELETE FROM dead_handle WHERE id IN (\(numbers: ids))")
                return SQLDecision(writing: writes, giving: ids.count)
            }
        )
    }

    /// Ends registrations that were not renewed in time, and forgets what no earlier change can come upon any more.
    ///
    /// - Returns: How many registrations were ended.
    package func expireRegistrations(limit: Int) async throws -> Int {
        let traces = RegistrationTrace.all(at: self.clock)
        let time = self.clock.cautious.milliseconds
        let over: SQLStatement = """
            FROM registration WHERE \(raw: KeptRegistration.live) AND expires IS NOT NULL AND expires <= \(time) ORDER BY expires
            """
        var old = try await self.rows(["SELECT 1 AS found \(over) LIMIT 1"] + traces.map { $0.rows(limit: 1) })[...]
        let isNoneOver = old.removeFirst().isEmpty
        if old.contains(where: { !$0.isEmpty }) {
            try await self.perform(
                SQLTransaction(SQLDecision(writing: traces.map { $0.forgetting(limit: limit) }, giving: ()))
            )
        }
        guard !isNoneOver else { return 0 }
        let (clock, digest) = (self.clock, self.handles)
        return try await self.perform(
            SQLTransaction(reading: "SELECT \(RegistrationTable.columns), app \(over) LIMIT \(limit)") { rows in
                let writes = try rows.flatMap { row in
                    try row.ending(as: .expired, reason: "not renewed in time", at: clock, digest)
                }
                return SQLDecision(writing: writes, giving: rows.count)
            }
        )
    }

    /// Removes registrations that ended before that time, except those that an earlier change may still concern.
    package func removeRegistrations(before: Int64, limit: Int) async throws -> ChoreChunk {
        // A time that changes with each renewal is in no index of PostgreSQL's; what has ended there has a time of its own.
        let time = SQLStatement.text(forSQLite: "coalesce(ended_at, updated)", forPostgreSQL: "ended_at")
        let ended: SQLStatement = "\(raw: time)"
        let old: SQLStatement = """
            \(raw: KeptRegistration.past) AND \(ended) <= \(before) AND \(KeptRegistration.isFinal(at: self.clock.now))
            """
        let rows = try await self.rows(
            "SELECT \"row\" FROM registration WHERE \(old) ORDER BY \(ended) LIMIT \(limit)"
        ).map { try $0["row"] as Int64 }
        guard !rows.isEmpty else { return ChoreChunk(rows: 0) }
        // One may have come back to life since it was looked at.
        let removal: SQLStatement = "DELETE FROM registration WHERE \"row\" IN (\(numbers: rows)) AND \(old)"
        let removed = try await self.perform(SQLTransaction(SQLDecision(writing: removal, value: \.count)))
        return ChoreChunk(rows: removed, next: rows.count == limit ? 0 : nil)
    }
}

extension SQLRow {
    /// The statements that end a registration, with the number of its app in the column `app`.
    fileprivate func ending(
        as state: Registration.State,
        reason: String,
        at clock: StoreClock,
        _ digest: HandleDigest
    ) throws -> [SQLStatement] {
        let table = RegistrationTable(app: try self["app"], clock: clock, digest: digest)
        return table.end(try KeptRegistration(self), as: state, Registration.Ended(at: clock.wall, reason: reason))
    }
}

/// What is remembered for a time.
private struct RegistrationTrace {
    let table: String
    /// Its primary key.
    let key: String
    let condition: SQLStatement
    /// What is forgotten of a row; nil = all.
    var column: String?

    static func all(at clock: StoreClock) -> [RegistrationTrace] {
        let released: SQLStatement = "at <= \(clock.now - ReleasedHandle.life.milliseconds)"
        let dead = clock.cautious.milliseconds - ReleasedHandle.life.milliseconds
        let isOver: SQLStatement = """
            EXISTS (SELECT 1 FROM job WHERE job.sequence = user_removal.job AND job.finished IS NOT NULL AND job.ends <= \(clock.now))
            """
        return [
            RegistrationTrace(table: "released_handle", key: "app, pns, handle", condition: released),
            RegistrationTrace(table: "tombstone", key: "app, id, \"user\"", condition: released),
            RegistrationTrace(table: "removed_user", key: "app, digest", condition: released),
            // Its job was ended otherwise than by it, and cannot be replayed after its time.
            RegistrationTrace(table: "user_removal", key: "job", condition: isOver),
            RegistrationTrace(table: "suspect", key: "fingerprint", condition: "at <= \(clock.now - 86_400_000)"),
            // The work of register jobs that were dead-lettered, and whose lifetimes are over.
            RegistrationTrace(
                table: "dead",
                key: "id",
                condition: "work IS NOT NULL AND at <= \(dead)",
                column: "work"
            ),
        ]
    }

    func rows(limit: Int) -> SQLStatement {
        "SELECT \(raw: self.key) FROM \(raw: self.table) WHERE \(self.condition) LIMIT \(limit)"
    }

    func forgetting(limit: Int) -> SQLStatement {
        let change = self.column.map { "UPDATE \(self.table) SET \($0) = NULL" } ?? "DELETE FROM \(self.table)"
        return "\(raw: change) WHERE (\(raw: self.key)) IN (\(self.rows(limit: limit)))"
    }
}
