package import PushModel

/// Sends of a group, divided into batches and delivery messages.
package struct GroupStep: Sendable {
    package var sends: [FanOutSend]
    /// How many delivery messages the batches are divided into.
    package var messages: Int

    package init(sends: [FanOutSend] = [], messages: Int = 0) {
        self.sends = sends
        self.messages = messages
    }

    /// How many devices it has of each service.
    package var devices: [PushService: DeviceCount] {
        var devices: [PushService: DeviceCount] = [:]
        for case .batches(let batches, _) in self.sends.map(\.decision) {
            for batch in batches { devices[batch.pns, default: DeviceCount()].add(batch.size, batch.named) }
        }
        return devices
    }
}

/// A number of devices of a service, and how many of them have each credential but the default one.
package struct DeviceCount: Sendable, Equatable {
    package private(set) var all = 0
    package private(set) var named: [CredentialName: Int] = [:]

    package init() {}

    package mutating func add(_ all: Int, _ named: [CredentialName: Int]) {
        self.all += all
        if !named.isEmpty { self.named.merge(named, uniquingKeysWith: +) }
    }

    /// How many have that credential.
    package subscript(credential: CredentialName) -> Int {
        credential == .default ? self.all - self.named.values.reduce(0, +) : self.named[credential] ?? 0
    }
}

/// The result for a send of a group.
package struct FanOutSend: Sendable {
    package enum GroupDecision: Sendable {
        /// These are all its batches, at most one a service, and so far goes its audience (``SmallSend/through``); none = it has
        /// no target.
        case batches([SinglePage], through: Int64)
        /// It gets its own message.
        case ownMessage
    }

    package let sequence: Int64
    package let decision: GroupDecision

    package init(sequence: Int64, decision: GroupDecision) {
        self.sequence = sequence
        self.decision = decision
    }
}

/// All devices of a small send on one service: page 0 of it, and the only one.
package struct SinglePage: Sendable, Equatable {
    package let pns: PushService
    /// How many devices it had when it was read.
    package let size: Int
    /// How many of them have each credential but the default one.
    package let named: [CredentialName: Int]
    /// Which of the step's delivery messages it travels in.
    package let message: Int

    package init(pns: PushService, size: Int, named: [CredentialName: Int] = [:], message: Int) {
        self.pns = pns
        self.size = size
        self.named = named
        self.message = message
    }
}
