import GRDB
import StoreSQL

/// A connection to the store's file, for the time of one transaction and on its thread.
///
/// All else in the driver knows only this, and not the library that has the connections.
struct Database {
    /// The values of a statement's parameters, in their order; nil = NULL.
    typealias Values = [(any SQLConvertible)?]

    private let connection: GRDB.Database

    init(_ connection: GRDB.Database) { self.connection = connection }

    /// How many rows the last statement has changed.
    var changesCount: Int { self.connection.changesCount }

    /// The number of the row that was inserted last.
    var lastInsertedRowID: Int64 { self.connection.lastInsertedRowID }

    /// A statement that stays prepared.
    func statement(_ sql: String) throws -> PreparedStatement {
        PreparedStatement(try self.connection.cachedStatement(sql: sql))
    }

    /// Runs statements once, which do not stay prepared.
    func execute(sql: String) throws { try self.connection.execute(sql: sql) }

    // MARK: Statements that stay prepared

    /// Runs a statement that gives no rows.
    func run(_ sql: String, _ values: Values = []) throws {
        let statement = try self.statement(sql)
        defer { statement.end() }
        try statement.bind(values)
        try statement.run()
    }

    /// Runs a statement that gives no rows, and returns the number of rows that it has changed.
    func change(_ sql: String, _ values: Values = []) throws -> Int {
        try self.run(sql, values)
        return self.changesCount
    }

    /// Reads the rows of a statement until there is none, or the reader has enough.
    ///
    /// - Parameters:
    ///   - sql: The statement.
    ///   - values: Its parameters.
    ///   - read: Receives each row; it returns whether it wants another.
    /// - Throws: What the reader throws; SQLite's error.
    func read(_ sql: String, _ values: Values = [], while read: (Row) throws -> Bool) throws {
        let statement = try self.statement(sql)
        defer { statement.end() }
        try statement.bind(values)
        let row = Row(statement)
        while try statement.step(), try read(row) {}
    }

    /// The first row.
    func first<T>(_ sql: String, _ values: Values = [], read: (Row) throws -> T) throws -> T? {
        var found: T?
        try self.read(sql, values) { row in
            found = try read(row)
            return false
        }
        return found
    }

    /// All rows.
    func all<T>(_ sql: String, _ values: Values = [], read: (Row) throws -> T) throws -> [T] {
        var found: [T] = []
        try self.read(sql, values) { row in
            found.append(try read(row))
            return true
        }
        return found
    }

    /// The only column of the first row; nil if there is none, or it is null.
    func value<T: SQLConvertible>(_ sql: String, _ values: Values = []) throws -> T? {
        try self.first(sql, values) { $0.only() as T? } ?? nil
    }

    /// The only column of all rows.
    func values<T: SQLConvertible>(_ sql: String, _ values: Values = []) throws -> [T] {
        try self.all(sql, values) { $0.only() }
    }

    func exists(_ sql: String, _ values: Values = []) throws -> Bool {
        try self.first(sql, values) { _ in true } ?? false
    }

    // MARK: Transactions

    /// Runs reads as one transaction, so that all of them see one state of the store.
    func reading<T>(_ body: (Database) throws -> T) throws -> T {
        // Left open by a rollback that failed.
        try self.endTransaction()
        try self.run("BEGIN DEFERRED TRANSACTION")
        do {
            let value = try body(self)
            try self.run("COMMIT TRANSACTION")
            return value
        } catch {
            // Some faults have ended the transaction; the next read ends one that is left.
            try? self.endTransaction()
            throw error
        }
    }

    /// Runs changes as one transaction, which holds the file from its beginning.
    func writing(_ body: (Database) throws -> Void) throws {
        try self.endTransaction()
        try self.connection.inTransaction(.immediate) {
            try body(self)
            return .commit
        }
    }

    var isInsideTransaction: Bool { self.connection.isInsideTransaction }

    private func endTransaction() throws { if self.isInsideTransaction { try self.connection.rollback() } }

    /// Sets the connection's page cache, in KiB, negative as in SQLite's pragma.
    ///
    /// Not as a prepared statement: SQLite applies this pragma when it prepares it.
    func setCache(_ size: Int) throws { try self.execute(sql: "PRAGMA cache_size = \(size)") }
}
