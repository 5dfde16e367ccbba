import Foundation
import GRDB
import PushModel
import Store
import StoreContract
import StoreSQL
import Testing

@testable import StoreSQLite

/// The indexes of unfinished jobs, whose conditions name what changes at a job's end alone.
struct OpenJobsTests {
    /// What the indexes rest on.
    @Test(arguments: ["state = 10", "finished = 1", "stopped = 1", "state = 3"])
    func aCheckFindsAJobWhoseTimesContradictItsState(damage: String) async throws {
        let keep = try TemporaryStore()
        let scenario = keep.scenario
        let job = try await scenario.accept(scenario.send(to: .tag(Tag("t", .folded))))
        #expect(try await keep.store.audit(after: 0, limit: 10).faults == [])
        try await keep.store.pool.writeWithoutTransaction { try $0.execute(sql: "UPDATE job SET \(damage)") }
        let faults = try await keep.store.audit(after: 0, limit: 10).faults
        #expect(faults.contains { $0.hasPrefix("job \(job.id): 1 of its times") }, "\(faults)")
    }

    /// A batch whose message is lost is a fault; its job ends with its time all the same (rule 13).
    @Test(arguments: [true, false])
    func aBatchWithoutAMessageEndsWithItsJob(isInline: Bool) async throws {
        let keep = try TemporaryStore()
        let scenario = keep.scenario
        try await scenario.register(user: "ann", handle: "aa")
        let job: Job
        if isInline {
            job = try await scenario.accept(scenario.send(to: .tag(Tag("username:ann", .folded))))
            _ = try await scenario.fanOut(group: scenario.message(of: job.id))
        } else {
            job = try await scenario.accept(scenario.campaign(to: "username:ann"))
            _ = try await scenario.fanOut(job)
        }
        try await keep.store.pool.writeWithoutTransaction { try $0.execute(sql: "DELETE FROM message") }
        _ = try await keep.store.cancel(job.id, app: .default)
        // A worker may have it, and record it.
        #expect(try await scenario.job(job.id).state == .cancelling)
        keep.time.advance(Scenario.closedAfterStop)
        #expect(try await scenario.expireJobs(limit: 10) == 1)
        #expect(try await scenario.job(job.id).state == .cancelled)
        #expect(try await scenario.counts(job.id).cancelled == 1)
        #expect(try await keep.store.audit(after: 0, limit: 10).faults == [])
    }

    /// A removal stops sends of so many open batches in one transaction, and goes on behind the last of them.
    @Test func aSliceOfARemovalStopsSendsOfSoManyBatches() async throws {
        let keep = try TemporaryStore()
        let scenario = keep.scenario
        let ann = try UserName("ann", .folded)
        try await scenario.register(user: "ann", handle: "aa")
        var sends: [Job] = []
        for _ in 0..<3 {
            let send = try await scenario.accept(scenario.campaign(to: "username:ann"), user: ann)
            #expect(try await scenario.fanOut(send).count == 1)
            sends.append(send)
            // With pages that a worker has written and that wait for their time.
            try await keep.store.pool.writeWithoutTransaction { database in
                try database.execute(
                    sql: """
                        WITH RECURSIVE page(number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM page WHERE number < 300)
                        INSERT INTO batch(job, pns, page, attempt, from_id, to_id, size, open, message)
                        SELECT job, pns, number, 0, 0, 9, 1, 1, message FROM batch JOIN page WHERE job = ?
                        """,
                    arguments: [send.sequence]
                )
                try database.execute(
                    sql: """
                        UPDATE message SET open = 301, state = 0 WHERE id IN (SELECT message FROM batch WHERE job = ?)
                        """,
                    arguments: [send.sequence]
                )
            }
        }
        let work = Job.Work.register(.removeUser(ann, withAccount: true))
        let removal = try await scenario.accept(
            NewJob(app: .default, work: work, lifetime: NewJob.removalLifetime)
        )
        var stopped: [Int] = []
        while try await keep.store.register(removal) == nil {
            var count = 0
            for send in sends { if try await scenario.job(send.id).state == .cancelled { count += 1 } }
            if count != stopped.last ?? 0 { stopped.append(count) }
        }
        #expect(stopped == [2, 3])
        for send in sends { #expect(try await scenario.counts(send.id).cancelled == 301) }
        #expect(try await keep.store.audit(after: 0, limit: 10).faults == [])
    }
}
