import NIOConcurrencyHelpers
import PushModel
import Testing
import Undisturbed

@testable import Pipeline

@Suite(.timeLimit(.minutes(2)), .undisturbed) struct FairLimiterTests {
    @Test func neverAdmitsMoreThanItsPermits() async throws {
        let limiter = FairLimiter(permits: 3)
        let inside = NIOLockedValueBox((now: 0, most: 0))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<50 {
                group.addTask {
                    try await limiter.withPermit(.normal) {
                        inside.withLockedValue {
                            $0.now += 1; $0.most = max($0.most, $0.now)
                        }
                        try await Task.sleep(for: .milliseconds(1))
                        inside.withLockedValue { $0.now -= 1 }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(inside.withLockedValue { $0.most } == 3)
        #expect(inside.withLockedValue { $0.now } == 0)
    }

    @Test func aSlotIsReservedForUrgentWork() async throws {
        let limiter = FairLimiter(permits: 1)
        let first = try await limiter.acquire(.low)
        // Full for all but the urgent.
        let second = try await limiter.acquire(.high)
        let waiting = Task { _ = try await limiter.acquire(.normal) }
        try await Task.sleep(for: .milliseconds(20))
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        limiter.release(first)
        limiter.release(second)
    }

    @Test func permitsAreSharedByWeight() async throws {
        let limiter = FairLimiter(permits: 1)
        let first = try await limiter.acquire(.high)
        let second = try await limiter.acquire(.high)
        let order = NIOLockedValueBox<[Priority]>([])
        try await withThrowingTaskGroup(of: Void.self) { group in
            for priority in Priority.allCases {
                for _ in 0..<26 {
                    group.addTask {
                        let permit = try await limiter.acquire(priority)
                        order.withLockedValue { $0.append(priority) }
                        limiter.release(permit)
                    }
                }
            }
            try await Task.sleep(for: .milliseconds(50))
            limiter.release(first)
            limiter.release(second)
            try await group.waitForAll()
        }
        // While urgent work waits, the ordinary permit serves 8 : 4 : 1 and the reserved one is all urgent.
        let early = order.withLockedValue { Array($0.prefix(36)) }
        #expect((4...12).contains(early.filter { $0 == .normal }.count))
        #expect((1...4).contains(early.filter { $0 == .low }.count))
    }

    @Test func exclusiveWorkRunsAlone() async throws {
        let limiter = FairLimiter(permits: 4)
        let inside = NIOLockedValueBox(0)
        let collisions = NIOLockedValueBox(0)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<60 {
                group.addTask {
                    if number.isMultiple(of: 6) {
                        try await limiter.exclusively(.normal) {
                            let others = inside.withLockedValue { $0 }
                            try await Task.sleep(for: .milliseconds(1))
                            if others + inside.withLockedValue({ $0 }) > 0 { collisions.withLockedValue { $0 += 1 } }
                        }
                    } else {
                        try await limiter.withPermit(.normal) {
                            inside.withLockedValue { $0 += 1 }
                            try await Task.sleep(for: .milliseconds(1))
                            inside.withLockedValue { $0 -= 1 }
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(collisions.withLockedValue { $0 } == 0)
    }

    @Test func largeWorkTakesManyPermits() async throws {
        let limiter = FairLimiter(permits: 10)
        let large = try await limiter.acquire(.normal, cost: 7)
        let small = try await limiter.acquire(.normal, cost: 3)
        let next = Task { try await limiter.acquire(.normal, cost: 4) }
        limiter.release(small)
        try await Task.sleep(for: .milliseconds(20))
        limiter.release(large)
        let permit = try await next.value
        #expect(permit.kind == .ordinary(4))
        // More than there is means all there is.
        limiter.release(permit)
        #expect(try await limiter.acquire(.low, cost: 1000).kind == .ordinary(10))
    }

    @Test func aTenantWithAllPermitsLeavesASlotToOthers() async throws {
        let limiter = FairLimiter(permits: 4, slowAfter: .seconds(3600))
        let (big, small) = (try AppID("big"), try AppID("small"))
        for _ in 0..<4 { _ = try await limiter.acquire(.normal, tenant: big) }
        let idle = try await limiter.acquire(.normal, tenant: small)
        #expect(idle.kind == .idleTenant)
        limiter.release(idle)
        let again = try await limiter.acquire(.low, tenant: small)
        #expect(again.kind == .idleTenant)
    }

    @Test func theTenantWithTheFewestPermitsIsNext() async throws {
        let limiter = FairLimiter(permits: 3, slowAfter: .seconds(3600))
        let (big, small) = (try AppID("big"), try AppID("small"))
        for _ in 0..<2 { _ = try await limiter.acquire(.normal, tenant: big) }
        let permit = try await limiter.acquire(.normal, tenant: small)
        let order = NIOLockedValueBox<[AppID]>([])
        try await withThrowingTaskGroup(of: Void.self) { group in
            for app in [big, big, small] {
                group.addTask {
                    let permit = try await limiter.acquire(.normal, tenant: app)
                    order.withLockedValue { $0.append(app) }
                    limiter.release(permit)
                }
                try await Task.sleep(for: .milliseconds(50))
            }
            limiter.release(permit)
            try await group.waitForAll()
        }
        #expect(order.withLockedValue { $0 } == [small, big, big])
    }

    @Test func slowTenantsShareHalfThePermitsAndTheirWaitersAreRejected() async throws {
        let limiter = FairLimiter(permits: 4, slowAfter: .milliseconds(50))
        let (sick, well) = (try AppID("sick"), try AppID("well"))
        var permits: [FairLimiter.Permit] = []
        for _ in 0..<4 { permits.append(try await limiter.acquire(.normal, tenant: sick)) }
        let rejected = NIOLockedValueBox(0)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<5 {
                group.addTask {
                    do {
                        _ = try await limiter.acquire(.normal, tenant: sick)
                    } catch is FairLimiter.Rejection {
                        rejected.withLockedValue { $0 += 1 }
                    } catch is CancellationError {
                        return
                    }
                }
            }
            try await Task.sleep(for: .milliseconds(200))
            limiter.rejectQueuedBehindSlowTenants()
            while rejected.withLockedValue({ $0 }) < 3 { try await Task.sleep(for: .milliseconds(5)) }
            // Half of the permits stay free of it.
            for permit in permits.prefix(3) { limiter.release(permit) }
            let first = try await limiter.acquire(.normal, tenant: well)
            #expect(first.kind == .ordinary(1))
            group.cancelAll()
        }
        #expect(rejected.withLockedValue { $0 } == 3)
    }

    /// Waits until a task waits for its permit: nothing tells, and a moment is enough.
    private func settle() async throws { try await Task.sleep(for: .milliseconds(50)) }

    @Test func exclusiveWorkBeginsAtTheLimitOfRedeliveries() async throws {
        let limiter = FairLimiter(permits: 3)
        for redeliveries in 0..<FairLimiter.exclusiveRedeliveries {
            let permit = try await limiter.acquire(.normal, redeliveries: redeliveries)
            #expect(permit.kind == .ordinary(1))
        }
        let exclusive = Task {
            _ = try await limiter.acquire(.normal, redeliveries: FairLimiter.exclusiveRedeliveries)
        }
        try await self.settle()
        exclusive.cancel()
        await #expect(throws: CancellationError.self) { try await exclusive.value }
        // It holds nobody up any more.
        #expect(try await limiter.acquire(.low).kind == .ordinary(1))
    }

    @Test func newUrgentWorkDoesNotWaitForExclusiveWork() async throws {
        let limiter = FairLimiter(permits: 1)
        let first = try await limiter.acquire(.normal)
        let exclusive = Task { try await limiter.acquire(.normal, redeliveries: 2) }
        try await self.settle()
        // While it waits for others to leave …
        let before = try await limiter.acquire(.high)
        #expect(before.kind == .urgent)
        limiter.release(first)
        // … and beside it; the urgent one that was there keeps nobody from being alone.
        let permit = try await exclusive.value
        #expect(permit.kind == .exclusive)
        limiter.release(before)
        let beside = try await limiter.acquire(.high)
        #expect(beside.kind == .urgent)
        limiter.release(beside)
        // Not so what was redelivered itself, or is not urgent.
        let others = NIOLockedValueBox<[Int]>([])
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (number, priority, redeliveries) in [(0, Priority.high, 1), (1, .normal, 0)] {
                group.addTask {
                    let permit = try await limiter.acquire(priority, redeliveries: redeliveries)
                    others.withLockedValue { $0.append(number) }
                    limiter.release(permit)
                }
            }
            try await self.settle()
            #expect(others.withLockedValue { $0 }.isEmpty)
            limiter.release(permit)
            try await group.waitForAll()
        }
    }

    @Test func anExclusiveWaiterBlocksOrdinaryAdmissions() async throws {
        let limiter = FairLimiter(permits: 4, slowAfter: .seconds(3600))
        let (big, small) = (try AppID("big"), try AppID("small"))
        let first = try await limiter.acquire(.normal, tenant: big)
        let order = NIOLockedValueBox<[String]>([])
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (name, priority, redeliveries) in [
                ("low", Priority.low, 2), ("normal", .normal, 3), ("high", .high, 2), ("other", .normal, 0),
            ] {
                group.addTask {
                    let permit = try await limiter.acquire(priority, tenant: small, redeliveries: redeliveries)
                    order.withLockedValue { $0.append(name) }
                    // As long as one holds it, no other is there.
                    try await Task.sleep(for: .milliseconds(10))
                    limiter.release(permit)
                }
                try await self.settle()
            }
            #expect(order.withLockedValue { $0 }.isEmpty)
            limiter.release(first)
            try await group.waitForAll()
        }
        #expect(order.withLockedValue { $0 } == ["high", "normal", "low", "other"])
    }

    @Test func cancelledWaitersHoldNoPermits() async throws {
        let limiter = FairLimiter(permits: 1)
        let permit = try await limiter.acquire(.normal)
        let tasks = (0..<20).map { _ in Task { _ = try await limiter.acquire(.normal) } }
        for task in tasks { task.cancel() }
        for task in tasks { await #expect(throws: CancellationError.self) { try await task.value } }
        limiter.release(permit)
        try await limiter.withPermit(.normal) {}
    }
}
