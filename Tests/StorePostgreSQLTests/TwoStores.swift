import Foundation
import StoreContract

@testable import StorePostgreSQL

/// Two stores on one database, whose connections are known by a name.
struct TwoStores {
    let fixture: StoreAdministration
    let first: PostgreSQLStore
    let second: PostgreSQLStore
    let name = "two\(UUID().uuidString)"

    init(_ limits: JobLimits = JobLimits()) throws {
        self.fixture = try StoreAdministration(StoreOptions())
        let addresses = try TestServer.addresses(
            .programs,
            schema: self.fixture.schema,
            words: "&application_name=\(self.name)"
        )
        let clock = self.fixture.engine.clock
        func store() throws -> PostgreSQLStore {
            try PostgreSQLStore(addresses, clock: clock, limits: limits, deadlines: TestServer.deadlines)
        }
        (self.first, self.second) = (try store(), try store())
    }

    /// Holds rows of tables, as a query's FROM names them, or of one table some; what is returned lets them go when so many of the stores'
    /// connections wait for them.
    func hold(_ rows: String, for count: Int = 2) throws -> () async throws -> Void {
        let gate = try self.gate(rows)
        return {
            try await gate.wait(for: count)
            try gate.open()
        }
    }

    /// The same, for whoever says when.
    func gate(_ rows: String) throws -> Gate {
        try Gate("SELECT 1 AS held FROM \(rows) FOR UPDATE", schema: self.fixture.schema, name: self.name)
    }
}
