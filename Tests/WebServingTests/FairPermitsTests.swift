import Callers
import PushModel
import Synchronization
import Testing

@testable import WebServing

/// Nobody gets all permits, and whoever has few gets some.
@Suite struct FairPermitsTests {
    /// How many of them the caller gets.
    private static func take(_ most: Int, of permits: FairPermits, for caller: Caller) -> Int {
        (0..<most).count { _ in permits.take(for: caller) }
    }

    @Test(arguments: [(1024, 896), (16, 14), (8, 7), (4, 3), (3, 2), (2, 1), (1, 1), (0, 0)])
    func oneCallerGetsAllPermitsButTheReserve(capacity: Int, most: Int) {
        let permits = FairPermits(capacity)
        #expect(Self.take(2000, of: permits, for: .user("mallory")) == most)
        // One of what is left is anybody's.
        #expect(Self.take(1, of: permits, for: .user("alice")) == (capacity > 1 ? 1 : 0))
        #expect(Self.take(1, of: permits, for: .user("mallory")) == 0)
    }

    @Test func eachFurtherCallerGetsLessOfTheReserve() {
        let permits = FairPermits(1024)
        _ = Self.take(2000, of: permits, for: .user("mallory"))
        var taken: [Int] = []
        for number in 0..<20 { taken.append(Self.take(2000, of: permits, for: .user("mallory\(number)"))) }
        #expect(taken.first == 14)
        #expect(taken == taken.sorted(by: >))
        // 21 callers take all they can, and there are some for others.
        for number in 0..<8 { #expect(permits.take(for: .user("alice\(number)"))) }
    }

    @Test func manyCallersOfOneAppLeavePermitsForAnotherApp() throws {
        let other = try AppID("other")
        let permits = FairPermits(64)
        // It has asked once, and holds nothing.
        #expect(permits.take(for: .user("bob", app: other)))
        permits.release(of: .user("bob", app: other))
        let callers = (0..<100).map { Caller.user("mallory\($0)") }
        #expect(callers.count { permits.take(for: $0) } == 60)
        #expect((0..<100).count { permits.take(for: .user("bob\($0)", app: other)) } == 4)
        // As long as it has not had its half, what comes free is its own.
        for caller in callers.prefix(4) { permits.release(of: caller) }
        #expect(!permits.take(for: .user("mallory")))
        #expect(permits.take(for: .user("eve", app: other)))
    }

    @Test func oneCallerLeavesPermitsForOthersOfItsApp() throws {
        let other = try AppID("other")
        let permits = FairPermits(16)
        #expect(permits.take(for: .user("bob", app: other)))
        permits.release(of: .user("bob", app: other))
        #expect(Self.take(100, of: permits, for: .user("mallory")) == 14)
        #expect(permits.take(for: .user("alice")))
        #expect(permits.take(for: .user("bob", app: other)))
    }

    @Test func anAppAloneMayHoldAllPermits() {
        let permits = FairPermits(64)
        #expect((0..<100).count { permits.take(for: .user("user\($0)")) } == 64)
    }

    @Test func aLargeRequestCountsAsManyPermits() {
        let permits = FairPermits(80)
        #expect(permits.take(40, for: .user("mallory")))
        #expect(!permits.take(31, for: .user("mallory")))
        #expect(permits.take(30, for: .user("mallory")))
        // From the reserve, one who holds none, as much as there is.
        #expect(!permits.take(11, for: .user("alice")))
        #expect(permits.take(10, for: .user("alice")))
        permits.release(40, of: .user("mallory"))
        #expect(permits.take(20, for: .user("alice")))
    }

    @Test func aPermitIsReleasedWithItsLastOwner() {
        let idle = Atomic(0)
        let permits = FairPermits(2) { idle.wrappingAdd(1, ordering: .relaxed) }
        var first = permits.permit(for: .user("alice"))
        #expect(first != nil)
        #expect(permits.permit(for: .user("alice")) == nil)
        var second = permits.permit(for: .user("bob"))
        #expect(second != nil)
        second = nil
        #expect(idle.load(ordering: .relaxed) == 0)
        first = nil
        #expect(idle.load(ordering: .relaxed) == 1)
        #expect(permits.take(for: .user("alice")))
    }
}
