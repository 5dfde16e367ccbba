import Foundation
import Store
import StoreContract
import StoreKit
import StoreSQL
import Testing
import Undisturbed

@testable import StorePostgreSQL

/// A process that writes nothing else shows by a row of its own that its server is the primary still.
@Suite(.enabled(if: TestServer.isThere), .timeLimit(.minutes(5)), .undisturbed) struct HeartbeatTests {
    private let schema: String
    private let time = TestTime()
    private let clock: StoreClock
    private let owner: Wire

    init() throws {
        self.schema = try TestServer.makeTables()
        self.clock = StoreClock(source: self.time, shift: 0)
        self.owner = try TestServer.owner(self.schema)
    }

    private static let deadlines: Deadlines = {
        var deadlines = TestServer.deadlines
        (deadlines.heartbeat, deadlines.proof) = (.milliseconds(50), .seconds(2))
        return deadlines
    }()

    private func rows(_ text: String, _ parameters: PostgreSQLStatement.Parameter...) throws -> [SQLRow] {
        try self.owner.exchange([PostgreSQLStatement(text, parameters)], until: .now + .seconds(30))[0].rows
    }

    /// Lets the store's clock go on, and waits until it is in a row.
    private func beat() async throws {
        self.time.advance(.seconds(1))
        let now = self.clock.now
        while try self.rows("SELECT 1 AS n FROM writer WHERE seen >= $1", .integer(now)).isEmpty {
            try await Task.sleep(for: .milliseconds(10))
        }
    }

    @Test func theTimesAreThoseOfTheRules() {
        let deadlines = Deadlines()
        #expect(deadlines.heartbeat == .seconds(4))
        #expect(deadlines.proof == .seconds(12))
        #expect(deadlines.resolution == .seconds(30))
    }

    @Test func aStoreThatIsIdleWritesItsRow() async throws {
        let name = "idle\(UUID().uuidString)"
        let addresses = try TestServer.addresses(
            .programs,
            schema: self.schema,
            words: "&application_name=\(name)"
        )
        let store = try PostgreSQLStore(addresses, clock: self.clock, deadlines: Self.deadlines)
        func connections() throws -> Set<Int64> {
            let query = "SELECT pid::bigint AS pid FROM pg_stat_activity WHERE application_name = $1"
            return Set(try self.rows(query, .text(name)).map { try $0["pid"] })
        }
        let first = try connections()
        for _ in 0..<5 { try await self.beat() }
        // Now and then it connects anew, and asks all servers for their timeline.
        var found = first
        while found.isEmpty || !found.isDisjoint(with: first) {
            try await self.beat()
            found = try connections()
        }
        // A row, and no transaction.
        #expect(try self.rows("SELECT serial FROM writer").map { try $0["serial"] as Int64 } == [0])
        withExtendedLifetime(store) {}
    }

    /// What is read counts all the time, though nothing else is written.
    @Test func readsStayProven() async throws {
        let addresses = try TestServer.addresses(.programs, schema: self.schema)
        let servers = Servers(addresses, Self.deadlines)
        let heartbeat = Heartbeat(PooledConnection(servers, self.clock), servers)
        try heartbeat.begin()
        let (begun, proof) = (ContinuousClock.now, Self.deadlines.proof)
        while ContinuousClock.now - begun < proof * 2 {
            try await self.beat()
            #expect(servers.isProven(servers.generation, within: proof))
        }
        withExtendedLifetime(heartbeat) {}
    }
}
