import PushModel
import Store
import Testing

/// What any store must do so that no more devices are sent to a second than an app allows (rule 12).
@Suite(.everyStore) struct RateLimitContract {
    let fixture: any StoreFixture
    let scenario: Scenario
    var store: any ResultStore { self.scenario.store }
    var time: TestTime { self.fixture.time }

    init() throws {
        self.fixture = try StoreFixtures.make(
            StoreOptions(window: InFlightWindow(devices: 4000, messages: 4))
        )
        self.scenario = Scenario(self.fixture)
    }

    private func limit(_ rate: Int?) async throws {
        let apns = AppSpec.APNs {
            $0.authentication = .token(.init(keyFile: "k", keyID: "k", teamID: "t"))
            $0.topic = "t"
            $0.devicesPerSecond = rate
        }
        _ = try await self.store.apply(.app(.default, AppSpec { $0.apns = apns }))
    }

    private func credit(_ kind: CreditKind = .page, _ priority: Priority = .normal) async throws -> Credit {
        try await self.store.credit(for: kind, app: .default, pns: .apns, priority: priority)
    }

    /// Accepts a campaign and claims it.
    private func begin() async throws -> CampaignClaim {
        // Somebody must be there for it to have pages.
        let name = "d\(UInt64.random(in: 0...(.max)))"
        try await self.scenario.register(user: name, handle: name, tags: ["t"])
        let job = try await self.scenario.accept(self.scenario.campaign(to: "t"))
        return try #require(try await self.scenario.claimCampaign(job))
    }

    @Test func aRateLimitIsSharedBySendWorkersAndSurvivesRestarts() async throws {
        try await self.limit(1000)
        self.time.advance(.seconds(10))
        #expect(try await self.credit().devices == 200)
        var first = try await self.begin()
        var second = try await self.begin()
        #expect(try await first.commit(devices: 1).isMore)
        #expect(try await first.commit(devices: 199).isMore)
        // Both had seen the credit.
        #expect(try await second.commit(devices: 1).isMore)
        #expect(try await second.commit(devices: 200) == .noCredit)
        let wait = try #require(try await self.credit().wait)
        #expect(wait == .milliseconds(101))
        // The send worker's process dies, another begins: the store remembers.
        let other = try self.fixture.another()
        #expect(try await other.credit(for: .page, app: .default, pns: .apns, priority: .normal).devices == 0)
        self.time.advance(wait)
        #expect(try await self.credit().devices == 100)
        #expect(try await second.commit(devices: 100).isMore)
        // Without a limit the window alone counts, and that is full.
        try await self.limit(nil)
        #expect(try await self.credit() == Credit(devices: 0))
    }

    /// A campaign's send worker takes all that is free as soon as it is worth a step: who has only begun would find nothing for minutes.
    @Test func firstPagesMayExceedTheRate() async throws {
        try await self.limit(1000)
        self.time.advance(.seconds(10))
        #expect(try await self.credit(.first).devices == 200)
        var campaign = try await self.begin()
        #expect(try await campaign.commit(devices: 200).isMore)
        #expect(try await self.credit().devices == 0)
        #expect(try await self.credit(.first).devices == 200)
        var small = try await self.begin()
        #expect(try await small.commit(devices: 2).isMore)
        #expect(try await self.credit(.first).devices == 198)
        // What they take the others wait for.
        #expect(try await self.credit().wait == .milliseconds(102))
        // No more than 200 ms' worth.
        var greedy = try await self.begin()
        #expect(try await greedy.commit(devices: 199) == .noCredit)
        #expect(try await greedy.commit(devices: 198).isMore)
        #expect(try await self.credit(.first).devices == 0)
        #expect(try await self.credit(.first).wait == .milliseconds(1))
    }

    /// What a step cannot write is not read for it: of a group of 500 it would be read five hundred times.
    @Test func aGroupIsReadAsFarAsThereIsCredit() async throws {
        try await self.limit(20)
        self.time.advance(.seconds(10))
        let users = (0..<30).map { "u\($0)" }
        for user in users { try await self.scenario.register(user: user, handle: "aa\(user)") }
        let (message, jobs) = try await self.scenario.acceptGroup(users)
        let claim = try #require(try await self.store.claim(message.id, peeking: false))
        guard case .group(let sends, let credit)? = claim.work else { throw Unexpected("\(claim)") }
        #expect(credit[.apns]?.devices == 4)
        #expect(sends.map(\.id) == Array(jobs.prefix(5)))
        // Piece by piece, all.
        #expect(try await self.scenario.sends(of: claim).map(\.id) == jobs)
    }

    /// A campaign that has pages at another service alone waits for a first page here.
    @Test(arguments: [false, true]) func firstPagesAreTakenBeforeARunningCampaign(isContinued: Bool) async throws {
        try await self.limit(1000)
        self.time.advance(.seconds(10))
        var busy = try await self.begin()
        #expect(try await busy.commit(devices: 200).isMore)
        var begun = try await self.begin()
        #expect(try await begun.commit(.fcm, devices: 1, isDone: true).isMore)
        let message = begun.claim.message
        let deferral = Deferral(blockedOn: [.apns], isContinued: isContinued)
        #expect(try await self.store.defer(message.id, epoch: message.epoch, deferral))
        #expect(try await self.credit().devices == 0)
        #expect(try await self.scenario.takeDueJobs() == (isContinued ? [] : [begun.campaign.job.id]))
        self.time.advance(.milliseconds(200))
        #expect(try await self.scenario.takeDueJobs() == (isContinued ? [begun.campaign.job.id] : []))
    }

    @Test func urgentDevicesDoNotWaitForARate() async throws {
        try await self.limit(10)
        var claim = try await self.begin()
        self.time.advance(.seconds(1))
        #expect(try await claim.commit(devices: 2).isMore)
        #expect(try await self.credit().devices == 0)
        #expect(try await self.credit(.page, .high).devices == 2)
    }

    @Test func aNewRateLimitBeginsWithoutCredit() async throws {
        self.time.advance(.seconds(10))
        try await self.limit(1000)
        #expect(try await self.credit().devices == 0)
        self.time.advance(.seconds(1))
        #expect(try await self.credit().devices == 200)
    }

    /// Retries all of a page of `size` devices in the next attempt, which is due then.
    private func retry(_ size: Int) async throws -> BatchKey {
        var claim = try await self.begin()
        #expect(try await claim.commit(devices: size).isMore)
        let devices = (1...size).map { RetryDevice(row: Int64($0), tries: 1, wait: .zero) }
        #expect(try await self.scenario.record(BatchOutcome(key: claim.key(), retries: devices, at: self.time.wall)))
        return BatchKey(job: claim.campaign.job.id, pns: .apns, page: 0, attempt: 1)
    }

    @Test func aRetryCountsTowardsTheRateWhenItIsTaken() async throws {
        try await self.limit(1000)
        self.time.advance(.seconds(1))
        let retry = try await self.retry(50)
        self.time.advance(.seconds(1))
        #expect(try await self.credit().devices == 200)
        #expect(try await self.scenario.takeDueBatches().map(\.key) == [retry])
        #expect(try await self.credit().devices == 150)
        // The worker is faster than the sweeper's word that it has published the message: it counts once all the same.
        let message = try self.scenario.message(of: retry)
        #expect(try await self.scenario.record(BatchOutcome(key: retry, accepted: 50, at: self.time.wall)))
        try await self.store.markPublished([message])
        #expect(try await self.credit().devices == 150)
    }

    @Test func aDeferredBatchCountsTowardsTheRateOnce() async throws {
        try await self.limit(1000)
        self.time.advance(.seconds(1))
        var claim = try await self.begin()
        #expect(try await claim.commit(devices: 50).isMore)
        self.time.advance(.seconds(3))
        #expect(try await self.scenario.deferBatch(claim.key(), for: .seconds(1)))
        self.time.advance(.seconds(1))
        #expect(try await self.scenario.takeDueBatches().map(\.key) == [claim.key()])
        #expect(try await self.credit().devices == 200)
    }

    @Test func retriesAreTakenThoughACampaignUsesUpTheRate() async throws {
        try await self.limit(1000)
        self.time.advance(.seconds(1))
        let retry = try await self.retry(50)
        var campaign = try await self.begin()
        for _ in 0..<30 {
            self.time.advance(.milliseconds(100))
            let devices = try await self.credit().devices
            if devices > 0 { #expect(try await campaign.commit(devices: devices).isMore) }
            if try await self.scenario.takeDueBatches(limit: 5).contains(where: { $0.key == retry }) { return }
        }
        Issue.record("the retry was never taken")
    }
}
