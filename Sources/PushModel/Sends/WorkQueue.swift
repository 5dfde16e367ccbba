/// A queue as an operator names it: one kind of work, in all its priorities.
package enum WorkQueue: Hashable, Sendable, CaseIterable, CustomStringConvertible {
    /// Changes to registrations.
    case register
    /// Finding the audience of sends.
    case send
    /// Sending to the devices of a service.
    case deliver(PushService)

    package static let allCases: [WorkQueue] =
        [.register, .send] + PushService.inService.map(WorkQueue.deliver)

    /// `register`, `send`, or `deliver.` and the service.
    package var description: String {
        switch self {
        case .register: "register"
        case .send: "send"
        case .deliver(let pns): "deliver.\(pns.rawValue)"
        }
    }

    /// The `type` of its messages at the broker: `register`, `send` or `deliver`.
    package var kind: String {
        switch self {
        case .register: "register"
        case .send: "send"
        case .deliver: "deliver"
        }
    }

    /// Reads ``description``.
    package init?(_ name: String) {
        guard let found = Self.allCases.first(where: { $0.description == name }) else { return nil }
        self = found
    }
}
