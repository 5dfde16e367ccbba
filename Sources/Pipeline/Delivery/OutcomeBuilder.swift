import PushModel
import PushServices
import Store

/// Sorts the devices of a batch by result; each is counted exactly once (rule 3).
struct OutcomeBuilder {
    private let batch: DeliverBatch
    private let recording: AppSpec.Recording
    private let retry: RetryPolicy
    /// Whether it goes to the app's hub over a wire, which reasons are then about.
    private let isAtHub: Bool
    /// One draw for the whole batch: devices that failed together are tried again together.
    private lazy var jitter = Double.random(in: 0...1)
    private let began = Timestamp.now
    private let received = ContinuousClock.now
    private var result: BatchOutcome
    /// Why calls of a hub over a wire are only looked up, if so: what the hub took before counts as taken.
    private(set) var withdrawn: StopCause?

    /// A device due this soon is tried now, which saves a round through the broker.
    private static let tolerance = Duration.seconds(1)
    /// The tries of a device whose token is called bad in a flood.
    private static let doubtfulTries = 5
    /// The same for one that a breaker's probe falls to: an operator has some twenty minutes to put things right.
    private static let doubtfulProbes = 20

    init(_ batch: DeliverBatch, recording: AppSpec.Recording, retry: RetryPolicy, isAtHub: Bool = false) {
        self.batch = batch
        self.recording = recording
        self.retry = retry
        self.isAtHub = isAtHub
        self.result = BatchOutcome(key: batch.key, at: self.began)
        self.result.isDryRun = batch.isDryRun
    }

    func outcome() -> BatchOutcome { self.result }

    private var isOneTry: Bool { self.batch.keepUntil == DeliverBatch.nowOrNever }

    /// Adds the devices that are not to be tried now.
    ///
    /// - Parameters:
    ///   - some: Which of the batch's devices are looked at; nil = all.
    ///   - stop: Why none is tried, if so.
    /// - Returns: The indexes of those to try.
    mutating func addUntried(of some: [Int]? = nil, stop: StopCause?) -> [Int] {
        let indexes = some ?? Array(self.batch.devices.rows.indices)
        // Its job may go on for other services.
        let stop = stop ?? (self.batch.isLate(at: self.began) ? .expired : nil)
        if self.isAtHub, let stop {
            self.withdrawn = stop
            return indexes
        }
        var toTry: [Int] = []
        toTry.reserveCapacity(indexes.count)
        for index in indexes {
            if let stop {
                self.stopped(stop)
            } else if self.batch.devices.handles[index].isEmpty {
                self.failed(
                    index,
                    .deregistered,
                    status: 0,
                    reason: "the registration went away before it was tried again"
                )
            } else if self.batch.devices.wait(at: index) > Self.tolerance {
                self.addRetry(
                    index,
                    tries: self.batch.devices.tries(at: index),
                    wait: self.batch.devices.wait(at: index)
                )
            } else {
                toTry.append(index)
            }
        }
        return toTry
    }

    /// Adds the devices that were handed to a sender.
    ///
    /// - Parameters:
    ///   - indexes: The devices.
    ///   - results: The results.
    ///   - stop: The cause of the sender's stop, if any.
    ///   - keepsTokens: Whether so many tokens are called bad that it is doubtful: those devices are tried a few times
    ///     more, and nothing is pruned.
    ///   - isProbe: Whether it was a breaker's probe: then devices with doubtful tokens are tried more often.
    mutating func add(
        _ indexes: [Int],
        _ results: some Sequence<DeviceResult>,
        stop: StopCause?,
        keepsTokens: Bool = false,
        isProbe: Bool = false
    ) {
        for (index, result) in zip(indexes, results) {
            let tries = self.batch.devices.tries(at: index)
            var result = result
            if case .together(let shared) = result { result = shared }
            switch result {
            case .accepted, .settled(.accepted):
                self.result.accepted += 1
                if self.recording == .all { self.result.acceptedRows.append(self.batch.devices.rows[index]) }
            case .dead(_, let reason, let status) where keepsTokens:
                let most = isProbe ? Self.doubtfulProbes : Self.doubtfulTries
                self.doubted(index, tries: tries + 1, of: most, status: status, reason: reason)
            case .dead(let before, let reason, let status):
                self.failed(index, .unregistered, status: status, reason: reason)
                // A dry run changes no registration.
                guard !self.batch.isDryRun else { continue }
                self.result.deadHandles.append(
                    DeadHandle(
                        row: self.batch.devices.rows[index],
                        handle: self.batch.devices.handles.handle(at: index),
                        credential: self.batch.devices.credentials[index],
                        before: before,
                        reason: reason
                    )
                )
            case .rejected(let reason, let status):
                self.failed(index, .rejected, status: status, reason: reason)
            case .misconfigured(let reason, _, _):
                let credential = self.batch.devices.credentials[index]
                let words = WaitReason(
                    .credentials,
                    at: self.isAtHub ? nil : self.batch.key.pns,
                    with: credential,
                    reason
                )
                self.retryStopped(index, reason: words)
            case .unsent:
                if let stop { self.stopped(stop) } else { self.addRetry(index, tries: tries, wait: .zero) }
            case .retry(let after, _, let counts, let reason, let status):
                let words = status.map { "\($0) \(reason)" } ?? reason
                self.again(index, tries: tries + (counts ? 1 : 0), after: after, reason: words, counts: counts)
            case .unknown(let reason): self.failed(index, .unknown, status: 0, reason: reason)
            // The one that they share is none of these.
            case .together: self.addRetry(index, tries: tries, wait: .zero)
            case .settled(.unknown):
                self.failed(index, .unknown, status: 0, reason: HubCallStart.unknownReason)
            case .settled(.underWay(let left)):
                let reason = "another process may be making this call; it is checked again later"
                self.again(index, tries: tries, after: left, reason: reason, counts: false)
            case .unanswered(let reason):
                if self.isOneTry {
                    self.failed(index, .unknown, status: 0, reason: reason)
                } else {
                    self.again(index, tries: tries + 1, after: nil, reason: reason, counts: true)
                }
            }
        }
    }

    /// Adds devices whose app cannot send at all now: they wait, visibly, until it can or their job expires.
    ///
    /// - Parameters:
    ///   - indexes: The devices.
    ///   - reason: What they wait for.
    ///   - wait: How long at least; it grows with each attempt.
    mutating func addStopped(_ indexes: [Int], reason: WaitReason, wait: Duration? = nil) {
        for index in indexes { self.retryStopped(index, reason: reason, wait: wait) }
    }

    /// Adds devices that can never be sent to as they are.
    mutating func addFailed(_ indexes: [Int], _ failure: FailureClass, reason: String) {
        for index in indexes { self.failed(index, failure, status: 0, reason: reason) }
    }

    /// The push service's name, because a send may go to several.
    private var title: String { self.isAtHub ? WaitReason.hubTitle : self.batch.key.pns.descriptor.title }

    private mutating func again(_ index: Int, tries: Int, after: Duration?, reason: String, counts: Bool) {
        if self.isOneTry, counts {
            // A time to live of 0 means one try, and this was it.
            self.result.expired += 1
            return
        }
        self.result.retryReason = WaitReason("\(self.title): \(reason)")
        // The attempt stands in for the tries of a device that was never let through.
        let steps = counts ? tries : max(tries, self.batch.key.attempt) + 1
        self.addRetry(index, tries: tries, wait: self.retry.wait(tries: steps, asked: after, jitter: self.jitter))
    }

    /// A device whose token is called bad in a flood.
    private mutating func doubted(_ index: Int, tries: Int, of most: Int, status: Int?, reason: String) {
        guard tries < most, !self.isOneTry else {
            return self.failed(index, .unregistered, status: status, reason: reason)
        }
        self.result.retryReason = WaitReason(
            "\(self.title): \(reason), like nearly all tokens: no registration is removed"
        )
        // Longer with each try: the answers for few devices prove nothing, so they are probed again as soon as they are
        // due.
        self.addRetry(
            index,
            tries: tries,
            wait: self.retry.wait(tries: tries, asked: self.retry.base, jitter: self.jitter)
        )
    }

    private mutating func retryStopped(_ index: Int, reason: WaitReason, wait: Duration? = nil) {
        self.result.retryReason = reason
        // A breaker's pause is short while it is being probed: without a growth of its own, a batch would come and go each second.
        let own = self.retry.stopWait(attempt: self.batch.key.attempt, jitter: self.jitter)
        self.addRetry(index, tries: self.batch.devices.tries(at: index), wait: max(wait ?? .zero, own))
    }

    private mutating func addRetry(_ index: Int, tries: Int, wait: Duration) {
        self.result.retries.append(RetryDevice(row: self.batch.devices.rows[index], tries: tries, wait: wait))
    }

    private mutating func failed(_ index: Int, _ failure: FailureClass, status: Int?, reason: String) {
        let row = self.batch.devices.rows[index]
        self.result.failures.append(DeviceFailure(row: row, failure: failure, status: status ?? 0, reason: reason))
    }

    private mutating func stopped(_ cause: StopCause) {
        switch cause {
        case .cancelled: self.result.cancelled += 1
        case .expired: self.result.expired += 1
        }
    }
}
