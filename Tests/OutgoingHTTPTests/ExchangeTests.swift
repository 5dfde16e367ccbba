import AsyncHTTPClient
import Dispatch
import Logging
import NIOConcurrencyHelpers
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import RawHTTP
import Testing
import Undisturbed

@testable import OutgoingHTTP
@testable import PushlineSimulator

/// An exchange ends by its deadline, wherever the server or the library stops.
@Suite(.timeLimit(.minutes(2)), .undisturbed) struct ExchangeTests {
    private static let deadline = Duration.milliseconds(400)

    private static func client(
        on group: any EventLoopGroup = .singletonMultiThreadedEventLoopGroup
    ) throws -> OutgoingClient {
        var configuration = HTTPClient.Configuration.outgoing(trustFile: nil)
        configuration.timeout.connect = .seconds(2)
        let authority = try NIOSSLCertificate.fromPEMBytes(Array(try KeyMaterial.load(folder: nil).authorityPEM.utf8))
        configuration.tlsConfiguration?.trustRoots = .certificates(authority)
        return OutgoingClient { [configuration] in
            HTTPClient(eventLoopGroupProvider: .shared(group), configuration: configuration)
        }
    }

    private static func with(
        _ stop: StoppingPeer.Stop?,
        status: Int = 201,
        _ body: (StoppingPeer, OutgoingClient) async throws -> Void
    ) async throws {
        let tls = try KeyMaterial.load(folder: nil).serverContext(protocols: ["http/1.1"], takesCertificates: false)
        let client = try Self.client()
        let result: Result<Void, any Error>
        do {
            try await StoppingPeer.run(.http1, tls: tls, stopping: stop, answer: { _ in .init(status) }) { peer in
                try await body(peer, client)
            }
            result = .success(())
        } catch { result = .failure(error) }
        await client.close()
        try result.get()
    }

    private static func ask(
        _ client: OutgoingClient,
        _ port: Int,
        within time: Duration = Self.deadline,
        logger: Logger = .quiet
    ) async -> Result<OutgoingAnswer, NoAnswer> {
        let request = OutgoingRequest(
            .POST,
            "https://127.0.0.1:\(port)/push?secret=1",
            body: ByteBuffer(string: "hello"),
            longestAnswer: 64
        )
        do throws(NoAnswer) {
            return .success(try await client.exchange(request, by: .now + time, with: Peer(.web, logger: logger)))
        } catch {
            return .failure(error)
        }
    }

    @Test(arguments: StoppingPeer.Stop.allCases)
    func anExchangeEndsWhereverTheServerStops(stop: StoppingPeer.Stop) async throws {
        try await Self.with(stop) { peer, client in
            let start = ContinuousClock.now
            let result = await Self.ask(client, peer.port)
            #expect(ContinuousClock.now - start < Self.deadline + .seconds(1))
            switch (stop, result) {
            case (.connect, .failure(let fault)), (.tls, .failure(let fault)):
                #expect(fault.isBeforeSending && fault.isStop, "\(fault)")
            case (.settings, .failure(let fault)), (.silence, .failure(let fault)), (.head, .failure(let fault)):
                #expect(!fault.isBeforeSending && fault.isStop, "\(fault)")
            case (.body, .success(let answer)), (.frame, .success(let answer)), (.trailers, .success(let answer)):
                #expect(answer.status == 201 && answer.body == .cut("did not end in time"))
            default: Issue.record("\(result)")
            }
            // Its connection is closed, so that no pool is full of such.
            if ![.connect, .tls].contains(stop) {
                try await eventually { peer.closed == 1 }
            }
            try await peer.heal()
            // Behind a connection that is still being made nothing is sent: until it is given up, requests are not begun.
            var healed = await Self.ask(client, peer.port, within: .seconds(20))
            for _ in 0..<10 where !healed.isAnswered {
                healed = await Self.ask(client, peer.port, within: .seconds(20))
            }
            #expect(try healed.get().body == .whole(ByteBuffer(string: "0123456789")))
        }
    }

    @Test func anAnswerThatIsTooLongIsCutOff() async throws {
        let tls = try KeyMaterial.load(folder: nil).serverContext(protocols: ["http/1.1"], takesCertificates: false)
        let client = try Self.client()
        let long = StoppingPeer.Answer(200, body: String(repeating: "x", count: 65))
        try await StoppingPeer.run(.http1, tls: tls, stopping: nil, answer: { _ in long }) { peer in
            let answer = try await Self.ask(client, peer.port, within: .seconds(20)).get()
            #expect(answer.status == 200 && answer.body == .tooLong)
        }
        await client.close()
    }

    /// The library's own thread is stuck: neither its deadline nor a cancellation is heard there.
    @Test func noLibraryOutlivesADeadline() async throws {
        try await Self.with(nil) { peer, _ in
            let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
            let client = try Self.client(on: group)
            let gate = DispatchSemaphore(value: 0)
            group.any().execute { gate.wait() }
            let start = ContinuousClock.now
            let result = await Self.ask(client, peer.port)
            #expect(ContinuousClock.now - start < Self.deadline + .seconds(1))
            if case .failure(let fault) = result {
                #expect(fault.isStop && fault.isBeforeSending)
            } else {
                Issue.record("\(result)")
            }
            let closing = ContinuousClock.now
            await client.close()
            #expect(ContinuousClock.now - closing < .seconds(1))
            gate.signal()
            try await group.shutdownGracefully()
        }
    }

    @Test func aCancelledExchangeEndsAtOnce() async throws {
        try await Self.with(.silence) { peer, client in
            let task = Task { await Self.ask(client, peer.port, within: .seconds(60)) }
            try await eventually { peer.requests == 1 }
            task.cancel()
            let fault = await #expect(throws: NoAnswer.self) { try await task.value.get() }
            #expect(fault?.isStop == false && fault?.isBeforeSending == false)
        }
    }

    @Test func whatStopsIsSaidOnceAMinuteAndNamesNoSecret() async throws {
        let lines = NIOLockedValueBox<[String]>([])
        let logger = Logger(label: "test") { _ in Recorder(lines) }
        let peer = Peer(.web, logger: logger)
        for _ in 0..<3 { peer.stopped(at: "push.example.net", .body) }
        peer.stopped(at: "push.example.net", .connect)
        peer.stopped(at: "other.example.net", .body)
        #expect(lines.withLockedValue(\.count) == 3)
        try await Self.with(.silence) { stopping, client in
            _ = await Self.ask(client, stopping.port, within: .milliseconds(100), logger: logger)
            let last = lines.withLockedValue(\.last)
            let line = try #require(last)
            #expect(line.contains("server.address=127.0.0.1:\(stopping.port)"), "\(line)")
            #expect(line.contains("stage=head"), "\(line)")
            #expect(!line.contains("secret"))
        }
    }
}

@Suite(.timeLimit(.minutes(5)), .undisturbed) struct DeadlineWatchTests {
    /// What hears of no cancellation.
    private final class Stuck: Sendable {
        private let waiting = NIOLockedValueBox<CheckedContinuation<Void, Never>?>(nil)

        func wait() async { await withCheckedContinuation { waiter in self.waiting.withLockedValue { $0 = waiter } } }

        func end() { self.waiting.withLockedValue { $0.take() }?.resume() }
    }

    @Test func whatDoesNotEndIsLeftToItself() async {
        let stuck = Stuck()
        let watch = DeadlineWatch()
        let start = ContinuousClock.now
        let result: Void? = await watch.run(until: start + .milliseconds(50)) { await stuck.wait() }
        #expect(result == nil)
        #expect(ContinuousClock.now - start < .seconds(1.05))
        stuck.end()
        #expect(await watch.run(until: .now + .seconds(60)) { 1 } == 1)
    }

    @Test func whatEndsWhenItIsCancelledHasItsSay() async {
        let result = await DeadlineWatch().run(until: .now, grace: .seconds(30)) {
            try? await Task.sleep(for: .seconds(60))
            return Task.isCancelled
        }
        #expect(result == true)
    }

    @Test func aLimitHoldsForWaitsUnderWayAndLaterOnes() async throws {
        let watch = DeadlineWatch()
        let (first, second) = (Stuck(), Stuck())
        async let early: Void? = watch.run(until: .now + .seconds(600)) { await first.wait() }
        watch.limit(to: .now)
        watch.limit(to: .now + .seconds(600))
        #expect(await early == nil)
        #expect(await watch.run(until: .now + .seconds(600)) { await second.wait() } == nil)
        first.end()
        second.end()
    }
}

/// Waits for a state.
private func eventually(_ condition: () -> Bool) async throws {
    while !condition() { try await Task.sleep(for: .milliseconds(5)) }
}

extension Logger {
    fileprivate static let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
}

/// Keeps each line's metadata.
private struct Recorder: LogHandler {
    private let lines: NIOLockedValueBox<[String]>
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.warning

    init(_ lines: NIOLockedValueBox<[String]>) { self.lines = lines }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { self.metadata[key] }
        set { self.metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let words = (event.metadata ?? [:]).map { "\($0.key)=\($0.value)" }.sorted().joined(separator: " ")
        self.lines.withLockedValue { $0.append("\(event.level) \(event.message) \(words)") }
    }
}

extension Result<OutgoingAnswer, NoAnswer> {
    fileprivate var isAnswered: Bool {
        if case .success = self { true } else { false }
    }
}
