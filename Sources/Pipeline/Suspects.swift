import Broker
import Crypto
import Logging
import PushModel
import Store

/// Finds the messages that end their workers before their rows are counted (rule 5).
///
/// From its third delivery on a message is looked at alone. It is noted as a suspect before anything of it is read but the broker's
/// `x-delivery-count`, and cleared when it is counted and read. A message that is still noted at a later delivery, and stays so for a
/// while, has ended its worker. Its neighbours in the prefetch are counted as often by the broker, but were not noted.
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
    /// How long a note may be another worker's that lives: it has lost its connection while it looks at the message, which takes
    /// milliseconds.
    var patience = Duration.seconds(1)

    /// Looks at a message.
    ///
    /// - Parameters:
    ///   - delivery: The message.
    ///   - look: Counts it and reads it.
    /// - Returns: What `look` returns; dead for a message that ended its worker while it was looked at before. It stays a suspect until
    ///   it is with who keeps the dead (``forget(_:)``).
    /// - Throws: What `look` throws, and the store's error.
    func examine(
        _ delivery: Delivery,
        look: () async throws -> CountedDelivery
    ) async throws -> CountedDelivery {
        let fingerprint = Self.fingerprint(of: delivery, in: self.queue)
        let retry = StoreRetry(logger: self.logger)
        return try await self.turn.withPermit(.normal) {
            let note = { try await self.note(fingerprint, retry) }
            if try await note(), delivery.deliveryCount >= Self.limit, try await self.isLeft(note) {
                return .dead(
                    reason: "it ended its worker before it was counted: delivered \(delivery.deliveryCount + 1) times"
                )
            }
            do {
                let result = try await look()
                try await retry.run { try await self.store.clear(suspect: fingerprint) }
                return result
            } catch {
                // The worker has survived the message. A process that is told to end has its task cancelled, and clears it all the same.
                await Task { await self.clear(fingerprint) }.value
                throw error
            }
        }
    }

    /// Notes a message.
    ///
    /// - Returns: Whether it was noted before: false where the note may be one of this call's own, whose answer was lost.
    private func note(_ fingerprint: [UInt8], _ retry: StoreRetry) async throws -> Bool {
        var mayBeOurs = false
        let wasNoted = try await retry.run {
            do { return try await self.store.suspect(fingerprint) } catch let error as StoreError {
                mayBeOurs = mayBeOurs || error.code == .unknown
                throw error
            }
        }
        return wasNoted && !mayBeOurs
    }

    /// Whether a note stays: whoever made it has ended.
    private func isLeft(_ note: () async throws -> Bool) async throws -> Bool {
        try await Task.sleep(for: self.patience)
        return try await note()
    }

    /// Clears a message that is with who keeps the dead.
    func forget(_ delivery: Delivery) async { await self.clear(Self.fingerprint(of: delivery, in: self.queue)) }

    private func clear(_ fingerprint: [UInt8]) async {
        do { try await self.store.clear(suspect: fingerprint) } catch {
            self.logger.warning(
                "A message that was looked at alone stays a suspect: if it comes again, it is dead-lettered",
                metadata: ["error": "\(error)"]
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
