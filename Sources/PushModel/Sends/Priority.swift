/// The urgency of a job: each priority has its own queues, so that urgent work never waits behind a campaign.
package enum Priority: String, CaseIterable, Codable, Hashable, Sendable, Comparable {
    case high
    case normal
    case low

    /// 0 for the most urgent: the number that the store and the wire use.
    package var rank: Int {
        switch self {
        case .high: 0
        case .normal: 1
        case .low: 2
        }
    }

    /// The priority with that ``rank``, or nil.
    package init?(rank: Int) {
        guard let found = Priority.allCases.first(where: { $0.rank == rank }) else { return nil }
        self = found
    }

    /// How many messages of a queue of this priority are served for each round of all queues.
    package var weight: Int {
        switch self {
        case .high: 8
        case .normal: 4
        case .low: 1
        }
    }

    /// Most urgent first.
    package static func < (lhs: Priority, rhs: Priority) -> Bool { lhs.rank < rhs.rank }
}
