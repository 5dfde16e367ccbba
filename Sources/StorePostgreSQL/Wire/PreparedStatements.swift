/// Which statements one connection's server has parsed and planned.
///
/// A statement is prepared when it comes the second time: those that come once cost less without. There is an end to them, for each takes
/// memory of the server's as long as the connection lives.
struct PreparedStatements {
    /// How a statement is sent.
    enum Form {
        /// With its text, for the server keeps nothing of it.
        case whole
        /// It is prepared under a name first.
        case new(String)
        case known(String)
    }

    private struct Key: Hashable {
        let text: String
        let types: [UInt32]
    }

    /// More than the store has, with those of which a value is NULL.
    private static let limit = 256

    private var names: [Key: String] = [:]
    private var seen: Set<Key> = []
    private var count = 0
    /// Prepared in the present exchange, whose end is not known.
    private var latest: [Key] = []

    /// - Parameters:
    ///   - statement: The statement.
    ///   - types: Of its parameters.
    /// - Returns: How it is sent.
    mutating func form(of statement: PostgreSQLStatement, _ types: [UInt32]) -> Form {
        // What has none is a BEGIN, or done once.
        guard !types.isEmpty, !statement.isPlannedAnew else { return .whole }
        let key = Key(text: statement.text, types: types)
        if let name = self.names[key] { return .known(name) }
        guard self.names.count < Self.limit else { return .whole }
        guard self.seen.remove(key) != nil else {
            if self.seen.count >= Self.limit { self.seen = [] }
            self.seen.insert(key)
            return .whole
        }
        // Never used again, for the server may have it where we think that it has not.
        self.count += 1
        let name = "p\(self.count)"
        self.names[key] = name
        self.latest.append(key)
        return .new(name)
    }

    /// An exchange has ended.
    ///
    /// - Parameter isDone: Whether all of it was done; else the server may lack what it was to prepare.
    mutating func end(isDone: Bool) {
        if !isDone { for key in self.latest { self.names[key] = nil } }
        self.latest = []
    }
}
