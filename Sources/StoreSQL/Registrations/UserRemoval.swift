package import PushModel
import Store
package import StoreKit

/// A removal of a user, in slices, each a transaction of its own (rule 8).
///
/// A slice begins where the one before ended, which stands in the table: any worker can go on after a crash. Two workers at the
/// same removal do no harm, for a slice moves it on only from where it began.
package struct UserRemoval: Sendable {
    /// What is removed, in this order.
    package enum Step: Int, Sendable {
        case registrations, tombstones, jobs, deadLetters, contents, notifications, keys, names
    }

    /// How far a removal is.
    package struct Position: Equatable, Sendable {
        package let step: Step
        /// Of what is gone through by number: the last that is done.
        package let after: Int64

        package init(step: Step, after: Int64 = 0) { (self.step, self.after) = (step, after) }

        /// The next step's beginning; nil = there is none.
        package var next: Position? { Step(rawValue: self.step.rawValue + 1).map { Position(step: $0) } }
    }

    /// Rows that were found without a lock.
    package struct Slice: Sendable {
        package var rows: [Int64] = []
        /// Of jobs, those that are stopped; only their batches are read.
        var stopped: [Int64] = []
        /// Where the next slice begins; nil = all is done.
        package var end: Position?
    }

    /// The state of a removal.
    package enum State: Sendable {
        case open(UserRemoval)
        case ended(RegisterResult)
    }

    package let job: Int64
    package let app: Int64
    package let user: UserName
    package let traces: UserTraces
    package let position: Position
    /// What is the user's among the contents and the rich notifications.
    private let content: Int64
    private let rich: Int64

    /// Rows that are changed in a transaction.
    package static let rowsASlice = 200
    /// Contents have some megabytes each, and dead letters some hundred kilobytes.
    private static let largeRows = 8

    /// Reads the state of a removal.
    package static func state(of job: Int64) -> SQLStatement {
        """
        SELECT job.result, job.ends, job.finished, user_removal.app, user_removal."user", user_removal.content, user_removal.rich,
            user_removal.step, user_removal.after
        FROM job LEFT JOIN user_removal ON user_removal.job = job.sequence WHERE job.sequence = \(job)
        """
    }

    /// The state that a row of ``state(of:)`` has.
    package static func state(_ row: SQLRow?, of job: Int64, at now: Int64) throws -> State {
        if let result = try row?["result"] as String? {
            return .ended(try StoredJSON.value(RegisterResult.self, from: result))
        }
        guard let row, try row["finished"] as Int64? == nil, try row["ends"] as Int64? ?? .max > now else {
            return .ended(.refused("its time is over"))
        }
        // A later removal of the user took its place while it was ended.
        guard let app = try row["app"] as Int64? else { return .ended(.superseded) }
        return .open(try UserRemoval(row, job: job, app: app))
    }

    init(_ row: SQLRow, job: Int64, app: Int64) throws {
        guard let step = Step(rawValue: try row["step"]) else {
            throw StoreError(.corrupt, "a removal has an unknown step")
        }
        (self.job, self.app) = (job, app)
        self.user = try UserName(stored: row["user"], shown: nil)
        self.traces = try UserTraces(self.user)
        self.position = Position(step: step, after: try row["after"])
        (self.content, self.rich) = (try row["content"], try row["rich"])
    }

    // MARK: Transactions

    /// Changes the user's next rows, and moves the removal on.
    ///
    /// - Parameters:
    ///   - slice: What was found before, of jobs and dead letters; the others are found in the transaction.
    ///   - table: The registrations of the app.
    /// - Returns: The transaction: whether that was all; nil = the removal has moved on already.
    func take(_ slice: Slice?, in table: RegistrationTable) -> SQLTransaction<Ended<Bool?>> {
        let limit = self.position.step == .contents ? Self.largeRows : Self.rowsASlice
        var reads = [Self.state(of: self.job)]
        if let rows = self.rows { reads.append("\(rows) LIMIT \(limit)") }
        if self.position.step == .jobs { reads += Self.reads(of: slice ?? Slice(end: nil)) }
        return SQLTransaction(reading: reads) { answers in
            var endings = JobEndings(table.clock)
            guard case .open(let present) = try Self.state(answers.first?.first, of: self.job, at: table.clock.now),
                present.position == self.position
            else { return endings.decision(nil) }
            let rows = answers.dropFirst().first ?? []
            // What is removed is not found again.
            let end = slice.map(\.end) ?? (rows.count == limit ? self.position : self.position.next)
            let writes = try self.writes(rows, slice?.rows ?? [], table) + self.move(to: end)
            for write in writes { endings.add(write) }
            if self.position.step == .jobs { try self.remove(fromJobs: answers.dropFirst(), &endings) }
            return endings.decision(end == nil)
        }
    }

    /// The user's rows; nil of a step that has none to look for, or looks before.
    private var rows: SQLStatement? {
        let (app, name, rich) = (self.app, self.user.key.text, self.rich)
        switch self.position.step {
        case .registrations:
            let own: SQLStatement = """
                SELECT "row" FROM registration WHERE app = \(app) AND "user" = \(name) AND version < \(self.job)
                """
            return """
                SELECT \(RegistrationTable.columns) FROM registration WHERE registration.row IN (
                    SELECT "row" FROM (\(own) AND \(raw: KeptRegistration.live) LIMIT \(Self.rowsASlice)) AS part
                    UNION ALL SELECT "row" FROM (\(own) AND \(raw: KeptRegistration.past) LIMIT \(Self.rowsASlice)) AS part)
                """
        // What is remembered of the user's own deletions: no earlier change of the user does anything now.
        case .tombstones:
            return """
                SELECT id, version FROM tombstone WHERE app = \(app) AND "user" = \(name) AND version < \(self.job)
                """
        case .contents:
            return """
                SELECT number, id, (SELECT spec FROM app WHERE app.number = content.app) AS spec FROM content
                WHERE app = \(app) AND owner = \(name) AND number <= \(self.content)
                """
        case .notifications:
            return """
                SELECT number FROM rich WHERE app = \(app) AND sender = \(name) AND number <= \(rich)
                UNION ALL SELECT number FROM rich WHERE app = \(app) AND addressee = \(name) AND number <= \(rich)
                """
        case .keys:
            return """
                SELECT route, key FROM idempotency WHERE app = \(app) AND caller = \(self.user.caller) AND job < \(self.job)
                """
        case .names: return ActTable.naming(self.user, app: app)
        case .jobs, .deadLetters: return nil
        }
    }

    private func writes(_ rows: [SQLRow], _ found: [Int64], _ table: RegistrationTable) throws -> [SQLStatement] {
        let (app, name) = (self.app, self.user.key.text)
        func numbers() throws -> [Int64] { try rows.map { try $0["number"] } }
        switch self.position.step {
        case .registrations: return self.remove(try rows.map { try KeptRegistration($0) }, table)
        case .tombstones:
            let ids = try rows.map { try $0["id"] as String }
            return [
                """
                DELETE FROM tombstone WHERE app = \(app) AND id IN (\(texts: ids)) AND "user" = \(name) AND version < \(self.job)
                """
            ]
        case .jobs: return []
        case .deadLetters:
            return ["UPDATE dead SET work = NULL, body = \([] as [UInt8]) WHERE id IN (\(numbers: found))"]
        case .contents:
            let spec = try (rows.first?["spec"] as String??).map {
                try $0.map { try StoredJSON.value(AppSpec.self, from: $0) }
            }
            let picture = spec??.richDefault.content
            return [
                // The app's default picture is the app's.
                "UPDATE content SET owner = NULL WHERE number IN (\(numbers: try numbers())) AND id = \(picture)",
                "DELETE FROM content WHERE number IN (\(numbers: try numbers())) AND id IS DISTINCT FROM \(picture)",
            ]
        case .notifications: return ["DELETE FROM rich WHERE number IN (\(numbers: try numbers()))"]
        case .keys:
            return try rows.map { row in
                """
                DELETE FROM idempotency WHERE app = \(app) AND caller = \(self.user.caller) AND route = \(try row["route"] as String)
                    AND key = \(try row["key"] as String) AND job < \(self.job)
                """
            }
        // Where the name stands once, in pauses, in sessions, and in names of tags that no device has; and in what operators did.
        case .names:
            return [
                ActTable.forget(self.user, in: try numbers(), digest: table.digest.number(of: self.user)),
                "UPDATE pause SET by = 'an account that was removed' WHERE app = \(app) AND by = \(self.user.caller)",
                // Of the demonstration scheme: the user may have signed in since.
                .endSessions(of: self.user, app: "\(app)"),
            ]
                + self.traces.ownTags.map { tag in
                    """
                    DELETE FROM tag_name WHERE app = \(app) AND name = \(tag.key)
                        AND NOT EXISTS (SELECT 1 FROM tagged WHERE tagged.tag = tag_name.number)
                    """
                }
        }
    }

    /// Removes registrations of the user.
    ///
    /// Their ids keep the version: an earlier change that comes late does not make them again (rule 11), and a later one of another user
    /// may.
    private func remove(_ registrations: [KeptRegistration], _ table: RegistrationTable) -> [SQLStatement] {
        let rows = registrations.compactMap(\.row)
        let ended = Registration.Ended(at: table.clock.wall, reason: "")
        return registrations.flatMap { one in
            (one.isLive ? table.end(one, as: .deleted, ended) : [])
                + table.remember(deletionOf: one.id, by: nil, version: one.version, most: nil)
        } + [
            "DELETE FROM dead_handle WHERE \"row\" IN (\(numbers: rows))",
            ("DELETE FROM registration WHERE \"row\" IN (\(numbers: rows))" as SQLStatement).expecting(rows.count),
        ]
    }

    /// Moves the removal on; at its end keeps the result of its job, and forgets it.
    private func move(to end: Position?) throws -> [SQLStatement] {
        let here: SQLStatement = """
            job = \(self.job) AND step = \(self.position.step.rawValue) AND after = \(self.position.after)
            """
        let move: SQLStatement =
            if let end {
                "UPDATE user_removal SET step = \(end.step.rawValue), after = \(end.after) WHERE \(here)"
            } else {
                "DELETE FROM user_removal WHERE \(here)"
            }
        let result = try StoredJSON.text(RegisterResult.done)
        let keep: SQLStatement = "UPDATE job SET result = \(result) WHERE sequence = \(self.job)"
        return [move.expecting(1)] + (end == nil ? [keep] : [])
    }

    // MARK: Looking

    /// Dead letters that hold a change on the user's behalf, or a payload of a send that was emptied.
    ///
    /// Those of the user's own changes went with their jobs.
    package func deadLetters(for engine: some SQLEngine) async throws -> Slice {
        let rows = try await engine.rows(
            """
            SELECT dead.id, dead.work, dead.body FROM dead LEFT JOIN app ON app.name = dead.app
            WHERE (app.number = \(self.app) OR dead.app = '') AND dead.id > \(self.position.after) ORDER BY dead.id LIMIT \(Self.largeRows)
            """
        )
        var named: [Int64] = []
        for row in rows {
            var isNamed = try (row["work"] as String?).map(self.isNamed) == true
            if !isNamed {
                isNamed = try await engine.rows(SQLStatement.emptied(in: row["body"])).contains { !$0.isEmpty }
            }
            if isNamed { named.append(try row["id"]) }
        }
        let last = try rows.last.map { Position(step: .deadLetters, after: try $0["id"]) }
        return Slice(rows: named, end: rows.count < Self.largeRows ? self.position.next : last)
    }

    /// Whether a change that a dead letter keeps names the user; what cannot be read is read by nobody.
    private func isNamed(by work: String) -> Bool {
        guard case .register(let request)? = try? StoredJSON.work(from: Array(work.utf8)) else { return false }
        return self.traces.isNamed(by: request)
    }
}

extension SQLStatement {
    /// Each finds a job whose content was removed with a user and of which a dead letter's body holds a payload.
    package static func emptied(in body: [UInt8]) -> [SQLStatement] {
        guard let message = try? DeliveryMessage(decoding: body) else { return [] }
        return Set(message.batches.map(\.key.job)).map { "SELECT id FROM job WHERE id = \($0) AND emptied = 1" }
    }
}
