import CPostgreSQL
import Foundation
import Store
import StoreSQL

/// A connection to PostgreSQL, whose calls block, and are made on one thread at a time.
@safe final class PostgreSQLConnection {
    private let handle: OpaquePointer

    init(_ address: String) throws {
        guard let handle = unsafe PQconnectdb(address) else {
            throw StoreError(.unavailable, "there is no memory for a connection")
        }
        guard unsafe PQstatus(handle) == CONNECTION_OK else {
            let words = unsafe String(cString: PQerrorMessage(handle))
            unsafe PQfinish(handle)
            throw StoreError(.unavailable, words)
        }
        unsafe self.handle = handle
    }

    deinit { unsafe PQfinish(self.handle) }

    /// Runs statements without parameters or rows.
    func run(_ sql: String) throws { _ = try self.answer(SQLStatement(stringLiteral: sql)) }

    func answer(_ statement: SQLStatement) throws -> SQLAnswer {
        let values = unsafe statement.values.map { value in unsafe value.text.flatMap { unsafe strdup($0) } }
        defer { unsafe values.forEach { unsafe free($0) } }
        let pointers = unsafe values.map { unsafe UnsafePointer($0) }
        let text = statement.postgreSQLText
        let count = unsafe Int32(pointers.count)
        guard let result = unsafe PQexecParams(self.handle, text, count, nil, pointers, nil, nil, 0) else {
            throw StoreError(.unavailable, "there is no answer")
        }
        defer { unsafe PQclear(result) }
        let status = unsafe PQresultStatus(result)
        guard status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK else { throw unsafe Self.error(result) }
        let rows = try unsafe Self.rows(result)
        let changed = unsafe Int(String(cString: PQcmdTuples(result))) ?? 0
        return SQLAnswer(rows: rows, count: status == PGRES_TUPLES_OK ? rows.count : changed)
    }

    private static func rows(_ result: OpaquePointer) throws -> [SQLRow] {
        let columns = (0..<(unsafe PQnfields(result))).map { unsafe String(cString: PQfname(result, $0)) }
        return try (0..<(unsafe PQntuples(result))).map { row in
            let values = try (0..<Int32(columns.count)).map { column -> SQLValue in
                guard unsafe PQgetisnull(result, row, column) == 0 else { return .null }
                let text = unsafe String(cString: PQgetvalue(result, row, column))
                return try SQLValue(text, type: unsafe PQftype(result, column))
            }
            return SQLRow(columns: columns, values: values)
        }
    }

    /// Where another transaction was in the way, all is to be done again.
    private static func error(_ result: OpaquePointer) -> any Error {
        let state = unsafe PQresultErrorField(result, Int32(UInt8(ascii: "C"))).map { unsafe String(cString: $0) }
        if let state, ["40001", "40P01", "23505"].contains(state) { return ReadIsOld() }
        return StoreError(.unavailable, unsafe String(cString: PQresultErrorMessage(result)))
    }
}

extension SQLValue {
    /// As PostgreSQL reads it.
    fileprivate var text: String? {
        switch self {
        case .null: nil
        case .integer(let number): String(number)
        case .text(let text): text
        case .bytes(let bytes): "\\x" + bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
        }
    }

    /// A column as PostgreSQL writes it.
    fileprivate init(_ text: String, type: Oid) throws {
        switch type {
        case 16: self = .integer(text == "t" ? 1 : 0)
        case 17:
            let digits = Array(text.dropFirst(2))
            self = .bytes(
                stride(from: 0, to: digits.count, by: 2).compactMap { UInt8(String(digits[$0...$0 + 1]), radix: 16) }
            )
        case 20, 21, 23:
            guard let number = Int64(text) else { throw StoreError(.corrupt, "a number is none") }
            self = .integer(number)
        case 25: self = .text(text)
        default: throw StoreError(.corrupt, "a column is of type \(type)")
        }
    }
}
