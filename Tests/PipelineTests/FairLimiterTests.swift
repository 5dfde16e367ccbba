import NIOConcurrencyHelpers
import PushModel
import Testing

@testable import Pipeline

@Suite(.timeLimit(.minutes(2))) struct WeightedGateTests {
    @Test func neverLetsInMoreThanItsPlaces() async throws {
        let gate = WeightedGate(places: 3)
        let inside = NIOLockedValueBox((now: 0, most: 0))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<50 {
                group.addTask {
                    try await gate.withPlace(.normal) {
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

    @Test func keepsAPlaceForUrgentWork() async throws {
        let gate = WeightedGate(places: 1)
        let first = try await gate.enter(.low, cost: 1)
        // Full for all but the urgent.
        let second = try await gate.enter(.high, cost: 1)
        let waiting = Task { _ = try await gate.enter(.normal, cost: 1) }
        try await Task.sleep(for: .milliseconds(20))
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        gate.leave(first)
        gate.leave(second)
    }

    @Test func sharesPlacesByWeight() async throws {
        let gate = WeightedGate(places: 1)
        let first = try await gate.enter(.high, cost: 1)
        let second = try await gate.enter(.high, cost: 1)
        let order = NIOLockedValueBox<[Priority]>([])
        try await withThrowingTaskGroup(of: Void.self) { group in
            for priority in Priority.allCases {
                for _ in 0..<26 {
                    group.addTask {
                        let place = try await gate.enter(priority, cost: 1)
                        order.withLockedValue { $0.append(priority) }
                        gate.leave(place)
                    }
                }
            }
            try await Task.sleep(for: .milliseconds(50))
            gate.leave(first)
            gate.leave(second)
            try await group.waitForAll()
        }
        // While urgent work waits, the ordinary place serves 8 : 4 : 1 and the reserved one is all urgent.
        let early = order.withLockedValue { Array($0.prefix(36)) }
        #expect((4...12).contains(early.filter { $0 == .normal }.count))
        #expect((1...4).contains(early.filter { $0 == .low }.count))
    }

    @Test func whoAsksForTheWholeGateIsAlone() async throws {
        let gate = WeightedGate(places: 4)
        let inside = NIOLockedValueBox(0)
        let collisions = NIOLockedValueBox(0)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<60 {
                group.addTask {
                    if number.isMultiple(of: 6) {
                        try await gate.alone {
                            let others = inside.withLockedValue { $0 }
                            try await Task.sleep(for: .milliseconds(1))
                            if others + inside.withLockedValue({ $0 }) > 0 { collisions.withLockedValue { $0 += 1 } }
                        }
                    } else {
                        try await gate.withPlace(.normal) {
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

    @Test func largeWorkTakesManyPlaces() async throws {
        let gate = WeightedGate(places: 10)
        let large = try await gate.enter(.normal, cost: 7)
        let small = try await gate.enter(.normal, cost: 3)
        let next = Task { try await gate.enter(.normal, cost: 4) }
        gate.leave(small)
        try await Task.sleep(for: .milliseconds(20))
        gate.leave(large)
        let place = try await next.value
        #expect(place.kind == .ordinary(4))
        // More than there is means all there is.
        gate.leave(place)
        #expect(try await gate.enter(.low, cost: 1000).kind == .ordinary(10))
    }

    @Test func anAppThatFillsTheGateLeavesAnEntranceToOthers() async throws {
        let gate = WeightedGate(places: 4, slowAfter: .seconds(3600))
        let (big, small) = (try AppID("big"), try AppID("small"))
        for _ in 0..<4 { _ = try await gate.enter(.normal, cost: 1, app: big) }
        let guest = try await gate.enter(.normal, cost: 1, app: small)
        #expect(guest.kind == .guest)
        gate.leave(guest)
        let again = try await gate.enter(.low, cost: 1, app: small)
        #expect(again.kind == .guest)
    }

    @Test func theAppThatHasLeastInsideIsNext() async throws {
        let gate = WeightedGate(places: 3, slowAfter: .seconds(3600))
        let (big, small) = (try AppID("big"), try AppID("small"))
        for _ in 0..<2 { _ = try await gate.enter(.normal, cost: 1, app: big) }
        let place = try await gate.enter(.normal, cost: 1, app: small)
        let order = NIOLockedValueBox<[AppID]>([])
        try await withThrowingTaskGroup(of: Void.self) { group in
            for app in [big, big, small] {
                group.addTask {
                    let place = try await gate.enter(.normal, cost: 1, app: app)
                    order.withLockedValue { $0.append(app) }
                    gate.leave(place)
                }
                try await Task.sleep(for: .milliseconds(50))
            }
            gate.leave(place)
            try await group.waitForAll()
        }
        #expect(order.withLockedValue { $0 } == [small, big, big])
    }

    @Test func slowAppsShareHalfAndWhatWaitsOfThemIsRefused() async throws {
        let gate = WeightedGate(places: 4, slowAfter: .milliseconds(50))
        let (sick, well) = (try AppID("sick"), try AppID("well"))
        var places: [WeightedGate.Place] = []
        for _ in 0..<4 { places.append(try await gate.enter(.normal, cost: 1, app: sick)) }
        let refused = NIOLockedValueBox(0)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<5 {
                group.addTask {
                    do {
                        _ = try await gate.enter(.normal, cost: 1, app: sick)
                    } catch is WeightedGate.Refusal {
                        refused.withLockedValue { $0 += 1 }
                    } catch is CancellationError {
                        return
                    }
                }
            }
            try await Task.sleep(for: .milliseconds(200))
            gate.refuse()
            while refused.withLockedValue({ $0 }) < 3 { try await Task.sleep(for: .milliseconds(5)) }
            // Half of the places stay free of it.
            for place in places.prefix(3) { gate.leave(place) }
            let first = try await gate.enter(.normal, cost: 1, app: well)
            #expect(first.kind == .ordinary(1))
            group.cancelAll()
        }
        #expect(refused.withLockedValue { $0 } == 3)
    }

    @Test func aCancelledWaiterLeavesNoTrace() async throws {
        let gate = WeightedGate(places: 1)
        let place = try await gate.enter(.normal, cost: 1)
        let tasks = (0..<20).map { _ in Task { _ = try await gate.enter(.normal, cost: 1) } }
        for task in tasks { task.cancel() }
        for task in tasks { await #expect(throws: CancellationError.self) { try await task.value } }
        gate.leave(place)
        try await gate.withPlace(.normal) {}
    }
}
