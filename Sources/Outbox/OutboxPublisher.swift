package import Broker
import FaultInjection
package import Logging
import NIOConcurrencyHelpers
package import PushModel
package import PushlineTracing
package import Store

/// Publishes messages of the outbox, and records in the store which of them the broker has confirmed.
///
/// They are recorded a moment later: most messages are finished by then and need no record, and a commit at once would
/// delay the workers. After a crash messages without a record are published once more, which does no harm (rule 1).
package final class OutboxPublisher: Sendable {
    /// How long published messages are collected; well below ``OutboxMessage/grace`` and the second after which the
    /// sweeper takes messages that their own process has not recorded.
    private static let linger = Duration.milliseconds(250)
    /// The most that are remembered while the store cannot record them.
    private static let capacity = 4096
    /// How long a message waits that has no queue: it is not declared yet, or will be again.
    private static let unroutedPause = Duration.seconds(1)
    /// The pause before a failed record is tried again.
    private static let retryPause = Duration.seconds(1)

    private let store: any OutboxStore
    private let broker: any MessageBroker
    private let traces: Traces
    private let logger: Logger
    private let state = NIOLockedValueBox(State())

    private struct State {
        var published: [OutboxMessage] = []
        /// Of the run that records them.
        var wakeUp: AsyncStream<Void>.Continuation?
    }

    /// - Parameters:
    ///   - store: The store with the messages' rows.
    ///   - broker: The broker.
    ///   - traces: Begins the spans of messages.
    ///   - logger: Logs messages left to the sweeper.
    package init(store: any OutboxStore, broker: any MessageBroker, traces: Traces = .off, logger: Logger) {
        self.store = store
        self.broker = broker
        self.traces = traces
        self.logger = logger
    }

    /// Publishes hints: the messages of jobs, which workers look up in the store.
    ///
    /// - Returns: Whether all are at the broker.
    @discardableResult
    package func publish(hints messages: [OutboxMessage], deadline: Duration) async -> Bool {
        await self.publish(messages.map { ($0, OutgoingMessage(hint: $0)) }, deadline: deadline)
    }

    /// Publishes messages.
    ///
    /// Messages that the broker certainly did not take are deferred, for longer the longer their queue refuses them: else the
    /// store would be written in a loop. Unconfirmed ones are due again when their grace ends.
    ///
    /// - Parameters:
    ///   - messages: The rows, with the message to publish for each.
    ///   - deadline: The longest time for the broker.
    /// - Returns: Whether the broker confirmed all.
    package func publish(
        _ messages: [(row: OutboxMessage, message: OutgoingMessage)],
        deadline: Duration
    ) async -> Bool {
        guard !messages.isEmpty else { return true }
        var outgoing = messages.map(\.message)
        let spans = PublishSpans(of: &outgoing, self.traces)
        let results = await self.broker.publish(outgoing, deadline: deadline)
        spans.end(results)
        CrashPoint.outboxPublished.reach()
        let published = zip(messages, results).filter { $0.1.isPublished }.map(\.0.row)
        self.remember(published)
        guard published.count < messages.count else { return true }
        self.logger.debug(
            "The broker did not confirm messages; the sweeper publishes them again",
            metadata: ["messages": "\(messages.count - published.count)"]
        )
        // Together: they share commits.
        await withDiscardingTaskGroup { group in
            for (failed, result) in zip(messages, results) {
                guard let refusal = result.refusal else { continue }
                group.addTask { await self.defer(failed.row, refusal) }
            }
        }
        return false
    }

    private func `defer`(_ message: OutboxMessage, _ refusal: BrokerError) async {
        let pause = refusal.retryAfter ?? Self.unroutedPause
        do {
            _ = try await self.store.defer(message.id, epoch: message.epoch, Deferral(pause: pause))
        } catch {
            // Its grace ends, and the sweeper takes it.
            self.logger.debug(
                "Deferring an unpublished message failed; the sweeper takes it when its grace ends",
                metadata: ["message.id": "\(message.id)", "error": "\(error)"]
            )
        }
    }

    /// Records published messages until the task is cancelled, and the remaining ones before it returns.
    package func run() async {
        let (wake, wakeUp) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        self.state.withLockedValue { $0.wakeUp = wakeUp }
        for await _ in wake {
            // Cut short when the process ends: the rest is then marked at once.
            try? await Task.sleep(for: Self.linger)
            guard await !self.record() else { continue }
            try? await Task.sleep(for: Self.retryPause)
            wakeUp.yield()
        }
        _ = await self.record()
    }

    private func remember(_ messages: [OutboxMessage]) {
        guard !messages.isEmpty else { return }
        let wakeUp = self.state.withLockedValue { state in
            // Messages beyond the capacity are published once more.
            if state.published.count < Self.capacity { state.published += messages }
            return state.wakeUp
        }
        wakeUp?.yield()
    }

    /// - Returns: false when the store could not record them; they are kept.
    private func record() async -> Bool {
        let messages = self.state.withLockedValue { state in
            defer { state.published = [] }
            return state.published
        }
        guard !messages.isEmpty else { return true }
        do {
            try await self.store.markPublished(messages)
            CrashPoint.outboxMarked.reach()
            return true
        } catch {
            self.logger.debug(
                "Marking published messages failed; the sweeper may publish them again",
                metadata: ["error": "\(error)"]
            )
            self.state.withLockedValue { state in
                // Messages beyond the capacity are published once more.
                if state.published.count + messages.count <= Self.capacity { state.published += messages }
            }
            return false
        }
    }
}
