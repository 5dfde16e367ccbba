import Broker
import Metrics
import NIOConcurrencyHelpers
import PushlineMetrics

/// Messages from callers for the publishing thread.
final class PublisherMailbox: Sendable {
    private struct Shared {
        var incoming: [PublishRequest] = []
        var unanswered: [ObjectIdentifier: PublishRequest] = [:]
        /// Whether a task checks periodically for overdue requests.
        var isChecked = false
    }

    let link = ConnectionLink()
    /// One element a time that the checks have to begin.
    let checks: AsyncStream<Void>
    private let checksContinuation: AsyncStream<Void>.Continuation
    private let shared = NIOLockedValueBox(Shared())
    private let confirmed = MetricDescription.brokerPublished.counter([.result: "confirmed"])
    private let failed = MetricDescription.brokerPublished.counter([.result: "failed"])
    private let duration = MetricDescription.brokerPublishDuration.timer()

    init() {
        (self.checks, self.checksContinuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    func publish(_ messages: [OutgoingMessage], deadline: Duration) async -> [PublishResult] {
        guard !messages.isEmpty else { return [] }
        let start = ContinuousClock.now
        let results = await withCheckedContinuation { continuation in
            let request = PublishRequest(messages, deadline: start + deadline, continuation)
            self.admit(request)
        }
        let published = results.count(where: \.isPublished)
        self.confirmed.increment(by: published)
        self.failed.increment(by: results.count - published)
        self.duration.recordNanoseconds(Int64((ContinuousClock.now - start) / .nanoseconds(1)))
        return results
    }

    private func admit(_ request: PublishRequest) {
        if let error = self.refusal {
            request.fail(error)
            return
        }
        let mustCheck = self.shared.withLockedValue { shared in
            shared.incoming.append(request)
            shared.unanswered[ObjectIdentifier(request)] = request
            defer { shared.isChecked = true }
            return !shared.isChecked
        }
        if mustCheck { self.checksContinuation.yield() }
        self.link.wake()
        // Closed in between: the thread may have taken its last look already.
        if self.link.state == .closed { self.endAll(BrokerError.closed) }
    }

    /// The reason to refuse messages now: callers do not wait for a broker known to be unreachable.
    private var refusal: BrokerError? {
        switch self.link.state {
        case .connecting, .connected: nil
        case .blocked(let reason): .blocked(reason)
        case .down(let error): error
        case .closed: .closed
        }
    }

    func takeIncoming() -> [PublishRequest] {
        self.shared.withLockedValue { shared in
            defer { shared.incoming = [] }
            return shared.incoming
        }
    }

    func forget(_ requests: [PublishRequest]) {
        guard !requests.isEmpty else { return }
        self.shared.withLockedValue { shared in
            for request in requests { shared.unanswered[ObjectIdentifier(request)] = nil }
        }
    }

    /// Answers every request that waits.
    func endAll(_ error: BrokerError) {
        let requests = self.shared.withLockedValue { shared in
            defer {
                shared.incoming = []
                shared.unanswered = [:]
            }
            return Array(shared.unanswered.values)
        }
        for request in requests { request.fail(error) }
    }

    // MARK: - Deadlines

    /// Keeps the deadlines until the task is cancelled, also while the publishing thread is held up in a call.
    func keepDeadlines(requestTimeout: Duration) async {
        for await _ in self.checks {
            while let next = self.expire() {
                // A call of the library's that should have ended long ago is ended from outside.
                self.link.interrupt(ifBusyFor: requestTimeout + .seconds(1))
                // A request that arrives in the meantime may have an earlier deadline.
                let soon = min(next, .now + .milliseconds(100))
                do { try await Task.sleep(until: soon, clock: .continuous) } catch { return }
            }
        }
    }

    /// Answers overdue requests.
    ///
    /// - Returns: The next deadline; nil when no request waits.
    private func expire() -> ContinuousClock.Instant? {
        let now = ContinuousClock.now
        let (expired, next) = self.shared.withLockedValue { shared in
            let expired = shared.unanswered.values.filter { $0.deadline <= now }
            for request in expired { shared.unanswered[ObjectIdentifier(request)] = nil }
            shared.isChecked = !shared.unanswered.isEmpty
            return (expired, shared.unanswered.values.map(\.deadline).min())
        }
        let error: BrokerError
        if case .blocked(let reason) = self.link.state {
            error = .blocked(reason)
        } else {
            error = .notConfirmed
        }
        for request in expired { request.fail(error) }
        return next
    }
}

extension BrokerError {
    static let closed = BrokerError(.closed, "The connections to the broker were shut down.")

    static func blocked(_ reason: String) -> BrokerError {
        BrokerError(.blocked, "The broker has an alarm and accepts no messages: \(reason).")
    }
}
