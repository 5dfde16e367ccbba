import Broker
import NIOConcurrencyHelpers
import PushModel
import Store

/// The batches that this process is at, and the messages that stand for each: a redelivery joins the work (rule 3).
final class BatchesInWork: Sendable {
    private struct Work {
        var messages: [(Delivery, any Subscription)]
        var stop: StopCause?
    }

    private let work = NIOLockedValueBox<[BatchKey: Work]>([:])
    private let draining = NIOLockedValueBox(false)

    /// Adds a message to a batch that is in work.
    ///
    /// - Returns: false when it is not.
    func join(_ key: BatchKey, _ delivery: Delivery, _ subscription: any Subscription) -> Bool {
        self.work.withLockedValue { work in
            guard work[key] != nil else { return false }
            work[key]?.messages.append((delivery, subscription))
            return true
        }
    }

    /// Begins a batch, or joins it where another message began it meanwhile.
    ///
    /// - Returns: Whether the caller is to do the work.
    func begin(_ key: BatchKey, _ delivery: Delivery, _ subscription: any Subscription) -> Bool {
        self.work.withLockedValue { work in
            guard work[key] == nil else {
                work[key]?.messages.append((delivery, subscription))
                return false
            }
            work[key] = Work(messages: [(delivery, subscription)])
            return true
        }
    }

    /// Begins a batch that came in a parcel.
    ///
    /// - Returns: false when the process is at it already.
    func begin(_ key: BatchKey) -> Bool {
        self.work.withLockedValue { work in
            guard work[key] == nil else { return false }
            work[key] = Work(messages: [])
            return true
        }
    }

    /// Ends the work on a batch and hands back all messages that stood for it.
    func end(_ key: BatchKey) -> [(Delivery, any Subscription)] {
        self.work.withLockedValue { $0.removeValue(forKey: key)?.messages ?? [] }
    }

    var keys: [BatchKey] { self.work.withLockedValue { Array($0.keys) } }

    /// Takes note of what the store says about a batch in work.
    func note(_ standing: BatchStanding, of key: BatchKey) {
        self.work.withLockedValue { work in
            switch standing {
            case .open: break
            case .stopping(let cause): work[key]?.stop = cause
            // Someone else's outcome stands: what is not out need not go out, and ours will be dropped.
            case .closed where work[key]?.stop == nil: work[key]?.stop = .cancelled
            case .closed: break
            }
        }
    }

    /// Whether the process is about to end: what is not out stays for another.
    var isDraining: Bool { self.draining.withLockedValue { $0 } }

    func drain() { self.draining.withLockedValue { $0 = true } }

    /// Whether one of these batches is to stop.
    func isAnyStopped(of keys: [BatchKey]) -> Bool {
        self.work.withLockedValue { work in keys.contains { work[$0]?.stop != nil } }
    }

    /// Why the batch is to stop, if it is.
    func stopCause(of key: BatchKey) -> StopCause? { self.work.withLockedValue { $0[key]?.stop } }
}
