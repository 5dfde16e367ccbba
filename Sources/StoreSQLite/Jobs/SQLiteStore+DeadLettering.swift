import Foundation
package import PushModel
package import Store
import StoreKit
import StoreSQL

extension SQLiteStore {
    /// See ``DeadLetterStore/deadLetter(_:)``.
    @discardableResult
    package func deadLetter(_ message: IncomingDeadLetter) async throws -> JobID? {
        try await self.write { context in
            let body = try context.database.isEmptied(message.body) ? [] : message.keptBody
            let app = try context.database.owner(of: message)
            let insertion = DeadLetterTable.insertion(of: message, body: body, app: app, at: context.wall)
            guard try context.database.answer(insertion).count > 0 else { return nil }
            let letter = context.database.lastInsertedRowID
            let closed = try context.close(message, letter: letter)
            for statement in DeadLetterTable.completion(of: letter, closing: closed) {
                _ = try context.database.answer(statement)
            }
            return closed.job
        }
    }
}

extension Database {
    /// The app of a message: its row's, otherwise the app it names, if that is declared.
    fileprivate func owner(of message: IncomingDeadLetter) throws -> AppID? {
        if let id = MessageID(message.messageID), let row = try self.outboxMessage(id.number) { return row.app }
        guard let app = message.app else { return nil }
        let declared: SQLStatement = "SELECT 1 AS found FROM app WHERE name = \(app.name) AND spec IS NOT NULL"
        return try self.answer(declared).rows.isEmpty ? nil : app
    }
}

extension WriteContext {
    /// Closes the work of a dead letter; a message of several members is split, so that the others continue.
    fileprivate func close(_ message: IncomingDeadLetter, letter: Int64) throws -> ClosedByDeadLetter {
        guard let id = MessageID(message.messageID), let row = try self.database.outboxMessage(id.number),
            let members = try self.openMembers(of: id.number)
        else { return ClosedByDeadLetter() }
        guard members == 1 else {
            try self.split(id.number)
            return ClosedByDeadLetter()
        }
        if case .deliver = row.queue { return try self.closeBatch(of: id) }
        guard let job = try self.database.onlyJob(of: id).flatMap({ try self.database.jobRow(sequence: $0)?.plain })
        else { return ClosedByDeadLetter() }
        let reason = "its message could not be worked on"
        guard row.queue == .register else {
            _ = try self.abandon(job.sequence, reason: reason)
            return ClosedByDeadLetter(effect: .send, job: job.id)
        }
        // It was applied, and must not be applied again by a replay.
        let done = try self.result(ofRegister: job.sequence)
        if done == nil { try self.keepWork(of: job.sequence, letter: letter) }
        let result = done ?? .refused(reason)
        _ = try self.finishRegister(job.id, result: result, text: StoredJSON.text(result))
        return done == nil ? ClosedByDeadLetter(effect: .register, job: job.id) : ClosedByDeadLetter()
    }

    /// Closes the only batch of a dead letter: its devices count as dead.
    private func closeBatch(of message: MessageID) throws -> ClosedByDeadLetter {
        if let range = try self.database.jobRange(of: message.number) {
            try self.materializeBatches(of: message.number, jobs: range)
        }
        guard let found = try self.database.answer(DeadLetterTable.batch(of: message)).rows.first else {
            return ClosedByDeadLetter()
        }
        let job: Int64 = try found["sequence"]
        let key = BatchKey(
            job: try found["id"],
            pns: try PushService(stored: found["pns"]),
            page: try found["page"],
            attempt: try found["attempt"]
        )
        let batch = OpenPage(
            pns: key.pns.number,
            page: key.page,
            attempt: key.attempt,
            size: try found["size"],
            message: message.number
        )
        // The devices of a first attempt are known only by number: their list was in the message.
        let retries = try found["retries"] as [UInt8]?
        let failures = try (retries.map(RetryList.decode) ?? []).map {
            DeviceFailure(row: $0.row, failure: .dead, status: 0, reason: "")
        }
        try self.insert(failures, of: job, batch.pns, at: self.wall)
        try self.close(batch, of: job, [.failed(.dead): batch.size])
        // Kept for a replay.
        let row = DeadLetterTable.row(of: key, job: job)
        _ = try self.database.answer("UPDATE batch SET retries = \(retries) WHERE \(row)")
        try self.completeIfDone(job)
        return ClosedByDeadLetter(effect: .batch, job: key.job, batch: key)
    }
}
