import Foundation
import GRDB
import PushModel
package import Store

extension SQLiteStore {
    /// See ``DeadLetterStore/deadLetter(_:)``.
    package func deadLetter(_ message: DeadMessage) async throws {
        let result = RegisterResult.refused("its message could not be worked on")
        let text = try StoredJSON.text(result)
        try await self.write { context in
            let isNew = try context.database.change(
                """
                INSERT INTO dead(queue, type, message, digest, app, reason, body, at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
                ON CONFLICT DO NOTHING
                """,
                [
                    message.queue, message.type, message.messageID, message.digest,
                    try context.database.owner(of: message)?.name, message.reason, Data(message.body),
                    context.wall.milliseconds,
                ]
            )
            guard isNew > 0 else { return }
            let letter = context.database.lastInsertedRowID
            let closed = try context.bury(message, letter: letter, result: result, text: text)
            try context.database.run("UPDATE dead SET closed = ? WHERE id = ?", [closed.rawValue, letter])
        }
    }
}

/// What the burial of a message closed: the column `closed` of the table `dead`.
enum Burial: Int {
    case nothing = 0
    case batch = 1
    case register = 2
    case send = 3
}

extension DeadMessage {
    /// Tells bodies apart under one message id: FNV-1a.
    fileprivate var digest: Int64 {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in self.body { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
        return Int64(bitPattern: hash)
    }
}

extension Database {
    /// Whose a message is: its job's app, else the one that it says, where that is declared.
    fileprivate func owner(of message: DeadMessage) throws -> AppID? {
        if let job = BatchKey(message.messageID)?.job ?? JobID(message.messageID), let row = try self.jobRow(job) {
            return row.app
        }
        guard let app = message.app else { return nil }
        return try self.exists("SELECT 1 FROM app WHERE name = ? AND spec IS NOT NULL", [app.name]) ? app : nil
    }
}

extension WriteContext {
    fileprivate func bury(
        _ message: DeadMessage,
        letter: Int64,
        result: RegisterResult,
        text: String
    ) throws -> Burial {
        if let key = BatchKey(message.messageID) { return try self.bury(key) ? .batch : .nothing }
        if let bundle = BundleID(message.messageID) {
            try self.takeApart(bundle)
        } else if let parcel = ParcelID(message.messageID) {
            try self.takeApart(parcel)
        } else if let id = JobID(message.messageID), let row = try self.database.jobRow(id), !row.state.isFinal {
            switch row.work.kind {
            case .register:
                try self.keepWork(of: row.sequence, letter: letter)
                _ = try self.finishRegister(id, result: result, text: text)
                return .register
            case .send:
                guard !row.isPlanned, row.state.stopCause == nil else { return .nothing }
                _ = try self.abandon(row.sequence, reason: "its message could not be worked on")
                return .send
            }
        }
        return .nothing
    }

    /// Closes the batch of a dead message: its devices count as dead.
    ///
    /// - Parameter key: The batch.
    /// - Returns: false when it is closed already, or unknown.
    /// - Throws: What SQLite says.
    private func bury(_ key: BatchKey) throws -> Bool {
        try self.writeOutBatch(of: key.job)
        let target = try self.database.first(
            """
            SELECT job.sequence, batch.size, batch.carried, batch.parcel FROM job JOIN batch ON batch.job = job.sequence
            WHERE job.id = ? AND batch.pns = ? AND batch.page = ? AND batch.attempt = ? AND batch.open = 1
            """,
            [key.job.blob, key.pns.number, key.page, key.attempt]
        ) { (job: $0[0] as Int64, size: $0[1] as Int, carried: $0[2] as Data?, parcel: $0[3] as Int64?) }
        guard let target else { return false }
        // A first attempt's devices are known by their number alone: its list was in the message.
        for device in try target.carried.map(CarriedList.decode) ?? [] {
            try self.database.run(
                "INSERT INTO delivery(job, pns, row, class, status, reason, at) VALUES (?, ?, ?, ?, 0, '', ?)",
                [target.job, key.pns.number, device.row, CountClass.failed(.dead).number, self.wall.milliseconds]
            )
        }
        let batch = OpenBatch(
            pns: key.pns.number,
            page: key.page,
            attempt: key.attempt,
            size: target.size,
            parcel: target.parcel
        )
        try self.close(batch, of: target.job, as: .failed(.dead))
        // Kept for a replay.
        try self.database.run(
            "UPDATE batch SET carried = ? WHERE job = ? AND pns = ? AND page = ? AND attempt = ?",
            [target.carried, target.job, batch.pns, batch.page, batch.attempt]
        )
        try self.completeIfDone(target.job)
        return true
    }
}
