import NIOConcurrencyHelpers
import PushModel
import Testing

@testable import Authentication

/// Who is checked first, and who is turned away.
@Suite struct SignInQueuesTests {
    /// Queues whose time is told, with one thread.
    private struct Desk {
        static let memory = PasswordMemory(lifetime: .seconds(3600), capacity: 10)
        var queues: SignInQueues
        var now = ContinuousClock.now
        /// Requests by their names, as they were answered.
        let answers = NIOLockedValueBox<[String: String]>([:])

        init(capacity: Int = 64, threads: Int = 1) {
            self.queues = SignInQueues(threads: threads, capacity: capacity)
        }

        static func client(_ number: Int) -> IPAddress {
            IPAddress(bits: 0xFFFF << 32 | UInt128(number))
        }

        mutating func enter(
            _ name: String,
            _ client: Int,
            password: String = "x",
            stored: String? = nil,
            as request: String? = nil
        ) {
            let key = SignInQueues.Key(
                app: .default,
                name: ExactText(name),
                pair: Self.memory.pair(password, stored ?? "decoy")
            )
            let work = SignInQueues.Work(key: key, password: password, stored: stored)
            let (answers, request) = (self.answers, request ?? name)
            let turnedAway = self.queues.enter(work, client: Self.client(client), now: self.now) {
                result in
                answers.withLockedValue {
                    $0[request] = (try? result.get()).map { "\($0)" } ?? "turned away"
                }
            }
            self.turnAway(turnedAway)
        }

        private func turnAway(_ requests: [SignInQueues.Answer]) {
            for answer in requests { answer(.failure(SignInQueues.TurnedAway())) }
        }

        /// Begins the next check.
        mutating func next() -> SignInQueues.Work? {
            let (work, turnedAway) = self.queues.next(now: self.now)
            self.turnAway(turnedAway)
            return work
        }

        /// Does the next check to its end, and tells whose it was.
        mutating func check(isRight: Bool = false) -> String? {
            guard let work = self.next() else { return nil }
            self.end(work, isRight: isRight)
            return work.key.name.text
        }

        mutating func end(_ work: SignInQueues.Work, isRight: Bool = false) {
            for answer in self.queues.end(work.key, isRight: isRight, now: self.now) {
                answer(.success(isRight))
            }
        }

        /// Has the client be wrong so often, each time with another name.
        mutating func fail(client: Int, times: Int) {
            for time in 0..<times {
                self.enter("invented-\(client)-\(time)", client)
                _ = self.check()
            }
        }

        func answer(_ request: String) -> String? { self.answers.withLockedValue { $0[request] } }
    }

    @Test func clientsWithFailuresAreCheckedLater() {
        var desk = Desk()
        desk.fail(client: 1, times: 2)
        desk.enter("a", 1)
        desk.enter("b", 2)
        #expect((0..<2).compactMap { _ in desk.check(isRight: true) } == ["b", "a"])
        // Later, and not never.
        #expect(desk.answer("a") == "true")
    }

    @Test func namesWithFailuresAreCheckedLaterFromAnyClient() {
        var desk = Desk()
        for client in 1...3 {
            desk.enter("victim", client)
            #expect(desk.check() == "victim")
        }
        desk.enter("victim", 10, password: "right")
        desk.enter("somebody", 11)
        #expect((0..<2).compactMap { _ in desk.check(isRight: true) } == ["somebody", "victim"])
        #expect(desk.answer("victim") == "true")
    }

    @Test func theWorseRankOfNameAndClientCounts() {
        var desk = Desk()
        desk.fail(client: 1, times: 5)
        desk.enter("victim", 2)
        _ = desk.check()
        // Queue 2 by the client, queue 1 by the name, queue 0.
        desk.enter("clean", 1)
        desk.enter("victim", 3, password: "y")
        desk.enter("other", 4)
        #expect((0..<3).compactMap { _ in desk.check() } == ["other", "victim", "clean"])
    }

    @Test func theOwnerOfAGuessedNameIsCheckedBeforeTheGuessers() {
        var desk = Desk()
        for client in 1...20 {
            desk.enter("victim", client, password: "guess \(client)")
            _ = desk.check()
        }
        for client in 1...20 { desk.enter("victim", client, password: "again \(client)", as: "guess") }
        desk.enter("victim", 50, password: "right", stored: "hash")
        #expect(desk.next()?.password == "right")
    }

    @Test func unknownNamesAreCheckedInTheSameOrder() {
        var desk = Desk()
        for number in 0..<10 {
            desk.enter("n\(number)", number, stored: number.isMultiple(of: 2) ? nil : "hash")
        }
        #expect((0..<10).compactMap { _ in desk.check() } == (0..<10).map { "n\($0)" })
    }

    @Test func aClientHasOnlyOneEntryInTheBestQueue() {
        var desk = Desk()
        for number in 0..<20 { desk.enter("many-\(number)", 1) }
        desk.enter("one", 2)
        #expect(desk.check(isRight: true) == "many-0")
        #expect(desk.check(isRight: true) == "one")
    }

    @Test func aFullQueueDropsTheWorstRankForABetterOne() {
        var desk = Desk(capacity: 3)
        desk.fail(client: 1, times: 5)
        desk.fail(client: 2, times: 1)
        desk.enter("bad-1", 1)
        desk.enter("bad-2", 1)
        desk.enter("middle", 2)
        #expect(desk.queues.count == 3)
        // Not better than the worst.
        desk.enter("bad-3", 1)
        #expect(desk.answer("bad-3") == "turned away")
        desk.enter("clean-1", 3)
        #expect(desk.answer("bad-2") == "turned away")
        desk.enter("clean-2", 4)
        #expect(desk.answer("bad-1") == "turned away")
        desk.enter("clean-3", 5)
        #expect(desk.answer("middle") == "turned away")
        // Among equals who came first stays.
        desk.enter("clean-4", 6)
        #expect(desk.answer("clean-4") == "turned away")
        #expect(
            (0..<4).compactMap { _ in desk.check(isRight: true) } == ["clean-1", "clean-2", "clean-3"]
        )
    }

    @Test func aRepeatJoinsTheCheckUnderWay() throws {
        var desk = Desk()
        desk.enter("alice", 1, as: "first")
        desk.enter("alice", 1, as: "while it waits")
        desk.enter("alice", 1, password: "other", as: "another password")
        let begun = desk.next()
        let work = try #require(begun)
        desk.enter("alice", 2, as: "while it runs")
        desk.end(work, isRight: true)
        for request in ["first", "while it waits", "while it runs"] {
            #expect(desk.answer(request) == "true")
        }
        #expect(desk.answer("another password") == nil)
        #expect(desk.queues.count == 1)
        for number in 0..<20 { desk.enter("bob", 3, as: "bob-\(number)") }
        #expect((0..<20).filter { desk.answer("bob-\($0)") == "turned away" } == [16, 17, 18, 19])
    }

    @Test func repeatedRequestsDisplaceNoOthers() {
        var desk = Desk(capacity: 8)
        desk.fail(client: 1, times: 5)
        for request in 0..<10 { desk.enter("same", 1, as: "same-\(request)") }
        #expect((0..<10).filter { desk.answer("same-\($0)") == "turned away" } == [8, 9])
        desk.enter("clean", 2)
        #expect(desk.check(isRight: true) == "clean")
        #expect(desk.answer("same-0") == "turned away")
    }

    @Test func aRepeatFromABetterClientMovesTheCheckUp() {
        var desk = Desk()
        desk.fail(client: 1, times: 20)
        desk.enter("alice", 1)
        desk.enter("bob", 2)
        desk.enter("carol", 2)
        desk.enter("alice", 3)
        #expect((0..<3).compactMap { _ in desk.check(isRight: true) } == ["bob", "alice", "carol"])
    }

    @Test func everyQueueGetsItsShare() {
        var desk = Desk(capacity: 256)
        for (client, failures) in [(1, 1), (2, 5), (3, 20)] {
            desk.fail(client: client, times: failures)
        }
        for number in 0..<100 { desk.enter("best-\(number)", 100 + number) }
        var counts: [Character: Int] = [:]
        for _ in 0..<150 {
            // One each: checks that wait count against their client.
            for (client, name) in [(1, "1"), (2, "2"), (3, "3")] { desk.enter(name, client) }
            guard let name = desk.check(isRight: true) else { break }
            counts[name.first ?? "?", default: 0] += 1
        }
        for (queue, share) in [("b", 80), ("1", 40), ("2", 20), ("3", 10)] as [(Character, Int)] {
            #expect(abs(counts[queue, default: 0] - share) <= 2, "\(counts)")
        }
    }

    @Test func waitingChecksExpire() {
        var desk = Desk()
        desk.enter("a", 1)
        desk.now += .seconds(31)
        desk.enter("b", 2)
        #expect(desk.check(isRight: true) == "b")
        #expect(desk.answer("a") == "turned away")
        #expect(desk.answer("b") == "true")
    }

    @Test func checksRunOnEveryThreadAndNoMore() throws {
        var desk = Desk(threads: 2)
        for number in 0..<3 { desk.enter("n\(number)", number) }
        let begun = desk.next()
        let first = try #require(begun)
        #expect(desk.next()?.key.name == "n1")
        #expect(desk.next() == nil)
        desk.end(first)
        #expect(desk.next()?.key.name == "n2")
    }

    @Test func failuresExpireAndACorrectPasswordIsNoFailure() {
        var desk = Desk()
        desk.fail(client: 1, times: 3)
        desk.enter("right", 2)
        _ = desk.check(isRight: true)
        #expect(desk.queues.failing == (3, 1))
        desk.now += .seconds(3600)
        desk.enter("a", 1)
        desk.enter("b", 3)
        #expect(desk.check() == "a")
    }
}

/// What is kept of failures.
@Suite struct RecentFailuresTests {
    @Test func aFailureCountsHalfAfterItsHalfLife() {
        var failures = RecentFailures<Int>(halfLife: .seconds(10))
        let now = ContinuousClock.now
        failures.add(1, now: now)
        failures.add(1, now: now)
        #expect(failures.count(1, now: now) == 2)
        #expect(failures.count(1, now: now + .seconds(10)) == 1)
        #expect(failures.count(2, now: now) == 0)
    }

    @Test func inventedNamesNeitherFillTheMemoryNorDisplaceTheWorst() {
        var failures = RecentFailures<Int>(capacity: 100)
        let now = ContinuousClock.now
        for _ in 0..<20 { failures.add(-1, now: now) }
        for key in 0..<10_000 {
            failures.add(key, now: now)
            #expect(failures.keys <= 100)
        }
        #expect(failures.count(-1, now: now) == 20)
        // What is over goes first.
        failures.add(-2, now: now + .seconds(3600))
        for key in 0..<90 { failures.add(key, now: now + .seconds(3600)) }
        #expect(failures.count(-2, now: now + .seconds(3600)) == 1)
    }
}
