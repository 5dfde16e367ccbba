import Foundation
import PushModel
import Store
import StoreKit

/// A removal of a user, in slices: each looks without a lock and then changes some rows in a transaction of its own (rule 8).
///
/// A slice begins where the one before ended, which stands in the table: any worker can go on after a crash. Two workers at the
/// same removal do no harm, for a slice moves it on only from where it began, and changes rows that are the user's by then.
struct UserRemoval: Sendable {
    /// What is removed, in this order.
    enum Step: Int, CaseIterable {
        case registrations, tombstones, jobs, deadLetters, contents, notifications, keys, names
    }

    /// How far a removal is.
    struct Position: Equatable {
        var step: Step
        /// Of what is gone through by number: the last that is done.
        var after: Int64 = 0

        /// The next step's beginning; nil = there is none.
        var next: Position? { Step(rawValue: self.step.rawValue + 1).map { Position(step: $0) } }
    }

    /// Rows that a slice is to change, and where the next one begins; nil = all is done.
    struct Slice: Sendable {
        var rows: [Int64] = []
        var end: Position?
    }

    let job: Int64
    let app: Int64
    let user: UserName
    let traces: UserTraces
    /// What is the user's among the contents and the rich notifications.
    let content: Int64
    let rich: Int64
    let position: Position

    /// Rows that are changed in a transaction.
    static let rowsASlice = 200
    /// Rows that a slice reads where it goes through a table.
    static let rowsARead = 500
    /// Contents have some megabytes each, and dead letters some hundred kilobytes.
    static let largeRows = 8

    /// Jobs of an app in their order, and whether they may name the user.
    static let jobs = """
        SELECT sequence, user IS ?4 OR instr(work, ?5) > 0 OR instr(work, ?6) > 0 OR instr(work, ?7) > 0 OR EXISTS (
            SELECT 1 FROM audience WHERE audience.job = sequence AND instr(tags, ?5) > 0)
        FROM job INDEXED BY job_app WHERE app = ?1 AND sequence > ?2 AND sequence < ?3 ORDER BY sequence LIMIT ?8
        """

    /// Forgets a tag that no device has.
    static let unusedTag = """
        DELETE FROM tag_name WHERE app = ? AND name = ?
            AND NOT EXISTS (SELECT 1 FROM tagged WHERE tagged.tag = tag_name.number)
        """

    /// The state of a removal.
    enum State: Sendable {
        case open(UserRemoval)
        case ended(RegisterResult)
    }

    static func state(of job: Int64, at now: Int64, in database: Database) throws -> State {
        let found = try database.first(
            "SELECT result, finished IS NOT NULL OR ends <= ? FROM job WHERE sequence = ?",
            [now, job]
        ) {
            (result: $0[0] as String?, isOver: $0[1] as Bool)
        }
        if let result = found?.result { return .ended(try StoredJSON.value(RegisterResult.self, from: result)) }
        guard found?.isOver == false else { return .ended(.refused("its time is over")) }
        let removal = try database.first(
            "SELECT app, user, content, rich, step, after FROM user_removal WHERE job = ?",
            [job]
        ) { row in
            let user = try UserName(stored: row[1], shown: nil)
            guard let step = Step(rawValue: row[4]) else { throw StoreError(.corrupt, "a removal has an unknown step") }
            return UserRemoval(
                job: job,
                app: row[0],
                user: user,
                traces: try UserTraces(user),
                content: row[2],
                rich: row[3],
                position: Position(step: step, after: row[5])
            )
        }
        // A later removal of the user took its place while it was ended.
        return removal.map(State.open) ?? .ended(.superseded)
    }
}

extension SQLiteStore {
    /// Does a part of the removal of a user.
    func removeUser(by job: Int64) async throws -> RegisterResult? {
        let now = self.clock.now
        let removal: UserRemoval
        switch try await self.read({ try UserRemoval.state(of: job, at: now, in: $0) }) {
        case .ended(let result): return result
        case .open(let found): removal = found
        }
        let slice = try await self.read { try removal.look(in: $0) }
        let isDone = try await self.write { context in
            guard case .open(let present) = try UserRemoval.state(of: job, at: context.now, in: context.database),
                present.position == removal.position
            else { return false }
            return try removal.take(slice, in: context)
        }
        return isDone ? .done : nil
    }
}

// MARK: Looking

extension UserRemoval {
    /// The next rows to change.
    fileprivate func look(in database: Database) throws -> Slice {
        switch self.position.step {
        case .registrations:
            try self.rows(
                """
                SELECT row FROM (SELECT row FROM registration WHERE app = ?1 AND user = ?2 AND state = 1 AND version < ?3 LIMIT ?4)
                UNION ALL SELECT row FROM (
                    SELECT row FROM registration WHERE app = ?1 AND user = ?2 AND state <> 1 AND version < ?3 LIMIT ?4)
                LIMIT ?4
                """,
                before: self.job,
                limit: Self.rowsASlice,
                in: database
            )
        case .jobs: try self.jobs(in: database)
        case .deadLetters: try self.deadLetters(in: database)
        case .contents:
            try self.rows(
                "SELECT number FROM content WHERE app = ? AND owner = ? AND number <= ? LIMIT ?",
                before: self.content,
                limit: Self.largeRows,
                in: database
            )
        case .notifications:
            try self.rows(
                """
                SELECT number FROM (SELECT number FROM rich WHERE app = ?1 AND sender = ?2 AND number <= ?3 LIMIT ?4)
                UNION ALL SELECT number FROM (SELECT number FROM rich WHERE app = ?1 AND addressee = ?2 AND number <= ?3 LIMIT ?4)
                LIMIT ?4
                """,
                before: self.rich,
                limit: Self.rowsASlice,
                in: database
            )
        // Their statements look for themselves.
        case .tombstones, .keys, .names: Slice(end: self.position.next)
        }
    }

    /// Rows that are gone when they are done: the same look finds the next.
    private func rows(_ sql: String, before last: Int64, limit: Int, in database: Database) throws -> Slice {
        let rows = try database.all(sql, [self.app, self.user.key.text, last, limit]) { $0[0] as Int64 }
        return Slice(rows: rows, end: rows.count == limit ? self.position : self.position.next)
    }

    /// Jobs that were accepted before the removal: those that may name the user, by the words in them.
    private func jobs(in database: Database) throws -> Slice {
        // The first is what selects the user; the last, the name itself. Between them may be the tag as a sender.
        let patterns = self.traces.patterns
        let found = try database.all(
            Self.jobs,
            [
                self.app, self.position.after, self.job, self.user.key.text, patterns[0], patterns[1],
                patterns[patterns.count - 1], Self.rowsARead,
            ]
        ) { (sequence: $0[0] as Int64, isNamed: $0[1] as Bool) }
        let named = found.filter(\.isNamed).map(\.sequence)
        guard named.count <= Self.rowsASlice else {
            let rows = Array(named.prefix(Self.rowsASlice))
            return Slice(rows: rows, end: Position(step: .jobs, after: rows[rows.count - 1]))
        }
        let isLast = found.count < Self.rowsARead
        return Slice(
            rows: named,
            end: isLast ? self.position.next : found.last.map { Position(step: .jobs, after: $0.sequence) }
        )
    }

    /// Dead letters that hold a change on the user's behalf, or a payload of a send that was emptied.
    ///
    /// Those of the user's own changes went with their jobs.
    private func deadLetters(in database: Database) throws -> Slice {
        let rows = try database.all(
            """
            SELECT id, work, body FROM dead
            WHERE +app IN ((SELECT name FROM app WHERE number = ?), '') AND id > ? ORDER BY id LIMIT ?
            """,
            [self.app, self.position.after, Self.largeRows]
        ) { (id: $0[0] as Int64, work: $0[1] as String?, body: $0[2] as [UInt8]) }
        let named = try rows.filter { row in
            if let text = row.work, case .register(let request)? = try? StoredJSON.work(from: Array(text.utf8)),
                self.traces.isNamed(by: request)
            {
                return true
            }
            return try database.isEmptied(row.body)
        }
        return Slice(
            rows: named.map(\.id),
            end: rows.count < Self.largeRows
                ? self.position.next : rows.last.map { Position(step: .deadLetters, after: $0.id) }
        )
    }
}
