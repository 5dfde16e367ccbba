import Foundation
import PushModel
package import Store
import StoreKit
import StoreSQL

extension SQLiteStore {
    /// See ``DeadLetterStore/deadLetter(_:)``.
    package func deadLetter(_ message: IncomingDeadLetter) async throws {
        let result = RegisterResult.refused("its message could not be worked on")
        let text = try StoredJSON.text(result)
        try await self.write { context in
            let body = try context.database.isEmptied(message.body) ? [] : message.keptBody
            let app = DeadLetterTable.owner(try context.database.owner(of: message))
            let last = try context.database.first("SELECT last FROM dead_number WHERE app = ?", [app]) {
                $0[0] as Int64
            }
            let number = (last ?? 0) + 1
            let isNew = try context.database.change(
                """
                INSERT INTO dead(queue, type, message, digest, app, number, reason, body, size, at)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING
                """,
                [
                    message.queue, message.type, message.messageID, message.digest, app, number, message.reason,
                    body, message.body.count, context.wall.milliseconds,
                ]
            )
            guard isNew > 0 else { return }
            try context.database.run(
                "INSERT INTO dead_number VALUES (?, ?) ON CONFLICT (app) DO UPDATE SET last = excluded.last",
                [app, number]
            )
            let letter = context.database.lastInsertedRowID
            let closed = try context.close(message, letter: letter, result: result, text: text)
            try context.database.run(
                "UPDATE dead SET closed = ?, job = ?, pns = ?, page = ?, attempt = ? WHERE id = ?",
                [
                    closed.effect.rawValue, closed.job?.blob, closed.batch?.pns, closed.batch?.page,
                    closed.batch?.attempt, letter,
                ]
            )
        }
    }
}

/// The batch or job closed by a dead letter.
private struct ClosedByDeadLetter {
    var effect = DeadLetterEffect.nothing
    var job: JobID?
    var batch: OpenPage?
}

extension IncomingDeadLetter {
    /// Distinguishes bodies under one message id: FNV-1a.
    fileprivate var digest: Int64 {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in self.body { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
        return Int64(bitPattern: hash)
    }
}

extension Database {
    /// The app of a message: its row's, otherwise the app it names, if that is declared.
    fileprivate func owner(of message: IncomingDeadLetter) throws -> AppID? {
        if let id = MessageID(message.messageID), let row = try self.outboxMessage(id.number) { return row.app }
        guard let app = message.app else { return nil }
        return try self.exists("SELECT 1 FROM app WHERE name = ? AND spec IS NOT NULL", [app.name]) ? app : nil
    }
}

extension WriteContext {
    /// Closes the work of a dead letter; a message of several members is split, so that the others continue.
    fileprivate func close(
        _ message: IncomingDeadLetter,
        letter: Int64,
        result: RegisterResult,
        text: String
    ) throws -> ClosedByDeadLetter {
        guard let id = MessageID(message.messageID), let row = try self.database.outboxMessage(id.number),
            let members = try self.openMembers(of: id.number)
        else { return ClosedByDeadLetter() }
        guard members == 1 else {
            try self.split(id.number)
            return ClosedByDeadLetter()
        }
        if case .deliver = row.queue { return try self.closeBatch(of: id) }
        guard let job = try self.database.onlyJob(of: id).flatMap({ try self.database.jobRow(sequence: $0)?.plain })
        else {
            return ClosedByDeadLetter()
        }
        guard row.queue == .register else {
            _ = try self.abandon(job.sequence, reason: "its message could not be worked on")
            return ClosedByDeadLetter(effect: .send, job: job.id)
        }
        // It was applied, and must not be applied again by a replay.
        if let done = try self.result(ofRegister: job.sequence) {
            _ = try self.finishRegister(job.id, result: done, text: StoredJSON.text(done))
            return ClosedByDeadLetter()
        }
        try self.keepWork(of: job.sequence, letter: letter)
        _ = try self.finishRegister(job.id, result: result, text: text)
        return ClosedByDeadLetter(effect: .register, job: job.id)
    }

    /// Closes the only batch of a dead letter: its devices count as dead.
    private func closeBatch(of message: MessageID) throws -> ClosedByDeadLetter {
        if let range = try self.database.jobRange(of: message.number) {
            try self.materializeBatches(of: message.number, jobs: range)
        }
        let found = try self.database.first(
            """
            SELECT job.sequence, job.id, batch.pns, batch.page, batch.attempt, batch.size, batch.retries
            FROM batch JOIN job ON job.sequence = batch.job WHERE batch.message = ? AND batch.open = 1
            """,
            [message.number]
        ) {
            (
                job: $0[0] as Int64, id: try JobID(blob: $0[1]),
                batch: OpenPage(pns: $0[2], page: $0[3], attempt: $0[4], size: $0[5], message: message.number),
                retries: $0[6] as [UInt8]?
            )
        }
        guard let found else { return ClosedByDeadLetter() }
        let batch = found.batch
        // The devices of a first attempt are known only by number: their list was in the message.
        let failures = try (found.retries.map(RetryList.decode) ?? []).map {
            DeviceFailure(row: $0.row, failure: .dead, status: 0, reason: "")
        }
        try self.insert(failures, of: found.job, batch.pns, at: self.wall)
        try self.close(batch, of: found.job, [.failed(.dead): batch.size])
        // Kept for a replay.
        try self.database.run(
            "UPDATE batch SET retries = ? WHERE job = ? AND pns = ? AND page = ? AND attempt = ?",
            [found.retries, found.job, batch.pns, batch.page, batch.attempt]
        )
        try self.completeIfDone(found.job)
        return ClosedByDeadLetter(effect: .batch, job: found.id, batch: batch)
    }
}
