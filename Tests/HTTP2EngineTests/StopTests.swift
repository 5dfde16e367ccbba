import Foundation
import Logging
import NIOConcurrencyHelpers
import NIOPosix
import RawHTTP
import Testing
import Undisturbed

@testable import HTTP2Engine
@testable import PushlineSimulator

/// A request has its outcome by its deadline, wherever the peer stops.
@Suite(.timeLimit(.minutes(2)), .undisturbed) struct StopTests {
    private static let requestTime = Duration.milliseconds(300)

    private static func with(
        _ stop: StoppingPeer.Stop?,
        _ answer: StoppingPeer.Answer,
        _ adjust: (inout HTTP2Configuration) -> Void = { _ in },
        _ body: (StoppingPeer, HTTP2Client, NIOLockedValueBox<[HTTP2Stop]>) async throws -> Void
    ) async throws {
        let material = try KeyMaterial.load(folder: nil)
        let trust = FileManager.default.temporaryDirectory.appending(path: "authority-\(UUID().uuidString).pem")
        try Data(material.authorityPEM.utf8).write(to: trust)
        defer { try? FileManager.default.removeItem(at: trust) }
        let tls = try material.serverContext(protocols: ["h2"], takesCertificates: false)
        try await StoppingPeer.run(.http2, tls: tls, stopping: stop, answer: { _ in answer }) { peer in
            let stops = NIOLockedValueBox<[HTTP2Stop]>([])
            var configuration = HTTP2Configuration(host: "127.0.0.1", port: peer.port, trust: .file(trust.path))
            configuration.connectTimeout = .milliseconds(200)
            configuration.backoff = .milliseconds(20)
            adjust(&configuration)
            let client = try HTTP2Client(
                configuration: configuration,
                eventLoopGroup: MultiThreadedEventLoopGroup.singleton,
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
                stopped: { stop in stops.withLockedValue { $0.append(stop) } }
            )
            let result: Result<Void, any Error>
            do { result = .success(try await body(peer, client, stops)) } catch { result = .failure(error) }
            await client.close()
            try result.get()
        }
    }

    private static func ask(
        _ client: HTTP2Client,
        within time: Duration = StopTests.requestTime,
        isStopped: @escaping @Sendable () -> Bool = { false }
    ) async throws -> HTTP2Outcome {
        let exchange = HTTP2Exchange(
            count: 1,
            headers: try HTTP2HeaderBlock(method: "POST", authority: "127.0.0.1", fields: []),
            body: .shared(Array("hello".utf8)),
            sendBy: .now + .seconds(2),
            requestTimeout: time,
            isStopped: isStopped
        ) { _, head in head.appendPath("/push") }
        return try #require(await client.send(exchange).first)
    }

    @Test(arguments: StoppingPeer.Stop.allCases)
    func aRequestEndsWhereverThePeerStops(stop: StoppingPeer.Stop) async throws {
        try await Self.with(stop, .init(200)) { peer, client, stops in
            let start = ContinuousClock.now
            let outcome = try await Self.ask(client)
            // Until a connection is there requests wait for it: their deadline is that of sending.
            #expect(ContinuousClock.now - start < .seconds(2) + Self.requestTime + .seconds(1))
            switch (stop, outcome) {
            case (.connect, .notProcessed(.noConnection)), (.tls, .notProcessed(.noConnection)),
                (.settings, .notProcessed(.noConnection)):
                #expect(stops.withLockedValue { !$0.isEmpty && $0.allSatisfy { $0 == .connect } })
            case (.silence, .unanswered(.timeout)), (.head, .unanswered(.timeout)):
                #expect(stops.withLockedValue { $0 } == [.head])
            case (.body, .response(let answer)), (.frame, .response(let answer)), (.trailers, .response(let answer)):
                #expect(answer == HTTP2Response(status: 200))
                #expect(stops.withLockedValue { $0 } == [.body])
            default: Issue.record("\(outcome)")
            }
            try await peer.heal()
            let end = ContinuousClock.now + .seconds(20)
            var healed = outcome
            repeat {
                healed = try await Self.ask(client, within: .seconds(5))
            } while healed
                != .response(HTTP2Response(status: 200)) && ContinuousClock.now < end
            #expect(healed == .response(HTTP2Response(status: 200)))
        }
    }

    /// What it means stands in the body, which is not there.
    @Test(arguments: [400, 404, 410], [StoppingPeer.Stop.body, .frame, .trailers])
    func aRefusalWithoutItsBodyIsNoAnswer(status: Int, stop: StoppingPeer.Stop) async throws {
        try await Self.with(stop, .init(status, body: #"{"reason":"Unregistered"}"#)) { _, client, stops in
            let outcome = try await Self.ask(client)
            #expect(outcome == .unanswered(.timeout))
            #expect(stops.withLockedValue { $0 } == [.body])
        }
    }

    /// A connection on which nothing comes any more would stop later requests too, and the peer's others are well.
    @Test func aConnectionThatHasStoppedIsReplaced() async throws {
        try await Self.with(.frame, .init(200)) { peer, client, _ in
            #expect(try await Self.ask(client) == .response(HTTP2Response(status: 200)))
            try await peer.heal()
            #expect(try await Self.ask(client, within: .seconds(20)) == .response(HTTP2Response(status: 200)))
            for _ in 0..<500 where peer.closed == 0 { try await Task.sleep(for: .milliseconds(10)) }
            #expect(peer.closed == 1)
        }
    }

    @Test func ofABatchThatWasStoppedNothingIsSent() async throws {
        try await Self.with(nil, .init(200)) { peer, client, _ in
            let answered = try await Self.ask(client, within: .seconds(20))
            #expect(answered == .response(HTTP2Response(status: 200)))
            let stopped = try await Self.ask(client, isStopped: { true })
            #expect(stopped == .notProcessed(.stopped))
            #expect(peer.requests == 1)
        }
    }

    @Test func closingEndsWhatIsLeftAtItsDeadline() async throws {
        try await Self.with(.silence, .init(200)) { peer, client, _ in
            async let outcome = Self.ask(client, within: .seconds(60))
            while peer.requests == 0 { try await Task.sleep(for: .milliseconds(5)) }
            await client.close(by: .now)
            #expect(try await outcome == .unanswered(.connectionLost("the client is closed")))
        }
    }
}
