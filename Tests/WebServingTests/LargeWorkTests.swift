import Callers
import Dispatch
import Foundation
import HTTPTypes
import Hummingbird
import NIOConcurrencyHelpers
import NIOCore
import PushModel
import Settings
import Testing
import Undisturbed

@testable import WebServing

@Suite("Large bodies", .timeLimit(.minutes(5)), .undisturbed) struct LargeWorkTests {
    private static func block(_ gate: DispatchSemaphore) { gate.wait() }

    /// As many as there are shared threads, and one more: were they worked on there, nothing else would go on.
    @Test func areWorkedOnWhereNobodyElseWaits() async throws {
        let work = LargeWork()
        let gate = DispatchSemaphore(value: 0)
        let count = ProcessInfo.processInfo.activeProcessorCount + 1
        try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<count {
                group.addTask {
                    try await work.run(for: .default) { () async throws -> Int in
                        // What follows a wait is there, too.
                        await Task.yield()
                        Self.block(gate)
                        return number
                    }
                }
            }
            // The others go on while the first of them has the thread.
            for _ in 0..<1000 { await Task { await Task.yield() }.value }
            for _ in 0..<count { gate.signal() }
            var done: Set<Int> = []
            for try await number in group { done.insert(number) }
            #expect(done.count == count)
        }
    }

    @Test func whoeverIsGoneBeforeItsTurnIsNotWorkedOn() async throws {
        var serving = ServingLimits()
        serving.settings.requestTime = .seconds(600)
        let large = LargeBodies(limits: serving)
        let limits = CallerLimits(limits: serving, large: large)
        let (isHeld, hasBegun) = (NIOLockedValueBox(false), NIOLockedValueBox(false))
        let gate = DispatchSemaphore(value: 0)
        let holding = Task {
            await large.thread.run(for: .default) {
                isHeld.withLockedValue { $0 = true }
                Self.block(gate)
            }
        }
        while !isHeld.withLockedValue({ $0 }) { await Task.yield() }
        let waiting = Task {
            let head = HTTPRequest(method: .post, scheme: "http", authority: "localhost", path: "/api/sends/preview")
            let body = RequestBody(buffer: ByteBuffer(repeating: 0x20, count: LargeWork.least + 1))
            try await limits.work(
                Request(head: head, body: body),
                body: .send,
                caller: .user("alice"),
                spec: AppSpec(),
                connection: BodyConnection(end: {})
            ) { _ in hasBegun.withLockedValue { $0 = true } }
        }
        for _ in 0..<1000 { await Task { await Task.yield() }.value }
        waiting.cancel()
        gate.signal()
        await holding.value
        await #expect(throws: CancellationError.self) { try await waiting.value }
        #expect(!hasBegun.withLockedValue { $0 })
    }

    @Test func ofTwoAppsNeitherWaitsForAllOfTheOthers() async throws {
        let (work, other) = (LargeWork(), try AppID("other"))
        let gate = DispatchSemaphore(value: 0)
        let (isHeld, begun) = (NIOLockedValueBox(false), NIOLockedValueBox(0))
        let order = NIOLockedValueBox<[AppID]>([])
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                await work.run(for: .default) {
                    isHeld.withLockedValue { $0 = true }
                    Self.block(gate)
                }
            }
            while !isHeld.withLockedValue({ $0 }) { await Task.yield() }
            for app in Array(repeating: AppID.default, count: 40) + [other, other] {
                group.addTask {
                    begun.withLockedValue { $0 += 1 }
                    await work.run(for: app) { order.withLockedValue { $0.append(app) } }
                }
            }
            while begun.withLockedValue({ $0 }) < 42 { await Task.yield() }
            // All of them are in their lines.
            for _ in 0..<1000 { await Task { await Task.yield() }.value }
            gate.signal()
        }
        let done = order.withLockedValue { $0 }
        let places = done.indices.filter { done[$0] == other }
        #expect(places.count == 2 && places.allSatisfy { $0 <= 4 }, "\(places)")
    }
}
