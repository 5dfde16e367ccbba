import Broker
import Logging
import NIOConcurrencyHelpers
import PushModel
import ServiceLifecycle
import Store

/// Hands jobs to the requests that wait for them (rule 16).
///
/// It owns a queue that dies with the process. An event names a job and has no content; one query reads all named jobs,
/// however many requests wait. A lost event costs at most half a second: a timer and each reconnect read all awaited
/// jobs. So nobody waits for the queue: while a node of a cluster is cut off, the broker may take a minute to declare it.
final class OutcomeWaiter: Service {
    /// Reads these jobs in one go.
    typealias Look = @Sendable ([JobID]) async throws -> [Job]

    /// The most jobs of one read.
    private static let readSize = 200

    private struct State {
        var tickets: [JobID: [UInt64: Place]] = [:]
        var lastTicket: UInt64 = 0
        /// The jobs to read next.
        var wanted: Set<JobID> = []
    }

    private struct Place {
        let event: AwaitedEvent
        let continuation: AsyncStream<Job>.Continuation
    }

    /// Names this process's queue: the job's row carries it.
    let routingKey: String

    private let broker: any MessageBroker
    private let look: Look
    private let logger: Logger
    private let tick: Duration
    private let state = NIOLockedValueBox(State())
    private let wake: AsyncStream<Void>
    private let wakeUp: AsyncStream<Void>.Continuation

    init(broker: any MessageBroker, tick: Duration = .milliseconds(500), logger: Logger, look: @escaping Look) {
        self.routingKey = QueueName.newEventQueue()
        self.broker = broker
        self.look = look
        self.tick = tick
        self.logger = logger
        (self.wake, self.wakeUp) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// A place among those who wait; taken before the job is committed.
    struct Ticket: Sendable {
        let job: JobID
        fileprivate let number: UInt64
        /// The job, once what is waited for has come.
        let jobs: AsyncStream<Job>
    }

    func enter(_ job: JobID, for event: AwaitedEvent) -> Ticket {
        let (jobs, continuation) = AsyncStream<Job>.makeStream(bufferingPolicy: .bufferingNewest(1))
        let number = self.state.withLockedValue { state in
            state.lastTicket += 1
            state.tickets[job, default: [:]][state.lastTicket] = Place(event: event, continuation: continuation)
            return state.lastTicket
        }
        return Ticket(job: job, number: number, jobs: jobs)
    }

    func leave(_ ticket: Ticket) {
        let place = self.state.withLockedValue { state in
            let found = state.tickets[ticket.job]?.removeValue(forKey: ticket.number)
            if state.tickets[ticket.job]?.isEmpty == true { state.tickets[ticket.job] = nil }
            return found
        }
        place?.continuation.finish()
    }

    func run() async throws {
        try await cancelWhenGracefulShutdown {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await self.listen() }
                group.addTask { await self.lookRegularly() }
                group.addTask { for await _ in self.wake { await self.lookAtWanted() } }
                try await group.waitForAll()
            }
        }
    }

    private func lookRegularly() async {
        while !Task.isCancelled {
            do { try await Task.sleep(for: self.tick) } catch { return }
            self.wantAll()
        }
    }

    private func listen() async throws {
        while !Task.isCancelled {
            do {
                try await self.broker.declare(.events(to: self.routingKey))
                try await self.broker.consume(queue: self.routingKey, prefetch: 500) { subscription in
                    // Events sent before the subscription are lost.
                    self.wantAll()
                    while let delivery = try await subscription.next() {
                        if let job = JobID(delivery.properties.messageID) { self.want(job) }
                        await subscription.acknowledge([delivery])
                    }
                }
            } catch is CancellationError {
                return
            } catch {
                self.logger.debug(
                    "Job events are not received; waiting requests poll the store",
                    metadata: ["error": "\(error)"]
                )
            }
            do { try await Task.sleep(for: .milliseconds(Int64.random(in: 500...1500))) } catch { return }
        }
    }

    private func wantAll() {
        let isWaitedFor = self.state.withLockedValue { state in
            state.wanted.formUnion(state.tickets.keys)
            return !state.wanted.isEmpty
        }
        if isWaitedFor { self.wakeUp.yield() }
    }

    private func want(_ job: JobID) {
        let isWaitedFor = self.state.withLockedValue { state in
            guard state.tickets[job] != nil else { return false }
            state.wanted.insert(job)
            return true
        }
        if isWaitedFor { self.wakeUp.yield() }
    }

    /// Reads the wanted jobs; events that arrive during a read share the next one.
    private func lookAtWanted() async {
        let wanted = self.state.withLockedValue { state in
            defer { state.wanted = [] }
            return state.wanted.filter { state.tickets[$0] != nil }
        }
        var rest = Array(wanted)[...]
        while !rest.isEmpty, !Task.isCancelled {
            let piece = Array(rest.prefix(Self.readSize))
            rest = rest.dropFirst(piece.count)
            do {
                for job in try await self.look(piece) { self.hand(job) }
            } catch {
                // The next periodic read may succeed, and the job is accepted in any case.
                self.logger.debug("Reading the jobs of waiting requests failed", metadata: ["error": "\(error)"])
            }
        }
    }

    private func hand(_ job: Job) {
        let waiting = self.state.withLockedValue { Array(($0.tickets[job.id] ?? [:]).values) }
        for place in waiting where place.event.hasCome(to: job) { place.continuation.yield(job) }
    }
}
