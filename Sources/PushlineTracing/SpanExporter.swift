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
        /// How long a collector may take when the process ends.
        package var farewell = Duration.seconds(2)

        package init() {}
    }

    /// How a batch ended.
    private enum End {
        case taken
        /// It may be taken later.
        case failed(String)
        /// It never will be.
        case refused(String)
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
        while case .taken? = await self.exportBatch(within: self.timing.farewell) {}
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
        for await _ in self.queue.wake {
            let end = await self.exportWaiting()
            guard case .failed(let reason)? = end else {
                if case .taken? = end, pause > .zero { self.logger.notice("The collector takes spans again") }
                if case .refused(let reason)? = end { self.report(reason) }
                pause = .zero
                continue
            }
            // Said once for a failure that lasts.
            if pause == .zero, !Task.isCancelled { self.report(reason) }
            pause = min(max(self.timing.pause, pause * 2), self.timing.longestPause)
            // Cancelled = shutdown: the loop ends.
            try? await Task.sleep(for: pause)
            self.queue.wakeUp.yield()
        }
    }

    private func report(_ reason: String) {
        self.logger.warning(
            "The collector does not take spans; the oldest are dropped",
            metadata: ["error": "\(reason)"]
        )
    }

    /// Exports batch after batch, until one is not taken or none is full.
    ///
    /// - Returns: How the last one ended; nil = there was none.
    private func exportWaiting() async -> End? {
        var last: End?
        repeat {
            guard let end = await self.exportBatch(within: self.timing.answer) else { return last }
            last = end
            if case .failed = end { return end }
        } while self.queue.count >= SpanQueue.batch
        return last
    }

    private func exportBatch(within time: Duration) async -> End? {
        let spans = self.queue.take()
        guard !spans.isEmpty else { return nil }
        let end = await self.post(self.text.body(of: spans), within: time)
        switch end {
        case .taken: self.exported.increment(by: spans.count)
        case .refused: self.refused.increment(by: spans.count)
        case .failed: self.queue.giveBack(spans)
        }
        return end
    }

    private func post(_ body: [UInt8], within time: Duration) async -> End {
        let request = OutgoingRequest(
            .POST,
            self.url,
            headers: ["Content-Type": "application/json"],
            body: ByteBuffer(bytes: body),
            longestAnswer: Self.longestAnswer
        )
        do throws(NoAnswer) {
            let answer = try await self.client.exchange(request, by: .now + time, with: self.peer)
            if (200..<300).contains(answer.status) { return .taken }
            let reason = "it answers \(answer.status)"
            return Self.passing.contains(answer.status) ? .failed(reason) : .refused(reason)
        } catch {
            return .failed("it cannot be asked: \(error)")
        }
    }
}

extension String {
    fileprivate func drop(trailing end: Character) -> String {
        self.last == end ? String(self.dropLast()).drop(trailing: end) : self
    }
}
