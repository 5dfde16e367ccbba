import Dispatch
import Foundation
import Testing

@testable import HTTPAPI

@Suite("Large bodies", .timeLimit(.minutes(1))) struct LargeWorkTests {
    private static func block(_ gate: DispatchSemaphore) { gate.wait() }

    /// As many as there are shared threads, and one more: were they worked on there, nothing else would go on.
    @Test func areWorkedOnWhereNobodyElseWaits() async throws {
        let work = LargeWork()
        let gate = DispatchSemaphore(value: 0)
        let count = ProcessInfo.processInfo.activeProcessorCount + 1
        try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<count {
                group.addTask {
                    try await work.run { () async throws -> Int in
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
}
