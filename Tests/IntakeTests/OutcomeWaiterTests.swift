import Broker
import Logging
import NIOConcurrencyHelpers
import PushModel
import Testing
import Undisturbed

@testable import Intake

@Suite(.undisturbed) struct OutcomeWaiterTests {
    /// A hub's answers, and who asked for them.
    private final class Answers: Sendable {
        private let state = NIOLockedValueBox<(looks: [Set<JobID>], failures: Int)>(([], 0))

        var looks: [Set<JobID>] { self.state.withLockedValue { $0.looks } }

        init(failures: Int = 0) { self.state.withLockedValue { $0.failures = failures } }

        func look(_ ids: [JobID]) throws -> [Job] {
            let isReadable = self.state.withLockedValue { state in
                state.looks.append(Set(ids))
                state.failures -= 1
                return state.failures < 0
            }
            guard isReadable else { throw InvalidValue("the store cannot be read") }
            return try ids.map { try OutcomeWaiterTests.job($0, self.state(of: $0)) }
        }

        /// Even jobs are over, and of the others every third is begun.
        private func state(of id: JobID) -> Job.State {
            id.low.isMultiple(of: 2) ? .completed : id.low.isMultiple(of: 3) ? .running : .queued
        }
    }

    private static func job(_ id: JobID, _ state: Job.State) throws -> Job {
        try Job(
            id: id,
            sequence: 1,
            app: .default,
            user: nil,
            key: nil,
            priority: .normal,
            work: .send(SendRequest(audience: .tag(Tag("a", .folded)), content: .message(Content.Message(body: "x")))),
            state: state,
            result: nil,
            reason: nil,
            accepted: .now,
            started: nil,
            finished: nil,
            expires: .now,
            due: nil,
            counts: [:]
        )
    }

    private static func id(_ number: UInt64) -> JobID { JobID(high: 7 << 12, low: 1 << 63 | number) }

    /// Runs the waiter beside the body.
    private static func with(
        _ answers: Answers,
        tick: Duration,
        broker: any MessageBroker = InMemoryBroker(),
        _ body: (OutcomeWaiter) async throws -> Void
    ) async throws {
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        let waiter = OutcomeWaiter(broker: broker, tick: tick, logger: logger) { try answers.look($0) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await waiter.run() }
            try await body(waiter)
            group.cancelAll()
        }
    }

    @Test func waitingJobsAreReadTogether() async throws {
        let answers = Answers(failures: 2)
        // Nothing but the regular look tells.
        let broker = InMemoryBroker()
        broker.setUnavailable(true)
        try await Self.with(answers, tick: .milliseconds(20), broker: broker) { waiter in
            let tickets = (0..<300).map { waiter.enter(Self.id($0), for: .outcome) }
            let twice = waiter.enter(Self.id(0), for: .outcome)
            for ticket in tickets + [twice] where ticket.job.low.isMultiple(of: 2) {
                let job = await ticket.jobs.first { _ in true }
                #expect(job?.id == ticket.job)
            }
            for ticket in tickets + [twice] { waiter.leave(ticket) }
        }
        let sizes = answers.looks.map(\.count)
        #expect(sizes.allSatisfy { $0 <= 200 })
        // Each round reads all of them in two pieces, and one round is enough once the store can be read.
        #expect(sizes.contains(200) && sizes.contains(100), "\(sizes)")
        #expect(sizes.count < 300)
    }

    @Test func anEventAnswersWithoutWaitingForTheTick() async throws {
        let answers = Answers()
        let broker = InMemoryBroker()
        try await Self.with(answers, tick: .seconds(600), broker: broker) { waiter in
            while (try? await broker.depth(of: waiter.routingKey).consumers) != 1 { await Task.yield() }
            let ticket = waiter.enter(Self.id(2), for: .outcome)
            let event = OutgoingMessage(eventFor: ticket.job, waiter: waiter.routingKey)
            #expect(await broker.publish([event], deadline: .seconds(10)) == [.published])
            #expect(await ticket.jobs.first { _ in true }?.id == ticket.job)
            waiter.leave(ticket)
        }
        #expect(answers.looks.allSatisfy { $0 == [Self.id(2)] })
    }

    /// As a cluster does whose node was cut off: declaring a queue is answered after a minute.
    private struct SlowToDeclare: MessageBroker {
        let base = InMemoryBroker()

        func declare(_ topology: Topology) async throws { try await Task.sleep(for: .seconds(600)) }
        func publish(_ messages: [OutgoingMessage], deadline: Duration) async -> [PublishResult] {
            await self.base.publish(messages, deadline: deadline)
        }
        func consume<Result: Sendable>(
            queue: String,
            prefetch: Int,
            _ body: @Sendable (any Subscription) async throws -> Result
        ) async throws -> Result { try await self.base.consume(queue: queue, prefetch: prefetch, body) }
        func depth(of queue: String) async throws -> QueueDepth { try await self.base.depth(of: queue) }
        var status: BrokerStatus { get async { await self.base.status } }
    }

    @Test func waitersPollWhileTheQueueIsNotDeclared() async throws {
        try await Self.with(Answers(), tick: .milliseconds(20), broker: SlowToDeclare()) { waiter in
            let ticket = waiter.enter(Self.id(2), for: .outcome)
            #expect(await ticket.jobs.first { _ in true }?.id == ticket.job)
            waiter.leave(ticket)
        }
    }

    @Test func eachIsToldOfWhatItWaitsFor() async throws {
        let ids = (0..<6).map { Self.id($0) }
        let begun = try #require(ids.first { !$0.low.isMultiple(of: 2) && $0.low.isMultiple(of: 3) })
        try await Self.with(Answers(), tick: .milliseconds(5)) { waiter in
            let outcome = waiter.enter(begun, for: .outcome)
            for _ in 0..<3 {
                let answer = waiter.enter(begun, for: .answer)
                #expect(await answer.jobs.first { _ in true }?.state == .running)
                waiter.leave(answer)
            }
            waiter.leave(outcome)
            #expect(await outcome.jobs.first { _ in true } == nil)
        }
    }

    @Test func aJobIsNotReadAfterItsWaiterLeft() async throws {
        let answers = Answers()
        try await Self.with(answers, tick: .milliseconds(5)) { waiter in
            waiter.leave(waiter.enter(Self.id(4), for: .outcome))
            let ticket = waiter.enter(Self.id(6), for: .outcome)
            #expect(await ticket.jobs.first { _ in true }?.id == ticket.job)
        }
        #expect(!answers.looks.contains { $0.contains(Self.id(4)) })
    }
}
