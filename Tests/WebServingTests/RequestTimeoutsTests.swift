import HTTPTypes
import NIOCore
import NIOEmbedded
import NIOHTTPTypes
import Synchronization
import Testing
import Undisturbed

@testable import WebServing

/// What is not done in time is ended, and nothing else is.
@Suite(.undisturbed) struct RequestTimeoutsTests {
    @Test func lateWorkIsEndedOnce() async throws {
        let timeouts = RequestTimeouts(limit: .milliseconds(40))
        let (stream, source) = AsyncStream<Int>.makeStream()
        let ends = Atomic(0)
        await #expect(throws: RequestTimeouts.Overdue.self) {
            try await timeouts.run({ _ in for await _ in stream {} }) {
                ends.wrappingAdd(1, ordering: .relaxed)
                source.finish()
            }
        }
        try await Task.sleep(for: .milliseconds(100))
        #expect(ends.load(ordering: .relaxed) == 1)
    }

    @Test func workInTimeIsNotEnded() async throws {
        struct Fault: Error {}
        let timeouts = RequestTimeouts(limit: .milliseconds(300))
        let ends = Atomic(0)
        for _ in 0..<10 {
            let value = try await timeouts.run({ _ in 7 }) { ends.wrappingAdd(1, ordering: .relaxed) }
            #expect(value == 7)
            await #expect(throws: Fault.self) {
                try await timeouts.run({ _ in throw Fault() }) { ends.wrappingAdd(1, ordering: .relaxed) }
            }
        }
        try await Task.sleep(for: .milliseconds(500))
        #expect(ends.load(ordering: .relaxed) == 0)
    }

    /// One that is late is ended while others come and go.
    @Test func lateWorkIsEndedWhileOtherWorkComesAndGoes() async throws {
        let timeouts = RequestTimeouts(limit: .seconds(1))
        let (stream, source) = AsyncStream<Int>.makeStream()
        let late = Task { try await timeouts.run({ _ in for await _ in stream {} }) { source.finish() } }
        for _ in 0..<20 {
            // Whether it is in time is not the question here.
            try? await timeouts.run({ _ in }) {}
            try await Task.sleep(for: .milliseconds(20))
        }
        await #expect(throws: RequestTimeouts.Overdue.self) { try await late.value }
    }

    /// Work whose bytes go on coming is not late, and is so again when they stop.
    @Test func extendedWorkIsNotEnded() async throws {
        let timeouts = RequestTimeouts(limit: .seconds(1))
        let (stream, source) = AsyncStream<Int>.makeStream()
        let start = ContinuousClock.now
        await #expect(throws: RequestTimeouts.Overdue.self) {
            try await timeouts.run(
                { id in
                    for _ in 0..<20 {
                        timeouts.extend(id, by: .seconds(60))
                        try await Task.sleep(for: .milliseconds(100))
                    }
                    for await _ in stream {}
                },
                end: { source.finish() }
            )
        }
        // It never had more than its limit before it.
        let elapsed = ContinuousClock.now - start
        #expect(elapsed >= .milliseconds(2900) && elapsed < .seconds(600))
    }

    /// Whoever is late by a moment only does not spoil the connection's next request.
    @Test(arguments: [(false, false), (true, false), (true, true)])
    func aBodyEndsOnlyWhileItIsRead(isWhole: Bool, isFollowed: Bool) throws {
        let channel = EmbeddedChannel(handler: EarlyResponseHandler())
        let head = HTTPRequest(method: .post, scheme: "http", authority: "a", path: "/api/sends")
        try channel.writeInbound(HTTPRequestPart.head(head))
        try channel.writeInbound(HTTPRequestPart.body(ByteBuffer(string: "{")))
        if isWhole { try channel.writeInbound(HTTPRequestPart.end(nil)) }
        if isFollowed { try channel.writeInbound(HTTPRequestPart.head(head)) }
        try channel.triggerUserOutboundEvent(EarlyResponseHandler.BodyOverdue()).wait()
        if isWhole {
            try channel.throwIfErrorCaught()
        } else {
            #expect(throws: EarlyResponseHandler.BodyOverdue.self) { try channel.throwIfErrorCaught() }
        }
        _ = try channel.finish(acceptAlreadyClosed: true)
    }
}
