import PushModel

/// A statement with its parameters, in the one text that all drivers share; also a part of one.
///
/// What is interpolated is a parameter. States stand in the text, as `raw`, and are made from their enum: no engine uses a partial
/// index for one that is a parameter. A column that is a key word somewhere, such as "user", stands in quotes.
package struct SQLStatement: Sendable, Equatable, ExpressibleByStringInterpolation {
    enum Part: Sendable, Equatable {
        case text(String)
        case value(SQLValue)
        case lock(SQLLock)
        /// The elements of a JSON array, as a table with the column `value`.
        case elements(of: SQLStatement)
    }

    let parts: [Part]
    /// How many rows it must give or change; nil = any number.
    private(set) var expectedRows: Int?

    package init(stringLiteral text: String) { self.parts = [.text(text)] }

    package init(stringInterpolation: StringInterpolation) { self.parts = stringInterpolation.parts }

    /// Several parts, with a text between them.
    package init(joining parts: [SQLStatement], with separator: String) {
        self.parts = Array(parts.map(\.parts).joined(separator: [.text(separator)]))
    }

    /// Its parameters, in the order of their places.
    package var values: [SQLValue] {
        self.parts.flatMap { part -> [SQLValue] in
            switch part {
            case .value(let value): [value]
            case .elements(let array): array.values
            case .text, .lock: []
            }
        }
    }

    /// The same statement as a guard of its transaction: another number of rows means that what was read has changed.
    package func expecting(_ rows: Int) -> SQLStatement {
        var statement = self
        statement.expectedRows = rows
        return statement
    }

    package struct StringInterpolation: StringInterpolationProtocol {
        fileprivate(set) var parts: [Part] = []

        package init(literalCapacity: Int, interpolationCount: Int) {
            self.parts.reserveCapacity(2 * interpolationCount + 1)
        }

        package mutating func appendLiteral(_ literal: String) {
            if !literal.isEmpty { self.parts.append(.text(literal)) }
        }

        /// A parameter.
        package mutating func appendInterpolation(_ value: some SQLConvertible) {
            self.parts.append(.value(value.sqlValue))
        }

        /// A parameter that may be NULL.
        package mutating func appendInterpolation<Value: SQLConvertible>(_ value: Value?) {
            self.parts.append(.value(value.sqlValue))
        }

        /// A part with parameters of its own.
        package mutating func appendInterpolation(_ part: SQLStatement) { self.parts += part.parts }

        /// Text of the statement's own, never a caller's.
        package mutating func appendInterpolation(raw text: String) { self.parts.append(.text(text)) }

        /// The elements of a JSON array in a column, as a table with the column `value`, of text in some engines.
        package mutating func appendInterpolation(elements array: SQLStatement) {
            self.parts.append(.elements(of: array))
        }

        /// A query of so many numbers, in the column `value`; one parameter, and so one text, however many there are.
        package mutating func appendInterpolation(numbers: [Int64]) {
            let array = "[\(numbers.map(String.init).joined(separator: ","))]"
            self.appendLiteral("SELECT CAST(value AS BIGINT) AS value FROM ")
            self.appendInterpolation(elements: "\(array)")
        }

        /// A query of so many texts, as that of numbers.
        package mutating func appendInterpolation(texts: [String]) {
            let array = String(decoding: JSONValue.strings(texts).bytes, as: UTF8.self)
            self.appendLiteral("SELECT value FROM ")
            self.appendInterpolation(elements: "\(array)")
        }

        /// Keeps the rows that are read as they are until the transaction ends; the last word of a query.
        package mutating func appendInterpolation(lock: SQLLock) { self.parts.append(.lock(lock)) }
    }
}

/// How a transaction holds rows that it reads.
package enum SQLLock: Sendable {
    /// Nobody changes them, and others may hold them so too.
    case share
    /// Nobody changes or holds them.
    case update
}
