import PushModel
import Store
import StoreKit

/// Retries of an app that has several credentials at a service, and a rate limit for one of them.
///
/// Only then it matters which devices a message has: it is looked up, a message at a time.
extension WriteContext {
    /// How many devices of a message that is to be taken have each credential but the default one, where that matters.
    func namedDevices(of due: DueMessage, at pns: PushService) throws -> [CredentialName: Int] {
        guard try self.database.rateLimits(app: due.app, pns: pns, now: self.now).areSeveral else { return [:] }
        let batches = try self.database.all(
            "SELECT job, retries FROM batch WHERE message = ? AND open = 1 AND retries IS NOT NULL",
            [due.message.id.number]
        ) { (job: $0["job"] as Int64, devices: try RetryList.decode($0["retries"])) }
        var names = CredentialNames(self.database)
        var credentials = DeviceCredentials()
        var count = 0
        for batch in batches {
            for device in batch.devices {
                let number = try self.credential(of: device.row, job: batch.job, pns)
                try names.append(number, at: count, to: &credentials)
                count += 1
            }
        }
        return credentials.counts(of: count)
    }

    private func credential(of row: Int64, job: Int64, _ pns: PushService) throws -> Int64 {
        let isListed = Recipient.place(of: row) != nil
        let number: Int64? =
            try isListed
            ? self.database.value(Self.listed, [job, pns.number, row]) : self.database.value(Self.registered, [row])
        return number ?? 0
    }

    private static let registered = "SELECT credential FROM registration WHERE row = ?"
    private static let listed = "SELECT credential FROM recipient WHERE job = ? AND pns = ? AND number = ?"

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
