import Foundation
import NIOConcurrencyHelpers
import Store
import StoreContract
import StoreKit
import StoreSQL
import Testing
import Undisturbed

@testable import StorePostgreSQL

/// What becomes of a commit whose answer is lost is found out by a write, before anybody is told.
@Suite(.enabled(if: TestServer.isThere), .undisturbed) struct CommitTests {
    private let schema: String
    private let clock = StoreClock(source: TestTime(), shift: 0)
    private let proxy: CuttingProxy

    init() throws {
        self.schema = try TestServer.makeTables()
        let port = try #require(Int(try TestServer.ports()[0]))
        self.proxy = try CuttingProxy(before: port)
        _ = try self.owner("CREATE TABLE kept(number bigint GENERATED ALWAYS AS IDENTITY, id bigint NOT NULL)")
        _ = try self.owner("GRANT ALL ON kept TO programs")
    }

    /// A machine that is busy takes its time: what is to be found out is, however long that lasts.
    private static let patient: Deadlines = {
        var deadlines = TestServer.deadlines
        (deadlines.read, deadlines.commit, deadlines.resolution) = (.seconds(60), .seconds(60), .seconds(300))
        return deadlines
    }()

    private func store(_ deadlines: Deadlines = Self.patient, words: String = "") throws -> PostgreSQLStore {
        let addresses = try TestServer.plainAddresses([self.proxy.port], schema: self.schema, words: words)
        return try PostgreSQLStore(addresses, clock: self.clock, deadlines: deadlines)
    }

    /// Returns when a store can commit.
    private static func connect(_ store: PostgreSQLStore) async throws {
        let nothing = SQLTransaction(SQLDecision(writing: ["SELECT 1 AS n"], giving: ()))
        var errors: [any Error] = []
        for _ in 0..<100 {
            do { return try await store.perform(nothing) } catch { errors.append(error) }
        }
        throw Unexpected("it cannot commit: \(errors[0])")
    }

    private func owner(_ text: String) throws -> [SQLRow] {
        try TestServer.owner(self.schema).exchange([PostgreSQLStatement(text)], until: .now + .seconds(30))[0].rows
    }

    /// How often each is there.
    private func kept() throws -> [Int64: (count: Int64, number: Int64)] {
        let rows = try self.owner("SELECT id, count(*) AS count, max(number) AS number FROM kept GROUP BY id")
        var kept: [Int64: (count: Int64, number: Int64)] = [:]
        for row in rows {
            let id: Int64 = try row["id"]
            kept[id] = (try row["count"], try row["number"])
        }
        return kept
    }

    /// A number that is kept, by each of the ways in which a transaction can have a value; its own number where the server gave it.
    private static func insertion(_ id: Int64) -> SQLTransaction<Int64?> {
        let (read, insertion): (SQLStatement, SQLStatement) = (
            "SELECT 1 AS n", "INSERT INTO kept(id) VALUES (\(id)) RETURNING number"
        )
        let decision: SQLDecision<Int64?> =
            switch id % 3 {
            case 0: SQLDecision(writing: [insertion], giving: nil)
            case 1: SQLDecision(writing: [insertion]) { try $0[0].rows[0]["number"] }
            default: SQLDecision(writing: [insertion], recover: { nil }, value: { try $0[0].rows[0]["number"] })
            }
        return SQLTransaction(reading: read) { _ in decision }
    }

    /// As many cuts as PUSHLINE_TEST_CUTS says.
    @Test func aCommitIsMadeOnceWhereverItsConnectionIsCut() async throws {
        let wanted = ProcessInfo.processInfo.environment["PUSHLINE_TEST_CUTS"].flatMap(Int.init) ?? 1000
        let (store, proxy) = (try self.store(), self.proxy)
        defer { proxy.end() }
        proxy.cut {
            let byte = Bool.random() ? Int.random(in: 0..<2000) : .random(in: 0..<12_000)
            return Bool.random() ? CuttingProxy.Fate(sent: byte) : CuttingProxy.Fate(answered: byte / 2)
        }
        let start = ContinuousClock.now
        let numbers = NIOLockedValueBox<Int64>(0)
        let told = NIOLockedValueBox<[Int64: Int64?]>([:])
        let refused = NIOLockedValueBox<[Int64: StoreError]>([:])
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    while proxy.cuts < wanted {
                        let id = numbers.withLockedValue { number in
                            number += 1
                            return number
                        }
                        do {
                            let number = try await store.perform(Self.insertion(id))
                            told.withLockedValue { _ = $0.updateValue(number, forKey: id) }
                        } catch {
                            let error = error as? StoreError ?? StoreError(.corrupt, "\(error)")
                            refused.withLockedValue { $0[id] = error }
                        }
                    }
                }
            }
        }
        proxy.cut { .whole }
        let seconds = ContinuousClock.now - start
        let (kept, answers, errors) = (
            try self.kept(), told.withLockedValue { $0 }, refused.withLockedValue { $0 }
        )
        print("\(proxy.cuts) cuts in \(seconds): \(answers.count) committed, \(errors.count) not")
        #expect(answers.count > wanted / 10)
        for (id, number) in answers {
            #expect(kept[id]?.count == 1)
            if let number { #expect(kept[id]?.number == number) }
        }
        for (id, error) in errors {
            #expect(error.code == .unavailable, "\(error)")
            #expect(kept[id] == nil, "\(error)")
        }
    }

    @Test func whatIsNotFoundOutInTimeIsUnknown() async throws {
        var deadlines = Self.patient
        (deadlines.read, deadlines.commit, deadlines.resolution) = (.seconds(10), .seconds(1), .seconds(3))
        let store = try self.store(deadlines)
        defer { self.proxy.end() }
        let decision = SQLDecision(writing: ["INSERT INTO kept(id) VALUES (3)"], giving: true)
        var error: StoreError?
        // On a machine that is busy its connection may be over before it has sent anything, and then nothing is written.
        for _ in 0..<6 where error?.code != .unknown {
            self.proxy.deafen(false)
            self.proxy.open(true)
            try await Self.connect(store)
            // The commit reaches the server, and nothing comes back.
            self.proxy.deafen(true)
            self.proxy.open(false)
            error = await #expect(throws: StoreError.self) { try await store.perform(SQLTransaction(decision)) }
        }
        #expect(error?.code == .unknown)
        for _ in 0..<3000 where try self.kept().isEmpty { try await Task.sleep(for: .milliseconds(10)) }
        // Who has sent nothing is told that nothing was written.
        let other = await #expect(throws: StoreError.self) { try await store.perform(Self.insertion(6)) }
        #expect(other?.code == .unavailable)
        self.proxy.deafen(false)
        self.proxy.open(true)
        try await Self.connect(store)
        #expect(try self.kept().mapValues { $0.count } == [3: 1])
    }

    /// What was given up behind a lock is not written when the lock is gone.
    @Test func aTransactionThatIsMadeAgainIsNotMadeTwice() async throws {
        let name = "again\(UUID().uuidString)"
        let store = try self.store(words: "&application_name=\(name)")
        defer { self.proxy.end() }
        let gate = try Gate("LOCK TABLE kept IN SHARE MODE", schema: self.schema, name: name)
        async let number = store.perform(Self.insertion(2))
        try await gate.wait(for: 1)
        // The server hears nothing of it, and waits for the lock with what it has.
        self.proxy.leaveClients()
        try await gate.wait(for: 2)
        try gate.open()
        #expect(try await number != nil)
        try await gate.waitUntilIdle()
        #expect(try self.kept().mapValues { $0.count } == [2: 1])
    }

    /// What ends its server's process each time is not sent for ever.
    @Test func whatIsNeverAnsweredIsGivenUp() async throws {
        let pool = ConnectionPool(
            Servers(try TestServer.plainAddresses([self.proxy.port], schema: self.schema), Self.patient),
            self.clock,
            size: 1
        )
        defer { self.proxy.end() }
        let statements = ["INSERT INTO kept(id) VALUES (1)", "SELECT pg_terminate_backend(pg_backend_pid()) AS n"]
        let error = await #expect(throws: StoreError.self) {
            try await pool.commit(statements.map { PostgreSQLStatement($0) }, awaitsAnswers: false)
        }
        #expect(error?.code == .unavailable)
        #expect(try self.kept().isEmpty)
        #expect(try await pool.commit([PostgreSQLStatement("SELECT 1 AS n")], awaitsAnswers: true)?.count == 1)
    }

    /// Another connection of the same writer has begun: whatever was sent before can be committed no more.
    @Test func aBeginningFencesWhatWasSentBefore() throws {
        let wire = try TestServer.owner(self.schema)
        var row = WriterRow()
        func send(_ statements: PostgreSQLStatement...) throws(WireFault) -> [SQLAnswer] {
            try wire.exchange(statements, until: .now + .seconds(30))
        }
        var begun = try row.begin(try send(row.beginning(at: 1))[0])
        #expect(begun.missing == 0)
        _ = try send(row.end(of: 1, at: 2))
        let late = row.end(of: 2, at: 3)
        begun = try row.begin(try send(row.beginning(at: 4))[0])
        #expect(begun.missing == 0 && begun.latest == 2 && row.serial == 1)
        let fault = #expect(throws: WireFault.self) { try send(late) }
        if case .refused(let refusal)? = fault {
            #expect(refusal.isGuard(at: 0))
        } else {
            Issue.record("\(String(describing: fault))")
        }
        // A server that has gone back says so.
        _ = try send(row.end(of: 2, at: 5), row.end(of: 3, at: 5))
        row.committed(3)
        _ = try send(PostgreSQLStatement("UPDATE writer SET serial = 1"))
        begun = try row.begin(try send(row.beginning(at: 6))[0])
        #expect(begun.missing == 2 && row.serial == 1)
    }
}
