import GRDB
import PushModel
import Store
import StoreKit
import StoreSQL

extension Database {
    /// Runs a statement that stays prepared.
    func run(_ sql: String, _ arguments: StatementArguments = []) throws {
        try self.cachedStatement(sql: sql).execute(arguments: arguments)
    }

    /// Runs a cached statement and returns the number of rows changed.
    func change(_ sql: String, _ arguments: StatementArguments = []) throws -> Int {
        try self.run(sql, arguments)
        return self.changesCount
    }

    /// The first row of a query that stays prepared.
    func first<T>(_ sql: String, _ arguments: StatementArguments = [], read: (Row) throws -> T) throws -> T? {
        let cursor = try Row.fetchCursor(self.cachedStatement(sql: sql), arguments: arguments)
        return try cursor.next().map(read)
    }

    /// All rows of a query that stays prepared.
    func all<T>(_ sql: String, _ arguments: StatementArguments = [], read: (Row) throws -> T) throws -> [T] {
        let cursor = try Row.fetchCursor(self.cachedStatement(sql: sql), arguments: arguments)
        var found: [T] = []
        while let row = try cursor.next() { found.append(try read(row)) }
        return found
    }

    /// The only column of a query's first row; nil where there is none, or it is null.
    func value<T: DatabaseValueConvertible & StatementColumnConvertible>(
        _ sql: String,
        _ arguments: StatementArguments = []
    ) throws -> T? {
        try T.fetchOne(self.cachedStatement(sql: sql), arguments: arguments)
    }

    /// The only column of a query's rows.
    func values<T: DatabaseValueConvertible & StatementColumnConvertible>(
        _ sql: String,
        _ arguments: StatementArguments = []
    ) throws -> [T] {
        try T.fetchAll(self.cachedStatement(sql: sql), arguments: arguments)
    }

    func exists(_ sql: String, _ arguments: StatementArguments = []) throws -> Bool {
        try self.first(sql, arguments) { _ in true } ?? false
    }

    /// Sets the connection's page cache, in KiB, negative as in SQLite's pragma.
    ///
    /// Not as a cached statement: SQLite applies this pragma when it prepares it.
    func setCache(_ size: Int) throws { try self.execute(sql: "PRAGMA cache_size = \(size)") }

    /// The app's number, or nil where it was never mentioned.
    func number(of app: AppID) throws -> Int64? { try self.answer(.number(of: app)).rows.first?["number"] }

    /// The app's number, given now if need be.
    func ensureNumber(of app: AppID) throws -> Int64 {
        if let number = try self.number(of: app) { return number }
        _ = try self.answer(.mention(app))
        return self.lastInsertedRowID
    }
}

extension DatabaseError {
    /// The fault is the file's, not the statement's: nothing of the transaction can be kept.
    var endsGroup: Bool {
        switch self.resultCode {
        case .SQLITE_CONSTRAINT, .SQLITE_ERROR, .SQLITE_MISMATCH, .SQLITE_RANGE, .SQLITE_TOOBIG: false
        default: true
        }
    }
}

extension StoreError {
    /// Maps an error of SQLite to the store's error.
    init(_ error: DatabaseError) {
        let code: Code =
            switch error.resultCode {
            case .SQLITE_CORRUPT, .SQLITE_NOTADB, .SQLITE_MISMATCH, .SQLITE_ERROR, .SQLITE_MISUSE, .SQLITE_RANGE:
                .corrupt
            case .SQLITE_CONSTRAINT: .conflict
            default: .unavailable
            }
        let number = "SQLite answers \(error.extendedResultCode.rawValue)"
        self.init(code, Self.advice(error.resultCode).map { "\($0) (\(number))" } ?? number)
    }

    /// The operator's remedy for an error of the disk.
    private static func advice(_ code: ResultCode) -> String? {
        switch code {
        case .SQLITE_FULL: "the disk is full: make room on the store's file system, and it goes on by itself"
        case .SQLITE_READONLY:
            "the store is read-only: make its file system and files writable for this user, and it goes on by itself"
        case .SQLITE_IOERR: "the disk does not read or write: look at the system's log, and at the room on it"
        case .SQLITE_CANTOPEN:
            "a file of the store cannot be opened: its folder must be there, and writable for this user"
        case .SQLITE_CORRUPT: "the file is damaged"
        case .SQLITE_NOTADB: "the file is no SQLite database, or its beginning is damaged"
        case .SQLITE_BUSY, .SQLITE_LOCKED: "another process has held the store for too long"
        default: nil
        }
    }
}
