import Foundation
import PushModel
import Store
import StoreContract
import StoreKit
import StoreSQL
import Testing

@testable import StorePostgreSQL

/// Tables belong to the role that migrates, and are made once.
@Suite(.enabled(if: TestServer.isThere)) struct MigratorTests {
    private let schema = "m" + UUID().uuidString.replacing("-", with: "").lowercased()

    private func run(_ role: TestServer.Role, _ text: String) throws -> [SQLRow] {
        let servers = try Servers(TestServer.addresses(role, schema: self.schema), Deadlines(), .migration)
        return try servers.connect().wire.exchange([PostgreSQLStatement(text)], until: .now + .seconds(30))[0].rows
    }

    private func migrate() throws -> Bool {
        try Migrator(TestServer.addresses(.owner, schema: self.schema)).migrate(programs: "programs")
    }

    private func open() throws -> PostgreSQLStore {
        try PostgreSQLStore(
            TestServer.addresses(.programs, schema: self.schema),
            clock: StoreClock(source: TestTime(), shift: 0)
        )
    }

    @Test func oneOfSeveralMakesTheTables() async throws {
        let without = #expect(throws: StoreError.self) { try self.open() }
        #expect(without?.message.contains("pushline store migrate") == true)
        _ = try self.run(.owner, "CREATE SCHEMA \(self.schema)")
        let made = try await withThrowingTaskGroup(of: Bool.self) { group in
            for _ in 0..<3 { group.addTask { try self.migrate() } }
            return try await group.reduce(into: [Bool]()) { $0.append($1) }
        }
        #expect(made.filter(\.self).count == 1)
        #expect(try await self.open().pauses().isEmpty)
    }

    @Test func programsOwnNothing() throws {
        _ = try self.run(.owner, "CREATE SCHEMA \(self.schema)")
        #expect(try self.migrate())
        for text in [
            "CREATE TABLE mine(number bigint)", "DROP TABLE account", "ALTER TABLE account ADD COLUMN more bigint",
            "UPDATE store_version SET version = 2", "DELETE FROM store_key", "TRUNCATE account",
        ] {
            let fault = #expect(throws: WireFault.self) { try self.run(.programs, text) }
            if case .refused(let refusal)? = fault {
                #expect(refusal.state == "42501", "\(text)")
            } else {
                Issue.record("\(text): \(String(describing: fault))")
            }
        }
    }

    @Test func anotherReleasesTablesAreRefusedByTheirVersion() throws {
        _ = try self.run(.owner, "CREATE SCHEMA \(self.schema)")
        #expect(try self.migrate())
        _ = try self.run(.owner, "UPDATE store_version SET version = 7, opens_from = 7")
        for open in [{ _ = try self.open() }, { _ = try self.migrate() }] as [() throws -> Void] {
            let error = #expect(throws: StoreError.self, performing: open)
            #expect(error?.message.contains("version 7") == true)
        }
    }

    private func migrator(_ role: TestServer.Role, _ steps: [SchemaStep]) throws -> Migrator {
        try Migrator(TestServer.addresses(role, schema: self.schema), plan: SchemaPlan(steps: steps))
    }

    /// Does something while a program of this version has a connection.
    private func whileOpen(_ work: () throws -> Void) throws {
        let program = try Servers(TestServer.addresses(.programs, schema: self.schema), Deadlines()).connect()
        try withExtendedLifetime(program) { try work() }
    }

    @Test(.timeLimit(.minutes(1))) func stepsAreSeenByAnybodyAndTakenByTheOwner() throws {
        _ = try self.run(.owner, "CREATE SCHEMA \(self.schema)")
        _ = try self.run(.owner, "GRANT USAGE ON SCHEMA \(self.schema) TO programs")
        let steps = [
            SchemaStep(
                .expand,
                "a column of a test",
                sql: "ALTER TABLE app ADD COLUMN trial bigint; COMMENT ON TABLE app IS 'x'"
            ),
            SchemaStep(.contract, "it goes", sql: "ALTER TABLE app DROP COLUMN trial"),
        ]
        let before = try self.migrator(.programs, steps).pendingSteps()
        #expect(before.found.number == 0)
        #expect(before.steps.map(\.summary) == ["makes the tables", "a column of a test", "it goes"])
        let migrator = try self.migrator(.owner, steps)
        #expect(try !migrator.takeStep(to: 2, programs: "programs"), "it is not the next one")
        #expect(try migrator.takeStep(to: 1, programs: "programs"))
        #expect(try migrator.takeStep(to: 2, programs: "programs"))
        #expect(try !migrator.takeStep(to: 2, programs: "programs"), "it was taken")
        #expect(try self.run(.programs, "SELECT trial FROM app").isEmpty)
        // Whoever was made for the version before goes on, until one that contracts.
        _ = try self.open()
        #expect(throws: StoreError.self) { try self.migrator(.programs, steps).takeStep(to: 3, programs: "programs") }
        #expect(try self.migrator(.programs, steps).pendingSteps().steps.map(\.summary) == ["it goes"])
        try self.whileOpen {
            let refusal = #expect(throws: StoreError.self) { try migrator.migrate(programs: "programs") }
            #expect(refusal?.code == .conflict)
            #expect(refusal?.message.contains("one of version \(Schema.plan.version) has the store open") == true)
            #expect(throws: StoreError.self) { try self.migrator(.programs, steps).checkOlderPrograms(before: 3) }
            try self.migrator(.programs, steps).checkOlderPrograms(before: 2)
        }
        // The server learns a little later that a connection has ended.
        var isFree = false
        while !isFree { isFree = (try? migrator.checkOlderPrograms(before: 3)) != nil }
        #expect(try migrator.migrate(programs: "programs"))
        let error = #expect(throws: StoreError.self) { try self.open() }
        #expect(error?.message.contains("made by a newer Pushline") == true)
    }

    @Test func theProgramsRoleIsThereAndOwnsNothing() throws {
        _ = try self.run(.owner, "CREATE SCHEMA \(self.schema)")
        for (role, words) in [("owner", "must not own the tables"), ("nobody", "there is no role nobody")] {
            let error = #expect(throws: StoreError.self) { try self.migrator(.owner, []).migrate(programs: role) }
            #expect(error?.message.contains(words) == true)
        }
    }

    /// Text compares by its bytes, in whatever language the database is.
    @Test func everyTextIsComparedByItsBytes() throws {
        _ = try self.run(.owner, "CREATE SCHEMA \(self.schema)")
        #expect(try self.migrate())
        let others = try self.run(
            .owner,
            """
            SELECT table_name || '.' || column_name AS name FROM information_schema.columns
            WHERE table_schema = '\(self.schema)' AND data_type = 'text' AND collation_name IS DISTINCT FROM 'C'
                AND table_name NOT IN (SELECT table_name FROM information_schema.views WHERE table_schema = '\(self.schema)')
            """
        )
        #expect(try others.map { try $0["name"] as String } == [])
    }
}
