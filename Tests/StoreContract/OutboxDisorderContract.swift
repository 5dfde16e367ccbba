import PushModel
import SeededRandom
import Store
import Testing

/// What holds whatever happens to messages at the same time: their members are counted, and all comes to an end.
@Suite(.everyStore) struct OutboxDisorderContract {
    let fixture: any StoreFixture
    let scenario: Scenario
    var store: any ResultStore { self.scenario.store }
    var time: TestTime { self.fixture.time }

    init() throws {
        self.fixture = try StoreFixtures.make()
        self.scenario = Scenario(self.fixture)
    }

    private func fanOut(_ id: MessageID, _ dice: inout SeededGenerator) async throws {
        // As a send worker does: what was claimed before is claimed.
        var found = Bool.random(using: &dice) ? try await self.store.claim(id, peeking: true) : nil
        if found?.isFirst != true { found = try await self.store.claim(id, peeking: false) }
        guard let claim = found else { return }
        switch claim.work {
        case .group:
            var (step, _) = try await self.scenario.step(for: claim)
            step.sends = step.sends.map {
                Int.random(in: 0..<6, using: &dice) == 0 ? FanOutSend(sequence: $0.sequence, decision: .ownMessage) : $0
            }
            if Bool.random(using: &dice) { step.sends = Array(step.sends.prefix(2)) }
            _ = try await self.store.commit(.group(step), of: claim)
        case .campaign(let campaign):
            var cursors = campaign.cursors
            guard let index = cursors.firstIndex(where: { !$0.isDone }) else { return }
            let cursor = cursors[index]
            let batch = FanOutPage(page: 0, from: cursor.after, to: cursor.through, size: 1)
            (cursors[index].after, cursors[index].isDone) = (cursor.through, true)
            let isEmpty = cursor.pns != .apns
            if !isEmpty { cursors[index].nextPage += 1 }
            let step = PageStep(
                sequence: campaign.job.sequence,
                cursors: cursors,
                pns: cursor.pns,
                batches: isEmpty ? [] : [batch]
            )
            _ = try await self.store.commit(.pages(step), of: claim)
        case nil: break
        }
    }

    private func deliver(_ message: MessageID, _ dice: inout SeededGenerator) async throws {
        let batches = try await self.store.batches(of: message)
        let located = try await self.store.status(of: batches.map(\.key), in: message)
        if Int.random(in: 0..<4, using: &dice) == 0 { try await self.store.split(message) }
        var outcomes: [BatchOutcome] = []
        for (batch, place) in zip(batches, located) where place.status != .closed {
            let size = batch.key.attempt == 0 ? 1 : batch.retries.count
            let isRetried = batch.key.attempt < 2 && Int.random(in: 0..<4, using: &dice) == 0
            var outcome = BatchOutcome(key: batch.key, hint: place.hint, at: self.time.wall)
            if isRetried {
                let rows = batch.key.attempt == 0 ? [1] : batch.retries.map(\.row)
                outcome.retries = rows.map { RetryDevice(row: $0, tries: 1, wait: .seconds(1)) }
            } else {
                outcome.accepted = size
            }
            if Bool.random(using: &dice) { outcomes.append(outcome) }
        }
        if !outcomes.isEmpty { _ = try await self.store.record(outcomes) }
    }

    private func disturb(_ jobs: [JobID], highest: Int64, seed: UInt64) async throws {
        var dice = SeededGenerator(seed: seed)
        for _ in 0..<40 {
            let message = MessageID(number: Int64.random(in: 1...(highest + 60), using: &dice))
            switch Int.random(in: 0..<12, using: &dice) {
            case 0, 1, 2: try await self.fanOut(message, &dice)
            case 3, 4, 5: try await self.deliver(message, &dice)
            case 6: _ = try await self.store.cancel(jobs.randomElement(using: &dice) ?? jobs[0], app: .default)
            case 7: try await self.store.split(message)
            case 8: _ = try await self.store.defer(message, epoch: nil, Deferral(pause: .milliseconds(1)))
            case 9: try await self.scenario.deadLetter("\(message)", body: [UInt8(seed % 250)])
            case 10:
                for letter in try await self.store.deadLetters(DeadLetterQuery(app: .default, limit: 3)).items {
                    _ = try await self.store.replay(deadLetter: letter.id, app: .default)
                }
            default: _ = try await self.store.redelivered(message)
            }
        }
    }

    @Test(arguments: [1, 2, 3, 4, 5, 6] as [UInt64])
    func membersAreCountedInAnyOrderOfEvents(seed: UInt64) async throws {
        let users = ["ann", "bob", "cid", "dan", "eve", "nobody"]
        for user in users.dropLast() { try await self.scenario.register(user: user, handle: "aa\(user)", tags: ["t"]) }
        for user in ["ann", "bob"] {
            try await self.scenario.register(user: user, handle: "a-token-of-\(user)", pns: .fcm)
        }
        var jobs: [JobID] = []
        var highest: Int64 = 1
        for round in 0..<8 {
            for _ in 0..<3 {
                let (message, ids) = try await self.scenario.acceptGroup(users)
                (jobs, highest) = (jobs + ids, message.id.number)
            }
            let (known, top) = (jobs, highest)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for worker in 0..<6 {
                    group.addTask {
                        let mix = seed &* 1000 &+ UInt64(round * 10 + worker)
                        try await self.disturb(known, highest: top, seed: mix)
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await self.scenario.auditFaults() == [])
            self.time.advance(.seconds(2))
            try await self.scenario.expireJobs(limit: 500)
        }
        // What nobody disturbs comes to its end by what is due alone.
        var dice = SeededGenerator(seed: seed)
        for _ in 0..<60 {
            self.time.advance(WorkQueue.deliver(.apns).lease / 60 * 61 / 40)
            for message in try await self.store.takeDue(Set(WorkQueue.allCases), overdue: .zero, limit: 500) {
                if message.queue == .send {
                    try await self.fanOut(message.id, &dice)
                } else {
                    try await self.deliver(message.id, &dice)
                }
            }
            try await self.scenario.expireJobs(limit: 500)
        }
        self.time.advance(Scenario.closedAfterStop)
        try await self.scenario.expireJobs(limit: 500)
        #expect(try await self.scenario.auditFaults() == [])
        for id in jobs { #expect(try await self.scenario.job(id).state.isFinal) }
        self.time.advance(.seconds(7200))
        #expect(try await self.store.takeDue(Set(WorkQueue.allCases), overdue: .zero, limit: 500).isEmpty)
    }
}
