import Foundation
import GRDB
import PushModel
package import Store

extension SQLiteStore: DeadStore {
    package func bury(_ message: DeadMessage) async throws {
        let result = RegisterResult.refused("its message could not be worked on")
        let text = try StoredJSON.text(result)
        try await self.write { context in
            let isNew = try context.database.change(
                """
                INSERT INTO dead(queue, type, message, digest, app, reason, body, at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
                ON CONFLICT DO NOTHING
                """,
                [
                    message.queue, message.type, message.messageID, message.digest, message.app?.name, message.reason,
                    Data(message.body), context.wall.milliseconds,
                ]
            )
            guard isNew > 0 else { return }
            if let key = BatchKey(message.messageID) {
                try context.bury(key)
            } else if let bundle = BundleID(message.messageID) {
                try context.takeApart(bundle)
            } else if let parcel = ParcelID(message.messageID) {
                try context.takeApart(parcel)
            } else if let id = JobID(message.messageID), let row = try context.database.jobRow(id) {
                switch row.work.kind {
                case .register: _ = try context.finishRegister(id, result: result, text: text)
                case .send: try context.abandonDead(row)
                }
            }
        }
    }
}

extension DeadMessage {
    /// Tells bodies apart under one message id: FNV-1a.
    fileprivate var digest: Int64 {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in self.body { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
        return Int64(bitPattern: hash)
    }
}

extension WriteContext {
    /// Closes the batch of a dead message: its devices count as dead.
    fileprivate func bury(_ key: BatchKey) throws {
        let target = try self.database.first(
            """
            SELECT job.sequence, batch.size, batch.carried, batch.parcel FROM job JOIN batch ON batch.job = job.sequence
            WHERE job.id = ? AND batch.pns = ? AND batch.page = ? AND batch.attempt = ? AND batch.open = 1
            """,
            [key.job.blob, key.pns.number, key.page, key.attempt]
        ) { (job: $0[0] as Int64, size: $0[1] as Int, carried: $0[2] as Data?, parcel: $0[3] as Int64?) }
        guard let target else { return }
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
        try self.completeIfDone(target.job)
    }

    fileprivate func abandonDead(_ row: JobRow) throws {
        guard !row.state.isFinal, row.state.stopCause == nil else { return }
        _ = try self.abandon(row.sequence, reason: "its message could not be worked on")
    }
}
