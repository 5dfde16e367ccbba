import NIOConcurrencyHelpers
import PushModel
import Store
import StoreContract
import StoreKit
import StoreSQL
import Testing
import Undisturbed

@testable import StorePostgreSQL

/// How chores are run: by indexes, and no further than their chunk, on tables that are empty and on full ones.
@Suite(.enabled(if: TestServer.isThere), .undisturbed) struct HousekeepingPlanTests {
    private static let day = Duration.seconds(86_400)
    private static let limit = 100

    private let fixture: StoreAdministration
    private let store: RecordingStore

    init() throws {
        self.fixture = try StoreAdministration(StoreOptions())
        self.store = RecordingStore(self.fixture.engine)
    }

    private static let chores: [Chore] =
        [.startScheduled, .expireJobs, .pruneRegistrations, .expireRegistrations]
        + Retained.allCases.map { .remove($0, olderThan: Self.day) }

    @Test(arguments: [false, true]) func eachGoesByIndexesAndNoFurtherThanItsChunk(isFull: Bool) async throws {
        if isFull { try await self.fixture.fill() }
        for chore in Self.chores {
            var cursor: Int64? = 0
            for _ in 0..<3 {
                guard let after = cursor else { break }
                var chore = chore
                if case .remove(let kind, let age, _) = chore { chore = .remove(kind, olderThan: age, after: after) }
                cursor = try await self.store.perform(chore, limit: Self.limit).next
            }
            let (reads, writes) = self.store.recorded()
            #expect(!reads.isEmpty, "\(chore)")
            for statement in reads + writes {
                let plan = try await self.fixture.plan(statement)
                #expect(plan.walks(besides: ["app", "overdue"]).isEmpty, "\(chore): \(statement.text)\n\(plan)")
            }
            for statement in reads {
                let plan = try await self.fixture.run(explaining: statement)
                let most = chore == .expireJobs ? OverduePlace.piece : 5 * Self.limit
                #expect(try #require(plan.walked) <= most, "\(chore): \(statement.text)\n\(plan)")
            }
        }
        guard isFull else { return }
        // They were done.
        for table in ["job", "delivery", "session", "dead", "recipient"] {
            let left = try await self.fixture.number("SELECT count(*) FROM \(raw: table)") ?? 0
            #expect(left < StoreAdministration.filling, "\(table)")
        }
    }
}

/// Says which statements a store is given.
final class RecordingStore: SQLEngine, HousekeepingStore {
    private let store: PostgreSQLStore
    private let statements = NIOLockedValueBox<(reads: [SQLStatement], writes: [SQLStatement])>(([], []))

    init(_ store: PostgreSQLStore) { self.store = store }

    var clock: StoreClock { self.store.clock }
    var cursors: ListCursors { self.store.cursors }
    var handles: HandleDigest { self.store.handles }
    var findsJobsByState: Bool { self.store.findsJobsByState }

    func rows(_ statements: [SQLStatement], size: ReadSize) async throws -> [[SQLRow]] {
        self.statements.withLockedValue { $0.reads += statements }
        return try await self.store.rows(statements, size: size)
    }

    func attempt<Value: Sendable>(_ transaction: SQLTransaction<Value>) async throws -> Value {
        if !transaction.reads.isEmpty {
            self.statements.withLockedValue { $0.reads += transaction.reads }
        }
        let rows = transaction.reads.isEmpty ? [] : try await self.store.rows(transaction.reads)
        let decision = try transaction.decide(rows)
        self.statements.withLockedValue { $0.writes += decision.writes }
        return try await self.store.attempt(SQLTransaction(decision))
    }

    func countFinished(_ state: Job.State) {}

    func jobsToExpire(limit: Int) async throws -> [Int64] {
        let first = OverduePlace.end(behind: 0, now: self.clock.now)
        let end: Int64 = try await self.store.rows(first).first?["ends"] ?? self.clock.now
        let jobs = OverduePlace.jobs(behind: 0, through: end, limit: limit)
        self.statements.withLockedValue { $0.reads += [first, jobs] }
        return try await self.store.jobsToExpire(limit: limit)
    }

    func lead(as role: LeaderRole) async throws -> (any Leadership)? { try await self.store.lead(as: role) }

    func isSweepLate(by lateness: Duration) async throws -> Bool { try await self.store.isSweepLate(by: lateness) }

    /// What was recorded since the last call.
    func recorded() -> (reads: [SQLStatement], writes: [SQLStatement]) {
        self.statements.withLockedValue { statements in
            defer { statements = ([], []) }
            return statements
        }
    }
}
