import Broker
import PushModel
import PushlineSimulator
import Settings
import Testing
import Tracing

@testable import Pipeline
@testable import PushlineTracing

/// The spans of workers: under those of the requests that asked for the work, and never one a device.
@Suite(.timeLimit(.minutes(2))) struct TraceTests {
    private static let sendQueue = QueueName.work(.send, .normal)
    private static let deliverQueue = QueueName.work(.deliver(.apns), .normal)

    private let queue = SpanQueue()

    private var traces: Traces { Traces(SpanTracer(TraceSettings(), queue: self.queue)) }

    private static func request(_ name: String = "r", sampled: Bool = true) throws -> RequestID {
        let span = SpanContext(trace: .random(), span: .random(), isSampled: sampled, state: "a=1")
        return try #require(RequestID(name, span: span))
    }

    /// All spans, once a span of that name has ended so often.
    private func spans(until name: String, times: Int = 1) async throws -> [FinishedSpan] {
        var all: [FinishedSpan] = []
        while all.count(where: { $0.name == name }) < times {
            all += self.queue.take()
            try await Task.sleep(for: .milliseconds(5))
        }
        // Of the work beside it.
        try await Task.sleep(for: .milliseconds(50))
        return all + self.queue.take()
    }

    private static func one(_ name: String, of spans: [FinishedSpan]) throws -> FinishedSpan {
        let found = spans.filter { $0.name == name }
        #expect(found.count == 1, "\(name) is there \(found.count) times")
        return try #require(found.first)
    }

    @Test func aSendIsOneTraceHoweverManyDevicesItHas() async throws {
        let request = try Self.request()
        try await PipelineHarness.with(traces: self.traces) { harness async throws in
            try await harness.register("ann", devices: 1...30)
            try await harness.wait(for: try await harness.send(to: "username:ann", request: request))
            let spans = try await self.spans(until: "process \(Self.deliverQueue)")
            let root = try #require(request.span)
            #expect(spans.count == 5 && spans.allSatisfy { $0.place.trace == root.trace && $0.place.state == "a=1" })
            let fanOut = try Self.one("process \(Self.sendQueue)", of: spans)
            let slice = try Self.one("fan out", of: spans)
            let message = try Self.one("send \(Self.deliverQueue)", of: spans)
            let delivery = try Self.one("process \(Self.deliverQueue)", of: spans)
            let push = try Self.one("push apns", of: spans)
            // The hint said nothing: its work is found by the row.
            #expect(fanOut.parent == root.span && slice.parent == fanOut.place.span)
            #expect(message.parent == slice.place.span && delivery.parent == message.place.span)
            #expect(push.parent == delivery.place.span)
            #expect(push.attributes.get("pushline.devices.accepted") == .int64(30))
            #expect(spans.allSatisfy { $0.links.isEmpty && $0.status == nil })
            #expect([fanOut, message, delivery].map(\.kind) == [.consumer, .producer, .consumer])
        }
    }

    /// Whoever reads one trace finds its own batch, and from there the work on the message.
    @Test func aMessageOfManyIsInTheFirstsTraceAndLinkedToTheOthers() async throws {
        let requests = try (0..<150).map { try Self.request("r-\($0)", sampled: $0 != 7) }
        try await PipelineHarness.with(traces: self.traces) { harness async throws in
            try await harness.register("ann", devices: 1...1)
            let send = SendRequest(
                audience: .tag(PushModel.Tag(user: try UserName("ann", .folded))),
                content: .message(.init(title: nil, body: "x"))
            )
            let jobs = requests.map { NewJob(app: .default, work: .send(send), lifetime: .seconds(3600), request: $0) }
            try await harness.publish(try await harness.accept(jobs).messages)
            for job in jobs { try await harness.wait(for: job.id) }
            let spans = try await self.spans(until: "push apns", times: 149)
            let pushes = spans.filter { $0.name == "push apns" }
            let roots = requests.compactMap(\.span)
            #expect(roots.count == 149 && Set(pushes.map(\.place.trace)) == Set(roots.map(\.trace)))
            let fanOut = try Self.one("process \(Self.sendQueue)", of: spans)
            #expect(fanOut.place.trace == roots[0].trace)
            #expect(fanOut.links == Array(roots.dropFirst().prefix(RecordedSpan.maximumLinks)))
            let deliveries = spans.filter { $0.name == "process \(Self.deliverQueue)" }
            #expect(deliveries.allSatisfy { $0.place.trace == roots[0].trace })
            for (root, push) in zip(roots, roots.compactMap({ root in pushes.first { $0.place.trace == root.trace } }))
            {
                let isFirst = root == roots[0]
                #expect((push.parent == root.span) == !isFirst)
                #expect(push.links.map(\.trace) == (isFirst ? [] : [roots[0].trace]))
            }
        }
    }

    @Test func theNextAttemptIsUnderTheRequestToo() async throws {
        let request = try Self.request()
        try await PipelineHarness.with(traces: self.traces) { harness async throws in
            try await harness.register("ann", devices: 1...1)
            harness.simulator.inject(SimulatorFault(.answer(status: 503), pns: .apns, token: token(1), count: 1))
            try await harness.wait(for: try await harness.send(to: "username:ann", request: request))
            let spans = try await self.spans(until: "push apns", times: 2)
            let attempts = spans.filter { $0.name == "push apns" }.compactMap { $0.attributes.get("pushline.attempt") }
            #expect(attempts == [.int64(0), .int64(1)])
            #expect(spans.allSatisfy { $0.place.trace == request.span?.trace })
            let published = spans.filter { $0.name == "send \(Self.deliverQueue)" }
            #expect(published.count == 2 && published.last?.parent == request.span?.span)
        }
    }

    @Test func aRegistrationIsTraced() async throws {
        let request = try Self.request()
        try await PipelineHarness.with(traces: self.traces) { harness async throws in
            let user = try UserName("ann", .folded)
            let change = RegisterRequest.issue(candidate: .random(), handles: [])
            let job = try await harness.accept(.register(change), user: user, request: request)
            try await harness.publish(job)
            try await harness.wait(for: job.id)
            let spans = try await self.spans(until: "process \(QueueName.work(.register, .normal))")
            #expect(spans.map(\.parent) == [request.span?.span])
        }
    }

    /// Nobody asked for it to be recorded, or it was accepted before traces were.
    @Test(arguments: [true, false]) func workOfARequestThatIsNotRecordedHasNoSpan(isKnown: Bool) async throws {
        let request = isKnown ? try Self.request(sampled: false) : nil
        try await PipelineHarness.with(traces: self.traces) { harness async throws in
            try await harness.register("ann", devices: 1...1)
            try await harness.wait(for: try await harness.send(to: "username:ann", request: request))
            // The work of another, which is behind it.
            let other = try Self.request("other")
            try await harness.wait(for: try await harness.send(to: "username:ann", request: other))
            let spans = try await self.spans(until: "process \(Self.deliverQueue)")
            #expect(spans.allSatisfy { $0.place.trace == other.span?.trace })
        }
    }

    /// A message says where it comes from, to programs that trace and to those that do not; one that says nonsense is worked on.
    @Test func messagesSayTheirSpanInW3CsHeaders() async throws {
        let row = OutboxMessage(id: MessageID(number: 7), app: .default, queue: .send, priority: .normal, epoch: 1)
        let span = try #require(try Self.request().span)
        var message = OutgoingMessage(hint: row, from: span)
        #expect(message.properties.headers["traceparent"] == span.traceparent)
        #expect(message.properties.headers["tracestate"] == "a=1" && message.properties.span == span)
        message.properties.span = nil
        #expect(message == OutgoingMessage(hint: row) && message.properties.headers.count == 1)
        message.properties.headers["traceparent"] = "00-x"
        #expect(message.properties.span == nil)
    }
}
