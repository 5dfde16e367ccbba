import FaultInjection
import Foundation
import LogRecorder
import Logging
import PushModel
import Store
import StoreContract
import StoreKit
import StoreSQL
import Testing
import Undisturbed

@testable import StorePostgreSQL

/// Tables belong to the role that migrates, and are made once.
@Suite(.enabled(if: TestServer.isThere), .undisturbed) struct MigratorTests {
    private let schema = "m" + UUID().uuidString.replacing("-", with: "").lowercased()

    private func run(_ role: TestServer.Role, _ text: String) throws -> [SQLRow] {
        let servers = try Servers(TestServer.addresses(role, schema: self.schema), TestServer.deadlines, .migration)
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
        let program = try Servers(TestServer.addresses(.programs, schema: self.schema), TestServer.deadlines).connect()
        try withExtendedLifetime(program) { try work() }
    }

    @Test(.timeLimit(.minutes(5))) func stepsAreSeenByAnybodyAndTakenByTheOwner() throws {
        _ = try self.run(.owner, "CREATE SCHEMA \(self.schema)")
        _ = try self.run(.owner, "GRANT USAGE ON SCHEMA \(self.schema) TO programs")
        let steps = [SchemaStep(trial: .expand), SchemaStep(trial: .contract)]
        let before = try self.migrator(.programs, steps).pendingSteps()
        #expect(before.found.number == 0)
        #expect(before.steps.map(\.summary) == ["makes the tables"] + steps.map(\.summary))
        let migrator = try self.migrator(.owner, steps)
        #expect(try !migrator.takeStep(to: 2, programs: "programs"), "it is not the next one")
        #expect(try migrator.takeStep(to: 1, programs: "programs"))
        #expect(try migrator.takeStep(to: 2, programs: "programs"))
        #expect(try !migrator.takeStep(to: 2, programs: "programs"), "it was taken")
        #expect(try self.run(.programs, "SELECT trial FROM job").isEmpty)
        // Whoever was made for the version before goes on, until one that contracts.
        _ = try self.open()
        #expect(throws: StoreError.self) { try self.migrator(.programs, steps).takeStep(to: 3, programs: "programs") }
        #expect(try self.migrator(.programs, steps).pendingSteps().steps.map(\.summary) == [steps[1].summary])
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

    /// A store whose connections are known by a name, and what it does to have one.
    private func openNamed(_ name: String, _ log: LogRecorder) throws -> PostgreSQLStore {
        var deadlines = TestServer.deadlines
        (deadlines.read, deadlines.heartbeat) = (.seconds(3), .seconds(60))
        return try PostgreSQLStore(
            TestServer.addresses(.programs, schema: self.schema, words: "&application_name=\(name)"),
            clock: StoreClock(source: TestTime(), shift: 0),
            deadlines: deadlines,
            logger: log.logger(.error)
        )
    }

    /// Ends all connections of a name, as a server does that is started anew.
    private func terminate(_ name: String) throws {
        _ = try self.run(
            .owner,
            "SELECT pg_terminate_backend(pid) AS ended FROM pg_stat_activity WHERE application_name = '\(name)'"
        )
    }

    /// What a store says whose tables were taken away: whoever works for it waits, for that may pass.
    private func expectToWait(_ store: PostgreSQLStore, _ log: LogRecorder) async {
        for _ in 0..<2 {
            let error = await #expect(throws: StoreError.self) { try await store.pauses() }
            #expect(error?.code == .unavailable && error?.mayPass == true, "\(String(describing: error))")
            #expect(error?.message.contains("made by a newer Pushline") == true, "\(String(describing: error))")
        }
        let change = await #expect(throws: StoreError.self) { try await store.apply(.pause(.end(.send, app: nil))) }
        #expect(change?.mayPass == true, "\(String(describing: change))")
        #expect(log.lines.count == 1)
        #expect(log.lines.first?.fields["error"]?.contains("run the newer one") == true)
    }

    private static let contraction = "ALTER TABLE pause RENAME TO trial"

    /// With its connections a program's lock is gone, and a step that contracts is taken; the program comes back, and must not go on.
    @Test(.timeLimit(.minutes(5))) func aProgramThatComesBackToOtherTablesWaits() async throws {
        _ = try self.run(.owner, "CREATE SCHEMA \(self.schema)")
        #expect(try self.migrate())
        let (name, log) = ("back\(UUID().uuidString)", LogRecorder())
        let store = try self.openNamed(name, log)
        #expect(try await store.pauses().isEmpty)
        let before = Schema.plan.version
        let step = SchemaStep(.contract, "a table goes", sql: Self.contraction)
        let migrator = try self.migrator(.owner, Schema.plan.steps + [step])
        var isTaken = false
        while !isTaken {
            try self.terminate(name)
            isTaken = (try? migrator.migrate(programs: "programs")) == true
        }
        await self.expectToWait(store, log)
        // The tables are again as they were: it goes on.
        _ = try self.run(.owner, "ALTER TABLE trial RENAME TO pause")
        _ = try self.run(.owner, "UPDATE store_version SET version = \(before), opens_from = 1")
        #expect(try await store.pauses().isEmpty)
    }

    /// The same of one that comes back while the step is taken: it waits for its lock, and then sees other tables.
    @Test(.timeLimit(.minutes(5))) func aProgramThatComesBackDuringAStepWaits() async throws {
        _ = try self.run(.owner, "CREATE SCHEMA \(self.schema)")
        #expect(try self.migrate())
        let (name, log) = ("during\(UUID().uuidString)", LogRecorder())
        let store = try self.openNamed(name, log)
        let gate = try Gate("SELECT 1 AS held FROM store_version FOR UPDATE", schema: self.schema, name: name)
        let newer = Schema.plan.version + 1
        var older = 1
        while older > 0 {
            try self.terminate(name)
            older = try gate.send(OpenVersions.exclude(before: newer)).count
        }
        let pauses = Task { try await store.pauses() }
        try await gate.wait(for: 1)
        _ = try gate.send(PostgreSQLStatement(Self.contraction))
        _ = try gate.send(PostgreSQLStatement("UPDATE store_version SET version = \(newer), opens_from = \(newer)"))
        try gate.open()
        let error = await #expect(throws: StoreError.self) { try await pauses.value }
        #expect(error?.mayPass == true, "\(String(describing: error))")
        await self.expectToWait(store, log)
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
