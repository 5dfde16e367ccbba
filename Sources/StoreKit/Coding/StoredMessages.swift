package import PushModel
package import Store

// What the columns of the table `message` say.

/// Where a message stands: the column `state`.
package enum MessageState: Int, Sendable {
    /// Not at the broker yet: what its own process is about to publish, and retries.
    case ready = 0
    /// At the broker, or about to be.
    case published = 1
    /// Deferred by a worker, or because there is no room for it: the sweeper publishes it.
    case deferred = 2

    /// Reads the column's value.
    package init(stored number: Int) throws(StoreError) {
        guard let found = MessageState(rawValue: number) else {
            throw StoreError(.corrupt, "a message has an unknown state")
        }
        self = found
    }
}

extension WorkQueue {
    /// Delivery queues have higher numbers than this.
    package static let firstDelivery = 10

    /// The column `queue`.
    package var number: Int {
        switch self {
        case .register: 1
        case .send: 2
        case .deliver(let pns): Self.firstDelivery + pns.number
        }
    }

    /// Reads the column's value.
    package init(number: Int) throws(StoreError) {
        switch number {
        case 1: self = .register
        case 2: self = .send
        default: self = .deliver(try PushService(stored: number - Self.firstDelivery))
        }
    }
}

/// The value of the column `blocked_on`.
package struct BlockedOn {
    /// It has begun at a service that it waits for.
    private static let isContinuedBit = 1

    package let bits: Int

    package init(bits: Int) { self.bits = bits }

    package init(_ deferral: Deferral) {
        let isContinued = deferral.isContinued && !deferral.blockedOn.isEmpty
        self.bits = deferral.blockedOn.reduce(isContinued ? Self.isContinuedBit : 0) { $0 | $1.bit }
    }

    var isContinued: Bool { self.bits & Self.isContinuedBit != 0 }
    var services: [PushService] { PushService.allCases.filter { self.bits & $0.bit != 0 } }
}

extension WaitReason {
    /// The column `reason`, or `retry_reason`.
    package var storedText: String { String(self.text.prefix(200)) }

    /// Reads the two columns.
    package init?(text: String?, cause: String?) {
        guard let text else { return nil }
        self.init(text, cause: cause.flatMap(BreakerCause.init(rawValue:)))
    }
}
