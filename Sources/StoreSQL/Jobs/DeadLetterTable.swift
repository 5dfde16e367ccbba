package import PushModel
package import Store
package import StoreKit

/// The table `dead`.
package enum DeadLetterTable {
    /// Reads a dead letter, for ``KeptDeadLetter/init(_:)``.
    package static func letter(_ number: Int64, app: AppID?) -> SQLStatement {
        self.letters("dead.number = \(number)", app: app, limit: 1)
    }

    /// Whose a dead letter is, in the column `app`.
    package static func owner(_ app: AppID?) -> String { app?.name ?? "" }

    /// Counts the dead letters of an app, up to so many.
    static func count(of app: AppID, limit: Int) -> SQLStatement {
        "SELECT count(*) AS dead FROM (SELECT 1 FROM dead WHERE app = \(self.owner(app)) LIMIT \(limit)) AS counted"
    }

    /// Removes a dead letter.
    package static func removal(of id: Int64) -> SQLStatement { "DELETE FROM dead WHERE id = \(id)" }

    /// Dead letters, newest first, each with its job and batch.
    fileprivate static func letters(_ condition: SQLStatement, app: AppID?, limit: Int) -> SQLStatement {
        """
        SELECT dead.id, dead.number, dead.queue, dead.type, dead.message, dead.reason, dead.size, dead.at, dead.closed,
            dead.work IS NOT NULL AS has_work, dead.job AS job_id, dead.pns, dead.page, dead.attempt,
            job.sequence, job.state, job.expires, job.ends, job.cleared, job.emptied,
            batch.from_id, batch.to_id, batch.size AS devices, batch.template, batch.retries IS NOT NULL AS has_retries,
            batch.open = 0 AND outcome.failed = batch.size AND outcome.retries = 0 AS is_dead
        FROM dead LEFT JOIN job ON job.id = dead.job
            LEFT JOIN batch ON batch.job = job.sequence AND batch.pns = dead.pns AND batch.page = dead.page
                AND batch.attempt = dead.attempt
            LEFT JOIN outcome ON outcome.job = batch.job AND outcome.pns = batch.pns AND outcome.page = batch.page
                AND outcome.attempt = batch.attempt
        WHERE dead.app = \(self.owner(app)) AND \(condition) ORDER BY dead.number DESC LIMIT \(limit)
        """
    }

    /// The most that a page looks at, where few of many are asked for.
    private static let most = 5_000

    /// Finds the dead letter at which looking for a page ends; no row for the end of the list.
    fileprivate static func end(before: Int64, app: AppID?) -> SQLStatement {
        """
        SELECT number FROM dead WHERE app = \(self.owner(app)) AND number < \(before)
        ORDER BY number DESC LIMIT 1 OFFSET \(raw: "\(self.most)")
        """
    }

    fileprivate static func body(of number: Int64, app: AppID?) -> SQLStatement {
        "SELECT body FROM dead WHERE app = \(self.owner(app)) AND number = \(number)"
    }
}

extension DeadLetterStore where Self: SQLEngine {
    package func deadLetters(_ query: DeadLetterQuery) async throws -> Page<DeadLetter> {
        let (cursors, app, now) = (self.cursors, query.app, self.clock.now)
        let before = try cursors.open(query.cursor, .deadLetters, of: app) ?? .max
        let limit = min(max(1, query.limit), 1000)
        var (letters, bodies, last): ([SQLRow], [SQLRow], Int64?) = ([], [], nil)
        if let number = query.number {
            (letters, bodies) = try await self.rows(
                DeadLetterTable.letter(number, app: app),
                DeadLetterTable.body(of: number, app: app)
            )
        } else {
            let before = min(before, query.upTo.map { $0 < .max ? $0 + 1 : $0 } ?? .max)
            if query.isFiltered {
                last = try await self.rows(DeadLetterTable.end(before: before, app: app)).first.map { try $0["number"] }
            }
            let range: SQLStatement = "dead.number < \(before) AND dead.number >= \(last ?? 0)"
            let conditions = SQLStatement(joining: [range] + query.conditions, with: " AND ")
            letters = try await self.rows(DeadLetterTable.letters(conditions, app: app, limit: limit + 1))
        }
        let body: [UInt8]? = try bodies.first.map { try $0["body"] }
        let page = try Page(
            letters.map { try DeadLetter($0, app: app, body: body, at: now) },
            limit: limit,
            cursor: { cursors.seal($0.id, .deadLetters, of: app) },
            item: { $0 }
        )
        guard page.cursor == nil, let last else { return page }
        return Page(items: page.items, cursor: cursors.seal(last, .deadLetters, of: app))
    }

    package func discard(deadLetter number: Int64, app: AppID?) async throws -> DeadLetter? {
        let now = self.clock.now
        return try await self.perform(
            SQLTransaction(reading: DeadLetterTable.letter(number, app: app)) { letters in
                guard let row = letters.first else { return .nothing(nil) }
                let letter = try DeadLetter(row, app: app, body: nil, at: now)
                return SQLDecision(writing: [DeadLetterTable.removal(of: try row["id"]).expecting(1)], giving: letter)
            }
        )
    }
}

extension DeadLetterQuery {
    fileprivate var isFiltered: Bool { !self.conditions.isEmpty }

    fileprivate var conditions: [SQLStatement] {
        [
            self.queue.map { "dead.queue = \($0)" }, self.type.map { "dead.type = \($0)" },
            self.reason.map { "dead.reason = \($0)" }, self.job.map { "dead.job = \($0)" },
        ].compactMap(\.self)
    }
}

extension DeadLetter {
    fileprivate init(_ row: SQLRow, app: AppID?, body: [UInt8]?, at now: Int64) throws {
        self.init(
            id: try row["number"],
            app: app,
            queue: try row["queue"],
            type: try row["type"],
            messageID: try row["message"],
            job: try row["job_id"],
            reason: try row["reason"],
            size: try row["size"],
            at: try row["at"],
            blockedReason: DeadLetterWork(of: try KeptDeadLetter(row), at: now).blockedReason,
            body: body
        )
    }
}

extension KeptDeadLetter {
    package init(_ row: SQLRow) throws {
        guard let effect = DeadLetterEffect(rawValue: try row["closed"]) else {
            throw StoreError(.corrupt, "a dead letter's row names an unknown effect")
        }
        let id = try row["job_id"] as JobID?
        self.init(
            id: try row["id"],
            messageID: try row["message"],
            effect: effect,
            hasWork: try row["has_work"],
            jobID: id,
            job: try DeadLetterJob(ofLetter: row),
            page: try id.flatMap { try DeadLetterPage(ofLetter: row, job: $0) }
        )
    }
}

extension DeadLetterJob {
    /// - Returns: nil if the job is not kept any more.
    fileprivate init?(ofLetter row: SQLRow) throws {
        guard let sequence = try row["sequence"] as Int64? else { return nil }
        self.init(
            sequence: sequence,
            state: try Job.State(number: row["state"]),
            expires: try row["expires"],
            ends: try row["ends"],
            isCleared: try row["cleared"],
            isEmptied: try row["emptied"]
        )
    }
}

extension DeadLetterPage {
    /// - Returns: nil if the batch does not count as dead, or is not kept any more.
    fileprivate init?(ofLetter row: SQLRow, job: JobID) throws {
        guard try (row["is_dead"] as Bool?) == true else { return nil }
        self.init(
            key: BatchKey(
                job: job,
                pns: try PushService(stored: row["pns"]),
                page: try row["page"],
                attempt: try row["attempt"]
            ),
            rows: (try row["from_id"], try row["to_id"]),
            size: try row["devices"],
            hasRetries: try row["has_retries"],
            template: try row["template"]
        )
    }
}
