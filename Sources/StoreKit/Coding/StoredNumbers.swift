package import PushModel
package import Store

// The numbers that the tables hold. They never change; names in Swift may.

extension PushService {
    /// Reads the column's value.
    package init(stored number: Int) throws(StoreError) {
        guard let found = PushService(number: number) else {
            throw StoreError(.corrupt, "a row names an unknown push service")
        }
        self = found
    }

    /// One bit per service, for a job's `platforms` column.
    package var bit: Int { 1 << self.number }
}

extension Job.Work {
    /// The services that it names, as bits; 0 = it names none.
    package var platformBits: Int {
        switch self {
        case .send(let request): request.platforms.reduce(0) { $0 | $1.bit }
        case .register(let request): request.upserts.reduce(0) { $0 | $1.pns.bit }
        }
    }
}

extension JobKind {
    /// As the tables hold it.
    package var number: Int {
        switch self {
        case .register: 1
        case .send: 2
        }
    }

    /// Reads the column's value.
    package init(number: Int) throws(StoreError) {
        guard let found = JobKind.allCases.first(where: { $0.number == number }) else {
            throw StoreError(.corrupt, "a row names an unknown kind of job")
        }
        self = found
    }
}

extension Job.State {
    /// Final states are 10 and above: the schema's indexes rely on it.
    ///
    /// `retrying` is never stored: a job is shown so while all of its open work waits.
    package var number: Int {
        switch self {
        case .scheduled: 0
        case .queued: 1
        case .running, .retrying: 2
        case .cancelling: 3
        case .expiring: 4
        case .completed: 10
        case .abandoned: 11
        case .cancelled: 12
        case .expired: 13
        }
    }

    /// Reads the column's value.
    package init(number: Int) throws(StoreError) {
        guard let found = Job.State.allCases.first(where: { $0.number == number }) else {
            throw StoreError(.corrupt, "a row names an unknown state of a job")
        }
        self = found
    }
}

extension Priority {
    /// Reads the column's value.
    package init(number: Int) throws(StoreError) {
        guard let found = Priority(rank: number) else { throw StoreError(.corrupt, "a row names an unknown priority") }
        self = found
    }
}

extension Registration.State {
    /// Live is 1: the schema's indexes rely on it.
    ///
    /// 0 was that of ids which were handed out and never used.
    package var number: Int {
        switch self {
        case .live: 1
        case .pruned: 2
        case .expired: 3
        case .replaced: 4
        case .deleted: 5
        }
    }

    /// Reads the column's value.
    package init(number: Int) throws(StoreError) {
        guard let found = Registration.State.allCases.first(where: { $0.number == number }) else {
            throw StoreError(.corrupt, "a row names an unknown state of a registration")
        }
        self = found
    }
}

/// The kind of a count: the `class` of the tables `job_counts` and `delivery`.
package enum DeliveryCountClass: Hashable, Sendable {
    case targets
    case accepted
    case expired
    case cancelled
    case failed(FailureClass)

    /// As the tables hold it.
    package var number: Int {
        switch self {
        case .targets: 0
        case .accepted: 1
        case .expired: 2
        case .cancelled: 3
        case .failed(.unregistered): 10
        case .failed(.rejected): 11
        case .failed(.misconfigured): 12
        case .failed(.retiredService): 13
        case .failed(.deregistered): 14
        case .failed(.dead): 15
        case .failed(.unknown): 16
        }
    }

    /// Reads the column's value.
    package init(number: Int) throws(StoreError) {
        let all: [DeliveryCountClass] =
            [.targets, .accepted, .expired, .cancelled] + FailureClass.allCases.map { .failed($0) }
        guard let found = all.first(where: { $0.number == number }) else {
            throw StoreError(.corrupt, "a row names an unknown class of outcome")
        }
        self = found
    }
}

extension DeliveryCounts {
    /// Adds devices of a kind.
    package mutating func add(_ count: Int, of kind: DeliveryCountClass) {
        switch kind {
        case .targets: self.targets += count
        case .accepted: self.accepted += count
        case .expired: self.expired += count
        case .cancelled: self.cancelled += count
        case .failed(let failure): self.failed[failure, default: 0] += count
        }
    }
}
