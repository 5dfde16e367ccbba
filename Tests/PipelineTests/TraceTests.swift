import Broker
import LogRecorder
import Logging
import PushModel
import PushlineSimulator
import Settings
import Store
import Testing
import Tracing
import Undisturbed

@testable import Pipeline
@testable import PushlineTracing

/// The spans of workers: under those of the requests that asked for the work, and never one a device.
@Suite(.timeLimit(.minutes(2)), .undisturbed) struct TraceTests {
    private static let sendQueue = QueueName.work(.send, .normal)
    private static let deliverQueue = QueueName.work(.deliver(.apns), .normal)

    private let queue = SpanQueue()

    private var traces: Traces { Traces(TraceSettings(), to: self.queue) }

    private static func request(_ name: String = "r", sampled: Bool = true) throws -> RequestID {
        let span = SpanContext(trace: .random(), span: .random(), isSampled: sampled)
        return try #require(RequestID(name, span: span))
    }

    /// All that have ended, once those have, each so often.
    private func spans(_ expected: [String: Int]) async throws -> [FinishedSpan] {
        var all: [FinishedSpan] = []
        while expected.contains(where: { name, times in all.count(where: { $0.name == name }) < times }) {
            try await Task.sleep(for: .milliseconds(5))
            all += self.queue.take()
        }
        return all
    }

    /// Sends to a user with one device, so often for each of the requests, and all accepted together.
    ///
    /// - Returns: All spans: the workers have ended.
    private func spans(ofSends times: Int, for requests: [RequestID]) async throws -> [FinishedSpan] {
        try await PipelineHarness.with(traces: self.traces) { harness async throws in
            try await harness.register("ann", devices: 1...1)
            let send = SendRequest(
                audience: .tag(PushModel.Tag(user: try UserName("ann", .folded))),
                content: .message(.init(title: nil, body: "x"))
            )
            let jobs = requests.flatMap { request in
                (0..<times).map { _ in
                    NewJob(app: .default, work: .send(send), lifetime: .seconds(3600), request: request)
                }
            }
            try await harness.publish(try await harness.accept(jobs).messages)
            for job in jobs { try await harness.wait(for: job.id) }
        }
        var all: [FinishedSpan] = []
        while self.queue.count > 0 { all += self.queue.take() }
        return all
    }

    /// The work on the message of which this is a part.
    private static func work(on push: FinishedSpan) -> SpanID? { push.links.first?.span ?? push.parent }

    private static func count(_ name: String, of span: FinishedSpan) -> Int {
        guard case .int64(let number)? = span.attributes.get(name) else { return 0 }
        return Int(number)
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
            let spans = try await self.spans([
                "process \(Self.sendQueue)": 1, "fan out": 1, "process \(Self.deliverQueue)": 1,
            ])
            let root = try #require(request.span)
            #expect(spans.count == 5 && spans.allSatisfy { $0.place.trace == root.trace })
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
            #expect(push.attributes.get("pushline.jobs") == .int64(1) && push.attributes.get("pushline.page") != nil)
            #expect(spans.allSatisfy { $0.links.isEmpty && !$0.hasFailed })
            #expect([fanOut, message, delivery].map(\.kind) == [.consumer, .producer, .consumer])
        }
        // Nothing came behind them.
        #expect(self.queue.count == 0)
    }

    /// Whoever reads one trace finds what became of its own sends, and from there the work on the message.
    @Test func aMessageOfManyIsInTheFirstsTraceAndLinkedToTheOthers() async throws {
        let requests = try (0..<150).map { try Self.request("r-\($0)", sampled: $0 != 7) }
        let roots = requests.compactMap(\.span)
        let spans = try await self.spans(ofSends: 2, for: requests)
        let fanOut = try Self.one("process \(Self.sendQueue)", of: spans)
        #expect(roots.count == 149 && fanOut.place.trace == roots[0].trace)
        #expect(fanOut.links.map(\.span) == roots.dropFirst().prefix(RecordedSpan.maximumLinks).map(\.span))
        let deliveries = spans.filter { $0.name == "process \(Self.deliverQueue)" }
        #expect(deliveries.allSatisfy { $0.place.trace == roots[0].trace })
        let pushes = Dictionary(grouping: spans.filter { $0.name == "push apns" }, by: \.place.trace)
        #expect(Set(pushes.keys) == Set(roots.map(\.trace)))
        for root in roots {
            let own = pushes[root.trace] ?? []
            #expect(own.reduce(0) { $0 + Self.count("pushline.jobs", of: $1) } == 2)
            // One a message, however many of its jobs are in that.
            #expect(Set(own.compactMap(Self.work)).count == own.count)
            let isFirst = root == roots[0]
            for push in own {
                #expect((push.parent == root.span) == !isFirst)
                #expect(push.links.map(\.trace) == (isFirst ? [] : [roots[0].trace]))
            }
        }
    }

    /// As many of a request's sends as a message has are one span at the push service, not one each.
    @Test func manySendsOfARequestHaveAPushAMessage() async throws {
        let request = try Self.request()
        let spans = try await self.spans(ofSends: 300, for: [request])
        let pushes = spans.filter { $0.name == "push apns" }
        let deliveries = spans.filter { $0.name == "process \(Self.deliverQueue)" }
        #expect(pushes.count == deliveries.count && spans.count < 100)
        #expect(Set(pushes.map(\.parent)) == Set(deliveries.map(\.place.span)))
        #expect(pushes.reduce(0) { $0 + Self.count("pushline.jobs", of: $1) } == 300)
        #expect(spans.allSatisfy { $0.place.trace == request.span?.trace && $0.links.isEmpty })
    }

    @Test func theNextAttemptIsUnderTheRequestToo() async throws {
        let request = try Self.request()
        try await PipelineHarness.with(traces: self.traces) { harness async throws in
            try await harness.register("ann", devices: 1...1)
            harness.simulator.inject(SimulatorFault(.answer(status: 503), pns: .apns, token: token(1), count: 1))
            try await harness.wait(for: try await harness.send(to: "username:ann", request: request))
            let spans = try await self.spans(["push apns": 2])
            let attempts = spans.filter { $0.name == "push apns" }.compactMap { $0.attributes.get("pushline.attempt") }
            #expect(attempts == [.int64(0), .int64(1)])
            #expect(spans.allSatisfy { $0.place.trace == request.span?.trace })
            let published = spans.filter { $0.name == "send \(Self.deliverQueue)" }
            #expect(published.count == 2 && published.last?.parent == request.span?.span)
        }
    }

    /// It is brought again and again; only what becomes of it is a span.
    @Test func aMessageThatOnlyWaitsHasNoSpan() async throws {
        let log = LogRecorder()
        let requests = try (0..<20).map { try Self.request("request-\($0)") }
        @Sendable func outcomes() -> [String] { log.lines.compactMap { $0.fields["outcome"] } }
        try await PipelineHarness.with(
            [.send],
            window: InFlightWindow(devices: 1000, messages: 1),
            traces: self.traces,
            logger: log.logger(.debug)
        ) { harness async throws in
            try await harness.register("ann", devices: 1...1)
            var sent = 0
            // Nobody delivers them: one of the next has no credit.
            for request in requests where !outcomes().contains("deferred") {
                _ = try await harness.send(to: "username:ann", request: request)
                sent += 1
                while outcomes().count < sent { try await Task.sleep(for: .milliseconds(5)) }
            }
        }
        let done = outcomes().count { $0 == "done" }
        #expect(outcomes().contains("deferred"))
        let spans = self.queue.take()
        let works = spans.filter { $0.name == "process \(Self.sendQueue)" }
        #expect(works.count == done && done > 0)
        #expect(works.allSatisfy { $0.attributes.get("pushline.outcome") == .string("done") })
        let waiting = requests[done].span?.trace
        #expect(!spans.contains { $0.place.trace == waiting }, "\(spans.map(\.name))")
    }

    @Test func aRegistrationIsTraced() async throws {
        let request = try Self.request()
        try await PipelineHarness.with(traces: self.traces) { harness async throws in
            let user = try UserName("ann", .folded)
            let change = RegisterRequest.issue(candidate: .random(), handles: [])
            let job = try await harness.accept(.register(change), user: user, request: request)
            try await harness.publish(job)
            try await harness.wait(for: job.id)
            let spans = try await self.spans(["process \(QueueName.work(.register, .normal))": 1])
            #expect(spans.map(\.parent) == [request.span?.span])
        }
    }

    /// The hub's breaker is open: nothing of it is tried.
    @Test func aChangeThatWaitsForItsHubHasNoSpan() async throws {
        try await PipelineHarness.with([.register], traces: self.traces) { harness async throws in
            try await harness.declareSilentHub()
            let registers = QueueName.work(.register, .normal)
            /// Whether the hub was asked.
            func change(_ request: RequestID) async throws -> Bool {
                let (before, work) = (
                    harness.wireHub.changes, Job.Work.register(.issue(candidate: .random(), handles: []))
                )
                let user = try UserName("ann", .folded)
                try await harness.publish(try await harness.accept(work, user: user, request: request))
                while harness.broker.ready(in: registers) + harness.broker.unacknowledged(in: registers) > 0 {
                    try await Task.sleep(for: .milliseconds(5))
                }
                return harness.wireHub.changes > before
            }
            var request = try Self.request()
            // Five times in a row the hub is asked and gives no answer, then once every few seconds.
            while try await change(request) {
                #expect(self.queue.take().map(\.place.trace) == [request.span?.trace])
                request = try Self.request()
            }
            #expect(self.queue.count == 0)
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
            let spans = try await self.spans(["process \(Self.deliverQueue)": 1])
            #expect(spans.allSatisfy { $0.place.trace == other.span?.trace })
        }
    }

    /// A message says where it comes from, to programs that trace and to those that do not; one that says nonsense is worked on.
    @Test func messagesSayTheirSpanInW3CsHeader() async throws {
        let row = OutboxMessage(id: MessageID(number: 7), app: .default, queue: .send, priority: .normal, epoch: 1)
        let span = try #require(try Self.request().span)
        var message = OutgoingMessage(hint: row, from: span)
        #expect(message.properties.headers["traceparent"] == span.traceparent)
        #expect(message.properties.headers.count == 2 && message.properties.span == span)
        message.properties.span = nil
        #expect(message == OutgoingMessage(hint: row) && message.properties.headers.count == 1)
        message.properties.headers["traceparent"] = "00-x"
        #expect(message.properties.span == nil)
    }
}
