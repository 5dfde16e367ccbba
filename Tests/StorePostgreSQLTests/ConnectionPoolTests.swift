import Foundation
import Store
import StoreContract
import StoreKit
import StoreSQL
import Testing
import Undisturbed

@testable import StorePostgreSQL

/// What a pool does for those who read and write over its connections.
@Suite(.enabled(if: TestServer.isThere), .timeLimit(.minutes(5)), .undisturbed) struct ConnectionPoolTests {
    private let fixture: StoreAdministration

    init() throws { self.fixture = try StoreAdministration(StoreOptions()) }

    private func pool(_ deadlines: Deadlines = TestServer.deadlines, words: String = "") throws -> ConnectionPool {
        let addresses = try TestServer.addresses(.programs, schema: self.fixture.schema, words: words)
        return ConnectionPool(Servers(addresses, deadlines), self.fixture.engine.clock, size: 1)
    }

    private func owner(_ text: String, _ parameters: PostgreSQLStatement.Parameter...) throws -> [SQLRow] {
        let wire = try TestServer.owner(self.fixture.schema)
        return try wire.exchange([PostgreSQLStatement(text, parameters)], until: .now + .seconds(30))[0].rows
    }

    /// Errors of data repeat values, and those are in no log.
    @Test func errorsHoldNoValues() async throws {
        let pool = try self.pool()
        let error = await #expect(throws: StoreError.self) {
            try await pool.read([PostgreSQLStatement("SELECT CAST($1::text AS bigint) AS n", [.text("secret")])])
        }
        #expect(error?.code == .corrupt && error?.message.contains("22P02") == true)
        #expect(error?.description.contains("secret") == false)
    }

    /// The place of a statement is that among all, also behind an answer that cannot be read.
    @Test func anErrorNamesItsStatement() async throws {
        let pool = try self.pool()
        let statements = ["SELECT 1.5 AS n", "SELECT 1 / 0 AS n"].map { PostgreSQLStatement($0) }
        let error = await #expect(throws: StoreError.self) { try await pool.read(statements) }
        #expect(error?.message.contains("22012 to statement 2") == true, "\(String(describing: error))")
    }

    @Test func aReadIsMadeAgainWhereItsConnectionEnds() async throws {
        let name = "read\(UUID().uuidString)"
        let pool = try self.pool(TestServer.deadlines, words: "&application_name=\(name)")
        _ = try self.owner("CREATE TABLE nap AS SELECT 600 AS seconds")
        _ = try self.owner("GRANT ALL ON nap TO programs")
        async let answers = pool.read([
            PostgreSQLStatement("SELECT 1 AS n FROM pg_sleep((SELECT max(seconds) FROM nap))")
        ])
        let asleep = "FROM pg_stat_activity WHERE application_name = $1 AND wait_event = 'PgSleep'"
        while try self.owner("SELECT pid \(asleep)", .text(name)).isEmpty {
            try await Task.sleep(for: .milliseconds(10))
        }
        // When it is made again, it does not sleep.
        _ = try self.owner("UPDATE nap SET seconds = 0")
        #expect(try self.owner("SELECT pg_terminate_backend(pid) AS ended \(asleep)", .text(name)).count == 1)
        #expect(try await answers.answers[0].count == 1)
    }

    @Test func aConnectionThatHasEndedIsNotUsed() async throws {
        let name = "ended\(UUID().uuidString)"
        let pool = try self.pool(words: "&application_name=\(name)")
        func process() async throws -> Int64 {
            let question = PostgreSQLStatement("SELECT pg_backend_pid()::bigint AS process")
            return try await pool.read([question]).answers[0].rows[0]["process"]
        }
        let before = try await process()
        let ended = try self.owner(
            "SELECT pg_terminate_backend(pid) AS ended FROM pg_stat_activity WHERE application_name = $1",
            .text(name)
        )
        #expect(ended.count == 1)
        try await Task.sleep(for: .milliseconds(100))
        #expect(try await process() != before)
    }

    @Test func aReadThatTakesTooLongEnds() async throws {
        var deadlines = Deadlines()
        deadlines.read = .seconds(3)
        let pool = try self.pool(deadlines)
        // Who begins to connect has less of the time.
        _ = try? await pool.read([PostgreSQLStatement("SELECT 1 AS n")])
        let error = await #expect(throws: StoreError.self) {
            try await pool.read([PostgreSQLStatement("SELECT 1 AS n FROM pg_sleep(5)")])
        }
        // The server ends it a little before we do.
        #expect(error?.code == .unavailable && error?.message.contains("57014") == true)
    }

    /// Nothing of a request that has left is written, and one whose commit has begun is waited for.
    @Test func aRequestLeavesThatDoesNotReachItsCommit() async throws {
        let name = "leaves\(UUID().uuidString)"
        let pool = try self.pool(words: "&application_name=\(name)")
        _ = try self.owner("CREATE TABLE written(number bigint)")
        _ = try self.owner("GRANT ALL ON written TO programs")
        @Sendable func write(_ number: Int64, _ time: Duration) async throws {
            let insertion = PostgreSQLStatement("INSERT INTO written VALUES (\(number))")
            try await CommitDeadline.$current.withValue(CommitDeadline(time)) {
                _ = try await pool.commit([insertion], awaitsAnswers: false)
            }
        }
        _ = try await pool.read([PostgreSQLStatement("SELECT 1 AS n")])
        let gate = try Gate("LOCK TABLE written IN SHARE MODE", schema: self.fixture.schema, name: name)
        async let first: Void = write(1, .seconds(2))
        try await gate.wait(for: 1)
        // It leaves while the first has the only connection, and the first's own time is over by then.
        let error = await #expect(throws: StoreError.self) { try await write(2, .milliseconds(2500)) }
        #expect(error?.code == .overdue)
        try gate.open()
        try await first
        #expect(try self.owner("SELECT number FROM written").map { try $0["number"] as Int64 } == [1])
    }
}
