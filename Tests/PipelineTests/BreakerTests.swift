import PushModel
import PushServices
import PushlineSimulator
import Store
import StoreSQLite
import Testing

@testable import Pipeline

/// When a breaker opens, probes and closes.
struct BreakerTests {
    private let start = ContinuousClock.now

    private func failed(_ count: Int, after: Duration? = nil) -> Observation {
        Observation(
            Array(
                repeating: .retry(
                    after: after,
                    scope: .sender,
                    counts: true,
                    reason: "ServiceUnavailable",
                    status: 503
                ),
                count: count
            )
        )
    }

    private func accepted(_ count: Int) -> Observation { Observation(Array(repeating: .accepted, count: count)) }

    // The bad tokens are shared among so many users; nil = they are nobody's.
    private func dead(_ count: Int, of all: Int, users: Int? = nil) -> Observation {
        let dead = DeviceResult.dead(before: .now, reason: "BadDeviceToken", status: 400)
        var observation = Observation((0..<all).map { $0 < count ? dead : .accepted })
        if let users {
            observation.owners = (0..<count).map { UserName(known: "user\($0 % users)") }
        }
        return observation
    }

    private func breaker() -> Breaker { Breaker(Breaker.Configuration()) }

    /// One that has opened at ``start``.
    private func opened() -> Breaker {
        var breaker = self.breaker()
        _ = breaker.record(self.failed(100), as: .free, now: self.start)
        return breaker
    }

    @Test func opensOnARunOfFailures() {
        var breaker = self.breaker()
        #expect(breaker.record(self.failed(60), as: .free, now: self.start) == nil)
        // One that was taken between them is no proof of health, many are.
        #expect(breaker.record(self.accepted(1), as: .free, now: self.start) == nil)
        #expect(breaker.record(self.failed(40), as: .free, now: self.start) == nil)
        #expect(breaker.enter(now: self.start) == .free)
        let transition = breaker.record(self.failed(1), as: .free, now: self.start)
        #expect(transition == .opened(.service, reason: "the push service fails: 503 ServiceUnavailable"))
        guard case .refused(let pause, _) = breaker.enter(now: self.start) else { return #expect(Bool(false)) }
        #expect(pause == .seconds(5))
        var healthy = self.breaker()
        for _ in 0..<50 {
            #expect(healthy.record(self.failed(50), as: .free, now: self.start) == nil)
            #expect(healthy.record(self.accepted(50), as: .free, now: self.start) == nil)
        }
    }

    @Test func silenceAndRefusedCredentialsAreFailures() {
        for result in [DeviceResult.unanswered(reason: "no answer in time"), .misconfigured(reason: "x", status: 403)] {
            var breaker = self.breaker()
            let observation = Observation(Array(repeating: result, count: 100))
            #expect(breaker.record(observation, as: .free, now: self.start) != nil)
        }
        var breaker = self.breaker()
        let busy = DeviceResult.retry(after: nil, scope: .device, counts: true, reason: "TooManyRequests", status: 429)
        for result in [DeviceResult.unsent, .rejected(reason: "x", status: 400), busy] {
            let observation = Observation(Array(repeating: result, count: 1000))
            #expect(breaker.record(observation, as: .free, now: self.start) == nil)
        }
    }

    /// A channel's host is the device's choice: one that does not exist is no fault of the service.
    @Test func hostsThatDoNotAnswerSayNothingAboutWNS() {
        let unknown = DeviceResult.retry(after: nil, scope: .sender, counts: true, reason: "no such host", status: nil)
        for result in [unknown, .unanswered(reason: "no answer in time")] {
            let results = Array(repeating: result, count: 1000)
            var wns = self.breaker()
            #expect(wns.record(Observation(results, of: .wns), as: .free, now: self.start) == nil)
            var fcm = self.breaker()
            #expect(fcm.record(Observation(results, of: .fcm), as: .free, now: self.start) != nil)
        }
        let failing = DeviceResult.retry(after: nil, scope: .sender, counts: true, reason: "x", status: 503)
        var wns = self.breaker()
        let observation = Observation(Array(repeating: failing, count: 1000), of: .wns)
        #expect(wns.record(observation, as: .free, now: self.start) != nil)
    }

    @Test func oneProbeAtATimeClosesIt() {
        var breaker = self.opened()
        let later = self.start.advanced(by: .seconds(5))
        #expect(breaker.look(now: later) == .probe)
        #expect(breaker.enter(now: later) == .probe)
        guard case .refused = breaker.enter(now: later) else { return #expect(Bool(false)) }
        // What began before it opened says nothing new.
        #expect(breaker.record(self.accepted(5), as: .free, now: later) == nil)
        #expect(breaker.isOpen)
        #expect(breaker.record(self.accepted(1), as: .probe, now: later) == .closed)
        #expect(breaker.enter(now: later) == .free)
    }

    @Test func aProbeThatFailsDoublesThePause() {
        var breaker = self.opened()
        var now = self.start
        for pause in [5, 10, 20, 40, 60, 60] {
            #expect(breaker.look(now: now.advanced(by: .milliseconds(pause * 1000 - 1))) != .probe)
            now = now.advanced(by: .seconds(pause))
            #expect(breaker.enter(now: now) == .probe)
            #expect(breaker.record(self.failed(1), as: .probe, now: now) == nil)
        }
        #expect(breaker.isOpen)
    }

    @Test func aProbeWithoutResultLeavesItToTheNext() {
        var breaker = self.opened()
        let later = self.start.advanced(by: .seconds(5))
        #expect(breaker.enter(now: later) == .probe)
        breaker.leave(.probe, now: later)
        #expect(breaker.enter(now: later) == .probe)
        #expect(breaker.record(Observation([.unsent]), as: .probe, now: later) == nil)
        #expect(breaker.enter(now: later) == .probe)
    }

    @Test func fewGoodTokensDoNotEndAFlood() {
        var breaker = self.breaker()
        _ = breaker.record(self.dead(950, of: 1000), as: .free, now: self.start)
        let later = self.start.advanced(by: .seconds(5))
        for number in 0..<10 {
            #expect(breaker.enter(now: later) == .probe)
            #expect(breaker.record(self.dead(number == 3 ? 0 : 1, of: 1), as: .probe, now: later) == nil)
        }
        guard case .refused = breaker.enter(now: later) else { return #expect(Bool(false)) }
    }

    @Test func waitsAsLongAsTheServiceAsks() {
        var breaker = self.breaker()
        _ = breaker.record(self.failed(100, after: .seconds(30)), as: .free, now: self.start)
        #expect(breaker.enter(now: self.start.advanced(by: .seconds(29))) != .probe)
        #expect(breaker.enter(now: self.start.advanced(by: .seconds(30))) == .probe)
    }

    @Test func opensOnAFloodOfBadTokens() {
        var breaker = self.breaker()
        #expect(breaker.record(self.dead(99, of: 99), as: .free, now: self.start) == nil)
        #expect(breaker.record(self.dead(0, of: 900), as: .free, now: self.start) == nil)
        #expect(breaker.record(self.dead(300, of: 1000), as: .free, now: self.start) == nil)
        #expect(!breaker.isFlood(self.dead(300, of: 1000)))
        #expect(breaker.record(self.dead(950, of: 1000), as: .free, now: self.start) != nil)
        let later = self.start.advanced(by: .seconds(5))
        #expect(breaker.enter(now: later) == .probe)
        #expect(breaker.record(self.dead(19, of: 20), as: .probe, now: later) == nil)
        #expect(breaker.isOpen)
        let last = later.advanced(by: .seconds(10))
        #expect(breaker.enter(now: last) == .probe)
        #expect(breaker.record(self.dead(1, of: 20), as: .probe, now: last) == .closed)
        // What it knew is forgotten: a single one is believed again.
        #expect(breaker.record(self.dead(1, of: 1), as: .free, now: last) == nil)
        #expect(!breaker.isFlood(self.dead(1, of: 1)))
        // Many small sends make a flood, too.
        var small = self.breaker()
        let transitions = (0..<100).map { _ in small.record(self.dead(1, of: 1), as: .free, now: self.start) }
        #expect(transitions.last != .some(nil))
    }
}

/// What the tokens of few users say of all others': little.
extension BreakerTests {
    @Test func whatOneUserMakesUpIsNoFlood() {
        var breaker = self.breaker()
        for _ in 0..<10 {
            let garbage = self.dead(500, of: 500, users: 1)
            #expect(breaker.record(garbage, as: .free, now: self.start) == nil)
            #expect(!breaker.isFlood(garbage))
        }
        for _ in 0..<500 { #expect(breaker.record(self.dead(1, of: 1, users: 1), as: .free, now: self.start) == nil) }
        // Nor do they hide a flood of the others'.
        let flood = self.dead(200, of: 200, users: 50)
        #expect(breaker.record(flood, as: .free, now: self.start) != nil)
        #expect(breaker.isFlood(flood))
        #expect(breaker.doubtsTokens)
    }

    @Test(arguments: [(24, false), (25, true)])
    func aFloodIsOfManyUsers(users: Int, isFlood: Bool) {
        var breaker = self.breaker()
        let opens = breaker.record(self.dead(1000, of: 1000, users: users), as: .free, now: self.start) != nil
        #expect(opens == isFlood)
    }

    @Test func manySmallSendsOfManyUsersAreAFlood() {
        var breaker = self.breaker()
        var opened: [Int] = []
        for number in 0..<200 {
            var observation = self.dead(1, of: 1)
            observation.owners = [UserName(known: "user\(number % 50)")]
            if breaker.record(observation, as: .free, now: self.start) != nil { opened.append(number) }
        }
        #expect(opened == [99])
    }

    @Test func tokensOfRegistrationsThatAreGoneSayNothing() {
        var breaker = self.breaker()
        var observation = self.dead(500, of: 500)
        observation.owners = []
        #expect(breaker.record(observation, as: .free, now: self.start) == nil)
        #expect(!breaker.isFlood(observation))
    }

    /// One that a flood of bad tokens has opened and whose pause is over.
    private func probing() -> (Breaker, ContinuousClock.Instant) {
        var breaker = self.breaker()
        _ = breaker.record(self.dead(950, of: 1000, users: 500), as: .free, now: self.start)
        return (breaker, self.start.advanced(by: .seconds(5)))
    }

    @Test func whatOneUserMakesUpDoesNotKeepItOpen() {
        var (breaker, now) = self.probing()
        for _ in 0..<20 {
            #expect(breaker.enter(now: now) == .probe)
            #expect(breaker.record(self.dead(20, of: 20, users: 1), as: .probe, now: now) == nil)
        }
        // The pause was not prolonged, and six good answers outweigh them.
        #expect(breaker.enter(now: now) == .probe)
        #expect(breaker.record(self.accepted(6), as: .probe, now: now) == .closed)
        #expect(!breaker.doubtsTokens)
    }

    @Test func whatOneUserMakesUpDoesNotOpenItAgain() {
        var (breaker, now) = self.probing()
        #expect(breaker.enter(now: now) == .probe)
        #expect(breaker.record(self.accepted(20), as: .probe, now: now) == .closed)
        let garbage = self.dead(500, of: 500, users: 1)
        #expect(breaker.record(garbage, as: .free, now: now) == nil)
        #expect(!breaker.isFlood(garbage))
    }

    @Test func aFloodThatIsStillOnOpensItAgainSoon() {
        var (breaker, now) = self.probing()
        #expect(breaker.enter(now: now) == .probe)
        #expect(breaker.record(self.dead(12, of: 20, users: 20), as: .probe, now: now) == .closed)
        // Few are enough now, and those few are not believed.
        var (trial, quiet) = (breaker, breaker)
        let few = self.dead(30, of: 31, users: 30)
        #expect(trial.record(few, as: .free, now: now) != nil)
        #expect(trial.isFlood(few))
        // Until many have been good.
        #expect(quiet.record(self.accepted(100), as: .free, now: now) == nil)
        #expect(quiet.record(few, as: .free, now: now) == nil)
        #expect(!quiet.isFlood(few))
    }
}

extension UserName {
    /// - Parameter known: A legal name.
    fileprivate init(known: String) {
        do { self = try UserName(known, .folded) } catch { preconditionFailure("\(error)") }
    }
}

extension PlantTests {
    /// Breakers in a delivery worker: what is held back, and that nobody else is.
    @Suite(.serialized, .timeLimit(.minutes(5))) struct HeldBackTests {
        private func pace() -> DeliveryWorker.Configuration {
            var pace = DeliveryWorker.Configuration()
            pace.breaker.failures = 40
            pace.breaker.deadTokens = 40
            pace.breaker.pause = .milliseconds(500)
            pace.breaker.longestPause = .seconds(1)
            return pace
        }

        private func send(to tag: String, _ pns: PushService) throws -> Job.Work {
            .send(
                SendRequest(
                    audience: .tag(try Tag(tag, .folded)),
                    platforms: [pns],
                    content: .message(.init(body: "hello"))
                )
            )
        }

        /// Runs a delivery worker beside `body`, and two apps: the default one has 1,500 devices under `news`, a device of FCM
        /// under `username:ann`; the app `other` has one of APNs under `username:ben`.
        private func run(
            connectTimeout: Duration = .seconds(20),
            _ body: @Sendable @escaping (Plant, AppID) async throws -> Void
        ) async throws {
            try await Plant.with([.send, .sweeper]) { plant in
                let other = try AppID("other")
                _ = try await plant.store.apply(try plant.simulator.appSpec, to: other)
                try await plant.importDevices(
                    (1...1500).map { String(token($0).dropFirst(4)) + "cafe" },
                    user: nil,
                    tag: "news"
                )
                try await plant.register("ann", .fcm, "fcm-of-ann")
                try await plant.register("ben", .apns, token(1), app: other)
                let (delivery, senders) = plant.deliveryWorker(
                    self.pace(),
                    requestTimeout: .seconds(5),
                    connectTimeout: connectTimeout
                )
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { try await delivery.run() }
                    try await body(plant, other)
                    group.cancelAll()
                }
                await senders.close()
            }
        }

        /// Sends of another app at the same service, and of the same app at another, are delivered.
        private func expectOthersGoOn(_ plant: Plant, _ other: AppID) async throws {
            for (app, tag, pns) in [(other, "username:ben", PushService.apns), (.default, "username:ann", .fcm)] {
                let job = try await plant.accept(try self.send(to: tag, pns), app: app)
                try await plant.publish(job)
                let done = try await plant.wait(for: job.id, app: app)
                #expect(done.tallies[pns]?.accepted == 1)
            }
        }

        @Test(arguments: [SimulatorFault.Action.answer(status: 503), .silence, .garbage])
        func aServiceThatFailsIsLeftAloneUntilItWorks(_ action: SimulatorFault.Action) async throws {
            try await self.run { plant, other in
                plant.simulator.inject(SimulatorFault(action, pns: .apns, token: "cafe"))
                let campaign = try await plant.accept(try self.send(to: "news", .apns))
                try await plant.publish(campaign)
                let seen = try await plant.wait(for: campaign.id, within: .seconds(120)) {
                    $0.reason?.contains("the push service fails") == true
                }
                #expect(!seen.state.isFinal)
                try await self.expectOthersGoOn(plant, other)
                try await Task.sleep(for: .seconds(2))
                // Each of its devices was tried once, as long as the breaker was closed; since then there are probes alone.
                let received = plant.simulator.received(token: "cafe").count
                #expect(received <= 1500 + 500, "\(received)")
                plant.simulator.clearFaults()
                let done = try await plant.wait(for: campaign.id, within: .seconds(120))
                #expect(done.state == .completed)
                #expect(done.tallies[.apns]?.accepted == 1500)
                expectSound(done)
            }
        }

        @Test(arguments: [SimulatorFault.Action.mute, .plain, .expiredCertificate])
        func aServiceThatCannotBeReachedIsLeftAlone(_ action: SimulatorFault.Action) async throws {
            try await self.run(connectTimeout: .seconds(1)) { plant, _ in
                plant.simulator.inject(SimulatorFault(action, pns: .apns))
                let campaign = try await plant.accept(try self.send(to: "news", .apns))
                try await plant.publish(campaign)
                try await plant.wait(for: campaign.id, within: .seconds(120)) {
                    $0.reason?.contains("the push service fails: no connection") == true
                }
                let other = try await plant.accept(try self.send(to: "username:ann", .fcm))
                try await plant.publish(other)
                #expect(try await plant.wait(for: other.id).tallies[.fcm]?.accepted == 1)
                #expect(plant.simulator.counts.apns.requests == 0)
                plant.simulator.clearFaults()
                let done = try await plant.wait(for: campaign.id, within: .seconds(120))
                #expect(done.state == .completed)
                #expect(done.tallies[.apns]?.accepted == 1500)
                // Nothing had left before: nothing is sent twice.
                #expect(plant.simulator.counts.apns.requests == 1500)
                expectSound(done)
            }
        }

        @Test func aFloodOfBadTokensPrunesNothing() async throws {
            try await self.run { plant, other in
                plant.simulator.inject(
                    SimulatorFault(.answer(reason: "BadDeviceToken"), pns: .apns, token: "cafe", share: 0.95)
                )
                let campaign = try await plant.accept(try self.send(to: "news", .apns))
                try await plant.publish(campaign)
                try await plant.wait(for: campaign.id, within: .seconds(120)) { $0.reason?.contains("tokens") == true }
                try await self.expectOthersGoOn(plant, other)
                // As when the operator has put the endpoint right.
                plant.simulator.clearFaults()
                let done = try await plant.wait(for: campaign.id, within: .seconds(120))
                expectSound(done)
                let tally = try #require(done.tallies[.apns])
                #expect(tally.accepted > 1300)
                try await Task.sleep(for: .milliseconds(300))
                let live = try await plant.store.count(
                    of: .tag(try Tag("news", .folded)),
                    app: .default,
                    pns: .apns,
                    after: 0,
                    through: .max
                )
                // So many are believed before it is a flood, where the first sends are small: after a pause of the machine, say.
                #expect(live.count > 1500 - self.pace().breaker.deadTokens)
            }
        }
    }
}
