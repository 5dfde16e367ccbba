import Foundation
import GRDB
package import PushModel
package import Store
import StoreKit

extension SQLiteStore: DeadLetterStore {
    package func deadLetters(app: AppID?, cursor: String?, limit: Int) async throws -> Page<DeadLetter> {
        let before = try self.cursors.open(cursor, .deadLetters, of: app) ?? .max
        let limit = min(max(1, limit), 1000)
        let (now, cursors) = (self.clock.now, self.cursors)
        return try await self.read { database in
            let rows = try database.all(
                "SELECT \(DeadLetterRow.columns) FROM dead WHERE app = ? AND number < ? ORDER BY number DESC LIMIT ?",
                [app.owner, before, limit + 1],
                read: DeadLetterRow.init
            )
            return try Page(
                rows,
                limit: limit,
                cursor: { cursors.seal($0.number, .deadLetters, of: app) },
                item: { try $0.letter(in: database, at: now) }
            )
        }
    }

    package func deadLetter(_ number: Int64, app: AppID) async throws -> (letter: DeadLetter, body: [UInt8])? {
        let now = self.clock.now
        return try await self.read { database in
            guard let row = try database.deadLetterRow(number, app: app) else { return nil }
            let body = try database.first("SELECT body FROM dead WHERE id = ?", [row.id]) { [UInt8]($0[0] as Data) }
            return (try row.letter(in: database, at: now), body ?? [])
        }
    }

    package func replay(deadLetter number: Int64, app: AppID) async throws -> Replay? {
        let now = self.clock.now
        let seen = try await self.read { database in
            try database.deadLetterRow(number, app: app)?.target(in: database, at: now)
        }
        let found: ReplayList
        switch seen {
        case nil: return nil
        case .nothing(let reason): return .refused(reason)
        case .job: found = ReplayList()
        // Read beforehand: a page of an audience takes longer than a writer may be held up.
        case .batch(let batch): found = try await self.list(of: batch)
        }
        return try await self.write { context in
            guard let row = try context.database.deadLetterRow(number, app: app) else { return nil }
            let replay: Replay
            switch try row.target(in: context.database, at: context.now) {
            case .nothing(let reason): return .refused(reason)
            case .batch(let batch):
                try context.replay(batch, list: found)
                replay = .begun(job: batch.job, devices: found.devices.count)
            case .job(let job, let sequence, .register):
                guard try !context.isForRemovedUser(sequence, letter: row.id) else {
                    return .refused(UserRemoval.words)
                }
                try context.replay(register: sequence, letter: row.id)
                replay = .begun(job: job, devices: nil)
            case .job(let job, let sequence, .send):
                try context.replay(send: sequence)
                replay = .begun(job: job, devices: nil)
            }
            try context.database.run("DELETE FROM dead WHERE id = ?", [row.id])
            return replay
        }
    }

    package func discard(deadLetter number: Int64, app: AppID?) async throws -> DeadLetter? {
        try await self.write { context in
            guard let row = try context.database.deadLetterRow(number, app: app) else { return nil }
            let letter = try row.letter(in: context.database, at: context.now)
            try context.database.run("DELETE FROM dead WHERE id = ?", [row.id])
            return letter
        }
    }

    /// The devices of a dead batch: its retries, or its page's present audience.
    private func list(of batch: DeadLetterPage) async throws -> ReplayList {
        guard let retries = batch.retries else {
            return ReplayList(devices: try await self.page(of: batch))
        }
        let devices = try RetryList.decode(retries)
        let rows = Set(devices.map(\.row))
        let records = try await self.read { database in
            try database.all(
                "SELECT id, row FROM delivery WHERE job = ? AND pns = ? AND class = ?",
                [batch.sequence, batch.pns.number, DeliveryCountClass.failed(.dead).number]
            ) { (id: $0[0] as Int64, row: $0[1] as Int64) }
        }
        return ReplayList(
            devices: devices.map { RetryDevice(row: $0.row, tries: $0.tries, wait: .zero) },
            records: records.filter { rows.contains($0.row) }.map(\.id)
        )
    }

    /// The devices of a page as they are now.
    private func page(of batch: DeadLetterPage) async throws -> [RetryDevice] {
        let row = try await self.read { try $0.jobRow(sequence: batch.sequence) }
        guard let row, case .send(let preview) = row.work else { return [] }
        let request = try await self.whole(preview, job: batch.sequence)
        let page = try await self.wholeAudience(
            of: request,
            template: batch.template,
            job: batch.sequence,
            app: row.plain.app,
            pns: batch.pns,
            after: batch.from,
            through: batch.to,
            memory: AudienceMemory()
        )
        return page.rows.map { RetryDevice(row: $0, tries: 0, wait: .zero) }
    }
}

extension AppID? {
    /// Whose a dead letter is, in the table `dead`.
    var owner: String { self?.name ?? "" }
}

/// The devices of the next attempt of a dead batch.
private struct ReplayList {
    var devices: [RetryDevice] = []
    /// The rows of the table `delivery` that count them as dead.
    var records: [Int64] = []
}

/// A batch whose devices count as dead.
private struct DeadLetterPage {
    let sequence: Int64
    let job: JobID
    let pns: PushService
    let page: Int
    let attempt: Int
    let from: Int64
    let to: Int64
    let size: Int
    /// Its retries; nil for a first attempt.
    let retries: Data?
    /// The number of the template that it is for; nil = of none.
    let template: Int64?
}

/// The work of a dead letter.
private enum DeadLetterTarget {
    case batch(DeadLetterPage)
    case job(JobID, sequence: Int64, JobKind)
    /// Nothing that could be replayed, for that reason.
    case nothing(String)
}

/// A row of the table `dead`, without the body.
private struct DeadLetterRow {
    static let columns = """
        id, queue, type, message, app, reason, size, at, closed, work IS NOT NULL, job, pns, page, attempt, number
        """

    let id: Int64
    let number: Int64
    let queue: String
    let type: String
    let message: String
    let app: AppID?
    let reason: String
    let size: Int
    let at: Timestamp
    let closed: DeadLetterEffect
    /// For a register job: whether its work is still stored.
    let hasWork: Bool
    /// The job that it closed, or a batch of it.
    let job: JobID?
    /// The batch that it closed.
    let batch: BatchKey?

    init(_ row: Row) throws {
        self.id = row[0]
        self.number = row[14]
        self.queue = row[1]
        self.type = row[2]
        self.message = row[3]
        let app: String = row[4]
        self.app = app.isEmpty ? nil : try AppID(stored: app)
        self.reason = row[5]
        self.size = row[6]
        self.at = Timestamp(milliseconds: row[7])
        guard let closed = DeadLetterEffect(rawValue: row[8]) else {
            throw StoreError(.corrupt, "a dead letter's row names an unknown effect")
        }
        self.closed = closed
        self.hasWork = row[9]
        self.job = try (row[10] as Data?).map { try JobID(blob: $0) }
        if let job = self.job, let pns = row[11] as Int?, let page = row[12] as Int?, let attempt = row[13] as Int? {
            self.batch = BatchKey(job: job, pns: try PushService(stored: pns), page: page, attempt: attempt)
        } else {
            self.batch = nil
        }
    }

    func letter(in database: Database, at now: Int64) throws -> DeadLetter {
        var blockedReason: String?
        if case .nothing(let reason) = try self.target(in: database, at: now) { blockedReason = reason }
        return DeadLetter(
            id: self.number,
            app: self.app,
            queue: self.queue,
            type: self.type,
            messageID: self.message,
            job: self.job,
            reason: self.reason,
            size: self.size,
            at: self.at,
            blockedReason: blockedReason
        )
    }

    func target(in database: Database, at now: Int64) throws -> DeadLetterTarget {
        switch self.closed {
        case .nothing: return .nothing(self.words)
        case .batch:
            guard let key = self.batch, let job = try database.deadLetterJob(key.job) else {
                return .nothing(Self.gone)
            }
            if let blockedReason = job.blockedReason(at: now) { return .nothing(blockedReason) }
            guard let batch = try database.deadLetterPage(key, of: job.sequence) else {
                return .nothing("its batch does not count as dead")
            }
            guard batch.attempt == 0 || batch.retries != nil else {
                return .nothing("its devices are not known any more")
            }
            return .batch(batch)
        case .register, .send:
            guard let id = self.job, let job = try database.deadLetterJob(id) else { return .nothing(Self.gone) }
            if let blockedReason = job.blockedReason(at: now) { return .nothing(blockedReason) }
            if self.closed == .send { return .job(id, sequence: job.sequence, .send) }
            return self.hasWork ? .job(id, sequence: job.sequence, .register) : .nothing("its handle was removed")
        }
    }

    private static let gone = "its job is not kept any more"

    /// Why there is nothing to replay though it is kept.
    private var words: String {
        MessageID(self.message) == nil
            ? "it names no work: nobody can tell what it was for" : "it was a copy: its work continues or has finished"
    }
}

/// The job of a dead letter.
private struct DeadLetterJob {
    let sequence: Int64
    let state: Job.State
    let expires: Timestamp
    /// By the store's clock.
    let ends: Int64?
    let isCleared: Bool
    let isEmptied: Bool

    /// Why nothing of it can be replayed.
    func blockedReason(at now: Int64) -> String? {
        switch self.state {
        case .cancelling, .cancelled: return "its job was cancelled"
        case .expiring, .expired: return "its job expired"
        case .scheduled, .queued, .running, .retrying, .completed, .abandoned: break
        }
        if let ends, ends <= now { return "its job's time is over since \(self.expires.iso8601)" }
        if self.isEmptied { return "its content was removed with a user" }
        return self.isCleared ? "its job is being removed" : nil
    }
}

extension Database {
    fileprivate func deadLetterRow(_ number: Int64, app: AppID?) throws -> DeadLetterRow? {
        try self.first(
            "SELECT \(DeadLetterRow.columns) FROM dead WHERE app = ? AND number = ?",
            [app.owner, number],
            read: DeadLetterRow.init
        )
    }

    fileprivate func deadLetterJob(_ id: JobID) throws -> DeadLetterJob? {
        try self.first("SELECT sequence, state, expires, ends, cleared, emptied FROM job WHERE id = ?", [id.blob]) {
            row in
            DeadLetterJob(
                sequence: row[0],
                state: try Job.State(number: row[1]),
                expires: Timestamp(milliseconds: row[2]),
                ends: row[3],
                isCleared: row[4],
                isEmptied: row[5]
            )
        }
    }

    fileprivate func deadLetterPage(_ key: BatchKey, of job: Int64) throws -> DeadLetterPage? {
        try self.first(
            """
            SELECT batch.from_id, batch.to_id, batch.size, batch.retries, batch.template FROM batch JOIN outcome USING (job, pns, page, attempt)
            WHERE batch.job = ? AND batch.pns = ? AND batch.page = ? AND batch.attempt = ? AND batch.open = 0
                AND outcome.failed = batch.size AND outcome.retries = 0
            """,
            [job, key.pns.number, key.page, key.attempt]
        ) { row in
            DeadLetterPage(
                sequence: job,
                job: key.job,
                pns: key.pns,
                page: key.page,
                attempt: key.attempt,
                from: row[0],
                to: row[1],
                size: row[2],
                retries: row[3],
                template: row[4]
            )
        }
    }
}

extension WriteContext {
    /// Retries the devices of a dead batch in its next attempt: n = accepted + failed + expired + cancelled + retries still holds.
    fileprivate func replay(_ batch: DeadLetterPage, list: ReplayList) throws {
        let (count, pns) = (list.devices.count, batch.pns.number)
        // As with any page that is published again, those who have joined the audience are targets too.
        let (left, joined) = (max(0, batch.size - count), max(0, count - batch.size))
        try self.database.run(
            "UPDATE outcome SET failed = ?, retries = ? WHERE job = ? AND pns = ? AND page = ? AND attempt = ?",
            [left, count, batch.sequence, pns, batch.page, batch.attempt]
        )
        try self.count(
            [.failed(.dead): -batch.size, .failed(.deregistered): left, .targets: joined],
            of: batch.sequence,
            in: (pns, batch.page, batch.attempt)
        )
        for record in list.records { try self.database.run("DELETE FROM delivery WHERE id = ?", [record]) }
        try self.database.run(
            "UPDATE batch SET retries = NULL WHERE job = ? AND pns = ? AND page = ? AND attempt = ?",
            [batch.sequence, pns, batch.page, batch.attempt]
        )
        guard count > 0, let job = try self.jobToReplay(batch.sequence) else { return }
        try self.insertAttempt(
            (pns, batch.page, batch.attempt + 1),
            of: (batch.sequence, job.app, job.priority),
            rows: (batch.from, batch.to),
            devices: list.devices,
            reason: WaitReason("its dead letter is replayed")
        )
        let reopen = try PreparedTransition(.reopenForBatch, self)
        try reopen.statement.bind(batch.sequence, at: 1)
        // One that still runs stays as it is.
        _ = try reopen.make()
    }

    /// Whether the change that a dead letter keeps is about a user who was removed since.
    fileprivate func isForRemovedUser(_ sequence: Int64, letter: Int64) throws -> Bool {
        let found = try self.database.first(
            """
            SELECT job.app, job.user, dead.work FROM job, dead WHERE job.sequence = ? AND dead.id = ? AND dead.work IS NOT NULL
            """,
            [sequence, letter]
        ) {
            (
                app: $0[0] as Int64, user: try ($0[1] as String?).map { try UserName(stored: $0, shown: nil) },
                work: $0[2] as String
            )
        }
        guard let found, case .register(let request) = try StoredJSON.work(from: Array(found.work.utf8)) else {
            return false
        }
        let subject = UserTraces.subject(of: request, askedBy: found.user)
        return try self.isRemoved(subject, app: found.app, after: sequence)
    }

    /// Queues a register job again, with its old sequence and so its old place in the order (rule 11).
    fileprivate func replay(register sequence: Int64, letter: Int64) throws {
        guard let job = try self.jobToReplay(sequence), job.state == .abandoned else { return }
        let message = try self.insertMessage(of: sequence, .register, app: job.app, priority: job.priority)
        let reopen = try PreparedTransition(.reopenRegister, self)
        try reopen.statement.bind(sequence, at: 1)
        try reopen.statement.bind(message, at: 2)
        try reopen.statement.bind(letter, at: 3)
        guard try reopen.make() else { throw StoreError(.corrupt, "a refused register job does not reopen") }
    }

    /// Queues a send again, which continues its fan-out.
    fileprivate func replay(send sequence: Int64) throws {
        guard let job = try self.jobToReplay(sequence), job.isFannedOut,
            JobTransition.reopenSend.steps.contains(where: { $0.from == job.state })
        else { return }
        let hasBegun = try self.database.exists("SELECT 1 FROM batch WHERE job = ? LIMIT 1", [sequence])
        let message = try self.insertMessage(of: sequence, .send, app: job.app, priority: job.priority)
        let state: Job.State = hasBegun ? .running : .queued
        let reopen = try PreparedTransition(.reopenSend, self)
        try reopen.statement.bind(sequence, at: 1)
        try reopen.statement.bind(message, at: 2)
        try reopen.statement.bind(Int64(state.number), at: 3)
        try reopen.statement.bind(hasBegun ? Job.HubState.enqueued.rawValue : nil, at: 4)
        guard try reopen.make(from: job.state) else { throw StoreError(.corrupt, "a dead send does not reopen") }
    }

    private func jobToReplay(
        _ sequence: Int64
    ) throws -> (app: Int64, priority: Int, state: Job.State, isFannedOut: Bool)? {
        try self.database.first("SELECT app, priority, state, fanned_out FROM job WHERE sequence = ?", [sequence]) {
            ($0[0], $0[1], try Job.State(number: $0[2]), $0[3])
        }
    }
}
