import PushModel
import Store
import Testing

/// What any store must do so that no app's traffic stands in another's way: in-flight windows and fair shares (rule 12).
@Suite(.everyStore) struct FlowControlContract {
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

    private func accept(app: AppID = .default, priority: Priority = .normal) async throws -> Job {
        try await self.scenario.accept(self.scenario.campaign(to: "t"), app: app, priority: priority)
    }

    /// Accepts a campaign and claims it.
    private func begin(app: AppID = .default, priority: Priority = .normal) async throws -> CampaignClaim {
        // Somebody must be there for it to have pages.
        let name = "d\(UInt64.random(in: 0...(.max)))"
        try await self.scenario.register(user: name, handle: name, tags: ["t"], app: app)
        let job = try await self.accept(app: app, priority: priority)
        return try #require(try await self.scenario.claimCampaign(job))
    }

    /// Fills the window of an app with pages of one device.
    private func fill(app: AppID = .default, pages: Int = 5) async throws -> CampaignClaim {
        var claim = try await self.begin(app: app)
        for _ in 0..<pages {
            let written = try await claim.commit(devices: 1).written
            try await self.store.markPublished(written.deliveries.compactMap { $0 })
        }
        return claim
    }

    private func credit(_ kind: CreditKind, _ priority: Priority = .normal, pns: PushService = .apns) async throws
        -> Int
    {
        try await self.store.credit(for: kind, app: .default, pns: pns, priority: priority).devices
    }

    /// Defers a claim's message until a service has credit.
    private func block(_ claim: CampaignClaim, on pns: PushService = .apns) async throws -> Bool {
        let message = claim.claim.message
        return try await self.store.defer(message.id, epoch: message.epoch, Deferral(blockedOn: [pns]))
    }

    @Test func aBlockedCampaignIsTakenWhenThereIsCredit() async throws {
        let full = try await self.fill()
        let waiting = try await self.begin()
        #expect(try await self.block(waiting))
        self.time.advance(.seconds(300))
        #expect(try await self.scenario.takeDueJobs() == [full.campaign.job.id])
        for page in 0..<5 {
            #expect(
                try await self.scenario.record(
                    BatchOutcome(key: full.key(page: page), accepted: 1, at: self.time.wall)
                )
            )
        }
        #expect(try await self.scenario.takeDueJobs() == [waiting.campaign.job.id])
        let again = try #require(try await self.scenario.claimCampaign(waiting.campaign.job))
        #expect(again.claim.message.epoch > waiting.claim.message.epoch)
        #expect(again.claim.claims == 1)
    }

    @Test func aDeferredMessageIsDueAfterItsPause() async throws {
        let claim = try await self.begin()
        let message = claim.claim.message
        let deferral = Deferral(pause: .seconds(3))
        #expect(try await self.store.defer(message.id, epoch: message.epoch, deferral))
        self.time.advance(.seconds(2))
        #expect(try await self.scenario.takeDueJobs().isEmpty)
        self.time.advance(.seconds(1))
        #expect(try await self.scenario.takeDueJobs() == [claim.campaign.job.id])
    }

    @Test func manyBlockedCampaignsOfOneAppDoNotHideOthers() async throws {
        _ = try await self.fill()
        for _ in 0..<50 { #expect(try await self.block(try await self.begin())) }
        let other = try await self.accept(app: try AppID("other"))
        self.time.advance(.seconds(2))
        #expect(try await self.scenario.takeDueJobs(overdue: .seconds(1), limit: 5) == [other.id])
    }

    @Test func eachAppGetsItsShareOfWhatIsTaken() async throws {
        for _ in 0..<20 { _ = try await self.accept() }
        let other = try await self.accept(app: try AppID("other"))
        self.time.advance(.seconds(2))
        let due = try await self.scenario.takeDueJobs(overdue: .seconds(1), limit: 4)
        #expect(due.count <= 4)
        #expect(due.contains(other.id))
    }

    /// Retries the device of a campaign's page in the next attempt, which is due after `wait`.
    private func retry(_ key: BatchKey, wait: Duration) async throws {
        let device = RetryDevice(row: 1, tries: 1, wait: wait)
        #expect(try await self.scenario.record(BatchOutcome(key: key, retries: [device], at: self.time.wall)))
    }

    @Test func retriesAreTakenUpToTheirWindowsCredit() async throws {
        // Retries may fill the window once more: 8 messages.
        var sick = try await self.begin()
        for page in 0..<20 {
            _ = try await sick.commit(devices: 1).written
            try await self.retry(sick.key(page: page), wait: .zero)
        }
        var urgent = try await self.begin(priority: .high)
        _ = try await urgent.commit(devices: 1).written
        try await self.retry(urgent.key(), wait: .zero)
        var other = try await self.begin(app: try AppID("other"))
        _ = try await other.commit(devices: 1).written
        try await self.retry(other.key(), wait: .zero)
        self.time.advance(.seconds(1))
        var taken: [DueBatch] = []
        // A share of what is asked for may be less than there is credit for.
        while case let batches = try await self.scenario.takeDueBatches(limit: 30), !batches.isEmpty {
            taken += batches
        }
        #expect(taken.first?.key.job == urgent.campaign.job.id)
        #expect(taken.contains { $0.key.job == other.campaign.job.id })
        #expect(taken.count { $0.key.job == sick.campaign.job.id } == 8)
        // One that is done makes place for one.
        let done = try #require(taken.first { $0.key.job == sick.campaign.job.id }).key
        #expect(try await self.scenario.record(BatchOutcome(key: done, accepted: 1, at: self.time.wall)))
        #expect(try await self.scenario.takeDueBatches(limit: 30).map(\.key.job) == [sick.campaign.job.id])
    }

    @Test func retriesNotYetDueDoNotFillTheWindow() async throws {
        var claim = try await self.begin()
        for page in 0..<5 {
            _ = try await claim.commit(devices: 1).written
            try await self.retry(claim.key(page: page), wait: .seconds(3600))
        }
        #expect(try await self.credit(.page) == 4000)
        #expect(try await self.scenario.takeDueBatches().isEmpty)
    }

    @Test func deferredDeliveriesFillTheWindow() async throws {
        let claim = try await self.fill()
        for page in 0..<5 { #expect(try await self.scenario.deferBatch(claim.key(page: page), for: .seconds(60))) }
        #expect(try await self.credit(.page) == 0)
        for page in 0..<5 {
            #expect(
                try await self.scenario.record(
                    BatchOutcome(key: claim.key(page: page), accepted: 1, at: self.time.wall)
                )
            )
        }
        #expect(try await self.credit(.page) == 4000)
    }

    @Test func firstPagesHaveCreditThoughACampaignFillsTheWindow() async throws {
        _ = try await self.fill(pages: 4)
        #expect(try await self.credit(.page) == 0)
        #expect(try await self.credit(.first) == 1000)
        #expect(try await self.credit(.retry) > 0)
        #expect(try await self.credit(.page, .high) == 4000)
        #expect(try await self.credit(.page, pns: .fcm) == 4000)
    }

    /// Many groups and retries wait for one full window; all that do not are taken at once (rule 12).
    @Test func aFullWindowBlocksNoOtherWork() async throws {
        let full = try await self.fill()
        for _ in 0..<30 { #expect(try await self.block(try await self.begin())) }
        // Of the same app, through another service.
        let fcm = try await self.begin()
        #expect(try await self.block(fcm, on: .fcm))
        // Of the same app, but urgent; a change of a registration; a send and a retry of another app.
        let urgent = try await self.accept(priority: .high)
        let change = try await self.scenario.accept(
            NewJob(app: .default, work: .register(.delete(.random())), lifetime: .seconds(60))
        )
        let other = try await self.accept(app: try AppID("other"))
        var retried = try await self.begin(app: try AppID("third"))
        _ = try await retried.commit(devices: 1).written
        try await self.retry(retried.key(), wait: .zero)
        self.time.advance(.seconds(2))
        var jobs: [JobID] = []
        var batches: [BatchKey] = []
        for _ in 0..<4 {
            for message in try await self.scenario.takeDue(limit: 10) {
                if case .deliver = message.queue {
                    batches += try await self.store.batches(of: message.id).map(\.key)
                } else {
                    jobs += try await self.scenario.jobs(of: message)
                }
            }
        }
        #expect(Set(jobs) == [fcm.campaign.job.id, urgent.id, change.id, other.id])
        #expect(batches.map(\.job) == [retried.campaign.job.id])
        #expect(try await self.scenario.status(of: [full.key()]) == [.open])
    }
}
