import PushModel
package import Store

/// A statement with its parameters, in the one text that all drivers share; also a part of one.
///
/// What is interpolated is a parameter. States stand in the text, as `raw`, and are made from their enum: no engine uses a partial
/// index for one that is a parameter. A column that is a key word somewhere, such as "user", stands in quotes.
package struct SQLStatement: Sendable, Equatable, ExpressibleByStringInterpolation {
    /// As SQLite reads it: a parameter is "?", or "?1" in a text whose parameters are numbered, and what only others read is in a comment
    /// that begins with an exclamation mark.
    package let text: String
    /// Its parameters, in the order of their places.
    package let values: [SQLValue]
    /// How many rows it must give or change; nil = any number.
    package private(set) var expectedRows: Int?
    /// What another number of rows means; nil = what was read has changed, and all is to be done again.
    private var refusal: StoreError?

    package init(stringLiteral text: String) { (self.text, self.values) = (text, []) }

    /// A text that is made once; its parameters are numbered, "?1", or have the order of their places.
    init(_ text: String, _ values: [any SQLConvertible]) { self.init(text, values: values.map(\.sqlValue)) }

    /// The same.
    package init(_ text: String, values: [SQLValue]) { (self.text, self.values) = (text, values) }

    package init(stringInterpolation: StringInterpolation) {
        (self.text, self.values) = (stringInterpolation.text, stringInterpolation.values)
    }

    /// Several parts, with a text between them.
    package init(joining parts: [SQLStatement], with separator: String) {
        (self.text, self.values) = (parts.map(\.text).joined(separator: separator), parts.flatMap(\.values))
    }

    /// The same statement as a guard of its transaction, which another number of rows undoes.
    ///
    /// - Parameters:
    ///   - rows: The number of rows.
    ///   - refusal: What another number means; nil = what was read has changed. To be said of all that may be so without another writer:
    ///     such a guard would fail each time that all is done again.
    /// - Returns: The guard.
    package func expecting(_ rows: Int, otherwise refusal: StoreError? = nil) -> SQLStatement {
        var statement = self
        (statement.expectedRows, statement.refusal) = (rows, refusal)
        return statement
    }

    /// The error of a transaction in which it did not find the rows that it expects.
    package var guardError: any Error { self.refusal ?? ReadIsOld() }

    package struct StringInterpolation: StringInterpolationProtocol {
        fileprivate private(set) var text = ""
        fileprivate private(set) var values: [SQLValue] = []

        package init(literalCapacity: Int, interpolationCount: Int) {
            self.text.reserveCapacity(literalCapacity + interpolationCount)
            self.values.reserveCapacity(interpolationCount)
        }

        package mutating func appendLiteral(_ literal: String) { self.text += literal }

        /// A parameter.
        package mutating func appendInterpolation(_ value: some SQLConvertible) {
            self.text += "?"
            self.values.append(value.sqlValue)
        }

        /// A parameter that may be NULL.
        package mutating func appendInterpolation<Value: SQLConvertible>(_ value: Value?) {
            self.text += "?"
            self.values.append(value.sqlValue)
        }

        /// A parameter that is an array, for PostgreSQL alone.
        package mutating func appendInterpolation(_ array: SQLArray) {
            self.text += "?"
            self.values.append(.array(array))
        }

        /// A part with parameters of its own.
        package mutating func appendInterpolation(_ part: SQLStatement) {
            self.text += part.text
            self.values += part.values
        }

        /// Text of the statement's own, never a caller's.
        package mutating func appendInterpolation(raw text: String) { self.text += text }

        /// The elements of a JSON array in a column, as a table with the column `value`, of text in some engines.
        package mutating func appendInterpolation(elements array: SQLStatement) {
            self.appendInterpolation("json_each(\(array)/*!::jsonb*/)" as SQLStatement)
        }

        /// A query of so many numbers, in the column `value`; one parameter, and so one text, however many there are.
        package mutating func appendInterpolation(numbers: [Int64]) {
            let array = "[\(numbers.map(String.init).joined(separator: ","))]"
            self.appendLiteral("SELECT CAST(value AS BIGINT) AS value FROM ")
            self.appendInterpolation(elements: "\(array)")
        }

        /// A query of so many texts, as that of numbers.
        package mutating func appendInterpolation(texts: [String]) {
            let array = String(decoding: JSONValue.strings(texts.map(\.storable)).bytes, as: UTF8.self)
            self.appendLiteral("SELECT value FROM ")
            self.appendInterpolation(elements: "\(array)")
        }

        /// Keeps the rows that are read as they are until the transaction ends; the last word of a query.
        package mutating func appendInterpolation(lock: SQLLock) { self.text += "/*! FOR \(lock.rawValue)*/" }
    }
}

/// How a transaction holds rows that it reads; in SQLite, who writes holds everything.
package enum SQLLock: String, Sendable {
    /// Nobody changes them, and others may hold them so too.
    case share = "SHARE"
    /// Nobody changes or holds them; others may go on adding rows that refer to them.
    case update = "NO KEY UPDATE"
}
