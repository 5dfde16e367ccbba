package import PushModel

/// A value that a statement is given, or that a row has.
package enum SQLValue: Sendable, Equatable {
    case null
    case integer(Int64)
    case text(String)
    case bytes([UInt8])
    /// Only of statements that PostgreSQL alone is given.
    case array(SQLArray)

    /// Texts are the same where they are stored the same, letter for letter.
    package static func == (one: SQLValue, other: SQLValue) -> Bool {
        switch (one, other) {
        case (.null, .null): true
        case (.integer(let one), .integer(let other)): one == other
        case (.text(let one), .text(let other)): ExactText(one) == ExactText(other)
        case (.bytes(let one), .bytes(let other)): one == other
        case (.array(let one), .array(let other)): one == other
        default: false
        }
    }
}

/// Values of many rows, a column's in each.
package enum SQLArray: Sendable, Equatable {
    case integers([Int64?])
    case texts([String?])
    case byteStrings([[UInt8]?])
}

/// What can be a parameter of a statement, and be read from a column.
package protocol SQLConvertible {
    var sqlValue: SQLValue { get }

    /// - Parameter value: A column's; nil is the result where it is of another kind.
    init?(sqlValue value: SQLValue)
}

extension Int64: SQLConvertible {
    package var sqlValue: SQLValue { .integer(self) }

    package init?(sqlValue value: SQLValue) {
        guard case .integer(let number) = value else { return nil }
        self = number
    }
}

extension Int: SQLConvertible {
    package var sqlValue: SQLValue { .integer(Int64(self)) }

    package init?(sqlValue value: SQLValue) {
        guard let number = Int64(sqlValue: value) else { return nil }
        self.init(exactly: number)
    }
}

extension Int32: SQLConvertible {
    package var sqlValue: SQLValue { .integer(Int64(self)) }

    package init?(sqlValue value: SQLValue) {
        guard let number = Int64(sqlValue: value) else { return nil }
        self.init(exactly: number)
    }
}

/// Stored as 0 and 1 in every engine.
extension Bool: SQLConvertible {
    package var sqlValue: SQLValue { .integer(self ? 1 : 0) }

    package init?(sqlValue value: SQLValue) {
        guard let number = Int64(sqlValue: value) else { return nil }
        self = number != 0
    }
}

/// Stored in milliseconds.
extension Timestamp: SQLConvertible {
    package var sqlValue: SQLValue { .integer(self.milliseconds) }

    package init?(sqlValue value: SQLValue) {
        guard let number = Int64(sqlValue: value) else { return nil }
        self.init(milliseconds: number)
    }
}

extension String: SQLConvertible {
    package var sqlValue: SQLValue { .text(self) }

    package init?(sqlValue value: SQLValue) {
        guard case .text(let text) = value else { return nil }
        self = text
    }
}

extension [UInt8]: SQLConvertible {
    package var sqlValue: SQLValue { .bytes(self) }

    package init?(sqlValue value: SQLValue) {
        guard case .bytes(let bytes) = value else { return nil }
        self = bytes
    }
}

extension JobID: SQLConvertible {
    package var sqlValue: SQLValue { .bytes(Array(self.bytes)) }

    package init?(sqlValue value: SQLValue) {
        guard case .bytes(let bytes) = value else { return nil }
        self.init(bytes: bytes)
    }
}

extension Optional: SQLConvertible where Wrapped: SQLConvertible {
    package var sqlValue: SQLValue { self?.sqlValue ?? .null }

    package init?(sqlValue value: SQLValue) {
        guard value != .null else {
            self = .none
            return
        }
        guard let wrapped = Wrapped(sqlValue: value) else { return nil }
        self = .some(wrapped)
    }
}
