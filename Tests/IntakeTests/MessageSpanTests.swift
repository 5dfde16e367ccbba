import Broker
import Foundation
import Logging
import NIOConcurrencyHelpers
import PushModel
import Store
import StoreSQLite
import Testing
import Undisturbed

@testable import Intake

/// Which request's span the messages of jobs come from that are accepted together.
@Suite(.timeLimit(.minutes(5)), .undisturbed) struct MessageSpanTests {
    /// Takes all messages, and keeps them.
    private struct Recorder: MessageBroker {
        let messages = NIOLockedValueBox<[OutgoingMessage]>([])

        func declare(_ topology: Topology) async throws {}

        func publish(_ messages: [OutgoingMessage], deadline: Duration) async -> [PublishResult] {
            self.messages.withLockedValue { $0 += messages }
            return messages.map { _ in .published }
        }

        func consume<Result: Sendable>(
            queue: String,
            prefetch: Int,
            _ body: @Sendable (any Subscription) async throws -> Result
        ) async throws -> Result {
            throw CancellationError()
        }

        func depth(of queue: String) async throws -> QueueDepth { QueueDepth(ready: 0, consumers: 0) }

        var status: BrokerStatus { .connected }
    }

    private static func request(_ name: String, sampled: Bool = true) throws -> RequestID {
        try #require(RequestID(name, span: SpanContext(trace: .random(), span: .random(), isSampled: sampled)))
    }

    private static func send(
        to tags: [String] = ["ann"],
        _ priority: Priority = .normal,
        of request: RequestID?,
        key: String? = nil,
        hash: UInt8 = 1,
        startsAt: Timestamp? = nil
    ) throws -> NewJob {
        let tags = try tags.map { TagExpression.tag(try Tag($0, .folded)) }
        return NewJob(
            app: .default,
            priority: priority,
            work: .send(
                SendRequest(audience: tags.count == 1 ? tags[0] : .any(tags), content: .message(.init(body: "x")))
            ),
            lifetime: .seconds(60),
            idempotency: key.map { .init(caller: "key:a", route: "POST /api/sends", key: $0, hash: [hash]) },
            startsAt: startsAt,
            request: request
        )
    }

    /// A group as requests of their own make it, or one request with several sends: its first ones have no message, or one of their own.
    @Test(arguments: [true, false]) func eachMessageComesFromItsFirstMember(lingers: Bool) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "pushline-spans-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let store: any ResultStore = try await SQLiteStore.open(
            .init(path: folder.appending(path: "store.sqlite").path)
        )
        let broker = Recorder()
        let publisher = JobPublisher(store: store, broker: broker, deadline: .seconds(1), logger: Logger(label: "test"))
        let acceptor = JobAcceptor(store: store, publisher: publisher)
        _ = try await store.accept([Self.send(of: nil, key: "k")])
        let requests = try (0..<8).map { try Self.request("r-\($0)", sampled: $0 != 3) }
        let jobs = try [
            Self.send(of: requests[0], startsAt: .now.advanced(by: .seconds(3600))),
            Self.send(of: requests[1], key: "k"),
            Self.send(of: requests[2], key: "k", hash: 2),
            Self.send(of: requests[3]),
            Self.send(to: ["a", "b"], of: requests[4]),
            Self.send(of: requests[5]),
            Self.send(.high, of: requests[6]),
            Self.send(of: requests[7]),
            Self.send(to: ["a", "c"], of: nil),
        ]
        let answers = lingers ? try await acceptor.accept(jobs, joining: nil).answers : try await acceptor.accept(jobs)
        #expect(answers.count { if case .accepted = $0 { true } else { false } } == 7)
        let running = Task { try await publisher.run() }
        while broker.messages.withLockedValue(\.count) < 4 { try await Task.sleep(for: .milliseconds(5)) }
        running.cancel()
        _ = await running.result
        let messages = broker.messages.withLockedValue { $0 }
        let normal = messages.filter { $0.routingKey == QueueName.work(.send, .normal) }.map(\.properties.span)
        let high = messages.filter { $0.routingKey == QueueName.work(.send, .high) }.map(\.properties.span)
        // The shared one is 5's: 3 is not recorded. The one of two tags is of its own request, the other one of none.
        #expect(normal.count == 3 && Set(normal) == [requests[4].span, requests[5].span, nil])
        #expect(high == [requests[6].span])
    }
}
