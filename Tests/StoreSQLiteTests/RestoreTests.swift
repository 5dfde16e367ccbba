import Foundation
import PushModel
import Store
import StoreContract
import StoreKit
import StoreSQL
import Testing

@testable import StoreSQLite

/// What a restored copy does with work that was under way when it was made.
struct RestoreTests {
    private let keep: TemporaryStore
    private let scenario: Scenario
    private var store: SQLiteStore { self.keep.store }

    init() async throws {
        self.keep = try TemporaryStore()
        self.scenario = self.keep.scenario
        for number in 0..<6 {
            try await self.scenario.register(user: "u\(number)", handle: "aa\(number)", tags: ["t"])
        }
    }

    /// Jobs by what becomes of them when unfinished sends are stopped.
    private struct Work {
        /// They may be sent once more.
        var unfinished: [JobID] = []
        /// They are as they were.
        var others: [JobID] = []
        var scheduled: Job
        var register: Job
    }

    /// Sends of every kind in every state; 100 s pass since they were accepted.
    private func fill() async throws -> Work {
        let start = self.keep.time.wall
        let new = NewJob(app: .default, work: .register(.delete(.random())), lifetime: .seconds(86_400))
        var work = Work(
            scheduled: try await self.scenario.accept(.list(apns: 2), startsAt: start.advanced(by: .seconds(3600))),
            register: try await self.scenario.accept(new)
        )
        try await self.fillGroups(&work)
        try await self.fillCampaigns(&work)
        work.unfinished.append(try await self.scenario.accept(.list(apns: 4)).id)
        // Its time comes between the backup and the restore.
        work.unfinished.append(
            try await self.scenario.accept(.list(apns: 1), startsAt: start.advanced(by: .seconds(50))).id
        )
        work.others.append(try await self.scenario.accept(.list(apns: 3), lifetime: .seconds(60)).id)
        self.keep.time.advance(.seconds(100))
        return work
    }

    /// Three sends of a message that is at a worker, one of which is done; two of one that is at a send worker.
    private func fillGroups(_ work: inout Work) async throws {
        let (message, first) = try await self.scenario.acceptGroup(["u0", "u1", "u2"])
        let (keys, deliveries) = try await self.scenario.fanOut(group: message)
        try await self.store.markPublished(deliveries)
        #expect(try await self.scenario.record(BatchOutcome(key: keys[0], accepted: 1, at: self.keep.time.wall)))
        let (queued, second) = try await self.scenario.acceptGroup(["u0", "u1"])
        try await self.store.markPublished([queued])
        work.others.append(first[0])
        work.unfinished += first[1...] + second
    }

    /// One in the middle of its fan-out, one with a device to retry, one that is cancelled, one that is being, and one with a dead letter.
    private func fillCampaigns(_ work: inout Work) async throws {
        let campaign = try self.scenario.campaign(to: "t")
        let half = try await self.scenario.accept(campaign)
        var claim = try #require(try await self.scenario.claimCampaign(half))
        #expect(try await claim.commit(devices: 3, through: 3).isMore)
        let retried = try await self.scenario.accept(campaign)
        let keys = try await self.scenario.fanOut(retried, pages: 3)
        let failure = DeviceFailure(row: 1, failure: .rejected, status: 400, reason: "Bad")
        let retry = RetryDevice(row: 2, tries: 1, wait: .seconds(600))
        let time = self.keep.time.wall
        let outcome = BatchOutcome(key: keys[0], accepted: 1, failures: [failure], retries: [retry], at: time)
        #expect(try await self.scenario.record(outcome))
        #expect(try await self.scenario.record(BatchOutcome(key: keys[1], accepted: 3, at: time)))
        work.unfinished += [half.id, retried.id]
        let cancelled = try await self.scenario.accept(campaign)
        #expect(try await self.store.cancel(cancelled.id, app: .default)?.state == .cancelled)
        let cancelling = try await self.scenario.accept(campaign)
        _ = try await self.scenario.fanOut(cancelling)
        #expect(try await self.store.cancel(cancelling.id, app: .default)?.state == .cancelling)
        let dead = try await self.scenario.accept(campaign)
        let page = try #require(try await self.scenario.fanOut(dead).first)
        try await self.scenario.deadLetter("\(self.scenario.message(of: page).id)")
        #expect(try await self.scenario.job(dead.id).state == .completed)
        work.others += [cancelled.id, cancelling.id, dead.id]
    }

    private func path(_ name: String) -> String { self.keep.folder.appendingPathComponent(name).path }

    private func backUp() throws -> String {
        let file = self.path("copy.sqlite")
        try SQLiteStore.backUp(self.store.configuration.path, to: file)
        return file
    }

    /// Restores a copy, and opens what came of it.
    private func restore(
        _ file: String,
        stopping: Bool,
        plan: SchemaPlan = Schema.plan
    ) throws -> (unfinished: UnfinishedSends?, scenario: Scenario) {
        let path = self.path("restored.sqlite")
        let unfinished = try SQLiteStore.restore(
            file,
            to: path,
            stoppingUnfinished: stopping,
            plan: plan,
            source: GoingTime(time: self.keep.time)
        )
        let store = try SQLiteStore(configuration: .init(path: path), source: self.keep.time)
        return (unfinished, Scenario(store: store, time: self.keep.time))
    }

    private var expected: UnfinishedSends {
        var unfinished = UnfinishedSends()
        (unfinished.sends, unfinished.devices, unfinished.lookingUp, unfinished.scheduled) = (8, 11, 3, 1)
        return unfinished
    }

    @Test func aRestoreCountsWhatMayBeSentOnceMore() async throws {
        let work = try await self.fill()
        let (unfinished, restored) = try self.restore(self.backUp(), stopping: false)
        #expect(unfinished == self.expected)
        for id in work.unfinished + work.others + [work.scheduled.id] {
            #expect(try await restored.job(id) == self.scenario.job(id))
        }
        #expect(try await restored.auditFaults() == [])
    }

    /// What was at a broker waits for no lease: there is a new one, with nothing in it.
    ///
    /// Nor does it where a step is still to be taken.
    @Test(arguments: [false, true])
    func whatWasPublishedIsDueAtOnce(isOlder: Bool) async throws {
        let (message, _) = try await self.scenario.acceptGroup(["u0", "u1"])
        let (keys, deliveries) = try await self.scenario.fanOut(group: message)
        let (queued, waiting) = try await self.scenario.acceptGroup(["u2"])
        try await self.store.markPublished(deliveries + [queued])
        let file = try self.backUp()
        self.keep.time.advance(.seconds(2))
        #expect(try await self.scenario.takeDue(overdue: .seconds(1)).isEmpty)
        let (unfinished, restored) = try self.restore(file, stopping: false, plan: isOlder ? Self.later : Schema.plan)
        #expect(unfinished?.sends == (isOlder ? nil : 3))
        self.keep.time.advance(.seconds(1))
        let due = try await restored.takeDue(overdue: .seconds(1))
        #expect(Set(due.map(\.id)) == Set(deliveries.map(\.id) + [queued.id]))
        #expect(try await restored.jobs(of: queued) == waiting)
        #expect(try await restored.status(of: keys) == [.open, .open])
    }

    /// Each is as if it had been cancelled by a request, and two leases had gone by.
    @Test func unfinishedSendsAreCancelled() async throws {
        let work = try await self.fill()
        let file = try self.backUp()
        let (unfinished, restored) = try self.restore(file, stopping: true)
        #expect(unfinished == self.expected)
        #expect(try await restored.auditFaults() == [])
        #expect(try await restored.deadLettersOfDefault() == 1)
        for id in work.others { #expect(try await restored.job(id) == self.scenario.job(id)) }
        for id in work.unfinished {
            let stopped = try await restored.job(id)
            #expect(stopped.reason?.contains("a backup was restored") == true)
            _ = try await self.store.cancel(id, app: .default)
            #expect(stopped.state == .cancelled)
        }
        self.keep.time.advance(Scenario.closedAfterStop)
        try await self.scenario.expireJobs(limit: 100)
        for id in work.unfinished {
            let (stopped, asked) = (try await restored.job(id), try await self.scenario.job(id))
            #expect(stopped.state == asked.state)
            #expect(stopped.counts == asked.counts)
        }
    }

    /// Nothing of it goes out again: only the change of a registration, and what is scheduled for later.
    @Test func nothingOfWhatWasStoppedIsPublished() async throws {
        let work = try await self.fill()
        let (_, restored) = try self.restore(self.backUp(), stopping: true)
        self.keep.time.advance(.seconds(1800))
        try await restored.expireJobs(limit: 100)
        #expect(try await restored.startScheduled() == 0)
        #expect(try await restored.takeDueBatches().isEmpty)
        #expect(try await restored.takeDueJobs() == [work.register.id])
        self.keep.time.advance(.seconds(1800))
        #expect(try await restored.startScheduled() == 1)
        #expect(try await restored.job(work.scheduled.id).state == .queued)
        #expect(try await restored.auditFaults() == [])
    }

    /// A restore that is interrupted has restored nothing, and its repetition does all of it.
    @Test func whatIsLeftOfAnInterruptedRestoreIsInNobodysWay() async throws {
        _ = try await self.fill()
        let file = try self.backUp()
        for name in [".1.partial", ".1.partial-journal"] {
            try Data([1]).write(to: URL(filePath: self.path("restored.sqlite") + name))
        }
        #expect(try self.restore(file, stopping: true).unfinished == self.expected)
        // The copy is as it was.
        try FileManager.default.removeItem(atPath: self.path("restored.sqlite"))
        for name in ["-wal", "-shm"] {
            let left = self.path("restored.sqlite") + name
            if FileManager.default.fileExists(atPath: left) { try FileManager.default.removeItem(atPath: left) }
        }
        #expect(try self.restore(file, stopping: false).unfinished == self.expected)
    }

    /// Of a program that has a step more.
    private static let later = SchemaPlan(
        steps: Schema.plan.steps + [SchemaStep(.expand, "adds a table", sql: "CREATE TABLE more(id INTEGER) STRICT")]
    )

    /// Its tables are not those that this program's statements are written for.
    @Test func anOlderBackupIsNotStopped() async throws {
        let file = try self.backUp()
        let plan = Self.later
        let path = self.path("restored.sqlite")
        let error = #expect(throws: StoreError.self) {
            try SQLiteStore.restore(file, to: path, stoppingUnfinished: true, plan: plan)
        }
        #expect(error?.message.contains("run pushline store migrate") == true)
        #expect(!FileManager.default.fileExists(atPath: path))
        #expect(try SQLiteStore.restore(file, to: path, plan: plan) == nil)
    }
}

/// Clocks that go on between two looks, as real ones do.
private struct GoingTime: ClockSource {
    let time: TestTime
    var wall: Timestamp { self.time.wall }
    var bootID: String { self.time.bootID }
    var sinceBoot: Int64 {
        self.time.advance(.milliseconds(1))
        return self.time.sinceBoot
    }
}

extension Scenario {
    fileprivate func deadLettersOfDefault() async throws -> Int {
        try await self.store.deadLetters(DeadLetterQuery(app: .default, limit: 10)).items.count
    }
}
