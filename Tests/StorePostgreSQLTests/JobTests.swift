import Foundation
import PushModel
import Store
import StoreContract
import StoreKit
import StoreSQL
import Testing
import Undisturbed

@testable import StorePostgreSQL

/// How jobs are written and found.
@Suite(.enabled(if: TestServer.isThere), .undisturbed) struct JobTests {
    private let fixture: StoreAdministration
    private var store: PostgreSQLStore { self.fixture.engine }

    init() throws { self.fixture = try StoreAdministration(StoreOptions()) }

    private func jobs(_ count: Int) -> [NewJob] {
        (0..<count).map { _ in NewJob(app: .default, work: .register(.delete(.random())), lifetime: .seconds(3600)) }
    }

    /// Neither the changes of an ordinary life nor the sum of the backlog write to an index.
    @Test func anOrdinaryLifeIsWrittenInPlace() async throws {
        let jobs = self.jobs(60)
        _ = try await self.store.accept(jobs)
        for job in jobs { _ = try await self.store.finishRegister(job.id, result: .done) }
        let watch = try TestServer.owner()
        var (updates, inPlace, left) = (0, 0, 100)
        while updates < 60, left > 0 {
            try await Task.sleep(for: .milliseconds(100))
            let text = """
                SELECT n_tup_upd AS updates, n_tup_hot_upd AS in_place FROM pg_stat_all_tables
                WHERE schemaname = '\(self.fixture.schema)' AND relname = 'job'
                """
            let row = try watch.exchange([PostgreSQLStatement(text)], until: .now + .seconds(30))[0].rows.first
            (updates, inPlace, left) = (try row?["updates"] ?? 0, try row?["in_place"] ?? 0, left - 1)
        }
        #expect(updates >= 60)
        #expect(inPlace * 10 >= updates * 9, "\(inPlace) of \(updates)")
        let backlog = try await self.store.rows(Counts.backlog)
        #expect(try backlog.first?["unfinished"] as Int? == 0)
    }

    /// A statement that all drivers share finds scheduled jobs by a column that only they have.
    @Test func scheduledAndFailedJobsAreFoundByTheirOwnColumns() async throws {
        let start = self.fixture.time.wall.advanced(by: .seconds(60))
        let work = Job.Work.register(.delete(.random()))
        let later = NewJob(app: .default, work: work, lifetime: .seconds(600), startsAt: start)
        _ = try await self.store.accept([later])
        let count: SQLStatement = "SELECT count(*) AS found FROM job WHERE scheduled IS NOT NULL"
        #expect(try await self.store.rows(count).first?["found"] as Int? == 1)
        #expect(try await self.store.cancel(later.id, app: .default)?.state == .cancelled)
        #expect(try await self.store.rows(count).first?["found"] as Int? == 0)
        #expect(try await self.store.jobs(JobQuery(app: .default, state: .cancelled)).items.map(\.id) == [later.id])
    }

    /// A list of one state looks at some thousand jobs, and goes on from there.
    @Test func aListOfOneStateOfManyJobsIsReadInParts() async throws {
        let first = self.jobs(1)
        _ = try await self.store.accept(first)
        for _ in 0..<11 {
            let many = self.jobs(500)
            _ = try await self.store.accept(many)
            let completion: SQLStatement = """
                UPDATE job SET state = \(raw: "\(Job.State.completed.number)"), finished = 1
                WHERE finished IS NULL AND sequence > (SELECT min(sequence) FROM job)
                """
            try await self.store.perform(SQLTransaction(SQLDecision(writing: [completion]) { _ in }))
        }
        let page = try await self.store.jobs(JobQuery(app: .default, state: .queued))
        #expect(page.items.isEmpty && page.cursor != nil)
        let rest = try await self.store.jobs(JobQuery(app: .default, state: .queued, cursor: page.cursor))
        #expect(rest.items.map(\.id) == first.map(\.id))
        #expect(rest.cursor == nil)
    }
}
