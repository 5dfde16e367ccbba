import PushModel
import Store
import Testing

/// What any store must do so that the due messages of one app keep no other's waiting (rule 12).
@Suite(.everyStore(with: .outbox)) struct DueShareContract {
    let fixture: any OutboxFixture
    let scenario: OutboxScenario
    var store: any JobOutbox { self.scenario.accepting }
    var time: TestTime { self.fixture.time }

    init() throws {
        self.fixture = try StoreFixtures.makeOutbox()
        self.scenario = OutboxScenario(self.fixture)
    }

    private func accept(_ count: Int, of app: AppID) async throws -> [JobID] {
        var jobs: [JobID] = []
        for _ in 0..<count {
            jobs.append(try await self.scenario.accept(self.scenario.campaign(to: "t"), app: app).id)
        }
        return jobs
    }

    /// There are more apps with something due than are taken at a time: each has its turn all the same.
    @Test func moreAppsThanTheLimitAllGetTheirTurn() async throws {
        for name in ["a", "b"] { _ = try await self.accept(20, of: AppID(name)) }
        let last = try AppID("c")
        _ = try await self.accept(1, of: last)
        self.time.advance(.seconds(2))
        var takes = 0
        while takes < 21 {
            takes += 1
            let taken = try await self.store.takeDue([.send], overdue: .zero, limit: 2)
            if taken.contains(where: { $0.app == last }) { break }
        }
        #expect(takes <= 3, "it was taken with the \(takes)th look")
    }

    /// However many urgent messages are due, some of the others are taken with them.
    @Test func urgentMessagesLeaveAShareToOthers() async throws {
        let work = Job.Work.send(try self.scenario.campaign(to: "t"))
        for _ in 0..<8 {
            let urgent = NewJob(app: .default, priority: .high, work: work, lifetime: .seconds(600))
            _ = try await self.scenario.accept(urgent)
        }
        _ = try await self.accept(1, of: AppID("other"))
        self.time.advance(.seconds(2))
        let taken = try await self.store.takeDue([.send], overdue: .zero, limit: 4)
        #expect(taken.map(\.priority) == [.high, .high, .high, .normal])
        #expect(try await self.store.takeDue([.send], overdue: .zero, limit: 4).count == 4)
    }

    /// One at a time: no app has a second turn before each has had its first.
    @Test func appsTakeTurnsWithALimitOfOne() async throws {
        for name in ["a", "b", "c"] { _ = try await self.accept(2, of: AppID(name)) }
        self.time.advance(.seconds(2))
        var turns: [AppID] = []
        for _ in 0..<6 {
            turns += try await self.store.takeDue([.send], overdue: .zero, limit: 1).map(\.app)
        }
        #expect(turns.count == 6)
        #expect(Set(turns.prefix(3)).count == 3)
    }

    /// What is not due, or in another queue, has no share: who alone has much to do has all of it.
    @Test func appsWithoutDueMessagesGetNoShare() async throws {
        let busy = try AppID("busy")
        _ = try await self.accept(20, of: busy)
        for number in 0..<40 {
            let jobs = try await self.accept(1, of: AppID("idle\(number)"))
            try await self.store.markPublished([self.scenario.message(of: jobs[0])])
        }
        self.time.advance(.seconds(2))
        let taken = try await self.store.takeDue([.send], overdue: .zero, limit: 20)
        #expect(taken.count == 20)
    }
}
