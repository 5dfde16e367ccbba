package import PushModel
package import Store
import StoreKit

extension DeadLetterStore where Self: SQLEngine & AudienceStore {
    package func replay(deadLetter number: Int64, app: AppID) async throws -> Replay? {
        let (letter, job) = (DeadLetterTable.letter(number, app: app), DeadLetterReplay.job(ofLetter: number, app: app))
        let (letters, jobs) = try await self.rows(letter, job)
        guard let row = letters.first else { return nil }
        var replay = DeadLetterReplay(clock: self.clock)
        switch DeadLetterWork(of: try KeptDeadLetter(row), at: self.clock.now) {
        case .nothing(let reason): return .refused(reason)
        // Read beforehand: a page of an audience takes longer than a writer may be held up.
        case .batch(let page, let job): try await self.find(page, of: job, app: app, &replay)
        case .job: break
        }
        guard let kept = jobs.first else { throw DeadLetterReplay.noJob }
        let (found, removal) = (replay, try DeadLetterReplay.removal(of: kept, for: self))
        return try await self.end(
            SQLTransaction(reading: letter, job, removal) { try found.decide($0, $1, isRemoved: !$2.isEmpty) }
        )
    }

    /// Finds the devices of a dead batch: its retries, or its page's present audience.
    private func find(
        _ page: DeadLetterPage,
        of job: Int64,
        app: AppID,
        _ replay: inout DeadLetterReplay
    ) async throws {
        let (batches, dead, jobs) = try await self.rows(
            """
            SELECT retries, (SELECT \(raw: OpenBatch.platform) FROM template WHERE template.number = batch.template) AS platform
            FROM batch WHERE \(OpenBatch.Key(page.key, job: job).condition)
            """,
            """
            SELECT id, "row" FROM delivery WHERE job = \(job) AND pns = \(page.key.pns.number)
                AND class = \(DeliveryCountClass.failed(.dead).number)
            """,
            JobTable.rows("job.sequence = \(job)")
        )
        guard let batch = batches.first else { return }
        if WrittenDevice.otherPlatforms[page.key.pns] != nil { replay.platform = try batch["platform"] }
        if let retries = try batch["retries"] as [UInt8]? {
            let devices = try RetryList.decode(retries)
            let rows = Set(devices.map(\.row))
            replay.devices = devices.map { RetryDevice(row: $0.row, tries: $0.tries, wait: .zero) }
            replay.records = try dead.filter { rows.contains(try $0["row"]) }.map { try $0["id"] }
            return
        }
        guard let row = try jobs.first.map({ try JobRow($0) }), case .send(let request) = row.work else { return }
        var query = AudienceQuery(request, job: job, app: app, pns: page.key.pns, memory: AudienceMemory())
        query.template = page.template
        (query.after, query.through) = (page.rows.from, page.rows.to)
        let audience = try await self.wholeAudience(query)
        replay.devices = audience.rows.map { RetryDevice(row: $0, tries: 0, wait: .zero) }
    }
}

/// A replay of a dead letter, with what was found beforehand.
private struct DeadLetterReplay: Sendable {
    let clock: StoreClock
    /// The devices of the next attempt of a dead batch.
    var devices: [RetryDevice] = []
    /// The rows of the table `delivery` that count them as dead.
    var records: [Int64] = []
    /// That the batch's devices count for apart from their service.
    var platform: String?

    init(clock: StoreClock) { self.clock = clock }

    static let noJob = StoreError(.corrupt, "a dead letter's job is missing")

    static func job(ofLetter number: Int64, app: AppID) -> SQLStatement {
        """
        SELECT job.sequence, job.app, job.priority, job.state, job.message, job.fanned_out, job."user", dead.work,
            EXISTS (SELECT 1 FROM batch WHERE batch.job = job.sequence) AS has_batches
        FROM dead JOIN job ON job.id = dead.job WHERE dead.app = \(DeadLetterTable.owner(app)) AND dead.number = \(number)
        """
    }

    /// Finds a row where the user was removed since whom a change is about that a dead letter keeps.
    static func removal(of job: SQLRow, for engine: some SQLEngine) throws -> SQLStatement {
        let work = try (job["work"] as String?).map { try StoredJSON.work(from: Array($0.utf8)) }
        let asker = try (job["user"] as String?).map { try UserName(stored: $0, shown: nil) }
        var user: UserName?
        if case .register(let request)? = work { user = UserTraces.subject(of: request, askedBy: asker) }
        return RegistrationTable(app: try job["app"], clock: engine.clock, digest: engine.handles)
            .removal(of: user, after: try job["sequence"])
    }

    func decide(_ letters: [SQLRow], _ jobs: [SQLRow], isRemoved: Bool) throws -> SQLDecision<Ended<Replay?>> {
        var changes = JobEndings(self.clock)
        guard let row = letters.first else { return changes.decision(nil) }
        let letter = try KeptDeadLetter(row)
        let work = DeadLetterWork(of: letter, at: changes.now)
        if let reason = work.blockedReason { return changes.decision(.refused(reason)) }
        guard let job = jobs.first else { throw Self.noJob }
        try changes.expect(job)
        let replay: Replay
        switch work {
        case .nothing(let reason): replay = .refused(reason)
        case .batch(let page, _):
            try self.retry(page, of: job, &changes)
            replay = .begun(job: page.key.job, devices: self.devices.count)
        case .job(let id, _, let kind):
            if kind == .register, isRemoved {
                return JobEndings(self.clock).decision(.refused(UserTraces.refusal))
            }
            try self.reopen(job, kind, letter: letter.id, &changes)
            replay = .begun(job: id, devices: nil)
        }
        changes.addLast(DeadLetterTable.removal(of: letter.id).expecting(1))
        return changes.decision(replay)
    }

    /// Retries the devices of a dead batch in its next attempt: n = accepted + failed + expired + cancelled + retries still holds.
    private func retry(_ batch: DeadLetterPage, of job: SQLRow, _ changes: inout JobEndings) throws {
        let (sequence, count) = (try job["sequence"] as Int64, self.devices.count)
        // As with any page that is published again, those who have joined the audience are targets too.
        let (left, joined) = (max(0, batch.size - count), max(0, count - batch.size))
        let key = OpenBatch.Key(batch.key, job: sequence)
        let outcome: SQLStatement = """
            UPDATE outcome SET failed = \(left), retries = \(count)
            WHERE \(key.condition) AND failed = \(batch.size) AND retries = 0
            """
        changes.add(
            outcome.expecting(1),
            "UPDATE batch SET retries = NULL WHERE \(key.condition)",
            "DELETE FROM delivery WHERE id IN (\(numbers: self.records))"
        )
        changes.count(
            [.failed(.dead): -batch.size, .failed(.deregistered): left, .targets: joined],
            of: key,
            platform: self.platform
        )
        guard count > 0 else { return }
        let next = NextAttempt(
            of: sequence,
            (key.pns, key.page, key.attempt + 1),
            rows: batch.rows,
            devices: self.devices,
            reason: WaitReason("its dead letter is replayed")
        )
        for write in try next.writes(app: job["app"], priority: job["priority"], now: changes.now) {
            changes.add(write)
        }
        // One that still runs stays as it is.
        if try Job.State(number: job["state"]) == .completed {
            changes.make(.reopenForBatch, of: sequence, from: .completed)
        }
    }

    /// Queues a job again: a register job with its old sequence and so its old place in the order (rule 11), a send to go on with its
    /// fan-out.
    private func reopen(_ job: SQLRow, _ kind: JobKind, letter: Int64, _ changes: inout JobEndings) throws {
        let (sequence, state) = (try job["sequence"] as Int64, try Job.State(number: job["state"]))
        let transition: JobTransition = kind == .register ? .reopenRegister : .reopenSend
        guard transition.steps.contains(where: { $0.from == state }), try kind == .register || job["fanned_out"] else {
            return
        }
        let message = NewMessage(
            of: sequence,
            kind,
            app: try job["app"],
            priority: try job["priority"],
            now: changes.now
        )
        changes.add(message.insertion)
        if kind == .register {
            changes.make(transition, of: sequence, from: state, letter)
        } else {
            let next: Job.State = try job["has_batches"] ? .running : .queued
            changes.make(transition, of: sequence, from: state, next.number)
        }
    }
}
