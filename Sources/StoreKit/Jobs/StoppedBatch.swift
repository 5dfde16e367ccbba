package import PushModel
package import Store

// What the devices of a job count as that is being stopped (rule 13), and those of an outcome.

extension Job.State {
    /// Why the job is being stopped, if it is.
    package var stopCause: StopCause? {
        switch self {
        case .cancelling: .cancelled
        case .expiring: .expired
        case .scheduled, .queued, .running, .retrying, .completed, .abandoned, .cancelled, .expired: nil
        }
    }
}

/// A job as far as it may be stopped.
package struct StoppableJob: Sendable {
    package let state: Job.State
    /// When its time is over, and when it was stopped, by the store's clock; nil = it has not started, or was not stopped.
    let ends: Int64?
    let stopped: Int64?

    package init(state: Job.State, ends: Int64?, stopped: Int64?) {
        (self.state, self.ends, self.stopped) = (state, ends, stopped)
    }
}

/// Why jobs are looked at that may be stopped.
package enum StopReason: Sendable {
    case cancel
    /// Their time may be over; or they were stopped until then, and no worker has anything of them any more.
    case sweep(overdue: Int64)
    /// A message with batches of theirs was deferred: those were not begun.
    case deferral(message: Int64)

    /// - Returns: How a job is stopped; nil if it is left as it is.
    package func stop(of job: StoppableJob, at now: Int64) -> JobStop? {
        guard !job.state.isFinal else { return nil }
        switch (self, job.state.stopCause) {
        case (.cancel, nil): return JobStop(cause: .cancelled, isNew: true, message: nil)
        case (.sweep, nil):
            return (job.ends ?? .max) > now ? nil : JobStop(cause: .expired, isNew: true, message: nil)
        case (.sweep(let overdue), let cause?):
            return (job.stopped ?? .max) > overdue ? nil : JobStop(cause: cause, isNew: false, message: nil)
        case (.deferral(let message), let cause?): return JobStop(cause: cause, isNew: false, message: message)
        case (.cancel, _?), (.deferral, nil): return nil
        }
    }
}

/// How a job is stopped.
package struct JobStop: Equatable, Sendable {
    package let cause: StopCause
    /// Whether it was not being stopped before: then only the batches end that are at no worker.
    package let isNew: Bool
    /// The only message whose batches end; nil = any.
    let message: Int64?

    /// Whether an open batch ends now, by its message.
    package func closes(message: Int64, isPublished: Bool) -> Bool {
        self.message.map { $0 == message } ?? !(self.isNew && isPublished)
    }
}

extension BatchStatus {
    /// How an open batch of a job stands; an expired job is not sent, even before the sweeper has marked it.
    package init(ofOpen state: Job.State, ends: Int64, at now: Int64) {
        let cause = state.stopCause ?? (ends <= now ? .expired : nil)
        self = cause.map(Self.stopping) ?? .open
    }
}

/// How an open batch of a stopped job ends without an outcome: its devices count as not sent to, but for calls of a hub that were made.
package enum UnsentBatch: Equatable {
    /// It is closed, and so many devices count as each; these calls may have been taken or not.
    case closed([DeliveryCountClass: Int], unknown: [Int64])
    /// It stays open while a call is under way, for so long at most.
    case open(Duration)

    /// - Parameters:
    ///   - size: How many devices the batch has.
    ///   - retries: Which of its range are meant, of a later attempt; nil = all.
    ///   - calls: What came of the calls of its range.
    ///   - cause: Why its job is stopped.
    package init(size: Int, retries: [RetryDevice]?, calls: [Int64: HubCallStart], cause: StopCause) {
        var calls = calls
        if let retries, !calls.isEmpty {
            let rows = Set(retries.map(\.row))
            calls = calls.filter { rows.contains($0.key) }
        }
        let left = calls.values.compactMap { if case .underWay(let time) = $0 { time } else { nil } }.max() ?? .zero
        guard left == .zero else {
            self = .open(left)
            return
        }
        let unknown = calls.filter { $0.value == .unknown }.keys.sorted()
        self = .closed(
            [
                .accepted: calls.values.count { $0 == .taken },
                .failed(.unknown): unknown.count,
                cause.count: max(0, size - calls.count),
            ],
            unknown: unknown
        )
    }
}

extension StopCause {
    /// The count of a device that is not sent to.
    fileprivate var count: DeliveryCountClass {
        switch self {
        case .cancelled: .cancelled
        case .expired: .expired
        }
    }
}

extension BatchOutcome {
    /// Whether all devices were accepted, without retries, failures or dead handles.
    package var isAllAccepted: Bool { self.total == self.accepted && self.deadHandles.isEmpty }

    /// A job that is being stopped has no next attempt, but for calls of a hub that are under way: they are looked at again.
    package mutating func stop(for cause: StopCause, calls: [Int64: HubCallStart]) {
        var underWay: [RetryDevice] = []
        for device in self.retries {
            switch calls[device.row] {
            case .taken: self.accepted += 1
            case .unknown: self.failures.append(DeviceFailure(unknownCall: device.row))
            case .underWay(let left): underWay.append(RetryDevice(row: device.row, tries: device.tries, wait: left))
            case .begun, .withdrawn, nil:
                switch cause {
                case .cancelled: self.cancelled += 1
                case .expired: self.expired += 1
                }
            }
        }
        self.retries = underWay
    }

    /// How many devices of each kind it has; those that are tried again are targets of the first attempt, and nothing else yet.
    package var counts: [DeliveryCountClass: Int] {
        var counts: [DeliveryCountClass: Int] = [
            .targets: self.key.attempt == 0 ? self.total : 0, .accepted: self.accepted, .expired: self.expired,
            .cancelled: self.cancelled,
        ]
        for failure in self.failures { counts[.failed(failure.failure), default: 0] += 1 }
        return counts
    }
}

extension DeviceFailure {
    /// A call of a hub of which nobody knows whether it was taken.
    package init(unknownCall row: Int64) {
        self.init(row: row, failure: .unknown, status: 0, reason: HubCallStart.unknownReason)
    }
}
