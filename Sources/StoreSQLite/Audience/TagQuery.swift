import PushModel
import StoreKit

/// A query of the registrations with a tag, in its form for each kind of tag.
///
/// `?1` and `?2` belong to the tag, the query's own numbers begin at `?3`.
struct TagQuery: Sendable {
    let ofNumber: String
    let ofUser: String

    init(ofNumber: String, ofUser: String) {
        self.ofNumber = ofNumber
        self.ofUser = ofUser
    }

    /// A query of row numbers, from one index.
    init(rows condition: String) {
        self.ofNumber = "SELECT row FROM tagged WHERE tag = ?1 AND \(condition)"
        self.ofUser =
            "SELECT row FROM registration WHERE user = ?1 AND app = ?2 AND \(KeptRegistration.live) AND \(condition)"
    }

    subscript(tag: StoredTag) -> String {
        switch tag {
        case .number: self.ofNumber
        case .user: self.ofUser
        }
    }
}

/// A query with both of its forms prepared, for many tags.
struct PreparedTagQuery {
    private let ofNumber: PreparedStatement
    private let ofUser: PreparedStatement

    init(_ query: TagQuery, in database: Database) throws {
        self.ofNumber = try PreparedStatement(query.ofNumber, in: database)
        self.ofUser = try PreparedStatement(query.ofUser, in: database)
    }

    /// Begins a run for a tag, with the query's own numbers.
    ///
    /// - Returns: The statement, to be stepped through.
    func start(_ tag: StoredTag, _ values: Int64...) throws -> PreparedStatement {
        let statement =
            switch tag {
            case .number: self.ofNumber
            case .user: self.ofUser
            }
        try statement.restart(tag, values)
        return statement
    }

    /// Ends the runs.
    func reset() {
        self.ofNumber.reset()
        self.ofUser.reset()
    }
}

extension PreparedStatement {
    /// Starts a ``TagQuery`` again with other values.
    func restart(_ tag: StoredTag, _ values: [Int64]) throws {
        self.reset()
        switch tag {
        case .number(let number): try self.bind(number, at: 1)
        case .user(let name, let app):
            try self.bind(name.text, at: 1)
            try self.bind(app, at: 2)
        }
        for (index, value) in values.enumerated() { try self.bind(value, at: Int32(index + 3)) }
    }
}

/// Finds tags by their names.
struct TagFinder {
    static let sql = "SELECT number FROM tag_name WHERE app = ?1 AND name = ?2"

    private let app: Int64?
    private let statement: PreparedStatement
    private let number: Int32

    /// - Parameters:
    ///   - database: The connection.
    ///   - app: The app's number; nil = it has no tags yet.
    /// - Throws: SQLite's error.
    init(_ database: Database, app: Int64?) throws {
        self.app = app
        self.statement = try PreparedStatement(Self.sql, in: database)
        self.number = self.statement.column("number")
    }

    /// - Returns: nil for a tag that no registration has had; a user's own is taken as it is.
    func find(_ tag: Tag) throws -> StoredTag? {
        guard let app = self.app else { return nil }
        if let owner = tag.owner { return .user(owner, app: app) }
        defer { self.statement.reset() }
        try self.statement.bind(app, at: 1)
        try self.statement.bind(tag.key, at: 2)
        return try self.statement.step() ? .number(self.statement.integer(self.number)) : nil
    }
}
