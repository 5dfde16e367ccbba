import PushModel
import Store
import StoreKit
import StoreSQL

/// Retries of an app that has several credentials at a service, and a rate limit for one of them.
///
/// Only then it matters which devices a message has: it is looked up, a message at a time.
extension WriteContext {
    /// How many devices of a message that is to be taken have each credential but the default one, where that matters.
    func namedDevices(of due: DueMessage, at pns: PushService) throws -> [CredentialName: Int] {
        guard try self.database.rateLimits(app: due.app, pns: pns, now: self.now).areSeveral else { return [:] }
        let batches = try self.database.answer(
            "SELECT job, retries FROM batch WHERE message = \(due.message.id.number) AND open = 1 AND retries IS NOT NULL"
        ).rows
        var counts: [CredentialName: Int] = [:]
        for batch in batches {
            let devices = try RetryList.decode(batch["retries"]).map(\.row)
            // A place in a list is no registration's row, and in a list only handles have a credential.
            let found = try self.database.answer(
                """
                SELECT credential.name FROM (
                    SELECT credential AS number FROM registration WHERE "row" IN (\(numbers: devices))
                    UNION ALL SELECT credential FROM recipient
                    WHERE job = \(try batch["job"] as Int64) AND pns = \(pns.number) AND number IN (\(numbers: devices))
                ) AS device JOIN credential ON credential.number = device.number
                """
            ).rows
            for row in found { counts[try CredentialName(stored: row["name"]), default: 0] += 1 }
        }
        return counts
    }

    /// Makes a retry due later whose devices have a credential without credit now: those behind it may have another.
    ///
    /// - Returns: Whether it is.
    func postpone(_ due: DueMessage, _ devices: DeviceCount, at pns: PushService) throws -> Bool {
        let limits = try self.database.rateLimits(app: due.app, pns: pns, now: self.now)
        guard let wait = limits.wait(ofRetry: devices, due.message.priority) else { return false }
        try self.database.run(
            "UPDATE message SET due = ? WHERE id = ? AND epoch = ? AND due <= ?",
            [self.now + wait.milliseconds, due.message.id.number, due.message.epoch, self.now]
        )
        return true
    }
}
