import Foundation
package import PushModel
package import Store
import StoreKit
import StoreSQL

extension SQLiteStore: DeadLetterStore {
    package func replay(deadLetter number: Int64, app: AppID) async throws -> Replay? {
        let now = self.clock.now
        let seen = try await self.rows(DeadLetterTable.letter(number, app: app)).first.map { try KeptDeadLetter($0) }
        let found: ReplayList
        switch seen.map({ DeadLetterWork(of: $0, at: now) }) {
        case nil: return nil
        case .nothing(let reason): return .refused(reason)
        case .job: found = ReplayList()
        // Read beforehand: a page of an audience takes longer than a writer may be held up.
        case .batch(let page, let job): found = try await self.list(of: page, job: job)
        }
        return try await self.write { context in
            let row = try context.database.answer(DeadLetterTable.letter(number, app: app)).rows.first
            guard let letter = try row.map({ try KeptDeadLetter($0) }) else { return nil }
            let replay: Replay
            switch DeadLetterWork(of: letter, at: context.now) {
            case .nothing(let reason): return .refused(reason)
            case .batch(let page, let job):
                try context.replay(page, of: job, list: found)
                replay = .begun(job: page.key.job, devices: found.devices.count)
            case .job(let job, let sequence, .register):
                guard try !context.isForRemovedUser(sequence, letter: letter.id) else {
                    return .refused(UserTraces.refusal)
                }
                try context.replay(register: sequence, letter: letter.id)
                replay = .begun(job: job, devices: nil)
            case .job(let job, let sequence, .send):
                try context.replay(send: sequence)
                replay = .begun(job: job, devices: nil)
            }
            _ = try context.database.answer(DeadLetterTable.removal(of: letter.id))
            return replay
        }
    }

    /// The devices of a dead batch: its retries, or its page's present audience.
    private func list(of page: DeadLetterPage, job: Int64) async throws -> ReplayList {
        let pns = page.key.pns.number
        let batch: SQLStatement = "SELECT retries FROM batch WHERE \(DeadLetterTable.row(of: page.key, job: job))"
        guard let retries = try await self.rows(batch).first?["retries"] as [UInt8]?? ?? nil else {
            return ReplayList(devices: try await self.audience(of: page, job: job))
        }
        let devices = try RetryList.decode(retries)
        let rows = Set(devices.map(\.row))
        let records = try await self.rows(
            """
            SELECT id, row FROM delivery
            WHERE job = \(job) AND pns = \(pns) AND class = \(DeliveryCountClass.failed(.dead).number)
            """
        )
        return ReplayList(
            devices: devices.map { RetryDevice(row: $0.row, tries: $0.tries, wait: .zero) },
            records: try records.filter { rows.contains(try $0["row"]) }.map { try $0["id"] }
        )
    }

    /// The devices of a page as they are now.
    private func audience(of page: DeadLetterPage, job: Int64) async throws -> [RetryDevice] {
        let row = try await self.read { try $0.jobRow(sequence: job) }
        guard let row, case .send(let request) = row.work else { return [] }
        var query = AudienceQuery(
            request,
            job: job,
            app: row.plain.app,
            pns: page.key.pns,
            memory: AudienceMemory()
        )
        query.template = page.template
        (query.after, query.through) = (page.rows.from, page.rows.to)
        let found = try await self.wholeAudience(query)
        return found.rows.map { RetryDevice(row: $0, tries: 0, wait: .zero) }
    }
}

/// The devices of the next attempt of a dead batch.
private struct ReplayList {
    var devices: [RetryDevice] = []
    /// The rows of the table `delivery` that count them as dead.
    var records: [Int64] = []
}

extension WriteContext {
    /// Retries the devices of a dead batch in its next attempt: n = accepted + failed + expired + cancelled + retries still holds.
    fileprivate func replay(_ batch: DeadLetterPage, of sequence: Int64, list: ReplayList) throws {
        let (key, count) = (batch.key, list.devices.count)
        let (pns, page, attempt) = (key.pns.number, key.page, key.attempt)
        // As with any page that is published again, those who have joined the audience are targets too.
        let (left, joined) = (max(0, batch.size - count), max(0, count - batch.size))
        let row = DeadLetterTable.row(of: key, job: sequence)
        let changes: [SQLStatement] = [
            "UPDATE outcome SET failed = \(left), retries = \(count) WHERE \(row)",
            "UPDATE batch SET retries = NULL WHERE \(row)",
        ]
        for change in changes + list.records.map({ "DELETE FROM delivery WHERE id = \($0)" }) {
            _ = try self.database.answer(change)
        }
        try self.count(
            [.failed(.dead): -batch.size, .failed(.deregistered): left, .targets: joined],
            of: sequence,
            in: (pns, page, attempt)
        )
        guard count > 0, let job = try self.jobToReplay(sequence) else { return }
        try self.insertAttempt(
            (pns, page, attempt + 1),
            of: (sequence, job.app, job.priority),
            rows: batch.rows,
            devices: list.devices,
            reason: WaitReason("its dead letter is replayed")
        )
        let reopen = try PreparedTransition(.reopenForBatch, self)
        try reopen.statement.bind(sequence, at: 1)
        // One that still runs stays as it is.
        _ = try reopen.make()
    }

    /// Whether the change that a dead letter keeps is about a user who was removed since.
    fileprivate func isForRemovedUser(_ sequence: Int64, letter: Int64) throws -> Bool {
        let found = try self.database.answer(
            """
            SELECT job.app, job."user", dead.work FROM job, dead
            WHERE job.sequence = \(sequence) AND dead.id = \(letter) AND dead.work IS NOT NULL
            """
        ).rows.first
        guard let found, case .register(let request) = try StoredJSON.work(from: Array((found["work"] as String).utf8))
        else { return false }
        let asker = try (found["user"] as String?).map { try UserName(stored: $0, shown: nil) }
        let subject = UserTraces.subject(of: request, askedBy: asker)
        let removal = self.registrations(of: try found["app"]).removal(of: subject, after: sequence)
        return try !self.database.answer(removal).rows.isEmpty
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
        guard try reopen.make(from: job.state) else { throw StoreError(.corrupt, "a dead send does not reopen") }
    }

    private func jobToReplay(
        _ sequence: Int64
    ) throws -> (app: Int64, priority: Int, state: Job.State, isFannedOut: Bool)? {
        let job: SQLStatement = "SELECT app, priority, state, fanned_out FROM job WHERE sequence = \(sequence)"
        return try self.database.answer(job).rows.first.map {
            (try $0["app"], try $0["priority"], try Job.State(number: $0["state"]), try $0["fanned_out"])
        }
    }
}
