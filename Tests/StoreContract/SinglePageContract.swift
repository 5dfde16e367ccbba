import PushModel
import SeededRandom
import Store
import Testing

/// A batch of a small send is not to be told from a page of a campaign, however a driver stores either (rules 2, 3, 13 and 14).
@Suite(.everyStore) struct SinglePageContract {
    /// The same two sends in two stores: in one of them they share a message, in the other each is a campaign of one page.
    private struct Twin {
        let fixture: any StoreFixture
        let scenario: Scenario
        let jobs: [JobID]
        let keys: [BatchKey]
        /// Where a worker found the batches before anything happened.
        let hints: [RowHint?]

        init(isGroup: Bool) async throws {
            self.fixture = try StoreFixtures.make()
            let scenario = Scenario(self.fixture)
            self.scenario = scenario
            for user in ["ann", "bob"] { try await scenario.register(user: user, handle: "aa\(user)") }
            // The same ids in both, so that what they say can be compared.
            self.jobs = [1, 2].compactMap { JobID(bytes: [UInt8](repeating: $0, count: 16)) }
            let new = try zip(self.jobs, ["ann", "bob"]).map { id, user in
                let request =
                    isGroup
                    ? scenario.send(to: .tag(PushModel.Tag(user: try UserName(user, .folded))), platforms: [.apns])
                    : try scenario.campaign(to: "username:\(user)", platforms: [.apns])
                return NewJob(id: id, app: .default, work: .send(request), lifetime: .seconds(3600))
            }
            self.keys = self.jobs.map { BatchKey(job: $0, pns: .apns, page: 0, attempt: 0) }
            if isGroup {
                try await Self.fanOutTogether(new, self.keys, scenario)
            } else {
                for new in new { _ = try await scenario.fanOut(try await scenario.accept(new)) }
            }
            var hints: [RowHint?] = []
            for key in self.keys {
                let found = try await scenario.store.status(of: [key], in: scenario.message(of: key).id)
                hints += found.map(\.hint)
            }
            self.hints = hints
        }

        /// Fans the sends out in one step, each in a delivery message of its own.
        private static func fanOutTogether(_ jobs: [NewJob], _ keys: [BatchKey], _ scenario: Scenario) async throws {
            let store = scenario.store
            guard let message = try await store.accept(jobs).messages.first,
                let claim = try await store.claim(message.id, peeking: false)
            else { throw Unexpected("not claimed") }
            let sends = try await scenario.sends(of: claim)
            let fannedOut = sends.enumerated().map { index, send in
                FanOutSend(
                    sequence: send.sequence,
                    decision: .batches([SinglePage(pns: .apns, size: 1, message: index)], through: send.through)
                )
            }
            let step = GroupStep(sends: fannedOut, messages: sends.count)
            let deliveries = try await store.commit(.group(step), of: claim).written.deliveries.compactMap { $0 }
            for (key, delivery) in zip(keys, deliveries) { scenario.note(delivery, batches: [key]) }
            try await store.markPublished(deliveries)
        }

        /// What anybody can see.
        func view() async throws -> [String] {
            let store = self.scenario.store
            var lines: [String] = []
            for id in self.jobs {
                let job = try await self.scenario.job(id)
                lines.append("\(job.state) \(job.reason as Any) \(job.counts)")
                lines.append("\(job.due as Any) \(job.finished as Any)")
            }
            for pns in [nil, PushService.apns, .fcm] {
                let query = JobQuery(app: .default, pns: pns, kind: .send)
                lines.append("\(try await store.jobs(query).items.map(\.id))")
            }
            for state in [Job.State.running, .retrying, .completed, .cancelled, .expired] {
                let query = JobQuery(app: .default, state: state, kind: .send)
                lines.append("\(state): \(try await store.jobs(query).items.map(\.id))")
            }
            lines.append("\(try await self.scenario.status(of: self.keys))")
            lines.append("\(try await store.state().jobs) unfinished")
            let credit = try await store.credit(for: .retry, app: .default, pns: .apns, priority: .normal)
            lines.append("\(credit.devices) of credit")
            let devices = try await store.deliveries(DeliveryQuery(job: self.jobs[0], app: .default)).items
            lines.append("\(devices.map { "\($0.row) \($0.outcome)" })")
            lines.append("\(try await self.scenario.auditFaults())")
            return lines
        }

        /// Does something, and says what it gave.
        func perform(_ step: Int) async throws -> String {
            let store = self.scenario.store
            let key = self.keys[step % 2]
            let failure = DeviceFailure(row: 1, failure: .rejected, status: 400, reason: "bad")
            let retry = RetryDevice(row: 1, tries: 1, wait: .seconds(3))
            let message = try self.scenario.message(of: key)
            var outcome = BatchOutcome(key: key, at: self.fixture.time.wall)
            switch step / 2 {
            case 0: outcome.accepted = 1
            case 1: (outcome.accepted, outcome.acceptedRows) = (1, [1])
            case 2: outcome.failures = [failure]
            case 3: outcome.retries = [retry]
            case 4: outcome.expired = 1
            case 5: return "\(try await store.cancel(key.job, app: .default)?.state as Any)"
            case 6: return "\(try await store.redelivered(message.id) as Any)"
            case 7: return "\(try await self.scenario.deferBatch(key, for: .seconds(5)))"
            case 8:
                try await store.split(message.id)
                return ""
            case 9:
                try await store.markPublished([message])
                return ""
            case 10:
                try await self.scenario.deadLetter("\(message.id)")
                return ""
            case 11:
                self.fixture.time.advance(.seconds(70))
                return ""
            case 12:
                let batches = try await self.scenario.takeDueBatches()
                return "\(batches.map { "\($0.key) \($0.retries)" }.sorted())"
            case 13: return "\(try await self.scenario.expireJobs())"
            case 14:
                self.fixture.time.advance(.seconds(3600))
                return ""
            case 15: (outcome.accepted, outcome.cancelled) = (1, 1)
            case 16: (outcome.accepted, outcome.hint) = (1, self.hints[step % 2])
            // Another's hint, as if numbers were given anew.
            case 17: (outcome.accepted, outcome.hint) = (1, self.hints[(step + 1) % 2])
            // As many as are in no batch.
            case 18: (outcome.accepted, outcome.hint) = (2, self.hints[step % 2])
            default:
                let rows = step % 2 == 0 ? [1 as Int64] : []
                let outcomes = zip(self.keys, self.hints).map {
                    BatchOutcome(key: $0, hint: $1, accepted: 1, acceptedRows: rows, at: outcome.at)
                }
                return "\(try await store.record(outcomes + outcomes))"
            }
            return "\(try await store.record([outcome]))"
        }

        static let steps = 40
    }

    @Test(arguments: 0..<80 as Range<UInt64>)
    func aBatchOfASmallSendBehavesAsAPage(seed: UInt64) async throws {
        let group = try await Twin(isGroup: true)
        let campaigns = try await Twin(isGroup: false)
        let (seen, expected) = (try await group.view(), try await campaigns.view())
        #expect(seen == expected)
        var generator = SeededGenerator(seed: seed)
        var done: [Int] = []
        for _ in 0..<Int.random(in: 1...8, using: &generator) {
            let step = Int.random(in: 0..<Twin.steps, using: &generator)
            done.append(step)
            let (first, second) = (try await group.perform(step), try await campaigns.perform(step))
            #expect(first == second, "after \(done)")
            let (seen, expected) = (try await group.view(), try await campaigns.view())
            #expect(seen == expected, "after \(done)")
            #expect(seen.last == "[]", "after \(done)")
        }
    }
}
