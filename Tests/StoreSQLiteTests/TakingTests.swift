import PushModel
import Store
import StoreContract
import StoreKit
import StoreSQL
import Testing

@testable import StoreSQLite

/// What is due is read, and taken by a transaction behind that: what happens in between counts (rule 15).
struct TakingTests {
    private func due(_ keep: TemporaryStore) async throws -> [DueMessage] {
        let flow = keep.store.flowControl
        let finder = DueMessages(
            flow: flow,
            roundRobin: RoundRobin(),
            queues: Set(WorkQueue.allCases),
            overdue: .zero
        )
        return try await keep.store.read { try finder.find(limit: 10, in: $0, now: flow.now) }
    }

    private func take(_ due: [DueMessage], _ keep: TemporaryStore) async throws -> [OutboxMessage] {
        try await keep.store.write { try $0.take(due) }
    }

    @Test func aMessageMarkedMeanwhileIsNotTaken() async throws {
        let keep = try TemporaryStore()
        let (message, _) = try await keep.scenario.acceptGroup(["ann"])
        let due = try await self.due(keep)
        #expect(due.map(\.message.id) == [message.id])
        try await keep.store.markPublished([message])
        #expect(try await self.take(due, keep).isEmpty)
    }

    @Test func aMessageRenewedMeanwhileIsNotTaken() async throws {
        let keep = try TemporaryStore()
        let (message, _) = try await keep.scenario.acceptGroup(["ann"])
        let claim = try #require(try await keep.store.claim(message.id, peeking: false))
        keep.time.advance(WorkQueue.send.lease)
        let due = try await self.due(keep)
        #expect(due.map(\.message.id) == [message.id])
        #expect(try await keep.store.extend(claim))
        #expect(try await self.take(due, keep).isEmpty)
        keep.time.advance(WorkQueue.send.lease)
        #expect(try await self.take(due, keep).map(\.id) == [message.id])
    }
}
