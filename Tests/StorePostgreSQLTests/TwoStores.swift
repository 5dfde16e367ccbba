import Foundation
import StoreContract

@testable import StorePostgreSQL

/// Two stores on one database, whose connections are known by a name.
struct TwoStores {
    let fixture: StoreAdministration
    let first: PostgreSQLStore
    let second: PostgreSQLStore
    let name = "two\(UUID().uuidString)"

    init() throws {
        self.fixture = try StoreAdministration(StoreOptions())
        let addresses = try TestServer.addresses(
            .programs,
            schema: self.fixture.schema,
            words: "&application_name=\(self.name)"
        )
        self.first = try PostgreSQLStore(
            addresses,
            clock: self.fixture.engine.clock,
            deadlines: TestServer.deadlines
        )
        self.second = try PostgreSQLStore(
            addresses,
            clock: self.fixture.engine.clock,
            deadlines: TestServer.deadlines
        )
    }
}
