import Foundation
import GRDB
import PushModel
import Store
import StoreKit
import Testing

@testable import StoreSQLite

/// A batch that its job's row stands for is not to be told from one that has a row (rules 2, 3, 13 and 14).
struct InlineBatchContract {
    /// The same two sends in two stores: in one of them the batches are written out as soon as they are planned.
    private struct Twin {
        let keep: TemporaryStore
        let scenario: Scenario
        let jobs: [JobID]
        let keys: [BatchKey]
        let parcel: ParcelID
        /// Where a worker found the batches before anything happened.
        let places: [BatchPlace]

        private static let lease = Duration.seconds(60)

        init(isInline: Bool) async throws {
            self.keep = try TemporaryStore()
            self.scenario = Scenario(store: self.keep.store, time: self.keep.time)
            for user in ["ann", "bob"] { try await self.scenario.register(user: user, handle: "aa\(user)") }
            let store = self.keep.store
            let scenario = self.scenario
            // The same ids in both, so that what they say can be compared.
            self.jobs = [1, 2].compactMap { JobID(bytes: [UInt8](repeating: $0, count: 16)) }
            let new = try zip(self.jobs, ["ann", "bob"]).map { id, user in
                NewJob(
                    id: id,
                    app: .default,
                    work: .send(scenario.send(to: .tag(Tag(user: try UserName(user))))),
                    lifetime: .seconds(3600)
                )
            }
            let bundle = try #require(try await store.accept(together: new).bundles.first)
            let claim = try #require(try await store.claim(bundle.id, lease: Self.lease))
            let sends = try await store.smallSends(of: claim, devices: 10)
            let plan = BundlePlan(
                sends: sends.map {
                    PlannedSend(sequence: $0.sequence, fate: .planned([SmallBatch(pns: .apns, size: 1, parcel: 0)]))
                },
                parcels: 1,
                through: 2
            )
            let result = try await store.commit(plan, of: claim, lease: Self.lease, grace: .seconds(10))
            guard case .written(let parcels, _, true) = result, let parcel = parcels.first ?? nil else {
                throw Unexpected("\(result)")
            }
            self.parcel = parcel
            self.keys = sends.map { BatchKey(job: $0.id, pns: .apns, page: 0, attempt: 0) }
            self.places = try await store.standing(of: self.keys, in: parcel).compactMap(\.place)
            #expect(self.places == zip(sends, [parcel, parcel]).map { BatchPlace(job: $0.sequence, parcel: $1) })
            let rows = try await self.rows()
            #expect(rows == 0)
            if !isInline {
                try await store.write { context in
                    try context.writeOutBatches(of: parcel.number, jobs: 1...(.max))
                }
                let rows = try await self.rows()
                #expect(rows == 2)
            }
        }

        func rows() async throws -> Int {
            try await self.keep.store.read { try $0.first("SELECT count(*) FROM batch") { $0[0] } ?? 0 }
        }

        /// What anybody can see.
        func view() async throws -> [String] {
            let store = self.keep.store
            var lines: [String] = []
            for id in self.jobs {
                let job = try await self.scenario.job(id)
                lines.append(
                    "\(job.state) \(job.hubState as Any) \(job.reason as Any) \(job.tallies) \(job.due as Any) \(job.finished as Any)"
                )
            }
            for pns in [nil, PNS.apns, .fcm] {
                let query = JobQuery(app: .default, pns: pns, kind: .send)
                lines.append("\(try await store.jobs(query).items.map(\.id))")
            }
            for state in [Job.State.running, .retrying, .completed, .cancelled, .expired] {
                let query = JobQuery(app: .default, state: state, kind: .send)
                lines.append("\(state): \(try await store.jobs(query).items.map(\.id))")
            }
            let standing = try await store.standing(of: self.keys)
            lines.append("\(self.keys.map { standing[$0] as Any })")
            let inParcel = try await store.standing(of: self.keys, in: self.parcel)
            lines.append("\(inParcel.map(\.standing))")
            lines.append(
                "\(try await store.dueBatches(limit: 10).map { "\($0.key) \($0.from) \($0.to) \($0.carried)" })"
            )
            lines.append("\(try await store.backlog().jobs) unfinished")
            lines.append(
                "\(try await store.room(for: .retry, app: .default, pns: .apns, priority: .normal).devices) room"
            )
            let devices = try await store.deliveries(DeliveryQuery(job: self.jobs[0], app: .default)).items
            lines.append("\(devices.map { "\($0.row) \($0.outcome)" })")
            lines.append("\(try await store.audit(after: 0, limit: 10).faults)")
            return lines
        }

        /// Does something, and says what it gave.
        func perform(_ step: Int) async throws -> String {
            let store = self.keep.store
            let key = self.keys[step % 2]
            let failure = DeviceFailure(row: 1, failure: .rejected, status: 400, reason: "bad")
            let carried = CarriedDevice(row: 1, tries: 1, wait: .seconds(3))
            let now = self.keep.time.wall
            switch step / 2 {
            case 0: return "\(try await store.record(BatchOutcome(key: key, accepted: 1, at: now)))"
            case 1: return "\(try await store.record(BatchOutcome(key: key, accepted: 1, acceptedRows: [1], at: now)))"
            case 2: return "\(try await store.record(BatchOutcome(key: key, failures: [failure], at: now)))"
            case 3: return "\(try await store.record(BatchOutcome(key: key, carried: [carried], at: now)))"
            case 4: return "\(try await store.record(BatchOutcome(key: key, expired: 1, at: now)))"
            case 5: return "\(try await store.cancel(key.job, app: .default)?.state as Any)"
            case 6: return "\(try await store.raiseStarts(batch: key))"
            case 7: return "\(try await store.park(key, for: .seconds(5), reason: "slow"))"
            case 8: try await store.park(self.parcel, for: .seconds(5), reason: "slow")
            case 9: try await store.takeApart(self.parcel)
            case 10: try await store.markPublished(parcels: [self.parcel], lease: Self.lease)
            case 11:
                try await store.deadLetter(
                    DeadMessage(
                        queue: "q",
                        type: "t",
                        messageID: key.description,
                        app: nil,
                        reason: "bad",
                        body: [1]
                    )
                )
            case 12: self.keep.time.advance(.seconds(70))
            case 13: return "\(try await store.takeApartParcels(limit: 10))"
            case 14: return "\(try await store.perform(.expireJobs(lease: Self.lease), limit: 10))"
            case 15: self.keep.time.advance(.seconds(3600))
            case 16: return "\(try await store.record(BatchOutcome(key: key, accepted: 1, cancelled: 1, at: now)))"
            case 17:
                let place = self.places[step % 2]
                return "\(try await store.record(BatchOutcome(key: key, place: place, accepted: 1, at: now)))"
            case 18:
                // Another's place, as if numbers were given anew.
                let place = self.places[(step + 1) % 2]
                return "\(try await store.record(BatchOutcome(key: key, place: place, accepted: 1, at: now)))"
            case 19:
                // As many as nobody planned.
                let place = self.places[step % 2]
                return "\(try await store.record(BatchOutcome(key: key, place: place, accepted: 2, at: now)))"
            default:
                let rows = step % 2 == 0 ? [1 as Int64] : []
                let outcomes = zip(self.keys, self.places).map {
                    BatchOutcome(key: $0, place: $1, accepted: 1, acceptedRows: rows, at: now)
                }
                return "\(try await store.record(together: outcomes + outcomes))"
            }
            return ""
        }

        static let steps = 42
    }

    @Test(arguments: 0..<80 as Range<UInt64>)
    func noOneCanTell(seed: UInt64) async throws {
        let inline = try await Twin(isInline: true)
        let written = try await Twin(isInline: false)
        let (seen, expected) = (try await inline.view(), try await written.view())
        #expect(seen == expected)
        var generator = SeededGenerator(seed: seed)
        var done: [Int] = []
        for _ in 0..<Int.random(in: 1...8, using: &generator) {
            let step = Int.random(in: 0..<Twin.steps, using: &generator)
            done.append(step)
            let (first, second) = (try await inline.perform(step), try await written.perform(step))
            #expect(first == second, "after \(done)")
            let (seen, expected) = (try await inline.view(), try await written.view())
            #expect(seen == expected, "after \(done)")
            #expect(seen.last == "[]", "after \(done)")
        }
    }

    /// Found by its key; where it was seen before; together with others; by its key where it is not at that place.
    @Test(arguments: [[0, 1, 0, 1], [34, 35, 34], [40, 41], [36, 37, 36]])
    func anAcceptedBatchNeverHasARow(steps: [Int]) async throws {
        let twin = try await Twin(isInline: true)
        for step in steps { _ = try await twin.perform(step) }
        #expect(try await twin.rows() == 0)
        for id in twin.jobs { #expect(try await twin.scenario.job(id).state == .completed) }
        let tally = try await twin.scenario.tally(twin.jobs[0])
        #expect(tally.targets == 1 && tally.accepted == 1 && tally.accounted == 1)
    }

    /// The statement finds what it is for, and nothing else.
    @Test func onlyTheBatchAtItsPlaceIsRecordedThere() async throws {
        let twin = try await Twin(isInline: true)
        let (key, place, now) = (twin.keys[0], twin.places[0], twin.keep.time.wall)
        let fcm = BatchKey(job: key.job, pns: .fcm, page: 0, attempt: 0)
        let elsewhere = ParcelID(number: place.parcel.number + 1)
        let failure = DeviceFailure(row: 1, failure: .rejected, status: 400, reason: "bad")
        let others = [
            BatchOutcome(key: key, accepted: 1, at: now),
            BatchOutcome(key: key, place: place, accepted: 2, at: now),
            BatchOutcome(key: key, place: place, failures: [failure], at: now),
            BatchOutcome(key: key, place: twin.places[1], accepted: 1, at: now),
            BatchOutcome(key: fcm, place: place, accepted: 1, at: now),
            BatchOutcome(key: key, place: BatchPlace(job: place.job, parcel: elsewhere), accepted: 1, at: now),
        ]
        let its = BatchOutcome(key: key, place: place, accepted: 1, at: now)
        let recorded = try await twin.keep.store.write { context in
            let inline = try InlineOutcomes(context: context)
            return try (others + [its, its]).map { try inline.recordAtPlace($0) }
        }
        #expect(recorded == others.map { _ in false } + [true, false])
        #expect(try await twin.scenario.job(twin.jobs[0]).state == .completed)
        #expect(try await twin.scenario.job(twin.jobs[1]).state == .running)
    }

    /// A store of before, with a send in each state: its counts are carried over, and its sends go on.
    @Test func aStoreOfBeforeIsCarriedOver() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "pushline-old-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appending(path: "store.sqlite").path
        let time = TestTime()
        let end = time.wall.milliseconds + 3_600_000
        let ids = try (1...5).map { try #require(JobID(bytes: [UInt8](repeating: $0, count: 16))) }
        let queue = try DatabaseQueue(path: path)
        try Schema.migrator.migrate(queue, upTo: "15 released handles")
        try await queue.write { database in
            try database.execute(sql: "INSERT INTO app(number, name) VALUES (1, 'default')")
            // Scheduled, queued, in a parcel, completed, cancelled.
            for (id, state) in zip(ids, [0, 1, 2, 10, 12]) {
                try database.execute(
                    sql: """
                        INSERT INTO job(id, app, kind, priority, platforms, state, work, planned, expires, ends, accepted, starts_at)
                        VALUES (?, 1, 2, 1, 0, ?, '{}', ?, ?, ?, ?, ?)
                        """,
                    arguments: [
                        id.blob, min(state, 1), state >= 2, end, state == 0 ? nil : end, time.wall.milliseconds,
                        state == 0 ? time.wall.milliseconds + 60_000 : nil,
                    ]
                )
            }
            // As they change, the triggers of before count them.
            for (sequence, state) in [(3, 2), (4, 10), (5, 12)] {
                try database.execute(sql: "UPDATE job SET state = \(state) WHERE sequence = \(sequence)")
            }
            try database.execute(
                sql: """
                    INSERT INTO parcel(app, pns, priority, first, last, open, devices, due) VALUES (1, 1, 1, 3, 3, 1, 1, 0);
                    INSERT INTO batch(job, pns, page, attempt, app, priority, from_id, to_id, size, open, published, parcel)
                        VALUES (3, 1, 0, 0, 1, 1, 0, 9, 1, 1, 2, 1);
                    INSERT INTO tally VALUES (4, 1, 0, 7), (4, 1, 1, 7);
                    """
            )
        }
        try queue.close()
        let store = try SQLiteStore(configuration: .init(path: path), source: time)
        #expect(try await store.backlog().jobs == 2)
        let key = BatchKey(job: ids[2], pns: .apns, page: 0, attempt: 0)
        #expect(try await store.standing(of: [key]) == [key: .open])
        #expect(try await store.record(BatchOutcome(key: key, accepted: 1, at: time.wall)))
        #expect(try await store.backlog().jobs == 1)
        let tallies = try await store.read { database in
            try database.all("SELECT job, class, count FROM tally ORDER BY job, class") {
                "\($0[0] as Int) \($0[1] as Int) \($0[2] as Int)"
            }
        }
        #expect(tallies == ["3 0 1", "3 1 1", "4 0 7", "4 1 7"])
        #expect(try await store.read { try $0.first("SELECT scheduled FROM open_jobs") { $0[0] as Int } } == 1)
    }
}
