import Broker
import Logging
import Outbox
import PushModel
import Testing
import Undisturbed

/// What is said of published messages.
@Suite(.timeLimit(.minutes(5)), .undisturbed) struct OutboxPublisherTests {
    private let store = ScriptedOutbox()
    private let broker = InMemoryBroker()

    private static let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    private func publish(_ ids: [Int64], by publisher: OutboxPublisher) async throws {
        try await self.broker.declare(.pushline)
        let messages = ids.map {
            OutboxMessage(id: MessageID(number: $0), app: .default, queue: .send, priority: .normal)
        }
        #expect(await publisher.publish(hints: messages, deadline: .seconds(1)))
    }

    @Test func refusedMarksAreWrittenLater() async throws {
        self.store.with { $0.marksToRefuse = 1 }
        let publisher = OutboxPublisher(store: self.store, broker: self.broker, logger: Self.logger)
        let running = Task { await publisher.run() }
        try await self.publish([1, 2], by: publisher)
        while self.store.with({ $0.marks.isEmpty }) {
            try await self.publish([3], by: publisher)
            try await Task.sleep(for: .milliseconds(50))
        }
        running.cancel()
        await running.value
        #expect(Set(self.store.with { $0.marks.joined().map(\.number) }) == [1, 2, 3])
    }
}
