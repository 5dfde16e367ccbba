import AsyncHTTPClient
package import Logging
import Metrics
import NIOCore
import NIOHTTP1
import OutgoingHTTP
import PushModel
import PushlineMetrics
import ServiceLifecycle

/// Posts spans to a collector, over OTLP's HTTP in JSON: a batch as soon as there is one, and what there is every five seconds.
///
/// Nobody waits for it. What a collector does not take waits in the queue, of which the oldest go.
package struct SpanExporter: Service {
    /// How long it waits.
    package struct Timing: Sendable {
        /// The longest that a span waits where there is no batch.
        package var interval = Duration.seconds(5)
        /// How long a collector may take.
        package var answer = Duration.seconds(10)
        /// The pause after the first failure, doubled up to the longest.
        package var pause = Duration.seconds(1)
        package var longestPause = Duration.seconds(30)
        /// How long collectors may take for all that is left when the process ends.
        package var farewell = Duration.seconds(2)

        package init() {}
    }

    /// How a batch ended.
    private enum End {
        case taken
        /// It may be taken later.
        case failed(String)
        /// So many of its spans never will be.
        case refused(Int, String)
    }

    /// What the log has been told: what lasts is said once, and why spans are refused once in the life of a process.
    private struct Said {
        var failure: String?
        var refusal: String?
    }

    /// Statuses that OTLP says to try again.
    private static let passing: Set<Int> = [408, 429, 502, 503, 504]
    private static let longestAnswer = 65_536

    private let url: String
    private let queue: SpanQueue
    private let text: SpanText
    private let timing: Timing
    private let client: OutgoingClient
    private let peer: Peer
    private let logger: Logger
    private let exported = MetricDescription.traceSpans.counter([.result: "exported"])
    private let refused = MetricDescription.traceSpans.counter([.result: "refused"])

    /// - Parameters:
    ///   - endpoint: The collector's address, without `/v1/traces`.
    ///   - queue: Spans that have ended.
    ///   - service: The service's name.
    ///   - version: The program's.
    ///   - timing: How long it waits.
    ///   - logger: Logs that the collector takes nothing.
    package init(
        endpoint: String,
        queue: SpanQueue,
        service: String,
        version: String,
        timing: Timing = Timing(),
        logger: Logger
    ) {
        self.url = endpoint.drop(trailing: "/") + "/v1/traces"
        self.queue = queue
        self.text = SpanText(service: service, version: version)
        self.timing = timing
        self.client = OutgoingClient {
            HTTPClient(eventLoopGroupProvider: .singleton, configuration: .outgoing(trustFile: nil))
        }
        self.peer = Peer(.collector, logger: logger)
        self.logger = logger
    }

    package func run() async throws {
        await cancelWhenGracefulShutdown {
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await self.wakeRegularly() }
                await self.exportUntilCancelled()
                group.cancelAll()
            }
        }
        // What ended last, as far as the collector takes it at once.
        let deadline = ContinuousClock.now + self.timing.farewell
        while let end = await self.exportBatch(by: deadline) { if case .failed = end { break } }
        await self.client.close()
    }

    private func wakeRegularly() async {
        while !Task.isCancelled {
            // Cancelled = shutdown: the loop ends.
            try? await Task.sleep(for: self.timing.interval)
            self.queue.wakeUp.yield()
        }
    }

    private func exportUntilCancelled() async {
        var pause = Duration.zero
        var said = Said()
        for await _ in self.queue.wake {
            // A wake that was there before the shutdown comes after it too.
            if Task.isCancelled { break }
            guard await self.exportWaiting(&said) else {
                pause = .zero
                continue
            }
            pause = min(max(self.timing.pause, pause * 2), self.timing.longestPause)
            // Cancelled = shutdown: the loop ends.
            try? await Task.sleep(for: pause)
            self.queue.wakeUp.yield()
        }
    }

    /// Exports batch after batch, until one fails or none is full.
    ///
    /// - Returns: Whether one failed.
    private func exportWaiting(_ said: inout Said) async -> Bool {
        repeat {
            guard let end = await self.exportBatch(by: .now + self.timing.answer) else { return false }
            // What is cancelled is no fault of the collector's.
            if !Task.isCancelled { self.report(end, &said) }
            if case .failed = end { return true }
        } while self.queue.count >= SpanQueue.batch
        return false
    }

    private func report(_ end: End, _ said: inout Said) {
        switch end {
        case .taken:
            if said.failure != nil { self.logger.notice("The collector takes spans again") }
            said.failure = nil
        case .failed(let reason):
            if reason != said.failure {
                self.logger.warning(
                    "The collector does not take spans; they wait, and the oldest are dropped",
                    metadata: ["error": "\(reason)"]
                )
            }
            said.failure = reason
        case .refused(let count, let reason):
            if reason != said.refusal {
                self.logger.warning(
                    "The collector refuses spans; they are gone, and so are further ones that it refuses",
                    metadata: ["spans": "\(count)", "error": "\(reason)"]
                )
            }
            said.refusal = reason
        }
    }

    private func exportBatch(by deadline: ContinuousClock.Instant) async -> End? {
        let spans = self.queue.take()
        guard !spans.isEmpty else { return nil }
        let end = await self.post(spans, by: deadline)
        switch end {
        case .taken: self.exported.increment(by: spans.count)
        case .refused(let count, _):
            self.refused.increment(by: count)
            self.exported.increment(by: spans.count - count)
        case .failed: self.queue.giveBack(spans)
        }
        return end
    }

    private func post(_ spans: [FinishedSpan], by deadline: ContinuousClock.Instant) async -> End {
        let request = OutgoingRequest(
            .POST,
            self.url,
            headers: ["Content-Type": "application/json"],
            body: ByteBuffer(bytes: self.text.body(of: spans)),
            longestAnswer: Self.longestAnswer
        )
        do throws(NoAnswer) {
            let answer = try await self.client.exchange(request, by: deadline, with: self.peer)
            guard (200..<300).contains(answer.status) else {
                let reason = "it answers \(answer.status)"
                return Self.passing.contains(answer.status) ? .failed(reason) : .refused(spans.count, reason)
            }
            let refused = min(answer.refusedSpans, spans.count)
            return refused > 0 ? .refused(refused, "it takes the others of a batch") : .taken
        } catch {
            return .failed("it cannot be asked: \(error)")
        }
    }
}

extension OutgoingAnswer {
    /// How many spans of a batch that was taken were not: OTLP's `partialSuccess`; 0 where the answer says nothing, or what is not OTLP's.
    fileprivate var refusedSpans: Int {
        guard case .whole(let body) = self.body,
            case .object(let members)? = try? JSONReader.read(Array(body.readableBytesView)),
            case .object(let success)? = members.first(where: { $0.name == "partialSuccess" })?.value
        else { return 0 }
        switch success.first(where: { $0.name == "rejectedSpans" })?.value {
        // A 64-bit number is a text there.
        case .string(let text), .number(let text): return max(0, Int(text) ?? 0)
        default: return 0
        }
    }
}

extension String {
    fileprivate func drop(trailing end: Character) -> String {
        self.last == end ? String(self.dropLast()).drop(trailing: end) : self
    }
}
