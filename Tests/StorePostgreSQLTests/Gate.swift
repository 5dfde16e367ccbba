import StoreContract
import StoreSQL
import Testing

@testable import StorePostgreSQL

/// Holds what changes of other connections need, until so many of them wait for it.
///
/// So each has read before any writes.
struct Gate {
    private let holder: Wire
    private let watch: Wire
    private let name: String

    /// - Parameters:
    ///   - statement: Takes the lock.
    ///   - schema: Of the tables.
    ///   - name: The application name of the connections that will wait.
    /// - Throws: The server's error.
    init(_ statement: String, schema: String, name: String) throws {
        // A transaction sees all other backends as they were when it first looked.
        (self.holder, self.watch, self.name) = (try TestServer.owner(schema), try TestServer.owner(), name)
        _ = try Self.count(self.holder, "BEGIN")
        _ = try Self.count(self.holder, statement)
    }

    private static func count(_ wire: Wire, _ text: String) throws -> Int {
        try wire.exchange([PostgreSQLStatement(text)], until: .now + .seconds(30))[0].count
    }

    /// Returns when so many connections wait for a lock.
    func wait(for count: Int) async throws {
        try await self.wait("wait_event_type = 'Lock'") { $0 >= count }
    }

    /// Returns when all have done what they were sent.
    func waitUntilIdle() async throws { try await self.wait("state <> 'idle'") { $0 == 0 } }

    /// Returns when as many are in some state as there must be.
    private func wait(_ state: String, _ isReached: (Int) -> Bool) async throws {
        let backends = "SELECT pid FROM pg_stat_activity WHERE application_name = '\(self.name)' AND \(state)"
        var found = try Self.count(self.watch, backends)
        for _ in 0..<3000 where !isReached(found) {
            try await Task.sleep(for: .milliseconds(10))
            found = try Self.count(self.watch, backends)
        }
        #expect(isReached(found), "\(found) of them: \(state)")
    }

    /// Sends more, in the transaction that holds.
    func send(_ statement: PostgreSQLStatement) throws -> SQLAnswer {
        try self.holder.exchange([statement], until: .now + .seconds(30))[0]
    }

    func open() throws { _ = try Self.count(self.holder, "COMMIT") }
}
