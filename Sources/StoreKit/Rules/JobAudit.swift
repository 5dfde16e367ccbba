import PushModel
package import Store

/// Devices of a job at one service, by outcome.
package struct JobSums: Equatable, CustomStringConvertible {
    private var targets: Int
    private var accepted: Int
    private var failed: Int
    private var expired: Int
    private var cancelled: Int

    package init(targets: Int = 0, accepted: Int = 0, failed: Int = 0, expired: Int = 0, cancelled: Int = 0) {
        self.targets = targets
        self.accepted = accepted
        self.failed = failed
        self.expired = expired
        self.cancelled = cancelled
    }

    /// The missing or surplus devices; nil if all are accounted for.
    fileprivate var fault: String? {
        let rest = self.accepted + self.failed + self.expired + self.cancelled
        return rest == self.targets ? nil : "\(self.targets) targets, but \(rest) outcomes"
    }

    /// Adds devices of a kind.
    package mutating func add(_ count: Int, of kind: DeliveryCountClass) {
        switch kind {
        case .targets: self.targets += count
        case .accepted: self.accepted += count
        case .failed: self.failed += count
        case .expired: self.expired += count
        case .cancelled: self.cancelled += count
        }
    }

    package var description: String {
        "\(self.targets) targets (\(self.accepted) accepted, \(self.failed) failed, \(self.expired) expired, "
            + "\(self.cancelled) cancelled)"
    }
}

/// A job's counts and the sums of its outcomes, by the services' numbers, which must go together.
package struct JobAudit {
    private let counts: [Int: JobSums]

    /// - Parameter counts: The job's counts; a service without any device counts as not there.
    package init(counts: [Int: JobSums]) { self.counts = counts.filter { $0.value != JobSums() } }

    /// The unaccounted devices of a final job.
    package func unaccounted() throws(StoreError) -> [String] {
        var faults: [String] = []
        for (pns, counts) in self.counts.sorted(by: { $0.key < $1.key }) {
            if let fault = counts.fault { faults.append("\(try PushService(stored: pns).rawValue): \(fault)") }
        }
        return faults
    }

    /// Where the counts are others than the sums of the outcomes.
    package func differences(from outcomes: [Int: JobSums]) throws(StoreError) -> [String] {
        let outcomes = outcomes.filter { $0.value != JobSums() }
        var faults: [String] = []
        for pns in Set(self.counts.keys).union(outcomes.keys).sorted() {
            let (counts, outcome) = (self.counts[pns] ?? JobSums(), outcomes[pns] ?? JobSums())
            if counts != outcome {
                faults.append(
                    "\(try PushService(stored: pns).rawValue): its counts are \(counts), its outcomes' are \(outcome)"
                )
            }
        }
        return faults
    }
}
