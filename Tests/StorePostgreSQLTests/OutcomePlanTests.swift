import PushModel
import Store
import StoreContract
import StoreKit
import Testing
import Undisturbed

@testable import StorePostgreSQL
@testable import StoreSQL

/// How the statements of outcomes are run: by the keys of what they name, on tables that are empty and on full ones.
@Suite(.enabled(if: TestServer.isThere), .undisturbed) struct OutcomePlanTests {
    private let keep: StoreAdministration
    private var store: PostgreSQLStore { self.keep.engine }

    init() throws { self.keep = try StoreAdministration(StoreOptions()) }

    private func statements() async throws -> [SQLStatement] {
        let (at, key) = (self.keep.time.wall, StoreAdministration.key)
        let dead = DeadHandle(row: 1, handle: Handle(stored: "aa"), before: at, reason: "r")
        let place = Recipient(place: 1, pns: .apns, handle: Handle(stored: "aa"), reference: nil)
        let listed = DeadHandle(row: place.number, handle: Handle(stored: "aa"), before: at, reason: "r")
        let failure = DeviceFailure(row: 1, failure: .unregistered, status: 410, reason: "r")
        let retry = RetryDevice(row: 1, tries: 1, wait: .zero)
        let outcomes = [
            self.keep.accepted(key(1, 0)),
            BatchOutcome(key: key(2, 0), accepted: 2, failures: [failure], deadHandles: [dead, listed], at: at),
            BatchOutcome(key: key(3, 0), accepted: 2, retries: [retry], at: at),
            BatchOutcome(key: key(1001, 0), accepted: 2, retries: [retry], at: at), self.keep.accepted(key(1002, 1)),
        ]
        let recording = OutcomeRecording(
            outcomes: outcomes,
            trustsHints: false,
            clock: self.store.clock,
            handles: self.store.handles
        )
        let reads = recording.reads
        #expect(reads.count == 2)
        let decision = try recording.decide(try await self.store.rows(reads))
        #expect(decision.writes.count > 12)
        let message = MessageID(number: 1)
        let others = [
            JobCompletion.closed(among: [1001]), JobCompletion.fannedOut(after: 0),
            BatchStatusTable.inline(in: message), BatchStatusTable.rows(in: message),
            BatchStatusTable.job(of: key(1001, 1)),
        ]
        let completion = try JobCompletion.completion(of: [1001], clock: self.store.clock).decide([])
        return reads + decision.writes + others + completion.writes
    }

    @Test(arguments: [false, true]) func eachGoesByAnIndex(isFull: Bool) async throws {
        try await self.keep.insertSmallSends(1...1000)
        try await self.keep.insertCampaigns(1001...(isFull ? 1400 : 1002), pages: 40)
        if isFull {
            let analysis = PostgreSQLStatement("ANALYZE job, message, batch, outcome, delivery")
            _ = try TestServer.owner(self.keep.schema).exchange([analysis], until: .now + .seconds(60))
        }
        for statement in try await self.statements() {
            let plan = try await self.keep.plan(statement)
            let text = "\(plan)"
            #expect(plan.walks(besides: ["backlog"]).isEmpty, "\(statement.text)\n\(text)")
            // Neither among all open batches of a campaign nor among all of a message's.
            if statement.text.contains("batch.attempt =") {
                #expect(!text.contains("batch_open") && !text.contains("batch_message"), "\(statement.text)\n\(text)")
            }
        }
    }
}
