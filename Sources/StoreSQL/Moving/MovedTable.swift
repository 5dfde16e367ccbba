/// A table that is moved from one driver's store into another's: its columns are alike in all of them.
package struct MovedTable: Sendable {
    package let name: String
    /// The columns that tell its rows apart, in whose order they are moved.
    package let key: [String]
    /// The most rows that are moved at a time.
    package let block: Int
    /// Whether its key is a number that is never used again.
    package let isNumbered: Bool

    private init(_ name: String, _ key: [String], block: Int = 1000, isNumbered: Bool = false) {
        (self.name, self.key, self.block, self.isNumbered) = (name, key, block, isNumbered)
    }

    private static func numbered(_ name: String, by key: String = "number", block: Int = 1000) -> MovedTable {
        MovedTable(name, [key], block: block, isNumbered: true)
    }

    /// All of them, each behind those that it refers to.
    ///
    /// Not among them is what each driver makes of others, and what ``MovedState`` has.
    package static let all = [
        numbered("app"), numbered("account"), MovedTable("api_key", ["app", "name"]),
        MovedTable("hub_rule", ["app", "name"]),
        MovedTable("pause", ["queue", "app"]), numbered("act"), numbered("session"), numbered("credential"),
        MovedTable("rate_limit", ["app", "pns", "credential"]), numbered("template"),
        numbered("registration", by: "row"),
        numbered("tag_name"), MovedTable("tagged", ["tag", "pns", "row"]), numbered("dead_handle", by: "id"),
        MovedTable("released_handle", ["app", "pns", "handle"]), MovedTable("tombstone", ["app", "id", "user"]),
        MovedTable("removed_user", ["app", "digest"]),
        // An upload may have megabytes.
        numbered("content", block: 4), numbered("rich"), numbered("message", by: "id"),
        numbered("job", by: "sequence", block: 200),
        MovedTable("user_removal", ["job"]), MovedTable("audience", ["job"], block: 50),
        MovedTable("idempotency", ["app", "caller", "route", "key"]),
        MovedTable("recipient", ["job", "pns", "number"]),
        MovedTable("cursor", ["job", "pns"]), MovedTable("batch", ["job", "pns", "page", "attempt"]),
        MovedTable("outcome", ["job", "pns", "page", "attempt"]),
        MovedTable("delivery_count", ["job", "pns", "class"]),
        MovedTable("platform_count", ["job", "platform", "class"]), numbered("delivery", by: "id"),
        MovedTable("hub_call", ["job", "pns", "number"]), numbered("dead", by: "id", block: 50),
        MovedTable("dead_number", ["app"]), MovedTable("suspect", ["fingerprint"]),
    ]

    /// A block of rows in the order of the key.
    ///
    /// - Parameters:
    ///   - columns: The columns to read.
    ///   - relation: What the driver reads the table from.
    ///   - key: The key of the row before; nil = from the beginning.
    /// - Returns: The query.
    package func page(_ columns: [String], of relation: String, after key: [SQLValue]?) -> SQLStatement {
        let names = columns.map { "\"\($0)\"" }.joined(separator: ", ")
        let order = self.key.map { "\"\($0)\"" }.joined(separator: ", ")
        let condition: SQLStatement =
            key.map { key in
                let values = SQLStatement(joining: key.map { value in "\(value)" as SQLStatement }, with: ", ")
                return " WHERE (\(raw: order)) > (\(values))"
            } ?? ""
        return "SELECT \(raw: names) FROM \(raw: relation)\(condition) ORDER BY \(raw: order) LIMIT \(self.block)"
    }

    /// The key of the last row.
    package func last(of relation: String) -> SQLStatement {
        let names = self.key.map { "\"\($0)\"" }
        let order = names.map { "\($0) DESC" }.joined(separator: ", ")
        return "SELECT \(raw: names.joined(separator: ", ")) FROM \(raw: relation) ORDER BY \(raw: order) LIMIT 1"
    }
}

extension SQLValue: SQLConvertible {
    package var sqlValue: SQLValue { self }

    package init?(sqlValue value: SQLValue) { self = value }
}
