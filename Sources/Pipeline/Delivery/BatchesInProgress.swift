import Broker
import NIOConcurrencyHelpers
import PushModel
import Store

/// The messages and batches in progress in this process: a redelivery joins the work on its message, and a message whose
/// batch is in progress under another one waits for that batch's end (rule 3).
final class BatchesInProgress: Sendable {
    /// A message whose work here has ended.
    struct Ended: Sendable {
        let message: MessageID
        /// Its deliveries by the broker.
        let deliveries: [(Delivery, any Subscription)]
        /// Whether a batch that it waited for came to no end: then it is not done with.
        let isIncomplete: Bool
    }

    private struct Message {
        var deliveries: [(Delivery, any Subscription)]
        /// The batches that were begun for it.
        var begun: [BatchKey] = []
        /// The number of its batches still in progress, and one for its own work.
        var open = 1
        var isIncomplete = false
    }

    private struct Work {
        /// The messages that wait for its end; the first is the one that began it.
        var messages: [MessageID]
        var stop: StopCause?
    }

    private struct State {
        var messages: [MessageID: Message] = [:]
        var batches: [BatchKey: Work] = [:]
        /// The number of batches to stop: usually none, and lookups are skipped.
        var stopped = 0

        mutating func note(_ status: BatchStatus, of key: BatchKey) {
            guard status != .open, let index = self.batches.index(forKey: key) else { return }
            let known = self.batches.values[index].stop
            switch status {
            case .stopping(let cause): self.batches.values[index].stop = cause
            // Another worker's outcome counts: unsent devices need not be sent, and our outcome will be dropped.
            default: self.batches.values[index].stop = known ?? .cancelled
            }
            if known == nil { self.stopped += 1 }
        }

        /// The messages that waited for the batch.
        mutating func end(_ key: BatchKey) -> [MessageID] {
            guard let ended = self.batches.removeValue(forKey: key) else { return [] }
            if ended.stop != nil { self.stopped -= 1 }
            return ended.messages
        }

        /// Ends one of those that a message waits for.
        mutating func release(_ id: MessageID) -> Ended? {
            self.messages[id]?.open -= 1
            guard let message = self.messages[id], message.open == 0 else { return nil }
            self.messages[id] = nil
            return Ended(message: id, deliveries: message.deliveries, isIncomplete: message.isIncomplete)
        }
    }

    private let state = NIOLockedValueBox(State())
    private let draining = NIOLockedValueBox(false)

    /// Adds a delivery to its message where that is in progress.
    ///
    /// - Returns: false when it is not.
    func join(_ id: MessageID, _ delivery: Delivery, _ subscription: any Subscription) -> Bool {
        self.state.withLockedValue { state in
            guard state.messages[id] != nil else { return false }
            state.messages[id]?.deliveries.append((delivery, subscription))
            return true
        }
    }

    /// Begins a message, or joins it where another delivery of it was faster.
    ///
    /// - Returns: Whether the caller is to do the work; then ``end(_:isDone:)`` must follow.
    func begin(_ id: MessageID, _ delivery: Delivery, _ subscription: any Subscription) -> Bool {
        self.state.withLockedValue { state in
            guard state.messages[id] == nil else {
                state.messages[id]?.deliveries.append((delivery, subscription))
                return false
            }
            state.messages[id] = Message(deliveries: [(delivery, subscription)])
            return true
        }
    }

    /// Begins those batches of a message that are open and not in progress under another one; for the end of the others it waits.
    ///
    /// - Parameters:
    ///   - keys: The message's batches.
    ///   - located: How each stands.
    ///   - id: The message, which was begun.
    /// - Returns: The indexes of those that the caller is to work on.
    func begin(_ keys: [BatchKey], _ located: [LocatedStatus], of id: MessageID) -> [Int] {
        self.state.withLockedValue { state in
            var indexes: [Int] = []
            for (index, (key, located)) in zip(keys, located).enumerated() where located.status != .closed {
                if state.batches[key] == nil {
                    state.batches[key] = Work(messages: [id])
                    state.messages[id]?.begun.append(key)
                    indexes.append(index)
                } else {
                    state.batches[key]?.messages.append(id)
                }
                state.messages[id]?.open += 1
                state.note(located.status, of: key)
            }
            return indexes
        }
    }

    /// Ends the work on a message and on the batches that were begun for it.
    ///
    /// - Parameters:
    ///   - id: The message.
    ///   - isDone: Whether each of its batches has an outcome, so that waiting messages are done too.
    /// - Returns: All messages that have ended. The message itself is not among them while it waits for another's
    ///   batch.
    func end(_ id: MessageID, isDone: Bool) -> [Ended] {
        self.state.withLockedValue { state in
            let waiting = (state.messages[id]?.begun ?? []).flatMap { state.end($0) }
            var ended: [Ended] = []
            for message in waiting + [id] {
                if !isDone, message != id { state.messages[message]?.isIncomplete = true }
                if let over = state.release(message) { ended.append(over) }
            }
            return ended
        }
    }

    /// All batches in progress.
    var keys: [BatchKey] { self.state.withLockedValue { Array($0.batches.keys) } }

    /// Records the store's status of a batch in progress.
    func note(_ status: BatchStatus, of key: BatchKey) {
        self.state.withLockedValue { $0.note(status, of: key) }
    }

    /// Whether the process is shutting down: unsent devices are left to another worker.
    var isDraining: Bool { self.draining.withLockedValue { $0 } }

    func drain() { self.draining.withLockedValue { $0 = true } }

    /// Whether one of these batches is to stop.
    func isAnyStopped(of keys: [BatchKey]) -> Bool {
        self.state.withLockedValue { state in
            state.stopped > 0 && keys.contains { state.batches[$0]?.stop != nil }
        }
    }

    /// Why the batch is to stop, if it is.
    func stopCause(of key: BatchKey) -> StopCause? {
        self.state.withLockedValue { $0.stopped == 0 ? nil : $0.batches[key]?.stop }
    }
}
