import Foundation
import PushModel
import Store
import StoreContract
import StoreKit
import StoreSQL
import Testing
import Undisturbed

@testable import StorePostgreSQL

/// How the statements of the outbox are run: by an index, and no further than they need, on tables that are empty and on full ones.
@Suite(.enabled(if: TestServer.isThere), .undisturbed) struct JobPlanTests {
    private let fixture: StoreAdministration
    private var store: PostgreSQLStore { self.fixture.engine }

    init() throws { self.fixture = try StoreAdministration(StoreOptions(maximumBacklog: 1_000_000)) }

    private func statements() async throws -> [SQLStatement] {
        let now = self.store.clock.now
        let key = NewJob.Idempotency(caller: "account:a", route: "r", key: "new", hash: [1])
        let send = SendRequest(
            audience: .tag(PushModel.Tag(user: try UserName("ann", .folded))),
            platforms: [],
            content: .message(.init(body: "b"))
        )
        let job = NewJob(app: .default, work: .send(send), lifetime: .seconds(60), idempotency: key)
        let acceptance = self.store.acceptance(
            of: try await ListedJob.of([job], in: self.store),
            [try StoredWork(job.work)],
            number: 1,
            joining: MessageID(number: 1)
        )
        let group = DueGroup(priority: .normal, app: 1, queue: WorkQueue.send.number, state: 2, blockedOn: 2)
        let reads = try DueReads(groups: [group], limit: 100, now: now, window: InFlightWindow())
        let message = OutboxMessage(id: MessageID(number: 1), app: .default, queue: .send, priority: .normal)
        var taking = DueTaking(now: now, limits: try RateLimitRows([], now: now))
        taking.add(DueMessage(message: message, app: 1, state: .ready, size: 0), named: [:])
        let decision = try acceptance.decide(try await self.store.readEach(acceptance.reads).rows)
        var statements = acceptance.reads
        statements += decision.writes
        statements += reads.statements
        statements += try taking.transaction.decide([]).writes
        statements += [DueReads.groups, PostgreSQLStore.mark([message], at: now)]
        statements += [JobTable.row(job.id, app: .default), JobTable.rows("job.sequence = 1")]
        return statements
    }

    @Test(arguments: [false, true]) func eachGoesByAnIndex(isFull: Bool) async throws {
        try await self.store.apply(.pause(.begin(.register, app: .default, by: "x")))
        _ = try await self.store.apply(.pause(.end(.register, app: .default)))
        if isFull {
            for _ in 0..<20 {
                let jobs = (0..<500).map { _ in
                    NewJob(app: .default, work: .register(.delete(.random())), lifetime: .seconds(60))
                }
                _ = try await self.store.accept(jobs)
            }
            let analysis = PostgreSQLStatement("ANALYZE job, message, idempotency")
            _ = try TestServer.owner(self.fixture.schema).exchange([analysis], until: .now + .seconds(60))
        }
        let statements = try await self.statements()
        #expect(statements.count > 12)
        for statement in statements {
            let plan = try await self.fixture.plan(statement)
            // These are summed up, or have a handful of rows.
            #expect(plan.walks(besides: ["backlog", "pause", "rate_limit"]).isEmpty, "\(statement.text)\n\(plan)")
            // What is limited is found in its order: to sort is to walk through all of it.
            let lines = "\(plan)".split(separator: "\n")
            if let limit = lines.firstIndex(where: { $0.contains("Limit") }), lines.indices.contains(limit + 1) {
                #expect(!lines[limit + 1].contains("Sort"), "\(plan)")
            }
        }
    }
}
