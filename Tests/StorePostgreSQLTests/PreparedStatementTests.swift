import Foundation
import StoreSQL
import Testing
import Undisturbed

@testable import StorePostgreSQL

/// A statement that comes again is prepared, and nobody sees that but the server.
@Suite(.enabled(if: TestServer.isThere), .undisturbed) struct PreparedStatementTests {
    private let wire: Wire
    private let table = "t\(UUID().uuidString.replacing("-", with: ""))"

    init() throws {
        self.wire = try TestServer.owner()
        _ = try self.send(PostgreSQLStatement("CREATE TABLE \(self.table)(number bigint)"))
    }

    private func send(_ statements: PostgreSQLStatement...) throws(WireFault) -> [SQLAnswer] {
        try self.wire.exchange(statements, until: .now + .seconds(30))
    }

    private func insertion(_ number: Int64) -> PostgreSQLStatement {
        PostgreSQLStatement("INSERT INTO \(self.table) VALUES ($1)", [.integer(number)])
    }

    private func prepared() throws -> Int64 {
        try self.send(PostgreSQLStatement("SELECT count(*) AS count FROM pg_prepared_statements"))[0].rows[0]["count"]
    }

    private func sum() throws -> Int64 {
        try self.send(PostgreSQLStatement("SELECT coalesce(sum(number), 0)::bigint AS sum FROM \(self.table)"))[0].rows[
            0
        ]["sum"]
    }

    @Test func itIsPreparedWhenItComesAgain() throws {
        _ = try self.send(self.insertion(1))
        #expect(try self.prepared() == 0)
        // Twice in one exchange, as its place in the answers shows.
        let answers = try self.send(self.insertion(2), PostgreSQLStatement("SELECT 7 AS seven"), self.insertion(4))
        #expect(answers.map(\.count) == [1, 1, 1])
        #expect(try answers[1].rows[0]["seven"] as Int64 == 7)
        _ = try self.send(self.insertion(8))
        #expect(try self.prepared() == 1)
        #expect(try self.sum() == 15)
    }

    @Test func whatFailsBesideItsPreparationLeavesNothingBehind() throws {
        _ = try self.send(self.insertion(1))
        for place in [0, 1] {
            let failing = PostgreSQLStatement("SELECT 1 / ($1 - $1)", [.integer(Int64(place))])
            let parts = place == 0 ? [failing, self.insertion(2)] : [self.insertion(2), failing]
            let fault = #expect(throws: WireFault.self) { try self.wire.exchange(parts, until: .now + .seconds(30)) }
            guard case .refused(let refusal)? = fault else {
                Issue.record("\(String(describing: fault))")
                return
            }
            #expect(refusal.state == "22012" && refusal.statement == place)
            #expect(try self.sum() == (place == 0 ? 1 : 5))
            _ = try self.send(self.insertion(4))
        }
        #expect(try self.sum() == 9)
    }

    /// A step of a migration changed the columns: who asks over another connection gets them.
    @Test func aPlanOfOtherColumnsEndsTheConnection() throws {
        let all = PostgreSQLStatement("SELECT * FROM \(self.table) WHERE number > $1", [.integer(0)])
        _ = try self.send(all, all, all)
        _ = try TestServer.owner().exchange(
            [PostgreSQLStatement("ALTER TABLE \(self.table) ADD COLUMN more bigint")],
            until: .now + .seconds(30)
        )
        let fault = #expect(throws: WireFault.self) { try self.send(all) }
        guard case .lost(_, isSent: false)? = fault else {
            Issue.record("\(String(describing: fault))")
            return
        }
        #expect(!self.wire.isAlive)
    }

    @Test func thereIsAnEndToThem() {
        var statements = PreparedStatements()
        var names: Set<String> = []
        for number in 0..<1000 {
            for _ in 0..<2 {
                if case .new(let name) = statements.form(of: PostgreSQLStatement("SELECT $1 + \(number)"), [20]) {
                    names.insert(name)
                }
            }
        }
        #expect(names.count == 256)
        guard case .known = statements.form(of: PostgreSQLStatement("SELECT $1 + 0"), [20]) else {
            Issue.record("the first of them is not known any more")
            return
        }
    }
}
