import Broker
import DequeModule
import Logging
import Metrics
import NIOConcurrencyHelpers
import Outbox
import PushModel
import PushlineMetrics
import PushlineTracing
import ServiceLifecycle
import Store

/// Publishes the messages of accepted jobs after their callers were answered (rule 15).
///
/// The sweeper publishes the rest a second later, because their rows are due: failed messages, and those beyond the
/// capacity here.
final class JobPublisher: Service {
    /// The most messages that wait to be published.
    static let capacity = 4096
    private static let batch = 256
    /// How long a message of a burst lingers before it is published.
    ///
    /// A larger message costs the broker and the workers about the same.
    static let linger = Duration.milliseconds(100)
    /// The longest time for publishing a batch of the rest at the end of the process.
    private static let flushTime = Duration.seconds(1)

    private let outbox: OutboxPublisher
    private let deadline: Duration
    private let waiting = NIOLockedValueBox<Deque<Waiting>>([])
    private let wake: AsyncStream<Void>
    private let wakeUp: AsyncStream<Void>.Continuation
    private let lingering = NIOLockedValueBox<[Waiting]>([])
    private let lingers: AsyncStream<Void>
    private let lingersFrom: AsyncStream<Void>.Continuation
    private let dropped = MetricDescription.publishDropped.counter()

    /// A message, and the span of a request that it comes from; nil = none is recorded.
    typealias Waiting = (row: OutboxMessage, span: SpanContext?)

    init(
        store: any OutboxStore,
        broker: any MessageBroker,
        deadline: Duration,
        traces: Traces = .off,
        logger: Logger
    ) {
        self.outbox = OutboxPublisher(store: store, broker: broker, traces: traces, logger: logger)
        self.deadline = deadline
        (self.wake, self.wakeUp) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        (self.lingers, self.lingersFrom) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Takes messages whose rows are durable; returns at once.
    func publish(_ messages: [Waiting]) {
        guard !messages.isEmpty else { return }
        let isTaken = self.waiting.withLockedValue { waiting in
            guard waiting.count + messages.count <= Self.capacity else { return false }
            waiting.append(contentsOf: messages)
            return true
        }
        if isTaken { self.wakeUp.yield() } else { self.dropped.increment(by: messages.count) }
    }

    /// Takes a message that others may join for a moment; returns at once.
    func publishLater(_ message: Waiting) {
        let isFirst = self.lingering.withLockedValue { lingering in
            lingering.append(message)
            return lingering.count == 1
        }
        if isFirst { self.lingersFrom.yield() }
    }

    private func publishLingering() {
        self.publish(
            self.lingering.withLockedValue { lingering in
                defer { lingering = [] }
                return lingering
            }
        )
    }

    private func waitForLingering() async {
        for await _ in self.lingers {
            // Cut short when the process ends: the rest is then published at once.
            try? await Task.sleep(for: Self.linger)
            self.publishLingering()
        }
    }

    func run() async throws {
        let (wake, wakeUp) = (self.wake, self.wakeUp)
        await withTaskCancellationOrGracefulShutdownHandler {
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await self.outbox.run() }
                group.addTask { await self.waitForLingering() }
                for await _ in wake { await self.publishWaiting(within: self.deadline) }
                self.publishLingering()
                // A process that ends does not wait for a broker that confirms nothing: the sweeper has the rows.
                await self.publishWaiting(within: min(self.deadline, Self.flushTime))
                group.cancelAll()
            }
        } onCancelOrGracefulShutdown: {
            wakeUp.finish()
        }
    }

    /// Two batches at most are under way, so that one is sent while the other waits for its confirms.
    private func publishWaiting(within deadline: Duration) async {
        await withTaskGroup(of: Void.self) { group in
            var running = 0
            while true {
                let messages = self.next()
                guard !messages.isEmpty else { break }
                if running == 2 {
                    await group.next()
                    running -= 1
                }
                group.addTask {
                    let hints = messages.map { ($0.row, OutgoingMessage(hint: $0.row, from: $0.span)) }
                    _ = await self.outbox.publish(hints, deadline: deadline)
                }
                running += 1
            }
        }
    }

    private func next() -> [Waiting] {
        self.waiting.withLockedValue { waiting in
            let messages = Array(waiting.prefix(Self.batch))
            waiting.removeFirst(messages.count)
            return messages
        }
    }
}
