import Broker
import Logging
import NIOConcurrencyHelpers
import PushModel
import Store
import Testing
import Undisturbed

@testable import Pipeline

/// A message that ends its workers before its row is counted (rule 5), and its neighbours in the prefetch, which the broker counts as often.
@Suite(.timeLimit(.minutes(5)), .undisturbed) struct SuspectTests {
    private static let queue = QueueName.work(.deliver(.apns), .normal)

    /// What a process's end leaves undone.
    private final class DyingStore: SuspectStore {
        let base: ScriptedOutbox
        let isDead = NIOLockedValueBox(false)

        init(_ base: ScriptedOutbox) { self.base = base }

        func suspect(_ fingerprint: [UInt8]) async throws -> Bool { try await self.base.suspect(fingerprint) }

        func clear(suspect fingerprint: [UInt8]) async throws {
            guard !self.isDead.withLockedValue({ $0 }) else { return }
            try await self.base.clear(suspect: fingerprint)
        }
    }

    /// Whose first answer is lost.
    private final class UnansweredStore: SuspectStore {
        let base: ScriptedOutbox
        let isLost = NIOLockedValueBox(false)

        init(_ base: ScriptedOutbox) { self.base = base }

        func suspect(_ fingerprint: [UInt8]) async throws -> Bool {
            let wasNoted = try await self.base.suspect(fingerprint)
            let isFirst = self.isLost.withLockedValue { isLost in
                defer { isLost = true }
                return !isLost
            }
            guard !isFirst else { throw StoreError(.unknown, "test") }
            return wasNoted
        }

        func clear(suspect fingerprint: [UInt8]) async throws { try await self.base.clear(suspect: fingerprint) }
    }

    private let broker = InMemoryBroker()
    private let store = ScriptedOutbox()
    private let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    /// What was done, in that order.
    private let seen = NIOLockedValueBox<[String]>([])

    private func note(_ what: String, _ delivery: Delivery) {
        self.seen.withLockedValue { $0.append("\(what) \(delivery.properties.messageID)") }
    }

    private func notes(_ what: String) -> [String] { self.seen.withLockedValue { $0.filter { $0.hasPrefix(what) } } }

    private func publish(_ ids: [String]) async throws {
        try await self.broker.declare(.pushline)
        for id in ids {
            let properties = MessageProperties(type: "deliver", messageID: id, contentType: "x")
            let message = OutgoingMessage(routingKey: Self.queue, properties: properties, body: Array(id.utf8))
            #expect(await self.broker.publish([message], deadline: .seconds(1)) == [.published])
        }
    }

    /// Has all that is in the queue come again so many times.
    private func lose(_ count: Int, times: Int) async throws {
        for _ in 0..<times {
            try await self.broker.consume(queue: Self.queue, prefetch: count) { subscription in
                for _ in 0..<count { _ = try await subscription.next() }
            }
        }
    }

    /// A process's consumer, which notes what it reads; counting ends it at some messages.
    private func consumer(
        _ store: any SuspectStore,
        isolates: Bool = true,
        endingAt ends: Set<String> = [],
        endingWork: Set<String> = []
    ) -> QueueConsumer {
        let turn = FairLimiter(permits: 1, slowAfter: nil)
        let deadLetters = DeadLetterPublisher(broker: self.broker)
        /// Where the process ends nothing of it goes on.
        @Sendable func end(_ delivery: Delivery, at ends: Set<String>) async throws {
            guard ends.contains(delivery.properties.messageID) else { return }
            self.note("end", delivery)
            try await Task.sleep(for: .seconds(3600))
        }
        return QueueConsumer(
            broker: self.broker,
            queue: Self.queue,
            priority: .normal,
            prefetch: 10,
            limiter: FairLimiter(permits: 4),
            logger: self.logger,
            suspects: Suspects(store: store, queue: Self.queue, logger: self.logger, turn: turn),
            count: { delivery, _ in
                try await end(delivery, at: ends)
                self.note("count", delivery)
                return .work(isRepeated: delivery.deliveryCount > 1)
            },
            handle: { delivery, subscription, _ in
                self.note("handle", delivery)
                try await end(delivery, at: endingWork)
                await subscription.acknowledge([delivery])
            },
            inspect: { self.note("inspect", $0) },
            condemn: { try await deadLetters.publish($0, from: Self.queue, reason: $1) },
            cost: { delivery in
                self.note("cost", delivery)
                return 1
            },
            tenant: { delivery in
                self.note("tenant", delivery)
                return nil
            },
            isBlocked: { delivery in
                self.note("blocked", delivery)
                return false
            },
            isolatesRedeliveries: isolates
        )
    }

    private func running(_ consumer: QueueConsumer, until isEnough: () -> Bool) async throws {
        let running = Task { try await consumer.run() }
        while !isEnough() { try await Task.sleep(for: .milliseconds(5)) }
        running.cancel()
        _ = await running.result
    }

    private func isEmpty() -> Bool {
        self.broker.ready(in: Self.queue) + self.broker.unacknowledged(in: Self.queue) == 0
    }

    /// Their workers end three times, and only one of them has done it.
    @Test(arguments: [true, false]) func whatEndsItsWorkersIsDeadAndNoNeighbour(isolates: Bool) async throws {
        try await self.publish(["1", "2", "3", "4"])
        // What became of their first two deliveries nobody knows.
        try await self.lose(4, times: 2)
        let dying = DyingStore(self.store)
        try await self.running(self.consumer(dying, isolates: isolates, endingAt: ["2"])) {
            guard !self.notes("end").isEmpty else { return false }
            dying.isDead.withLockedValue { $0 = true }
            return true
        }
        let before = Set(self.notes("handle"))
        #expect(!before.contains("handle 2"))
        try await self.running(self.consumer(self.store, isolates: isolates)) { self.isEmpty() }
        #expect(Set(self.notes("handle")) == ["handle 1", "handle 3", "handle 4"])
        try await self.broker.consume(queue: QueueName.dead, prefetch: 10) { subscription in
            #expect(self.broker.ready(in: QueueName.dead) == 1)
            let dead = try #require(try await subscription.next()).properties
            #expect(dead.messageID == "2")
            let reason = dead.headers[MessageProperties.reasonHeader]
            #expect(reason == "it ended its worker before it was counted: delivered 4 times")
        }
        #expect(self.store.with { $0.suspects.isEmpty })
    }

    /// What waits behind a message that ends its workers is not counted for it: else it were as dead in the end.
    @Test func whatIsCountedIsWorkedOnBeforeTheNextIsCounted() async throws {
        let ids = ["1", "2", "3", "4"]
        try await self.publish(ids)
        try await self.lose(4, times: 2)
        try await self.running(self.consumer(self.store, endingWork: Set(ids))) { !self.notes("end").isEmpty }
        #expect(self.notes("count").count == 1 && self.notes("handle").count == 1)
    }

    /// A worker that is told to end while it looks at a message has not died of it.
    @Test func whoeverIsToldToEndLeavesNoSuspect() async throws {
        try await self.publish(["1", "2"])
        try await self.lose(2, times: 2)
        try await self.running(self.consumer(self.store, endingAt: ["1"])) { !self.notes("end").isEmpty }
        try await self.running(self.consumer(self.store)) { self.isEmpty() }
        #expect(Set(self.notes("handle")) == ["handle 1", "handle 2"])
        #expect(self.broker.ready(in: QueueName.dead) == 0)
    }

    /// Its worker has lost its connection and looks at it still, while another has it already.
    @Test func whatALivingWorkerLooksAtIsNotDead() async throws {
        func suspects() -> Suspects {
            let turn = FairLimiter(permits: 1, slowAfter: nil)
            return Suspects(
                store: self.store,
                queue: Self.queue,
                logger: self.logger,
                turn: turn,
                patience: .seconds(2)
            )
        }
        func delivery(_ count: Int) -> Delivery {
            let properties = MessageProperties(type: "deliver", messageID: "1", contentType: "x")
            return Delivery(tag: 1, generation: 1, properties: properties, body: [1], deliveryCount: count)
        }
        let (begun, gate) = (AsyncStream<Void>.makeStream(), AsyncStream<Void>.makeStream())
        let first = Task {
            try await suspects().examine(delivery(2)) {
                begun.continuation.finish()
                for await _ in gate.stream {}
                return .over
            }
        }
        for await _ in begun.stream {}
        let second = Task { try await suspects().examine(delivery(3)) { .work(isRepeated: true) } }
        try await Task.sleep(for: .milliseconds(100))
        gate.continuation.finish()
        #expect(try await first.value == .over)
        #expect(try await second.value == .work(isRepeated: true))
        #expect(self.store.with { $0.suspects.isEmpty })
    }

    /// The answer to its note is lost, so that the note it finds then is its own.
    @Test func whatItNotedItselfMakesNoSuspect() async throws {
        let store = UnansweredStore(self.store)
        let properties = MessageProperties(type: "deliver", messageID: "1", contentType: "x")
        let delivery = Delivery(tag: 1, generation: 1, properties: properties, body: [1], deliveryCount: 3)
        let turn = FairLimiter(permits: 1, slowAfter: nil)
        var suspects = Suspects(store: store, queue: Self.queue, logger: self.logger, turn: turn)
        suspects.patience = .milliseconds(10)
        #expect(try await suspects.examine(delivery) { .work(isRepeated: true) } == .work(isRepeated: true))
        #expect(store.isLost.withLockedValue { $0 } && self.store.with { $0.suspects.isEmpty })
    }

    @Test(arguments: [1, 2, 3]) func nothingIsReadBeforeARedeliveryIsCounted(redeliveries: Int) async throws {
        try await self.publish(["1", "2"])
        try await self.lose(2, times: redeliveries)
        try await self.running(self.consumer(self.store)) { self.isEmpty() }
        for id in ["1", "2"] {
            let steps = self.seen.withLockedValue { $0.filter { $0.hasSuffix(id) } }
            #expect(steps.first == "count \(id)")
            #expect(steps.last == "handle \(id)")
            #expect(steps.contains("inspect \(id)") == (redeliveries > 1))
        }
        // Alone: whatever is read of the second is read when the first is counted and read.
        guard redeliveries > 1 else { return }
        let order = self.seen.withLockedValue { $0.filter { $0.hasPrefix("count") || $0.hasPrefix("inspect") } }
        #expect([["1", "2"], ["2", "1"]].map { $0.flatMap { ["count \($0)", "inspect \($0)"] } }.contains(order))
    }
}
