import PushModel
import SeededRandom
import Store
import Testing

/// Random lives of jobs: whatever happens in whatever order, each device is in exactly one place (rules 3 and 14).
@Suite(.everyStore) struct AccountingContract {
    @Test(arguments: 1...12)
    func everyTargetIsCountedOnce(seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        let fixture = try StoreFixtures.make()
        let scenario = Scenario(fixture)
        for number in 0..<17 { try await scenario.register(user: "u\(number)", handle: "aa\(number)", tags: ["t"]) }
        var life = Life(scenario: scenario)
        for _ in 0..<3 {
            let lifetime = Duration.seconds(Int64.random(in: 100...100_000, using: &random))
            life.jobs.append(try await scenario.accept(scenario.campaign(to: "t"), lifetime: lifetime).id)
        }
        // Two that share a message.
        life.jobs += try await scenario.acceptGroup(["u1", "u2"]).jobs
        // A list of one device, and one in pages.
        for count in [1, 101] {
            let lifetime = Duration.seconds(Int64.random(in: 100...100_000, using: &random))
            life.jobs.append(try await scenario.accept(.list(apns: count), lifetime: lifetime).id)
        }
        for _ in 0..<90 {
            try await life.step(&random)
            try await life.check()
        }
        // In the end all is final: what is open is answered, what is stopped is swept.
        fixture.time.advance(.seconds(200_000))
        try await scenario.expireJobs(limit: 100)
        fixture.time.advance(Scenario.closedAfterStop)
        try await scenario.expireJobs(limit: 100)
        for id in life.jobs {
            let job = try await scenario.job(id)
            #expect(job.state.isFinal)
            for counts in job.counts.values { #expect(counts.targets == counts.accounted) }
        }
        #expect(try await scenario.takeDue().isEmpty)
    }
}

/// The jobs of one run, and what is known to be open of them.
private struct Life {
    let scenario: Scenario
    var jobs: [JobID] = []
    /// Every batch there ever was, with the number of its devices.
    var batches: [BatchKey: Int] = [:]
    /// The dead letters of batches: a message's number does not say whose it was.
    var dead: [String: BatchKey] = [:]

    var store: any ResultStore { self.scenario.store }

    mutating func step(_ random: inout SeededGenerator) async throws {
        guard let job = self.jobs.randomElement(using: &random) else { return }
        switch Int.random(in: 0..<24, using: &random) {
        case 0..<5: try await self.fanOut(job, random: &random)
        case 5..<15: try await self.record(random: &random)
        case 15:
            try await self.store.markPublished(self.batches.keys.compactMap { try? self.scenario.message(of: $0) })
        case 16: if Int.random(in: 0..<3, using: &random) == 0 { _ = try await self.store.cancel(job, app: .default) }
        case 17:
            self.scenario.time.advance(.seconds(Int64.random(in: 1...40, using: &random)))
            try await self.scenario.expireJobs(limit: 2)
        case 18: if Int.random(in: 0..<4, using: &random) == 0 { try await self.die(&random) }
        case 19: try await self.replay(random: &random)
        case 20:
            guard let key = self.some(&random) else { return }
            try await self.scenario.deferBatch(key, for: .seconds(Int64.random(in: 0...20, using: &random)))
        case 21:
            guard let key = self.some(&random) else { return }
            let message = try self.scenario.message(of: key)
            _ = try await self.store.redelivered(message.id)
            if Bool.random(using: &random) { try await self.store.split(message.id) }
        case 22: try await self.store.perform(.remove(.recipients, olderThan: .zero), limit: 50)
        default:
            for batch in try await self.scenario.takeDueBatches(limit: 3) {
                #expect(batch.key.attempt == 0 || self.batches[batch.key] == batch.retries.count)
            }
        }
    }

    /// The message of a batch dies: it closes the batch, or is split where others are in it.
    private mutating func die(_ random: inout SeededGenerator) async throws {
        guard let key = self.some(&random), let message = try? self.scenario.message(of: key) else { return }
        let members = try await self.store.batches(of: message.id).map(\.key)
        try await self.scenario.deadLetter("\(message.id)")
        if members.count == 1 { self.dead["\(message.id)"] = members[0] }
    }

    private mutating func replay(random: inout SeededGenerator) async throws {
        let letters = try await self.store.deadLetters(DeadLetterQuery(app: .default, limit: 100)).items
        guard let letter = letters.randomElement(using: &random),
            let replay = try await self.store.replay(deadLetter: letter.id, app: .default)
        else { return }
        guard case .begun(let job, let devices) = replay else { return #expect(letter.blockedReason != nil) }
        #expect(letter.blockedReason == nil)
        let last = self.dead[letter.messageID] ?? BatchKey(letter.messageID)
        guard let key = last, key.job == job else { return #expect(devices == nil) }
        let next = BatchKey(job: key.job, pns: key.pns, page: key.page, attempt: key.attempt + 1)
        if let devices, devices > 0 { self.batches[next] = devices }
    }

    /// A batch that was in a message when it was last looked at.
    private func some(_ random: inout SeededGenerator) -> BatchKey? {
        self.batches.keys.filter { (try? self.scenario.message(of: $0)) != nil }
            .sorted { "\($0)" < "\($1)" }.randomElement(using: &random)
    }

    private mutating func fanOut(_ id: JobID, random: inout SeededGenerator) async throws {
        let message = try self.scenario.message(of: id)
        guard let claim = try await self.store.claim(message.id, peeking: false) else { return }
        guard case .campaign(let campaign) = claim.work else { return try await self.fanOut(claim, random: &random) }
        guard let cursor = campaign.cursors.filter({ !$0.isDone }).randomElement(using: &random) else { return }
        var query = AudienceQuery(
            campaign.request,
            job: campaign.job.sequence,
            app: .default,
            pns: cursor.pns
        )
        (query.after, query.through) = (cursor.after, cursor.through)
        query.limit = Int.random(in: 1...6, using: &random)
        let page = try await self.store.audience(query)
        var step = CampaignClaim(scenario: self.scenario, claim: claim, campaign: campaign)
        let result = try await step.commit(
            cursor.pns,
            devices: page.rows.count,
            through: page.scannedThrough,
            isDone: page.scannedThrough >= cursor.through
        )
        #expect(result != .lost)
        if !page.rows.isEmpty { self.batches[step.key(cursor.pns, page: cursor.nextPage)] = page.rows.count }
    }

    /// Fans out one send of a group, or all.
    private mutating func fanOut(_ claim: FanOutClaim, random: inout SeededGenerator) async throws {
        var (step, keys) = try await self.scenario.step(for: claim)
        if Bool.random(using: &random), step.sends.count > 1 {
            step.sends.removeLast()
            keys.removeLast()
        }
        #expect(try await self.scenario.commit(step, of: claim, keys: keys) != .lost)
        for key in keys { self.batches[key] = 1 }
    }

    private mutating func record(random: inout SeededGenerator) async throws {
        let keys = self.batches.keys.sorted { "\($0)" < "\($1)" }
        guard let key = keys.randomElement(using: &random), let size = self.batches[key] else { return }
        var outcome = BatchOutcome(key: key, at: self.scenario.time.wall)
        for row in 0..<size {
            switch Int.random(in: 0..<6, using: &random) {
            case 0..<3: outcome.accepted += 1
            case 3:
                outcome.failures.append(
                    DeviceFailure(row: Int64(row), failure: .rejected, status: 400, reason: "BadDeviceToken")
                )
            case 4: outcome.expired += 1
            default:
                let wait = Duration.seconds(Int64.random(in: 0...50, using: &random))
                outcome.retries.append(RetryDevice(row: Int64(row), tries: 1, wait: wait))
            }
        }
        let status = try await self.scenario.status(of: [key]).first
        let isNew = try await self.scenario.record(outcome)
        #expect(isNew == (status != .closed))
        // The same again, as a redelivery brings it, changes nothing.
        #expect(try await !self.scenario.record(outcome))
        guard isNew, status == .open, !outcome.retries.isEmpty else { return }
        let next = BatchKey(job: key.job, pns: key.pns, page: key.page, attempt: key.attempt + 1)
        self.batches[next] = outcome.retries.count
    }

    /// targets = accounted + retries and open, and final where nothing is open.
    func check() async throws {
        #expect(try await self.scenario.auditFaults() == [])
        for id in self.jobs {
            let keys = self.batches.keys.filter { $0.job == id }
            let status = try await self.scenario.status(of: keys)
            let open = zip(keys, status).filter { $0.1 != .closed }.map(\.0)
            let job = try await self.scenario.job(id)
            for pns in PushService.allCases {
                let waiting = open.filter { $0.pns == pns && $0.attempt > 0 }.reduce(0) { $0 + (self.batches[$1] ?? 0) }
                let counts = job.counts[pns] ?? DeliveryCounts()
                #expect(counts.targets == counts.accounted + waiting, "\(job.state)")
            }
            if job.state.isFinal { #expect(open.isEmpty) }
            if job.state == .cancelling || job.state == .expiring { #expect(!open.isEmpty) }
            if job.state == .retrying { #expect(job.due != nil) }
        }
    }
}
