package import PushModel
package import Store

/// Devices of a job at one service, by outcome.
package struct JobSums: Equatable, CustomStringConvertible {
    fileprivate private(set) var targets: Int
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

/// What the tables have of a send, and that it goes together.
package struct AuditedJob {
    private let id: JobID
    private let state: Job.State
    /// Part of its rows was removed since it ended: they do not add up any more, its counts still do.
    package var isCleared = false
    package var isFannedOut = false
    package var isFinished = false
    package var isStopped = false
    package var hasMessage = false
    /// The service and the size of its only batch, if that has no row.
    package var only: (pns: Int, size: Int)?
    /// How many devices its list has; nil if it has none.
    package var listed: Int?
    /// Its counts by the services' numbers.
    package var counts: [Int: JobSums] = [:]
    /// The sums of its outcomes, likewise.
    package var outcomes: [Int: JobSums] = [:]
    /// How many batches it has, how many are open, how many of these are in no message, and how many are closed without an outcome or open
    /// with one.
    package var batches = (all: 0, open: 0, lost: 0, unmatched: 0)
    /// How many outcomes have no batch, and how many have other devices in the next attempt than were to be retried.
    package var attempts = (orphans: 0, unmatched: 0)
    /// How many devices of its list are kept.
    package var recipients = 0

    package init(id: JobID, state: Job.State) {
        self.id = id
        self.state = state
    }

    /// A line for each thing that does not hold (rules 3 and 14).
    package func faults() throws(StoreError) -> [String] {
        var faults: [String] = []
        // A service without any device counts as not there.
        let counts = self.counts.filter { $0.value != JobSums() }
        if self.state.isFinal {
            for (pns, sums) in counts.sorted(by: { $0.key < $1.key }) {
                if let fault = sums.fault { faults.append("\(try PushService(stored: pns).rawValue): \(fault)") }
            }
        }
        if !self.isCleared {
            faults += try self.differences(from: counts)
            for (count, words) in self.numbers(counts) where count > 0 { faults.append("\(count) \(words)") }
        }
        return faults.map { "job \(self.id): \($0)" }
    }

    /// Where the counts are others than the sums of the outcomes.
    private func differences(from counts: [Int: JobSums]) throws(StoreError) -> [String] {
        var outcomes = self.outcomes.filter { $0.value != JobSums() }
        // A row beside the only batch is a fault of its own.
        if self.isFinished, let only = self.only, only.size > 0, outcomes[only.pns] == nil {
            outcomes[only.pns] = JobSums(targets: only.size, accepted: only.size)
        }
        var faults: [String] = []
        for pns in Set(counts.keys).union(outcomes.keys).sorted() {
            let (count, outcome) = (counts[pns] ?? JobSums(), outcomes[pns] ?? JobSums())
            if count != outcome {
                faults.append(
                    "\(try PushService(stored: pns).rawValue): its counts are \(count), its outcomes' are \(outcome)"
                )
            }
        }
        return faults
    }

    /// How many there are of what must not exist.
    private func numbers(_ counts: [Int: JobSums]) -> [(Int, String)] {
        let isOnly = self.only != nil
        let isOnlyPlaced = self.state == .completed || self.state == .running && self.hasMessage
        let isPlaced = self.isFannedOut || self.isFinished || self.state == .scheduled || self.hasMessage
        let isTimed = self.isFinished == self.state.isFinal && self.isStopped == (self.state.stopCause != nil)
        var missing = 0
        var surplus = 0
        if let listed = self.listed {
            missing = self.isFinished ? 0 : abs(listed - self.recipients)
            surplus = counts.values.reduce(0) { $0 + $1.targets } - listed
        }
        return [
            (self.state.isFinal ? self.batches.open : 0, "batches are open though it is final"),
            (self.batches.unmatched, "batches are closed without an outcome, or open with one"),
            (self.attempts.orphans, "outcomes have no batch"),
            (self.attempts.unmatched, "attempts have other devices than were retried in them"),
            (isOnly ? self.batches.all : 0, "batches stand beside the only one"),
            (isOnly && !isOnlyPlaced ? 1 : 0, "only batches are in no message, or of a job that was not completed"),
            (self.batches.lost, "batches are open and in no message"),
            (isPlaced ? 0 : 1, "jobs are unfinished and in no message"),
            (missing, "devices of its list are missing, or more than it counts"),
            (surplus, "targets are more than its list has"),
            (isTimed ? 0 : 1, "of its times, of its stop or its end, do not go with its state"),
        ]
    }
}
