package import PushModel
package import Store
import StoreKit

extension DeadLetterStore where Self: SQLEngine {
    @discardableResult
    package func deadLetter(_ message: IncomingDeadLetter) async throws -> [JobTrace] {
        try await self.end(DeadLettering(message: message, clock: self.clock).transaction)
    }
}

/// Keeps a dead letter, and closes the work that it stood for; a message of several members is split, so that the others continue.
private struct DeadLettering: Sendable {
    let message: IncomingDeadLetter
    let clock: StoreClock

    /// What it closes.
    private struct Closed {
        var effect = DeadLetterEffect.nothing
        var job: Int64?
        var batch: OpenBatch.Key?
    }

    var transaction: SQLTransaction<Ended<[JobTrace]>> {
        // No message has the number 0.
        let number = MessageID(self.message.messageID)?.number ?? 0
        let members = OutboxMembers.reads(of: number)
        let reads: [SQLStatement] = [
            """
            SELECT id FROM dead WHERE queue = \(self.message.queue) AND type = \(self.message.type)
                AND message = \(self.message.messageID) AND digest = \(self.message.digest)
            """,
            "SELECT 1 AS found FROM app WHERE name = \(self.message.app?.name) AND spec IS NOT NULL",
        ]
        return SQLTransaction(
            reading: reads + JobTable.traces(of: number) + members + SQLStatement.emptied(in: self.message.body)
        ) { answers in
            var (endings, answers) = (JobEndings(self.clock), answers[...])
            let (kept, declared) = (answers.removeFirst(), answers.removeFirst())
            let traces = try (answers.removeFirst() + answers.removeFirst()).map { try JobTrace($0) }
            guard kept.isEmpty else { return endings.decision(traces) }
            let members = try OutboxMembers(&answers)
            // The app of a message is its row's, otherwise the one it names, if that is declared.
            let app = members?.app ?? (declared.isEmpty ? nil : self.message.app)
            let isEmptied = answers.contains { !$0.isEmpty }
            let (closed, change) = try self.closed(members)
            for write in self.insertions(closed, app, body: isEmptied ? [] : self.message.keptBody, endings.wall) {
                endings.add(write)
            }
            try change(&endings)
            return endings.decision(traces)
        }
    }

    /// What it closes, and how.
    private func closed(_ members: OutboxMembers?) throws -> (Closed, (inout JobEndings) throws -> Void) {
        guard let members, members.count > 0 else { return (Closed(), { _ in }) }
        guard members.count == 1 else { return (Closed(), { try members.split(&$0) }) }
        if let batch = members.batches.first {
            let closed = Closed(effect: .batch, job: batch.key.job, batch: batch.key)
            return (closed, { try Self.close(batch, &$0) })
        }
        guard let job = members.jobs.first else { return (Closed(), { _ in }) }
        let reason = "its message could not be worked on"
        guard members.queue == .register else {
            return (Closed(effect: .send, job: try job["sequence"]), { _ = try $0.abandon(job, reason: reason) })
        }
        // One that is known to be applied must not be applied again by a replay; any other may be, before its worker died.
        let done = try (job["result"] as String?).map { try StoredJSON.value(RegisterResult.self, from: $0) }
        let closed = done == nil ? Closed(effect: .register, job: try job["sequence"]) : Closed()
        return (closed, { try $0.finishRegister(job, done ?? .unknown(reason)) })
    }

    /// Closes the only batch: its devices count as dead.
    private static func close(_ batch: OpenBatch, _ endings: inout JobEndings) throws {
        // The devices of a first attempt are known only by number: their list was in the message.
        let failures = try (batch.retries.map(RetryList.decode) ?? []).map {
            DeviceFailure(row: $0.row, failure: .dead, status: 0, reason: "")
        }
        if batch.isInline { endings.materialize(batch.key.job) }
        // They are kept for a replay.
        endings.close(batch, [.failed(.dead): batch.size], failures: failures, keeping: batch.retries)
        endings.completeIfDone(batch.key.job)
    }

    /// Keeps it with the next number of its app's, before its job forgets what it was.
    private func insertions(_ closed: Closed, _ app: AppID?, body: [UInt8], _ time: Timestamp) -> [SQLStatement] {
        let owner = DeadLetterTable.owner(app)
        let work: SQLStatement =
            closed.effect == .register ? "(SELECT work FROM job WHERE sequence = \(closed.job))" : "NULL"
        let insertion: SQLStatement = """
            INSERT INTO dead(
                queue, type, message, digest, app, number, reason, body, size, at, closed, job, pns, page, attempt, work
            ) VALUES (
                \(self.message.queue), \(self.message.type), \(self.message.messageID), \(self.message.digest), \(owner),
                (SELECT last FROM dead_number WHERE app = \(owner)), \(self.message.reason), \(body), \(self.message.body.count),
                \(time), \(closed.effect.rawValue), (SELECT id FROM job WHERE sequence = \(closed.job)),
                \(closed.batch?.pns), \(closed.batch?.page), \(closed.batch?.attempt), \(work))
            ON CONFLICT DO NOTHING
            """
        return [
            """
            INSERT INTO dead_number(app, last) VALUES (\(owner), 1)
            ON CONFLICT (app) DO UPDATE SET last = dead_number.last + 1
            """,
            insertion.expecting(1),
        ]
    }
}
