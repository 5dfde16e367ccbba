import Foundation
import PushModel
import Store
import StoreContract
import StoreKit
import StoreSQL
import Testing
import Undisturbed

@testable import StorePostgreSQL

/// Two stores that change the same jobs and messages, both of which have read before either writes.
@Suite(.enabled(if: TestServer.isThere), .undisturbed) struct JobInterleavingTests {
    private let stores: TwoStores

    init() throws { self.stores = try TwoStores() }

    private func sends(_ count: Int, _ key: NewJob.Idempotency? = nil) throws -> [NewJob] {
        let send = SendRequest(
            audience: .tag(PushModel.Tag(user: try UserName("ann", .folded))),
            platforms: [],
            content: .message(.init(body: "b"))
        )
        return (0..<count).map { _ in
            NewJob(app: .default, work: .send(send), lifetime: .seconds(3600), idempotency: key)
        }
    }

    private func number(_ query: SQLStatement) async throws -> Int? {
        try await self.stores.first.rows("SELECT (\(query)) AS value").first?["value"]
    }

    /// Messages that count other open members than they have.
    private func wrongMessages() async throws -> Int? {
        try await self.number(
            """
            SELECT count(*) FROM message WHERE open <> (
                SELECT count(*) FROM job WHERE job.message = message.id AND job.finished IS NULL)
            """
        )
    }

    /// Each has found that there is another member still.
    @Test func membersThatLeaveAtOnceTakeTheirMessageWithThem() async throws {
        let jobs = try self.sends(2)
        #expect(try await self.stores.first.accept(jobs).messages.count == 1)
        let release = try self.stores.hold("message")
        async let one = self.stores.first.cancel(jobs[0].id, app: .default)
        async let other = self.stores.second.cancel(jobs[1].id, app: .default)
        try await release()
        #expect(try await one?.state == .cancelled)
        #expect(try await other?.state == .cancelled)
        #expect(try await self.number("SELECT count(*) FROM message") == 0)
    }

    /// Both have found a message that nobody has taken.
    @Test func whoJoinsAMessageThatIsTakenIsNotLostFromItsCount() async throws {
        let message = try #require(try await self.stores.first.accept(self.sends(2)).messages.first)
        self.stores.fixture.time.advance(.seconds(2))
        let release = try self.stores.hold("message")
        async let joined = self.stores.first.accept(self.sends(3), joining: message.id)
        async let taken = self.stores.second.takeDue([.send], overdue: .zero, limit: 10)
        try await release()
        let (accepted, messages) = (try await joined, try await taken)
        #expect(messages.map(\.id) == [message.id])
        let members = try await self.stores.first.redelivered(message.id)?.members
        #expect(members == (accepted.messages.isEmpty ? 5 : 2))
        #expect(try await self.wrongMessages() == 0)
    }

    /// Neither has found the other's key.
    @Test func oneOfTwoRequestsWithAKeyIsAccepted() async throws {
        let key = NewJob.Idempotency(caller: "account:a", route: "r", key: "k", hash: [1])
        try await self.stores.first.apply(.pause(.begin(.register, app: .default, by: "x")))
        let jobs = (try self.sends(1, key), try self.sends(1, key))
        let release = try self.stores.hold("app")
        async let one = self.stores.first.accept(jobs.0)
        async let other = self.stores.second.accept(jobs.1)
        try await release()
        let answers = try await one.answers + other.answers
        let accepted = answers.compactMap { answer -> JobID? in
            if case .accepted(let job) = answer { job.id } else { nil }
        }
        #expect(accepted.count == 1)
        let job = try #require(accepted.first)
        #expect(answers.contains(.repeated(job)))
        #expect(try await self.number("SELECT count(*) FROM job") == 1)
        #expect(try await self.number("SELECT CAST(sum(unfinished) AS bigint) FROM backlog") == 1)
    }

    /// Neither has seen the other's batch closed.
    @Test func whoeverClosesTheLastBatchOfAJobCompletesIt() async throws {
        let job = try #require(try self.sends(1).first)
        _ = try await self.stores.first.accept([job])
        let batches = (1...2).map { page -> SQLStatement in
            """
            INSERT INTO batch(job, pns, page, attempt, from_id, to_id, size, open, message)
            SELECT sequence, 1, \(page), 0, 0, 9, 3, 1, lastval() FROM job
            """
        }
        let message: SQLStatement = """
            INSERT INTO message(app, queue, priority, state, due, open, size, first, last)
            SELECT app, \(WorkQueue.deliver(.apns).number), 1, 1, 1, 1, 3, 0, 0 FROM job
            """
        let state = "\(Job.State.running.number)"
        try await self.stores.first.perform(
            SQLTransaction(
                SQLDecision(
                    writing: [
                        "DELETE FROM message", "UPDATE job SET state = \(raw: state), fanned_out = 1, message = NULL",
                        message, batches[0], message, batches[1],
                    ]
                ) { _ in }
            )
        )
        let numbers = try await self.stores.first.rows("SELECT id FROM message ORDER BY id").map {
            try $0["id"] as Int64
        }
        @Sendable func deadLetter(_ number: Int64, _ store: PostgreSQLStore) async throws {
            try await store.deadLetter(
                IncomingDeadLetter(queue: "q", type: "deliver", messageID: "\(number)", app: nil, reason: "r", body: [])
            )
        }
        let release = try self.stores.hold("job")
        async let one: Void = deadLetter(numbers[0], self.stores.first)
        async let other: Void = deadLetter(numbers[1], self.stores.second)
        try await release()
        _ = try await (one, other)
        #expect(try await self.stores.first.job(job.id, app: .default)?.state == .completed)
        #expect(try await self.number("SELECT count(*) FROM message") == 0)
        #expect(try await self.number("SELECT CAST(sum(unfinished) AS bigint) FROM backlog") == 0)
    }

    /// The call was not there when the change that stops its job was decided: its batch is not closed as never sent.
    @Test func aCallThatBeginsBesideACancelIsNotCountedAsCancelled() async throws {
        let keep = self.stores.fixture
        try await keep.insertCampaigns(1...1, pages: 1)
        let place = Recipient(place: 1, pns: .apns, handle: Handle(stored: "a"), reference: nil).number
        try await keep.run(
            "UPDATE batch SET from_id = \(place - 1), to_id = \(place), size = 1",
            "UPDATE message SET state = 0"
        )
        let call = HubCallKey(job: StoreAdministration.job(1), pns: .apns, number: place)
        let gate = try self.stores.gate("job")
        async let begun = self.stores.first.beginHubCalls([call], lasting: .seconds(30), isWithdrawn: false)
        try await gate.wait(for: 1)
        async let cancelled = self.stores.second.cancel(call.job, app: .default)
        try await gate.wait(for: 2)
        try gate.open()
        #expect(try await begun == [.begun])
        #expect(try await cancelled?.state == .cancelling)
        #expect(try await self.number("SELECT count(*) FROM batch WHERE open = 1") == 1)
        try await self.stores.first.recordHubCalls([call], .ended(.taken(id: "n")))
        #expect(try await self.stores.first.hubCalls(of: call.job, app: .default, limit: 2).map(\.state) == [.taken])
    }
}
