import Foundation
import GRDB
import GRDBSQLite
import PushModel
import Store
import StoreSQL

/// A prepared statement, driven without an object per row or value.
///
/// It belongs to its connection, and is used only on that connection's thread. It has one run at a time: whoever prepares the same text
/// again while it runs ends that run.
@safe struct PreparedStatement {
    /// Owns `handle`.
    private let cached: Statement
    private let handle: SQLiteStatement

    init(_ cached: Statement) {
        self.cached = cached
        unsafe self.handle = cached.sqliteStatement
        // A run that a fault ended may have left it where its last row was.
        self.reset()
    }

    init(_ sql: String, in database: Database) throws { self = try database.statement(sql) }

    /// Binds a value; parameters count from 1, and keep their values until they get others.
    func bind(_ value: SQLValue, at index: Int32) throws {
        switch value {
        case .null: try self.check(unsafe sqlite3_bind_null(self.handle, index))
        case .integer(let number): try self.bind(number, at: index)
        case .text(let text): try self.bind(text, at: index)
        case .bytes(let bytes): try self.bind(bytes, at: index)
        case .array: throw StoreError(.corrupt, "SQLite has no arrays")
        }
    }

    func bind(_ value: Int64?, at index: Int32) throws {
        if let value {
            try self.check(unsafe sqlite3_bind_int64(self.handle, index, value))
        } else {
            try self.check(unsafe sqlite3_bind_null(self.handle, index))
        }
    }

    func bind(_ text: String?, at index: Int32) throws {
        guard var text = text?.storable else { return try self.check(unsafe sqlite3_bind_null(self.handle, index)) }
        let code = text.withUTF8 { bytes in
            unsafe bytes.withMemoryRebound(to: CChar.self) { characters in
                // SQLITE_TRANSIENT: SQLite copies the text before it returns.
                unsafe sqlite3_bind_text(
                    self.handle,
                    index,
                    characters.baseAddress,
                    CInt(clamping: characters.count),
                    unsafeBitCast(-1, to: sqlite3_destructor_type.self)
                )
            }
        }
        try self.check(code)
    }

    func bind(_ bytes: [UInt8], at index: Int32) throws {
        // No bytes have no address, which would stand for NULL.
        guard !bytes.isEmpty else { return try self.check(unsafe sqlite3_bind_zeroblob(self.handle, index, 0)) }
        let code = unsafe bytes.withUnsafeBytes { bytes in
            unsafe sqlite3_bind_blob(
                self.handle,
                index,
                bytes.baseAddress,
                CInt(clamping: bytes.count),
                unsafeBitCast(-1, to: sqlite3_destructor_type.self)
            )
        }
        try self.check(code)
    }

    /// Binds values to the parameters from the first on.
    func bind(_ values: (any SQLConvertible)?...) throws { try self.bind(values) }

    func bind(_ values: Database.Values, from first: Int32 = 1) throws {
        for (index, value) in zip(first..., values) { try self.bind(value?.sqlValue ?? .null, at: index) }
    }

    /// Steps to the next row.
    ///
    /// - Returns: Whether there is one; after the last row the statement is ready for another run.
    /// - Throws: `DatabaseError`.
    func step() throws -> Bool {
        let code = unsafe sqlite3_step(self.handle)
        if code == SQLITE_ROW { return true }
        self.reset()
        guard code == SQLITE_DONE else { throw DatabaseError(resultCode: ResultCode(rawValue: code)) }
        return false
    }

    /// Runs a statement that gives no rows.
    func run() throws {
        while try self.step() {}
    }

    /// Starts another run with these numbers.
    func restart(_ values: Int64...) throws {
        self.reset()
        for (index, value) in values.enumerated() { try self.bind(value, at: Int32(index + 1)) }
    }

    /// Runs a statement that gives no rows, with these numbers.
    func run(_ first: Int64, _ others: [Int]) throws {
        try self.bind(first, at: 1)
        for (index, value) in others.enumerated() { try self.bind(Int64(value), at: Int32(index + 2)) }
        try self.run()
    }

    /// Ends a run before its last row.
    ///
    /// The result code repeats the error of the step before.
    func reset() { _ = unsafe sqlite3_reset(self.handle) }

    /// Releases the bound values, which otherwise stay as long as the statement is prepared.
    func clear() { _ = unsafe sqlite3_clear_bindings(self.handle) }

    /// Ends a run, and releases the bound values.
    func end() {
        self.reset()
        self.clear()
    }

    /// A column of the present row; columns count from 0.
    func integer(_ column: Int32) -> Int64 { unsafe sqlite3_column_int64(self.handle, column) }

    func text(_ column: Int32) -> String? {
        guard let bytes = unsafe sqlite3_column_text(self.handle, column) else { return nil }
        let length = Int(unsafe sqlite3_column_bytes(self.handle, column))
        // SQLite's own memory, good until the next step.
        return unsafe String(decoding: UnsafeBufferPointer(start: bytes, count: length), as: UTF8.self)
    }

    /// Appends a text to a list, from SQLite's own memory.
    func append(_ column: Int32, to handles: inout HandleList) {
        let bytes = unsafe sqlite3_column_text(self.handle, column)
        let length = Int(unsafe sqlite3_column_bytes(self.handle, column))
        unsafe handles.append(UnsafeBufferPointer(start: bytes, count: bytes == nil ? 0 : length))
    }

    /// The bytes of a text or blob.
    func bytes(_ column: Int32) -> [UInt8] {
        let start = unsafe sqlite3_column_blob(self.handle, column)
        let length = Int(unsafe sqlite3_column_bytes(self.handle, column))
        // SQLite's own memory, good until the next step.
        return unsafe [UInt8](UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : length))
    }

    /// The names of the columns; none where it gives no rows.
    var columns: [String] { self.cached.columnNames }

    /// The place of a column, for loops that read many rows.
    func column(_ name: String) -> Int32 {
        guard let index = self.columns.firstIndex(of: name) else { preconditionFailure("no column \(name)") }
        return Int32(index)
    }

    /// A column of the present row, of whatever kind.
    func value(_ column: Int32) -> SQLValue {
        switch unsafe sqlite3_column_type(self.handle, column) {
        case SQLITE_NULL: .null
        case SQLITE_INTEGER: .integer(self.integer(column))
        case SQLITE_TEXT: .text(self.text(column) ?? "")
        case SQLITE_BLOB: .bytes(self.bytes(column))
        default: preconditionFailure("a column has a number with a fraction")
        }
    }

    private func check(_ code: CInt) throws {
        guard code == SQLITE_OK else { throw DatabaseError(resultCode: ResultCode(rawValue: code)) }
    }
}
