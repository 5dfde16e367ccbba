import PushModel
import Store
import Testing

/// Lists of jobs by who asked, what is unfinished, and up to which one.
@Suite(.everyStore(with: .outbox)) struct JobFilterContract {
    private let fixture: any OutboxFixture
    private let scenario: OutboxScenario
    private var store: any JobOutbox { self.scenario.accepting }

    init() throws {
        self.fixture = try StoreFixtures.makeOutbox()
        self.scenario = OutboxScenario(self.fixture)
    }

    private func accept(key: String?, label: String?) async throws -> Job {
        try await self.scenario.accept(
            NewJob(
                app: .default,
                key: key,
                work: .send(try self.scenario.campaign(to: "t")),
                lifetime: .seconds(60),
                label: try label.map { try JobLabel($0) }
            )
        )
    }

    private func ids(_ query: JobQuery) async throws -> [JobID] { try await self.store.jobs(query).items.map(\.id) }

    @Test func theUnfinishedAreListedAlone() async throws {
        var jobs: [Job] = []
        for index in 0..<6 {
            jobs.append(
                try await self.accept(key: index % 2 == 0 ? "shop" : "batch", label: index < 3 ? "spring" : nil)
            )
        }
        let change = try await self.scenario.accept(
            NewJob(app: .default, work: .register(.delete(.random())), lifetime: .seconds(60))
        )
        for index in [0, 3] { _ = try await self.store.cancel(jobs[index].id, app: .default) }
        let open = [change] + [5, 4, 2, 1].map { jobs[$0] }
        var query = JobQuery(app: .default, isUnfinished: true)
        #expect(try await self.ids(query) == open.map(\.id))
        query.kind = .send
        #expect(try await self.ids(query) == open.dropFirst().map(\.id))
        query.key = "shop"
        #expect(try await self.ids(query) == [jobs[4].id, jobs[2].id])
        query.label = try JobLabel("spring")
        #expect(try await self.ids(query) == [jobs[2].id])
        query = JobQuery(app: .default, state: .queued, isUnfinished: true, upTo: jobs[4].id)
        #expect(try await self.ids(query) == [jobs[4], jobs[2], jobs[1]].map(\.id))
        query = JobQuery(app: .default, state: .cancelled, isUnfinished: true)
        #expect(try await self.ids(query).isEmpty)
        query = JobQuery(app: .default, upTo: jobs[2].id, limit: 2)
        let first = try await self.store.jobs(query)
        #expect(first.items.map(\.id) == [jobs[2].id, jobs[1].id])
        query.cursor = first.cursor
        #expect(try await self.ids(query) == [jobs[0].id])
        // Up to a job that there is not is up to none.
        #expect(try await self.ids(JobQuery(app: .default, upTo: .make())).isEmpty)
    }
}
