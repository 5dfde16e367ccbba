import Broker
import Logging
import NIOConcurrencyHelpers
import PushModel
import ServiceLifecycle
import Store

/// Tells requests that wait for the hub's answer when to look at their job (rule 16).
///
/// It owns a queue that dies with the process. A lost event costs at most half a second: all who wait look again then.
final class OutcomeWaiter: Service {
    /// Names this process's queue: the job's row carries it.
    let routingKey: String

    private let broker: any MessageBroker
    private let logger: Logger
    private let tick: Duration
    private let tickets = NIOLockedValueBox<[JobID: [UInt64: AsyncStream<Void>.Continuation]]>([:])
    private let lastTicket = NIOLockedValueBox<UInt64>(0)

    init(broker: any MessageBroker, tick: Duration = .milliseconds(500), logger: Logger) {
        self.routingKey = "pushline.api.\(JobID.make())"
        self.broker = broker
        self.tick = tick
        self.logger = logger
    }

    /// A place among those who wait; taken before the job is committed.
    struct Ticket: Sendable {
        let job: JobID
        fileprivate let number: UInt64
        /// One element a reason to look; several reasons are one.
        let signals: AsyncStream<Void>
    }

    private var topology: Topology {
        Topology(
            exchanges: [Topology.Exchange(name: QueueName.events)],
            queues: [Topology.Queue(name: self.routingKey, kind: .exclusive, exchange: QueueName.events)]
        )
    }

    /// Declares and binds the queue.
    func prepare() async throws { try await self.broker.declare(self.topology) }

    func enter(_ job: JobID) -> Ticket {
        let number = self.lastTicket.withLockedValue { last in
            last += 1
            return last
        }
        let (signals, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        self.tickets.withLockedValue { $0[job, default: [:]][number] = continuation }
        return Ticket(job: job, number: number, signals: signals)
    }

    func leave(_ ticket: Ticket) {
        let continuation = self.tickets.withLockedValue { tickets in
            let found = tickets[ticket.job]?.removeValue(forKey: ticket.number)
            if tickets[ticket.job]?.isEmpty == true { tickets[ticket.job] = nil }
            return found
        }
        continuation?.finish()
    }

    func run() async throws {
        try await cancelWhenGracefulShutdown {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await self.listen() }
                group.addTask { try await self.signalAllRegularly() }
                try await group.waitForAll()
            }
        }
    }

    private func signalAllRegularly() async throws {
        while !Task.isCancelled {
            do { try await Task.sleep(for: self.tick) } catch { return }
            for waiting in self.tickets.withLockedValue({ $0.values.flatMap(\.values) }) { waiting.yield() }
        }
    }

    private func listen() async throws {
        while !Task.isCancelled {
            do {
                try await self.broker.declare(self.topology)
                try await self.broker.consume(queue: self.routingKey, prefetch: 500) { subscription in
                    while let delivery = try await subscription.next() {
                        self.signal(delivery.properties.messageID)
                        await subscription.acknowledge([delivery])
                    }
                }
            } catch is CancellationError {
                return
            } catch {
                self.logger.debug("Events are not heard; jobs are looked at regularly", metadata: ["error": "\(error)"])
            }
            do { try await Task.sleep(for: .milliseconds(Int64.random(in: 500...1500))) } catch { return }
        }
    }

    private func signal(_ text: String) {
        guard let job = JobID(text) else { return }
        for waiting in self.tickets.withLockedValue({ Array(($0[job] ?? [:]).values) }) { waiting.yield() }
    }
}
