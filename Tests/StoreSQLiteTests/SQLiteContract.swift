import Foundation
import GRDB
import Store
import StoreContract
import Testing

@testable import StoreSQLite

/// SQLite passes what any driver must: the suites of the contract are run with its stores.
@Suite(.passesContract(as: "SQLite") { try SQLiteFixture($0) }) struct SQLiteContract {}

/// The stores of the suites that any driver must pass.
private final class SQLiteFixture: StoreFixture {
    private let keep: TemporaryStore

    init(_ options: StoreOptions) throws {
        self.keep = try TemporaryStore(maximumBacklog: options.maximumBacklog, window: options.window)
    }

    var store: any ResultStore { self.keep.store }
    var time: TestTime { self.keep.time }

    func another() throws -> any ResultStore { try self.keep.another() }

    func contains(_ text: String) async throws -> Bool {
        try await self.keep.store.pool.read { database in
            try ["job", "dead"].contains { table in
                try Row.fetchAll(database, sql: "SELECT * FROM \(table)").contains { row in
                    row.contains { "\($0.1)".lowercased().contains(text.lowercased()) }
                }
            }
        }
    }

    func mentions(_ text: String) async throws -> Bool {
        let text = text.lowercased()
        return try await self.keep.store.pool.read { database in
            let tables = try String.fetchAll(database, sql: "SELECT name FROM sqlite_master WHERE type = 'table'")
            return try tables.contains { table in
                try Row.fetchAll(database, sql: "SELECT * FROM \(table)").contains { row in
                    row.contains { _, value in
                        let bytes = Data.fromDatabaseValue(value).map { String(decoding: $0, as: UTF8.self) }
                        return (bytes ?? "\(value)").lowercased().contains(text)
                    }
                }
            }
        }
    }

    func writes() async throws -> Int { self.keep.store.writer.commits }

    func faults() async throws -> [String] { try await self.keep.store.checkFile() }
}
