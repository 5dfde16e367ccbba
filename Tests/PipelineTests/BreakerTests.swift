import LogRecorder
import Logging
import PushModel
import PushServices
import PushlineSimulator
import Store
import Testing
import Undisturbed

@testable import Pipeline

/// When a breaker opens, probes and closes.
struct BreakerTests {
    private let start = ContinuousClock.now

    private func failed(_ count: Int, after: Duration? = nil) -> SendStatistics {
        SendStatistics(
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

    private func accepted(_ count: Int) -> SendStatistics { SendStatistics(Array(repeating: .accepted, count: count)) }

    // The bad tokens are shared among so many users; nil = they are nobody's.
    private func dead(_ count: Int, of all: Int, users: Int? = nil) -> SendStatistics {
        let dead = DeviceResult.dead(before: .now, reason: "BadDeviceToken", status: 400)
        var statistics = SendStatistics((0..<all).map { $0 < count ? dead : .accepted })
        if let users {
            statistics.owners = (0..<count).map { .user(UserName(known: "user\($0 % users)")) }
        }
        return statistics
    }

    private func breaker() -> Breaker { Breaker(Breaker.Configuration()) }

    /// One that has opened at ``start``.
    private func opened() -> Breaker {
        var breaker = self.breaker()
        _ = breaker.record(self.failed(100), as: .free, now: self.start)
        return breaker
    }

    @Test func aRunOfFailuresOpensTheBreaker() {
        var breaker = self.breaker()
        #expect(breaker.record(self.failed(60), as: .free, now: self.start) == nil)
        // One that was taken between them is not proof of health, many are.
        #expect(breaker.record(self.accepted(1), as: .free, now: self.start) == nil)
        #expect(breaker.record(self.failed(40), as: .free, now: self.start) == nil)
        #expect(breaker.enter(now: self.start) == .free)
        let transition = breaker.record(self.failed(1), as: .free, now: self.start)
        #expect(transition == .opened(.service, WaitReason(.service, at: .apns, "503 ServiceUnavailable")))
        guard case .rejected(let pause, _) = breaker.enter(now: self.start) else { return #expect(Bool(false)) }
        #expect(pause == .seconds(5))
        var healthy = self.breaker()
        for _ in 0..<50 {
            #expect(healthy.record(self.failed(50), as: .free, now: self.start) == nil)
            #expect(healthy.record(self.accepted(50), as: .free, now: self.start) == nil)
        }
    }

    @Test func missingAnswersAndRefusedCredentialsAreFailures() {
        for result in [DeviceResult.unanswered(reason: "no answer in time"), .misconfigured(reason: "x", status: 403)] {
            var breaker = self.breaker()
            let statistics = SendStatistics(Array(repeating: result, count: 100))
            #expect(breaker.record(statistics, as: .free, now: self.start) != nil)
        }
        var breaker = self.breaker()
        let busy = DeviceResult.retry(after: nil, scope: .device, counts: true, reason: "TooManyRequests", status: 429)
        for result in [DeviceResult.unsent, .rejected(reason: "x", status: 400), busy] {
            let statistics = SendStatistics(Array(repeating: result, count: 1000))
            #expect(breaker.record(statistics, as: .free, now: self.start) == nil)
        }
    }

    /// A sender's job says that a credential is refused and by which word, the operator's log also what the service says of the account.
    @Test func whatAServiceSaysOfTheAccountIsInTheLogAlone() throws {
        let said = "Permission denied on projects/acme-4711"
        let refused = DeviceResult.misconfigured(reason: "status 403", status: 403, detail: said)
        let log = LogRecorder()
        let breakers = Breakers(Breaker.Configuration(), logger: log.logger(.info))
        let key = Breakers.Key(app: .default, pns: .fcm, credential: .default)
        _ = breakers.record(SendStatistics(Array(repeating: refused, count: 100), of: .fcm), as: .free, key)
        let lines = log.lines
        #expect(lines.map(\.level) == [.error, .warning])
        #expect(lines.first?.fields["reason"] == "status 403; \(said)")
        guard case .rejected(_, let reason) = breakers.enter(key) else { return #expect(Bool(false)) }
        #expect(reason.cause == .credentials)
        #expect(reason.text == "the app's credentials do not work at FCM: status 403")
        // Another sentence with the same word is another fault; the same one is not said twice.
        let other = DeviceResult.misconfigured(reason: "status 403", status: 403, detail: "API not enabled")
        for result in [refused, other] {
            _ = breakers.record(SendStatistics([result], of: .fcm), as: .free, key)
        }
        let errors = log.lines.filter { $0.level == .error }
        #expect(errors.map { $0.fields["reason"] } == ["status 403; \(said)", "status 403; API not enabled"])
        var devices = DeliverBatch.Devices()
        devices.rows = [1]
        devices.handles.append("token".utf8)
        let batch = DeliverBatch(
            app: .default,
            key: BatchKey(job: .make(), pns: .fcm, page: 0, attempt: 0),
            priority: .normal,
            expires: .now.advanced(by: .seconds(3600)),
            keepUntil: nil,
            collapse: nil,
            payload: NativePayload(kind: .message, body: []),
            devices: devices
        )
        var builder = OutcomeBuilder(batch, recording: .failures, retry: RetryPolicy())
        builder.add(builder.addUntried(stop: nil), [refused], stop: nil)
        #expect(builder.outcome().retryReason == reason && builder.outcome().retries.count == 1)
    }

    /// A channel's host is the device's choice: one that does not exist is not a fault of the service.
    @Test func unreachableChannelHostsDoNotOpenTheWNSBreaker() {
        let unknown = DeviceResult.retry(after: nil, scope: .sender, counts: true, reason: "no such host", status: nil)
        for result in [unknown, .unanswered(reason: "no answer in time")] {
            let results = Array(repeating: result, count: 1000)
            var wns = self.breaker()
            #expect(wns.record(SendStatistics(results, of: .wns), as: .free, now: self.start) == nil)
            var fcm = self.breaker()
            #expect(fcm.record(SendStatistics(results, of: .fcm), as: .free, now: self.start) != nil)
        }
        let failing = DeviceResult.retry(after: nil, scope: .sender, counts: true, reason: "x", status: 503)
        var wns = self.breaker()
        let statistics = SendStatistics(Array(repeating: failing, count: 1000), of: .wns)
        #expect(wns.record(statistics, as: .free, now: self.start) != nil)
    }

    /// What a channel answers may be its path's doing, which the device chose too: one user's devices are no evidence about the service.
    @Test func failingChannelsOfOneUserDoNotOpenTheWNSBreaker() {
        let failing: [DeviceResult] = [
            .misconfigured(reason: "status 401", status: 401),
            .retry(after: nil, scope: .sender, counts: true, reason: "status 406", status: 406),
            .retry(after: nil, scope: .sender, counts: true, reason: "status 503", status: 503),
        ]
        for result in failing {
            func failed(_ count: Int, users: Int?) -> SendStatistics {
                var statistics = SendStatistics(Array(repeating: result, count: count), of: .wns)
                #expect(statistics.failedOwners.count == count)
                if let users {
                    statistics.failedOwners = (0..<count).map { .user(UserName(known: "user\($0 % users)")) }
                }
                return statistics
            }
            var breaker = self.breaker()
            // However often it is sent to.
            for _ in 0..<100 { #expect(breaker.record(failed(1000, users: 1), as: .free, now: self.start) == nil) }
            #expect(breaker.record(failed(1000, users: 24), as: .free, now: self.start) == nil)
            #expect(breaker.record(failed(100, users: 25), as: .free, now: self.start) != nil)
            // Nobody's count one by one.
            breaker = self.breaker()
            #expect(breaker.record(failed(100, users: nil), as: .free, now: self.start) != nil)
        }
        // A run ends with the answers of others, and what a user did in it.
        var breaker = self.breaker()
        for _ in 0..<50 {
            var statistics = SendStatistics(Array(repeating: failing[2], count: 50), of: .wns)
            statistics.failedOwners = statistics.failedOwners.map { _ in .user(UserName(known: "eve")) }
            #expect(breaker.record(statistics, as: .free, now: self.start) == nil)
            let good = SendStatistics(Array(repeating: .accepted, count: 4), of: .wns)
            #expect(breaker.record(good, as: .free, now: self.start) == nil)
        }
    }

    /// The token is had from an address that the operator declares.
    @Test func aRefusedSecretOpensTheWNSBreakerWhoeverIsSentTo() {
        let results = [
            DeviceResult.misconfigured(reason: "token service: invalid_client", status: nil),
            .retry(after: nil, scope: .sender, counts: false, reason: "token service: status 503", status: 503),
        ]
        for result in results {
            let statistics = SendStatistics(Array(repeating: result, count: 100), of: .wns)
            #expect(statistics.failedOwners.isEmpty)
            var breaker = self.breaker()
            #expect(breaker.record(statistics, as: .free, now: self.start) != nil)
        }
        // At a service that has one host no failure is the device's doing.
        let failing = DeviceResult.retry(after: nil, scope: .sender, counts: true, reason: "x", status: 503)
        #expect(SendStatistics([failing], of: .fcm).failedOwners.isEmpty)
    }

    @Test func oneProbeAtATimeClosesTheBreaker() {
        var breaker = self.opened()
        let later = self.start.advanced(by: .seconds(5))
        #expect(breaker.peek(now: later) == .probe)
        #expect(breaker.enter(now: later) == .probe)
        guard case .rejected = breaker.enter(now: later) else { return #expect(Bool(false)) }
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
            #expect(breaker.peek(now: now.advanced(by: .milliseconds(pause * 1000 - 1))) != .probe)
            now = now.advanced(by: .seconds(pause))
            #expect(breaker.enter(now: now) == .probe)
            #expect(breaker.record(self.failed(1), as: .probe, now: now) == nil)
        }
        #expect(breaker.isOpen)
    }

    /// What is wrong may change while it is open: whoever looks is told what is wrong now, and a log at each change of the cause.
    @Test func itsReasonIsThatOfTheLastProbe() {
        var breaker = self.opened()
        let refused = SendStatistics([.misconfigured(reason: "ExpiredProviderToken", status: 403)])
        let expired = WaitReason(.credentials, at: .apns, "ExpiredProviderToken")
        let down = WaitReason(.service, at: .apns, "503 ServiceUnavailable")
        let silent = SendStatistics([.unanswered(reason: "no answer in time")])
        let unanswered = WaitReason(.service, at: .apns, "no answer in time")
        var now = self.start
        for (statistics, reason, isLogged) in [
            (refused, expired, true), (refused, expired, false), (self.failed(1), down, true),
            (silent, unanswered, false), (self.failed(1), down, false), (refused, expired, true),
        ] {
            now = now.advanced(by: .seconds(60))
            #expect(breaker.enter(now: now) == .probe)
            #expect(breaker.record(statistics, as: .probe, now: now) == (isLogged ? .reopened(reason) : nil))
            guard case .rejected(_, let said) = breaker.peek(now: now) else {
                Issue.record("it let a message through")
                return
            }
            #expect(said == reason)
        }
    }

    /// A service that fails proves nothing about tokens: they are in doubt still, and their reason is what is said.
    @Test func aFloodThatEndsInAFailureIsAFloodStill() {
        var breaker = self.breaker()
        _ = breaker.record(self.dead(950, of: 1000), as: .free, now: self.start)
        let flood = breaker.reason
        var now = self.start.advanced(by: .seconds(60))
        #expect(breaker.enter(now: now) == .probe)
        #expect(breaker.record(self.failed(1), as: .probe, now: now) == nil)
        #expect(breaker.doubtsTokens && breaker.reason == flood)
        now = now.advanced(by: .seconds(60))
        for number in 0..<10 {
            #expect(breaker.enter(now: now) == .probe)
            // The last of them is a good one.
            #expect(breaker.record(self.dead(number == 9 ? 0 : 1, of: 1), as: .probe, now: now) == nil)
        }
        #expect(breaker.doubtsTokens && breaker.reason == flood)
    }

    @Test func aProbeWithoutAResultIsFollowedByAnother() {
        var breaker = self.opened()
        let later = self.start.advanced(by: .seconds(5))
        #expect(breaker.enter(now: later) == .probe)
        breaker.leave(.probe, now: later)
        #expect(breaker.enter(now: later) == .probe)
        #expect(breaker.record(SendStatistics([.unsent]), as: .probe, now: later) == nil)
        #expect(breaker.enter(now: later) == .probe)
    }

    @Test func aFewGoodTokensDoNotEndAFlood() {
        var breaker = self.breaker()
        _ = breaker.record(self.dead(950, of: 1000), as: .free, now: self.start)
        let later = self.start.advanced(by: .seconds(5))
        for number in 0..<10 {
            #expect(breaker.enter(now: later) == .probe)
            #expect(breaker.record(self.dead(number == 3 ? 0 : 1, of: 1), as: .probe, now: later) == nil)
        }
        guard case .rejected = breaker.enter(now: later) else { return #expect(Bool(false)) }
    }

    @Test func theBreakerWaitsForRetryAfter() {
        var breaker = self.breaker()
        _ = breaker.record(self.failed(100, after: .seconds(30)), as: .free, now: self.start)
        #expect(breaker.enter(now: self.start.advanced(by: .seconds(29))) != .probe)
        #expect(breaker.enter(now: self.start.advanced(by: .seconds(30))) == .probe)
    }

    @Test func aFloodOfBadTokensOpensTheBreaker() {
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
    @Test func inventedTokensOfOneUserAreNoFlood() {
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
    func deadTokensAreAFloodOnlyFromManyUsers(users: Int, isFlood: Bool) {
        var breaker = self.breaker()
        let opens = breaker.record(self.dead(1000, of: 1000, users: users), as: .free, now: self.start) != nil
        #expect(opens == isFlood)
    }

    @Test func manySmallSendsOfManyUsersAreAFlood() {
        var breaker = self.breaker()
        var opened: [Int] = []
        for number in 0..<200 {
            var statistics = self.dead(1, of: 1)
            statistics.owners = [.user(UserName(known: "user\(number % 50)"))]
            if breaker.record(statistics, as: .free, now: self.start) != nil { opened.append(number) }
        }
        #expect(opened == [99])
    }

    /// A sender that repeats one dead handle stops nobody; a list of many dead ones is a flood.
    @Test(arguments: [(24, false), (25, true)])
    func deadHandlesOfListsAreAFloodOnlyWhereTheyAreMany(handles: Int, isFlood: Bool) {
        var breaker = self.breaker()
        var opens = false
        for number in 0..<500 {
            var statistics = self.dead(1, of: 1)
            statistics.owners = [.listed(Handle(stored: "handle-\(number % handles)"))]
            if breaker.record(statistics, as: .free, now: self.start) != nil { opens = true }
        }
        #expect(opens == isFlood)
    }

    @Test func tokensOfEndedRegistrationsDoNotCountTowardsAFlood() {
        var breaker = self.breaker()
        var statistics = self.dead(500, of: 500)
        statistics.owners = []
        #expect(breaker.record(statistics, as: .free, now: self.start) == nil)
        #expect(!breaker.isFlood(statistics))
    }

    /// One that a flood of bad tokens has opened and whose pause is over.
    private func probing() -> (Breaker, ContinuousClock.Instant) {
        var breaker = self.breaker()
        _ = breaker.record(self.dead(950, of: 1000, users: 500), as: .free, now: self.start)
        return (breaker, self.start.advanced(by: .seconds(5)))
    }

    @Test func inventedTokensOfOneUserDoNotKeepTheBreakerOpen() {
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

    @Test func inventedTokensOfOneUserDoNotReopenTheBreaker() {
        var (breaker, now) = self.probing()
        #expect(breaker.enter(now: now) == .probe)
        #expect(breaker.record(self.accepted(20), as: .probe, now: now) == .closed)
        let garbage = self.dead(500, of: 500, users: 1)
        #expect(breaker.record(garbage, as: .free, now: now) == nil)
        #expect(!breaker.isFlood(garbage))
    }

    @Test func anOngoingFloodReopensTheBreakerSoon() {
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

extension PipelineLoadTests {
    /// Breakers in a delivery worker: what is held back, and that nobody else is.
    @Suite(.serialized, .timeLimit(.minutes(5)), .undisturbed) struct BlockedSendsTests {
        private func configuration() -> DeliveryWorker.Configuration {
            var configuration = DeliveryWorker.Configuration()
            configuration.breaker.failures = 40
            configuration.breaker.deadTokens = 40
            configuration.breaker.pause = .milliseconds(500)
            configuration.breaker.longestPause = .seconds(1)
            return configuration
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
            _ body: @Sendable @escaping (PipelineHarness, AppID) async throws -> Void
        ) async throws {
            try await PipelineHarness.with([.send, .sweeper]) { harness in
                let other = try AppID("other")
                _ = try await harness.store.apply(.app(other, try harness.simulator.appSpec))
                try await harness.importDevices(
                    (1...1500).map { String(token($0).dropFirst(4)) + "cafe" },
                    user: nil,
                    tag: "news"
                )
                try await harness.register("ann", .fcm, "fcm-of-ann")
                try await harness.register("ben", .apns, token(1), app: other)
                let (delivery, senders) = harness.deliveryWorker(
                    self.configuration(),
                    requestTimeout: .seconds(5),
                    connectTimeout: connectTimeout
                )
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { try await delivery.run() }
                    try await body(harness, other)
                    group.cancelAll()
                }
                await senders.close()
            }
        }

        /// Sends of another app at the same service, and of the same app at another, are delivered.
        private func expectOthersGoOn(_ harness: PipelineHarness, _ other: AppID) async throws {
            for (app, tag, pns) in [(other, "username:ben", PushService.apns), (.default, "username:ann", .fcm)] {
                let job = try await harness.accept(try self.send(to: tag, pns), app: app)
                try await harness.publish(job)
                let done = try await harness.wait(for: job.id, app: app)
                #expect(done.counts[pns]?.accepted == 1)
            }
        }

        @Test(arguments: [SimulatorFault.Action.answer(status: 503), .silence, .garbage])
        func aFailingServiceIsProbedUntilItWorks(_ action: SimulatorFault.Action) async throws {
            try await self.run { harness, other in
                harness.simulator.inject(SimulatorFault(action, pns: .apns, token: "cafe"))
                let campaign = try await harness.accept(try self.send(to: "news", .apns))
                try await harness.publish(campaign)
                let seen = try await harness.wait(for: campaign.id, within: .seconds(120)) {
                    $0.reason?.contains("APNs fails") == true
                }
                #expect(!seen.state.isFinal)
                try await self.expectOthersGoOn(harness, other)
                try await Task.sleep(for: .seconds(2))
                // Each of its devices was tried once, as long as the breaker was closed; since then there are probes alone.
                let received = harness.simulator.received(token: "cafe").count
                #expect(received <= 1500 + 500, "\(received)")
                harness.simulator.clearFaults()
                let done = try await harness.wait(for: campaign.id, within: .seconds(120))
                #expect(done.state == .completed)
                #expect(done.counts[.apns]?.accepted == 1500)
                expectSound(done)
            }
        }

        @Test(arguments: [SimulatorFault.Action.mute, .plain, .expiredCertificate])
        func anUnreachableServiceOpensTheBreaker(_ action: SimulatorFault.Action) async throws {
            try await self.run(connectTimeout: .seconds(1)) { harness, _ in
                harness.simulator.inject(SimulatorFault(action, pns: .apns))
                let campaign = try await harness.accept(try self.send(to: "news", .apns))
                try await harness.publish(campaign)
                try await harness.wait(for: campaign.id, within: .seconds(120)) {
                    $0.reason?.contains("APNs fails: no connection") == true
                }
                let other = try await harness.accept(try self.send(to: "username:ann", .fcm))
                try await harness.publish(other)
                #expect(try await harness.wait(for: other.id).counts[.fcm]?.accepted == 1)
                #expect(harness.simulator.counts.apns.requests == 0)
                harness.simulator.clearFaults()
                let done = try await harness.wait(for: campaign.id, within: .seconds(120))
                #expect(done.state == .completed)
                #expect(done.counts[.apns]?.accepted == 1500)
                // Nothing had left before: nothing is sent twice.
                #expect(harness.simulator.counts.apns.requests == 1500)
                expectSound(done)
            }
        }

        @Test func aFloodOfBadTokensPrunesNothing() async throws {
            try await self.run { harness, other in
                harness.simulator.inject(
                    SimulatorFault(.answer(reason: "BadDeviceToken"), pns: .apns, token: "cafe", share: 0.95)
                )
                let campaign = try await harness.accept(try self.send(to: "news", .apns))
                try await harness.publish(campaign)
                try await harness.wait(for: campaign.id, within: .seconds(90)) { $0.reason?.contains("tokens") == true }
                try await self.expectOthersGoOn(harness, other)
                // As when the operator has put the endpoint right.
                harness.simulator.clearFaults()
                let done = try await harness.wait(for: campaign.id, within: .seconds(120))
                expectSound(done)
                #expect(try #require(done.counts[.apns]).accepted > 1300)
                try await Task.sleep(for: .milliseconds(300))
                let live = try await harness.store.count(
                    AudienceQuery(.expression(.tag(try Tag("news", .folded))), app: .default, pns: .apns)
                )
                // So many are believed before it is a flood, where the first sends are small: after a pause of the machine, say.
                #expect(live.count > 1500 - self.configuration().breaker.deadTokens)
            }
        }
    }
}
