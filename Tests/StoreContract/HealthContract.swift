import PushModel
import Store
import Testing

/// What any store must say of how its work stands.
@Suite(.everyStore) struct HealthContract {
    let fixture: any StoreFixture
    let scenario: Scenario
    var store: any ResultStore { self.scenario.store }
    var time: TestTime { self.fixture.time }

    init() throws {
        self.fixture = try StoreFixtures.make()
        self.scenario = Scenario(self.fixture)
    }

    private func backlog(_ queue: WorkQueue) async throws -> [Int64] {
        let load = try #require(try await self.store.queues(of: nil)[queue])
        #expect(try await self.store.queues(of: .default)[queue] == load)
        return [Int64(load.members), load.oldest.milliseconds / 1000]
    }

    @Test func anIdleStoreHasAllQueuesEmpty() async throws {
        let queues = try await self.store.queues(of: nil)
        #expect(Set(queues.keys) == Set(WorkQueue.allCases))
        #expect(queues.values.allSatisfy { $0 == QueueLoad() })
    }

    @Test func jobsOfAMessageAreCountedAndAgeFromTheirAcceptance() async throws {
        let (message, _) = try await self.scenario.acceptGroup(["ann", "bob"])
        #expect(try await self.backlog(.send) == [2, 0])
        self.time.advance(.seconds(30))
        try await self.store.markPublished([message])
        _ = try await self.scenario.acceptGroup(["carol"])
        #expect(try await self.backlog(.send) == [3, 30])
        // Publishing it again makes it no younger.
        self.time.advance(.seconds(90))
        _ = try await self.scenario.takeDue()
        #expect(try await self.backlog(.send) == [3, 120])
        #expect(try await self.backlog(.register) == [0, 0])
    }

    @Test func batchesAgeWithTheirJobExceptWhileTheyWait() async throws {
        try await self.scenario.register(user: "ann", handle: "aa", tags: ["t"])
        let job = try await self.scenario.accept(self.scenario.campaign(to: "t", platforms: [.apns]))
        self.time.advance(.seconds(5))
        let key = try #require(try await self.scenario.fanOut(job).first)
        #expect(try await self.backlog(.send) == [0, 0])
        #expect(try await self.backlog(.deliver(.apns)) == [1, 5])
        let device = RetryDevice(row: 1, tries: 1, wait: .seconds(60))
        #expect(try await self.scenario.record(BatchOutcome(key: key, retries: [device], at: self.time.wall)))
        self.time.advance(.seconds(10))
        #expect(try await self.backlog(.deliver(.apns)) == [1, 0])
        self.time.advance(.seconds(60))
        #expect(try await self.backlog(.deliver(.apns)) == [1, 75])
    }

    @Test func aScheduledJobAgesFromItsStart() async throws {
        let start = self.time.wall.advanced(by: .seconds(3600))
        let work = Job.Work.send(try self.scenario.campaign(to: "t"))
        _ = try await self.scenario.accept(
            NewJob(app: .default, work: work, lifetime: .seconds(600), startsAt: start)
        )
        #expect(try await self.backlog(.send) == [0, 0])
        self.time.advance(.seconds(3600))
        #expect(try await self.scenario.startScheduled() == 1)
        self.time.advance(.seconds(7))
        #expect(try await self.backlog(.send) == [1, 7])
    }

    @Test func aBatchKnowsWhenItsJobBegan() async throws {
        try await self.scenario.register(user: "ann", handle: "aa", tags: ["t"])
        let accepted = self.time.wall
        let job = try await self.scenario.accept(self.scenario.campaign(to: "t", platforms: [.apns]))
        self.time.advance(.seconds(5))
        let key = try #require(try await self.scenario.fanOut(job).first)
        #expect(try await self.store.status(of: [key], in: nil).map(\.began) == [accepted])
    }

    @Test func allOfAnAppIsToldByOneQuestion() async throws {
        try await self.store.apply(.app(.default, AppSpec()))
        let queues = try await self.store.queues(of: .default)
        let idle = try await self.store.standing(of: .default, mostDead: 2)
        #expect(idle.queues == queues && idle.pauses.isEmpty && idle.dead == 0)
        _ = try await self.scenario.acceptGroup(["ann", "bob"])
        try await self.store.apply(.pause(.begin(.send, app: .default, by: "ops")))
        for app in [AppID.default, nil] {
            for number in 1...3 {
                let letter = IncomingDeadLetter(
                    queue: "q",
                    type: "x",
                    messageID: "none \(number)",
                    app: app,
                    reason: "r",
                    body: []
                )
                try await self.store.deadLetter(letter)
            }
        }
        self.time.advance(.seconds(5))
        let now = try await self.store.standing(of: .default, mostDead: 2)
        #expect(now.queues[.send]?.members == 2 && now.queues[.send]?.oldest == .seconds(5))
        #expect(try await now.queues == self.store.queues(of: .default))
        #expect(try await now.pauses == self.store.pauses() && now.pauses.count == 1)
        #expect(now.dead == 2)
        // Those of no app are the host operator's.
        #expect(try await self.store.standing(of: .default, mostDead: 10).dead == 3)
        #expect(try await self.store.state().room.space == nil || now.room.space != nil)
    }

    /// A store whose disk is a server's says nothing of it.
    @Test func theStoreReportsItsSize() async throws {
        _ = try await self.scenario.acceptGroup(["ann"])
        guard let space = try await self.store.state().room.space else { return }
        #expect(space.store + space.log > 0)
        #expect(space.free > 0)
    }
}
