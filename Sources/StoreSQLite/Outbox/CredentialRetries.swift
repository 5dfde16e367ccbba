import PushModel
import Store
import StoreKit
import StoreSQL

/// Retries of an app that has several credentials at a service, and a rate limit for one of them.
extension WriteContext {
    /// How many devices of a message that is to be taken have each credential but the default one, where that matters.
    func namedDevices(of due: DueMessage, at pns: PushService) throws -> [CredentialName: Int] {
        guard try self.database.rateLimits(app: due.app, pns: pns, now: self.now).areSeveral else { return [:] }
        let batches = try self.database.answer(RetriedDevices.batches(of: due.message.id)).rows
        return try RetriedDevices.counts(
            batches.map { try self.database.answer(RetriedDevices.credentials(of: $0, at: pns)).rows }
        )
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
