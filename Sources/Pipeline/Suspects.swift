import Broker
import Crypto
import Logging
import PushModel
import Store

/// Finds the messages that end their workers before their rows are counted (rule 5).
///
/// From its third delivery on a message is looked at alone. It is noted as a suspect before anything of it is read but the broker's
/// `x-delivery-count`, and cleared when it is counted and read. Who is still noted at a later delivery has ended its worker: its
/// neighbours in the prefetch, which the broker counts as often, were not.
struct Suspects: Sendable {
    /// One message at a time in this process: while one is noted no other is looked at.
    private static let turn = FairLimiter(permits: 1, slowAfter: nil)

    /// The redeliveries from which a message is dead that is a suspect still: it is its fourth delivery.
    static let limit = 3

    let store: any SuspectStore
    /// Where the messages come from.
    let queue: String
    let logger: Logger
    /// Whose turn it is; a process has one.
    var turn = Suspects.turn

    /// Looks at a message.
    ///
    /// - Parameters:
    ///   - delivery: The message.
    ///   - condemn: Gives it to who keeps the dead, with the reason, and is done with it.
    ///   - look: Counts it and reads it.
    /// - Returns: What `look` returns; nil when it is dead.
    /// - Throws: What `look` or `condemn` throws, and the store's error.
    func examine<Result>(
        _ delivery: Delivery,
        condemn: (String) async throws -> Void,
        look: () async throws -> Result?
    ) async throws -> Result? {
        let fingerprint = Self.fingerprint(of: delivery, in: self.queue)
        let retry = StoreRetry(logger: self.logger)
        return try await self.turn.withPermit(.normal) {
            let wasNoted = try await retry.run { try await self.store.suspect(fingerprint) }
            let result: Result?
            do {
                if wasNoted, delivery.deliveryCount >= Self.limit {
                    try await condemn(
                        "it ended its worker before it was counted: delivered \(delivery.deliveryCount + 1) times"
                    )
                    result = nil
                } else {
                    result = try await look()
                }
            } catch {
                // Who comes this far has survived it. A process that is told to end has its task cancelled, and clears it all the same.
                await Task { await self.clear(fingerprint) }.value
                throw error
            }
            try await retry.run { try await self.store.clear(suspect: fingerprint) }
            return result
        }
    }

    private func clear(_ fingerprint: [UInt8]) async {
        do { try await self.store.clear(suspect: fingerprint) } catch {
            self.logger.warning(
                "A message that was looked at alone stays a suspect: if it comes again, it is dead-lettered",
                metadata: ["queue": "\(self.queue)", "error": "\(error)"]
            )
        }
    }

    /// Names a message by all its bytes that matter, of which none is interpreted.
    private static func fingerprint(of delivery: Delivery, in queue: String) -> [UInt8] {
        var hash = SHA256()
        for text in [queue, delivery.properties.messageID] { hash.update(data: Array(text.utf8) + [0]) }
        hash.update(data: delivery.body)
        return Array(hash.finalize().prefix(16))
    }
}
