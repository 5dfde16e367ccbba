import Callers
import HTTPTypes
import Hummingbird
import NIOCore
import PushModel
import Settings
import Testing
import Undisturbed

@testable import WebServing

@Suite(.undisturbed) struct CallerLimitTests {
    @Test func aBodyThatNeverArrivesIs408() async throws {
        var limits = ServingLimits()
        limits.settings.requestTime = .milliseconds(50)
        let (body, source) = AsyncStream<ByteBuffer>.makeStream()
        source.yield(ByteBuffer(string: "{"))
        let head = HTTPRequest(method: .post, scheme: "http", authority: "localhost", path: "/api/sends")
        let request = Request(head: head, body: RequestBody(asyncSequence: body))
        let reader = BodyReader(limits: limits, large: LargeBodies(limits: limits))
        let problem = await #expect(throws: Problem.self) {
            try await reader.read(
                request,
                kind: .limited,
                caller: .user("alice"),
                connection: BodyConnection(end: { source.finish() })
            )
        }
        #expect(problem?.status == .requestTimeout)
    }

    @Test func theRateLimitRefillsWithTime() throws {
        let limiter = RateLimiter()
        let caller = Caller(app: .default, identity: .key("k"), role: .sender)
        let start = ContinuousClock.now
        for _ in 0..<2 { #expect(limiter.take(caller, rate: 2, now: start) == nil) }
        #expect(limiter.take(caller, rate: 2, now: start) == 1)
        // Another role is not another caller.
        let other = Caller(app: .default, identity: .key("k"), role: .user)
        #expect(limiter.take(other, rate: 2, now: start) == 1)
        #expect(limiter.take(caller, rate: 2, now: start + .milliseconds(600)) == nil)
        #expect(limiter.take(caller, rate: 2, now: start + .milliseconds(700)) == 1)
        for _ in 0..<2 { #expect(limiter.take(caller, rate: 2, now: start + .seconds(100)) == nil) }
        #expect(limiter.take(caller, rate: 2, now: start + .seconds(100)) != nil)
    }

    @Test func anInterruptedBodyIsA4xx() async throws {
        struct Broken: Error {}
        let pieces = AsyncThrowingStream<ByteBuffer, any Error> { stream in
            stream.yield(ByteBuffer(string: "{"))
            stream.finish(throwing: Broken())
        }
        let head = HTTPRequest(method: .post, scheme: nil, authority: nil, path: "/api/sends")
        let request = Request(head: head, body: RequestBody(asyncSequence: pieces))
        var limits = ServingLimits()
        // Whatever else the machine has to do.
        limits.settings.requestTime = .seconds(600)
        let reader = BodyReader(limits: limits, large: LargeBodies(limits: limits))
        let problem = await #expect(throws: Problem.self) {
            try await reader.read(
                request,
                kind: .limited,
                caller: .user("alice"),
                connection: BodyConnection(end: {})
            )
        }
        #expect(problem?.status == .badRequest)
    }

    @Test func largeSendsOfOneCallerDoNotBlockOthers() async throws {
        var limits = ServingLimits()
        limits.settings.bodySize = 100
        limits.settings.sendSize = 4 << 20
        // Whatever else the machine has to do.
        limits.settings.requestTime = .seconds(600)
        let reader = BodyReader(limits: limits, large: LargeBodies(limits: limits))
        func read(_ size: Int, as user: String) async throws -> BodyReader.Body {
            let head = HTTPRequest(method: .post, scheme: "http", authority: "localhost", path: "/api/sends")
            let body = RequestBody(buffer: ByteBuffer(repeating: 0x20, count: size))
            return try await reader.read(
                Request(head: head, body: body),
                kind: .send,
                caller: .user(user),
                connection: BodyConnection(end: {})
            )
        }
        // It is not said how long they are: each takes twice what it may be, of 96 MiB.
        var held: [BodyReader.Body] = []
        for _ in 0..<10 { held.append(try await read(101, as: "alice")) }
        let problem = await #expect(throws: Problem.self) { try await read(101, as: "alice") }
        #expect(problem?.status == .serviceUnavailable && problem?.headers[.retryAfter] == "1")
        #expect(try await read(100, as: "alice").bytes.count == 100)
        held.append(try await read(101, as: "bob"))
        await #expect(throws: Problem.self) { try await read(101, as: "bob") }
        held.append(try await read(101, as: "eve"))
        await #expect(throws: Problem.self) { try await read(101, as: "dan") }
        held.removeFirst(3)
        #expect(try await read(101, as: "alice").bytes.count == 101)
    }
}
