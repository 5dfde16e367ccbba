import NIOConcurrencyHelpers
import PushModel
import Testing
import TokenIssuer
import Undisturbed

@testable import JSONWebTokens

/// An issuer's key set as a test wants it, and how often it was read.
private final class Document: Sendable {
    private struct State {
        var answer: Result<[UInt8], KeySetFault>
        var delay = Duration.zero
        var isHeld = false
        var reads = 0
    }

    private let state: NIOLockedValueBox<State>

    init(_ keys: [JSONValue]) throws {
        self.state = NIOLockedValueBox(State(answer: .success(try TokenIssuer.shared.get().keySet(keys))))
    }

    var reads: Int { self.state.withLockedValue { $0.reads } }

    func set(_ keys: [JSONValue]) throws {
        let document = try TokenIssuer.shared.get().keySet(keys)
        self.state.withLockedValue { $0.answer = .success(document) }
    }

    func fail() { self.state.withLockedValue { $0.answer = .failure(KeySetFault("is away")) } }

    /// The file is deleted, or the address answers 404.
    func remove() { self.state.withLockedValue { $0.answer = .failure(KeySetFault("is gone", isGone: true)) } }

    func slow(_ delay: Duration) { self.state.withLockedValue { $0.delay = delay } }

    /// No read ends while it is held.
    func hold(_ isHeld: Bool) { self.state.withLockedValue { $0.isHeld = isHeld } }

    func read() async throws(KeySetFault) -> [UInt8] {
        let (answer, delay) = self.state.withLockedValue { state in
            state.reads += 1
            return (state.answer, state.delay)
        }
        try? await Task.sleep(for: delay)
        while self.state.withLockedValue(\.isHeld) { try? await Task.sleep(for: .milliseconds(5)) }
        return try answer.get()
    }

    /// A cache of it that reads again after these times.
    func cache(
        refresh: Duration = .seconds(600),
        idle: Duration = .seconds(600),
        retry: Duration = .seconds(60),
        unknownKey: Duration = .seconds(60),
        stale: Duration = .seconds(86_400),
        waiting: WaitLimit = WaitLimit(100)
    ) -> KeyCache {
        var timing = KeyCache.Timing(.address(url: "", trustFile: nil))
        (timing.refresh, timing.idle) = (refresh, idle)
        (timing.retry, timing.firstRetry) = (retry, retry)
        timing.unknownKey = unknownKey
        timing.stale = stale
        return KeyCache(timing: timing, waiting: waiting, logger: .quiet) { () throws(KeySetFault) in
            try await self.read()
        }
    }
}

@Suite(.timeLimit(.minutes(5)), .undisturbed) struct KeyCacheTests {
    private let issuer: TokenIssuer

    init() throws { self.issuer = try TokenIssuer.shared.get() }

    /// Waits until a read that nobody waits for has happened.
    private func wait(until condition: () async throws -> Bool) async throws {
        while try await !condition() { try await Task.sleep(for: .milliseconds(2)) }
    }

    private static let unknown = TokenRefusal.invalid("the token's `kid` is not in the issuer's key set")

    @Test func keysAreReadOnceForAll() async throws {
        let document = try Document([self.issuer.p256Key()])
        document.slow(.milliseconds(50))
        let cache = document.cache()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<50 { group.addTask { _ = try await cache.key(id: "ec", for: .es256) } }
            try await group.waitForAll()
        }
        #expect(document.reads == 1)
    }

    @Test func keysAreReadAgainInTheBackground() async throws {
        let document = try Document([self.issuer.p256Key()])
        let cache = document.cache(refresh: .milliseconds(10))
        _ = try await cache.key(id: "ec", for: .es256)
        // Whoever waited for this read would wait as long as the test may take.
        document.hold(true)
        defer { document.hold(false) }
        while document.reads == 1 {
            _ = try await cache.key(id: "ec", for: .es256)
            try await Task.sleep(for: .milliseconds(5))
        }
        _ = try await cache.key(id: "ec", for: .es256)
    }

    /// Nobody came for hours: what was read then says nothing about now.
    @Test func theFirstTokensInALongTimeWaitForAFreshRead() async throws {
        let document = try Document([self.issuer.p256Key()])
        let cache = document.cache(refresh: .milliseconds(100), idle: .milliseconds(110))
        _ = try await cache.key(id: "ec", for: .es256)
        try document.set([self.issuer.p256Key(id: "new")])
        document.slow(.milliseconds(50))
        try await Task.sleep(for: .milliseconds(150))
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<10 {
                group.addTask {
                    await #expect(throws: Self.unknown) { try await cache.key(id: "ec", for: .es256) }
                }
            }
        }
    }

    /// The read of the first token in a long time, and another for its unknown key, would be twice the time that one may take.
    @Test func aTokenWaitsForOneReadAtMost() async throws {
        let document = try Document([self.issuer.p256Key()])
        let cache = document.cache(refresh: .zero, idle: .zero, retry: .zero, unknownKey: .zero)
        _ = try await cache.key(id: "ec", for: .es256)
        document.fail()
        let reads = document.reads
        await #expect(throws: TokenRefusal.noKeys) { try await cache.key(id: "another", for: .es256) }
        #expect(document.reads == reads + 1)
    }

    @Test func aRemovedKeyIsNotTaken() async throws {
        let document = try Document([self.issuer.p256Key()])
        let cache = document.cache(refresh: .milliseconds(5))
        _ = try await cache.key(id: "ec", for: .es256)
        try document.set([self.issuer.p256Key(id: "new")])
        try await self.wait { (try? await cache.key(id: "ec", for: .es256)) == nil }
        _ = try await cache.key(id: "new", for: .es256)
    }

    /// Whoever empties the set, or removes it, shuts out all tokens.
    @Test(arguments: [false, true])
    func aRemovedLastKeyIsNotTaken(isDeleted: Bool) async throws {
        let document = try Document([self.issuer.p256Key()])
        let cache = document.cache(refresh: .milliseconds(5), retry: .milliseconds(5))
        _ = try await cache.key(id: "ec", for: .es256)
        if isDeleted { document.remove() } else { try document.set([]) }
        try await self.wait { (try? await cache.key(id: "ec", for: .es256)) == nil }
        await #expect(throws: Self.unknown) { try await cache.key(id: "ec", for: .es256) }
        // Then it is away: what was removed does not come back.
        document.fail()
        let reads = document.reads
        try await self.wait {
            #expect((try? await cache.key(id: "ec", for: .es256)) == nil)
            return document.reads > reads + 1
        }
        try document.set([self.issuer.p256Key(id: "new")])
        try await self.wait { (try? await cache.key(id: "new", for: .es256)) != nil }
    }

    @Test func oldKeysAreNotUsedForEver() async throws {
        let document = try Document([self.issuer.p256Key()])
        let cache = document.cache(refresh: .milliseconds(5), retry: .milliseconds(5), stale: .milliseconds(200))
        _ = try await cache.key(id: "ec", for: .es256)
        document.fail()
        try await self.wait { (try? await cache.key(id: "ec", for: .es256)) == nil }
        await #expect(throws: TokenRefusal.noKeys) { try await cache.key(id: "ec", for: .es256) }
        try document.set([self.issuer.p256Key()])
        try await self.wait { (try? await cache.key(id: "ec", for: .es256)) != nil }
    }

    @Test func aNewKeyIsFetchedAtOnceAndThenOnceAMinute() async throws {
        let document = try Document([self.issuer.p256Key()])
        let cache = document.cache()
        _ = try await cache.key(id: "ec", for: .es256)
        try document.set([self.issuer.p256Key(), self.issuer.p256Key(id: "new")])
        _ = try await cache.key(id: "new", for: .es256)
        #expect(document.reads == 2)
        for number in 0..<100 {
            await #expect(throws: Self.unknown) { try await cache.key(id: "invented \(number)", for: .es256) }
        }
        #expect(document.reads == 2)
        let impatient = document.cache(unknownKey: .zero)
        for _ in 0..<3 { await #expect(throws: Self.unknown) { try await impatient.key(id: "x", for: .es256) } }
        #expect(document.reads == 5)
    }

    @Test func oldKeysAreUsedWhileTheIssuerIsDown() async throws {
        let document = try Document([self.issuer.p256Key()])
        let cache = document.cache(refresh: .milliseconds(5), retry: .milliseconds(5), unknownKey: .milliseconds(5))
        _ = try await cache.key(id: "ec", for: .es256)
        document.fail()
        try await self.wait {
            _ = try await cache.key(id: "ec", for: .es256)
            return document.reads > 3
        }
        // Nobody can say whether the issuer has such a key.
        await #expect(throws: TokenRefusal.noKeys) { try await cache.key(id: "new", for: .es256) }
        try document.set([self.issuer.p256Key(id: "new")])
        try await self.wait { (try? await cache.key(id: "new", for: .es256)) != nil }
    }

    @Test func withoutAnyKeysReadsHaveAPause() async throws {
        let document = try Document([])
        document.fail()
        let cache = document.cache(retry: .seconds(60))
        for _ in 0..<50 { await #expect(throws: TokenRefusal.noKeys) { try await cache.key(id: "ec", for: .es256) } }
        #expect(document.reads == 1)
        let soon = document.cache(retry: .milliseconds(1))
        await #expect(throws: TokenRefusal.noKeys) { try await soon.key(id: "ec", for: .es256) }
        try document.set([self.issuer.p256Key()])
        try await self.wait { (try? await soon.key(id: "ec", for: .es256)) != nil }
    }

    /// Invented keys must not hold every request while issuers are slow, of however many apps.
    @Test func slowIssuersHoldFewRequests() async throws {
        let document = try Document([self.issuer.p256Key()])
        let waiting = WaitLimit(3)
        let caches = [document.cache(waiting: waiting), document.cache(waiting: waiting)]
        for cache in caches { _ = try await cache.key(id: "ec", for: .es256) }
        document.hold(true)
        let refusals = await withTaskGroup(of: TokenRefusal?.self) { group in
            for number in 0..<20 {
                let cache = caches[number % 2]
                group.addTask {
                    do throws(TokenRefusal) { _ = try await cache.key(id: "x", for: .es256) } catch { return error }
                    return nil
                }
            }
            var refusals: [TokenRefusal?] = []
            for await refusal in group {
                refusals.append(refusal)
                // All have come: those who are left wait for a read.
                if refusals.count == 17 { document.hold(false) }
            }
            return refusals
        }
        #expect(refusals.prefix(17).allSatisfy { $0 == .busy })
        #expect(refusals.count { $0 == Self.unknown } == 3)
    }
}
