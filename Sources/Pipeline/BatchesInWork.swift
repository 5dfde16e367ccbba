import Broker
import NIOConcurrencyHelpers
import PushModel
import Store

/// The batches that this process is at, and the messages that stand for each: a redelivery joins the work (rule 3).
final class BatchesInWork: Sendable {
    private struct Work {
        var messages: [(Delivery, any Subscription)] = []
        var stop: StopCause?
    }

    private struct State {
        var work: [BatchKey: Work] = [:]
        /// How many are to stop: mostly none, and then nobody is looked for.
        var stopped = 0

        mutating func note(_ standing: BatchStanding, of key: BatchKey) {
            guard standing != .open, let index = self.work.index(forKey: key) else { return }
            let known = self.work.values[index].stop
            switch standing {
            case .stopping(let cause): self.work.values[index].stop = cause
            // Someone else's outcome stands: what is not out need not go out, and ours will be dropped.
            default: self.work.values[index].stop = known ?? .cancelled
            }
            if known == nil { self.stopped += 1 }
        }

        mutating func end(_ key: BatchKey) -> [(Delivery, any Subscription)] {
            guard let ended = self.work.removeValue(forKey: key) else { return [] }
            if ended.stop != nil { self.stopped -= 1 }
            return ended.messages
        }
    }

    private let state = NIOLockedValueBox(State())
    private let draining = NIOLockedValueBox(false)

    /// Adds a message to a batch that is in work.
    ///
    /// - Returns: false when it is not.
    func join(_ key: BatchKey, _ delivery: Delivery, _ subscription: any Subscription) -> Bool {
        self.state.withLockedValue { state in
            guard state.work[key] != nil else { return false }
            state.work[key]?.messages.append((delivery, subscription))
            return true
        }
    }

    /// Begins a batch, or joins it where another message began it meanwhile.
    ///
    /// - Returns: Whether the caller is to do the work.
    func begin(_ key: BatchKey, _ delivery: Delivery, _ subscription: any Subscription) -> Bool {
        self.state.withLockedValue { state in
            guard state.work[key] == nil else {
                state.work[key]?.messages.append((delivery, subscription))
                return false
            }
            state.work[key] = Work(messages: [(delivery, subscription)])
            return true
        }
    }

    /// Begins the batches of a parcel that are open and not in work already, and takes note of how they stand.
    ///
    /// - Parameters:
    ///   - batches: The parcel's batches.
    ///   - standings: How each stands.
    /// - Returns: The indexes of those that the caller is to work on.
    func begin(_ batches: [DeliverBatch], standings: [PlacedStanding]) -> [Int] {
        self.state.withLockedValue { state in
            zip(batches, standings).enumerated().compactMap { index, pair in
                let (key, standing) = (pair.0.key, pair.1.standing)
                guard standing != .closed, state.work[key] == nil else { return nil }
                state.work[key] = Work()
                state.note(standing, of: key)
                return index
            }
        }
    }

    /// Ends the work on batches and hands back all messages that stood for them.
    func end(_ keys: [BatchKey]) -> [(Delivery, any Subscription)] {
        self.state.withLockedValue { state in keys.flatMap { state.end($0) } }
    }

    var keys: [BatchKey] { self.state.withLockedValue { Array($0.work.keys) } }

    /// Takes note of what the store says about a batch in work.
    func note(_ standing: BatchStanding, of key: BatchKey) {
        self.state.withLockedValue { $0.note(standing, of: key) }
    }

    /// Whether the process is about to end: what is not out stays for another.
    var isDraining: Bool { self.draining.withLockedValue { $0 } }

    func drain() { self.draining.withLockedValue { $0 = true } }

    /// Whether one of these batches is to stop.
    func isAnyStopped(of keys: [BatchKey]) -> Bool {
        self.state.withLockedValue { state in
            state.stopped > 0 && keys.contains { state.work[$0]?.stop != nil }
        }
    }

    /// Why the batch is to stop, if it is.
    func stopCause(of key: BatchKey) -> StopCause? {
        self.state.withLockedValue { $0.stopped == 0 ? nil : $0.work[key]?.stop }
    }
}
