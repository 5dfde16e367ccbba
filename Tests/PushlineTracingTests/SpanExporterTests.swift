import Foundation
import LogRecorder
import Logging
import NIOConcurrencyHelpers
import NIOHTTP1
import PushModel
import RawHTTP
import ServiceLifecycle
import Settings
import Testing
import Tracing
import Undisturbed

@testable import PushlineTracing

/// Spans on their way to a collector, whatever that does.
@Suite(.timeLimit(.minutes(2)), .undisturbed) struct SpanExporterTests {
    private let queue = SpanQueue()
    private let log = LogRecorder()

    private var timing: SpanExporter.Timing {
        var timing = SpanExporter.Timing()
        timing.interval = .milliseconds(50)
        timing.answer = .seconds(30)
        (timing.pause, timing.longestPause) = (.milliseconds(20), .milliseconds(40))
        return timing
    }

    private func add(_ names: [String]) {
        let traces = Traces(TraceSettings(), to: self.queue)
        for name in names { traces.request(name, from: nil)?.end() }
    }

    private func exporter(to server: RawServer, _ timing: SpanExporter.Timing) -> ServiceGroup {
        let exporter = SpanExporter(
            endpoint: "http://127.0.0.1:\(server.port)/",
            queue: self.queue,
            service: "test",
            version: "1",
            timing: timing,
            logger: self.log.logger(.debug)
        )
        return ServiceGroup(services: [exporter], logger: self.log.logger(.error))
    }

    /// Exports to a collector while the body runs.
    private func exporting(
        _ timing: SpanExporter.Timing? = nil,
        to react: @escaping @Sendable (RawServer.Request) async -> RawServer.Reply,
        _ body: @Sendable () async throws -> Void
    ) async throws {
        try await RawServer.run(.plain, react: react) { server in
            let process = self.exporter(to: server, timing ?? self.timing)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await process.run() }
                do { try await body() } catch {
                    group.cancelAll()
                    throw error
                }
                await process.triggerGracefulShutdown()
                try await group.waitForAll()
            }
        }
    }

    private static func names(_ request: RawServer.Request) -> [String] {
        String(decoding: request.body, as: UTF8.self).matches(of: /"name":"(s-[0-9]+)"/).map { String($0.1) }
    }

    private func eventually(_ isSo: () -> Bool) async throws {
        while !isSo() { try await Task.sleep(for: .milliseconds(5)) }
    }

    @Test func spansArePostedAsJSONInBatches() async throws {
        let requests = NIOLockedValueBox<[RawServer.Request]>([])
        let names = (0..<SpanQueue.batch + 3).map { "s-\($0)" }
        self.add(names)
        try await self.exporting { request in
            requests.withLockedValue { $0.append(request) }
            return .answer(200, body: Array("{}".utf8))
        } _: {
            try await self.eventually { requests.withLockedValue { $0.flatMap(Self.names).count } == names.count }
        }
        let all = requests.withLockedValue { $0 }
        #expect(all.allSatisfy { $0.method == "POST" && $0.target == "/v1/traces" })
        #expect(all.allSatisfy { $0.headers["content-type"] == ["application/json"] })
        #expect(all.map(Self.names).prefix(2) == [Array(names.prefix(SpanQueue.batch)), Array(names.suffix(3))])
        // What the end cut off before its answer was read is posted once more.
        #expect(all.dropFirst(2).map(Self.names).allSatisfy { $0 == names.suffix(3) })
        #expect(self.log.lines.filter { $0.level > .info }.isEmpty)
    }

    /// It takes the connection and answers nothing: spans are begun and ended as before, the newest are kept, and nothing else.
    @Test func aCollectorThatStopsBlocksNothing() async throws {
        let asked = NIOLockedValueBox(0)
        self.add(["s-0"])
        try await self.exporting { _ in
            asked.withLockedValue { $0 += 1 }
            return .silence
        } _: {
            try await self.eventually { asked.withLockedValue { $0 } > 0 }
            self.add((0..<3 * SpanQueue.capacity).map { "s-\($0)" })
            #expect(self.queue.count == SpanQueue.capacity)
        }
        // What was on its way is older than all that wait.
        #expect(self.queue.count == SpanQueue.capacity)
        #expect(self.queue.take().first?.name == "s-\(2 * SpanQueue.capacity)")
    }

    /// A process ends although its collector never answers: without a farewell's end it would still wait for an answer, or for the
    /// next try.
    @Test func aCollectorThatNeverAnswersHoldsUpNoEnd() async throws {
        let asked = NIOLockedValueBox(0)
        var timing = self.timing
        (timing.answer, timing.pause, timing.longestPause) = (.seconds(3600), .seconds(3600), .seconds(3600))
        timing.farewell = .seconds(1)
        self.add(["s-0", "s-1"])
        try await self.exporting(timing) { _ in
            asked.withLockedValue { $0 += 1 }
            return .silence
        } _: {
            try await self.eventually { asked.withLockedValue { $0 } == 1 }
        }
        // It may have been asked once more, as far as a farewell's time went, and has taken nothing.
        #expect(1...2 ~= asked.withLockedValue { $0 })
        #expect(self.queue.count == 2)
    }

    @Test(arguments: [503, 429]) func aCollectorThatComesBackGetsWhatWaited(status: Int) async throws {
        let (taken, refusals) = (NIOLockedValueBox<[String]>([]), NIOLockedValueBox(3))
        self.add(["s-1", "s-2"])
        try await self.exporting { request in
            let isRefused = refusals.withLockedValue { left in
                left -= 1
                return left >= 0
            }
            if isRefused { return .answer(status) }
            taken.withLockedValue { $0 += Self.names(request) }
            return .answer(200)
        } _: {
            try await self.eventually { taken.withLockedValue { !$0.isEmpty } }
            try await self.eventually { self.log.lines.contains { $0.level == .notice } }
        }
        #expect(taken.withLockedValue { $0 } == ["s-1", "s-2"])
        // Once, however often it was asked.
        let warnings = self.log.lines.filter { $0.level == .warning }
        #expect(warnings.map { $0.fields["error"] } == ["it answers \(status)"])
    }

    private static let gone = "The collector refuses spans; they are gone, and so are further ones that it refuses"

    /// What it will never take is not offered again, and is not said to wait.
    @Test(arguments: [400, 404, 413]) func whatIsRefusedIsGone(status: Int) async throws {
        let asked = NIOLockedValueBox(0)
        self.add(["s-1"])
        try await self.exporting { _ in
            asked.withLockedValue { $0 += 1 }
            return .answer(status)
        } _: {
            try await self.eventually { self.log.lines.contains { $0.level == .warning } }
            self.add(["s-2"])
            try await self.eventually { asked.withLockedValue { $0 } == 2 }
        }
        #expect(self.queue.count == 0)
        let warnings = self.log.lines.filter { $0.level == .warning }
        #expect(warnings.map(\.message) == [Self.gone])
        #expect(warnings.map(\.fields) == [["spans": "1", "error": "it answers \(status)"]])
    }

    /// Of a batch that is taken some spans may not be, which OTLP says in the answer.
    @Test(arguments: [
        (#"{"partialSuccess":{"rejectedSpans":"2","errorMessage":"x"}}"#, "2"),
        (#"{"partialSuccess":{"rejectedSpans":2}}"#, "2"), (#"{"partialSuccess":{"rejectedSpans":"99"}}"#, "3"),
        (#"{"partialSuccess":{"rejectedSpans":"-1"}}"#, nil), (#"{"partialSuccess":{}}"#, nil),
        (#"{"partialSuccess":{"rejectedSpans":[]}}"#, nil), (#"{"partialSuccess":7}"#, nil), ("{", nil), ("", nil),
        ("[\(String(repeating: "0,", count: 50_000))0]", nil),
    ])
    func spansThatAreLeftOutAreCounted(answer: String, count: String?) async throws {
        let asked = NIOLockedValueBox<[[String]]>([])
        self.add(["s-1", "s-2", "s-3"])
        try await self.exporting { request in
            asked.withLockedValue { $0.append(Self.names(request)) }
            return .answer(200, body: Array(answer.utf8))
        } _: {
            try await self.eventually { asked.withLockedValue(\.count) == 1 }
            self.add(["s-4"])
            try await self.eventually { asked.withLockedValue(\.count) == 2 }
        }
        // Whatever it says, the batch is not offered again.
        #expect(asked.withLockedValue { $0.prefix(2) } == [["s-1", "s-2", "s-3"], ["s-4"]] && self.queue.count == 0)
        let warnings = self.log.lines.filter { $0.level == .warning }
        #expect(warnings.map { $0.fields["spans"] } == (count == nil ? [] : [count]))
        #expect(warnings.allSatisfy { $0.message == Self.gone })
    }

    @Test func whatIsLeftIsSentWhenTheProcessEnds() async throws {
        let taken = NIOLockedValueBox<[String]>([])
        var timing = self.timing
        timing.interval = .seconds(3600)
        try await self.exporting(timing) { request in
            taken.withLockedValue { $0 += Self.names(request) }
            return .answer(200)
        } _: {
            self.add(["s-1"])
        }
        #expect(taken.withLockedValue { $0 } == ["s-1"])
    }

    // MARK: The queue

    @Test func theOldestGo() {
        self.add((0..<SpanQueue.capacity + 5).map { "s-\($0)" })
        #expect(self.queue.count == SpanQueue.capacity)
        let batch = self.queue.take()
        #expect(batch.count == SpanQueue.batch && batch.first?.name == "s-5")
        self.add((0..<SpanQueue.batch - 2).map { "n-\($0)" })
        // There is room for two, and they go before the others again.
        self.queue.giveBack(batch)
        #expect(self.queue.count == SpanQueue.capacity)
        #expect(self.queue.take().prefix(2).map(\.name) == batch.suffix(2).map(\.name))
    }
}
