import PushModel
import Store
import Testing

@testable import StoreSQLite

/// Random lives of jobs: whatever happens in whatever order, each device is in exactly one place.
struct AccountingPropertyTests {
    @Test(arguments: 1...12)
    func everyTargetIsInExactlyOnePlace(seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        let keep = try TemporaryStore()
        let scenario = Scenario(store: keep.store, time: keep.time)
        for number in 0..<17 { try await scenario.register(user: "u\(number)", handle: "aa\(number)", tags: ["t"]) }
        var life = Life(scenario: scenario)
        for _ in 0..<4 {
            let lifetime = Duration.seconds(Int64.random(in: 100...100_000, using: &random))
            life.jobs.append(try await scenario.accept(scenario.send(to: .tag(Tag("t"))), lifetime: lifetime).id)
        }
        for _ in 0..<90 {
            try await life.step(&random)
            try await life.check()
        }
        // In the end all is final: what is open is answered, what is stopped is swept.
        keep.time.advance(.seconds(200_000))
        _ = try await keep.store.perform(.expireJobs(lease: .seconds(60)), limit: 100)
        keep.time.advance(.seconds(121))
        _ = try await keep.store.perform(.expireJobs(lease: .seconds(60)), limit: 100)
        for id in life.jobs {
            let job = try await scenario.job(id)
            #expect(job.state.isFinal)
            for tally in job.tallies.values { #expect(tally.targets == tally.accounted) }
        }
    }
}

/// The jobs of one run, and what is known to be open of them.
private struct Life {
    let scenario: Scenario
    var jobs: [JobID] = []
    /// Every batch there ever was, with the number of its devices.
    var batches: [BatchKey: Int] = [:]

    var store: any ResultStore { self.scenario.store }

    mutating func step(_ random: inout SeededGenerator) async throws {
        guard let job = self.jobs.randomElement(using: &random) else { return }
        switch Int.random(in: 0..<21, using: &random) {
        case 0..<5: try await self.plan(job, random: &random)
        case 5..<15: try await self.record(random: &random)
        case 15:
            try await self.store.markPublished(batches: Array(self.batches.keys), lease: .seconds(60), isRepeat: false)
        case 16: if Int.random(in: 0..<3, using: &random) == 0 { _ = try await self.store.cancel(job, app: .default) }
        case 17:
            self.scenario.time.advance(.seconds(Int64.random(in: 1...40, using: &random)))
            _ = try await self.store.perform(.expireJobs(lease: .seconds(60)), limit: 2)
        case 18:
            guard Int.random(in: 0..<4, using: &random) == 0, let key = self.some(&random) else { return }
            let message = DeadMessage(
                queue: "q",
                type: "deliver",
                messageID: key.description,
                app: nil,
                reason: "r",
                body: []
            )
            try await self.store.deadLetter(message)
        case 19: try await self.replay(random: &random)
        default:
            for batch in try await self.store.dueBatches(limit: 3) {
                #expect(batch.key.attempt == 0 || self.batches[batch.key] == batch.carried.count)
                try await self.store.markPublished(batches: [batch.key], lease: .seconds(60), isRepeat: false)
            }
        }
    }

    private mutating func replay(random: inout SeededGenerator) async throws {
        let letters = try await self.store.deadLetters(app: .default, cursor: nil, limit: 100).items
        guard let letter = letters.randomElement(using: &random), let key = BatchKey(letter.messageID),
            let replay = try await self.store.replay(deadLetter: letter.id, app: .default)
        else { return }
        guard case .begun(_, let devices) = replay else { return #expect(letter.obstacle != nil) }
        #expect(letter.obstacle == nil)
        let next = BatchKey(job: key.job, pns: key.pns, page: key.page, attempt: key.attempt + 1)
        if let devices, devices > 0 { self.batches[next] = devices }
    }

    private func some(_ random: inout SeededGenerator) -> BatchKey? {
        self.batches.keys.sorted { "\($0)" < "\($1)" }.randomElement(using: &random)
    }

    private mutating func plan(_ id: JobID, random: inout SeededGenerator) async throws {
        guard let claim = try await self.store.claim(id, lease: .seconds(60)) else { return }
        guard var lane = claim.lanes.filter({ !$0.isDone }).randomElement(using: &random) else { return }
        let size = Int.random(in: 1...6, using: &random)
        let page = try await self.store.audience(
            of: claim.request.audience,
            app: .default,
            pns: lane.pns,
            after: lane.after,
            through: lane.through,
            limit: size
        )
        var planned: [PlannedBatch] = []
        if !page.rows.isEmpty {
            let end = page.scannedThrough
            planned = [PlannedBatch(page: lane.nextPage, from: lane.after, to: end, size: page.rows.count)]
            lane.nextPage += 1
        }
        lane.after = page.scannedThrough
        lane.isDone = lane.after >= lane.through
        let result = try await self.store.commit(
            PlanStep(batches: planned, lane: lane),
            of: claim,
            lease: .seconds(60),
            grace: .seconds(2)
        )
        #expect(result != .lost)
        for batch in planned {
            let key = BatchKey(job: id, pns: lane.pns, page: batch.page, attempt: 0)
            self.batches[key] = batch.size
        }
    }

    private mutating func record(random: inout SeededGenerator) async throws {
        guard let key = self.some(&random), let size = self.batches[key] else { return }
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
                outcome.carried.append(CarriedDevice(row: Int64(row), tries: 1, wait: wait))
            }
        }
        let standing = try await self.store.standing(of: [key])[key]
        let isNew = try await self.store.record(outcome)
        #expect(isNew == (standing != .closed))
        // The same again, as a redelivery brings it, changes nothing.
        #expect(try await !self.store.record(outcome))
        guard isNew, standing == .open, !outcome.carried.isEmpty else { return }
        let next = BatchKey(job: key.job, pns: key.pns, page: key.page, attempt: key.attempt + 1)
        self.batches[next] = outcome.carried.count
    }

    /// targets = accounted + carried and open, and final where nothing is open.
    func check() async throws {
        #expect(try await self.store.audit(after: 0, limit: 1000).faults == [])
        for id in self.jobs {
            let keys = self.batches.keys.filter { $0.job == id }
            let open = try await self.store.standing(of: keys).filter { $0.value != .closed }.keys
            let job = try await self.scenario.job(id)
            for pns in PNS.allCases {
                let waiting = open.filter { $0.pns == pns && $0.attempt > 0 }.reduce(0) { $0 + (self.batches[$1] ?? 0) }
                let tally = job.tallies[pns] ?? Tally()
                #expect(tally.targets == tally.accounted + waiting, "\(job.state)")
            }
            if job.state.isFinal { #expect(open.isEmpty) }
            if job.state == .cancelling || job.state == .expiring { #expect(!open.isEmpty) }
            if job.state == .retrying { #expect(job.due != nil) }
        }
    }
}

/// A generator whose sequence a test can repeat: splitmix64.
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { self.state = seed }

    mutating func next() -> UInt64 {
        self.state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = self.state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
