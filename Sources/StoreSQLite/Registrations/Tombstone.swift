import PushModel

// The sequence of a deletion of an id that is unknown or another user's, so that an earlier change that comes late neither creates the
// registration nor takes it over (rule 11). It stops changes of the same user, or of all users if an operator deleted it.
extension WriteContext {
    /// Remembers the deletion of an id without a registration, for as long as an earlier change may arrive.
    ///
    /// - Parameters:
    ///   - id: The id.
    ///   - user: The user; nil = an operator.
    ///   - app: The app's number.
    ///   - version: The sequence of the deletion.
    ///   - most: The most tombstones of a user, who alone is harmed by forgotten ones; nil = all.
    /// - Throws: SQLite's error.
    func remember(deletionOf id: RegistrationID, by user: UserName?, app: Int64, version: Int64, most: Int?) throws {
        let name = user?.key.text ?? ""
        try self.database.run(
            """
            INSERT INTO tombstone(app, id, user, version, at) VALUES (?, ?, ?, ?, ?)
            ON CONFLICT (app, id, user) DO UPDATE SET version = max(version, excluded.version), at = excluded.at
            """,
            [app, id.text, name, version, self.now]
        )
        guard user != nil, let most else { return }
        let oldest: Int64? = try self.database.value(
            "SELECT version FROM tombstone WHERE app = ? AND user = ? ORDER BY version DESC LIMIT 1 OFFSET ?",
            [app, name, most]
        )
        guard let oldest else { return }
        try self.database.run(
            "DELETE FROM tombstone WHERE app = ? AND user = ? AND version <= ?",
            [app, name, oldest]
        )
    }

    /// The sequence of the last deletion of an id by that user, or by an operator, after that change.
    ///
    /// - Returns: nil without a later deletion that found no registration, or another user's.
    func deletion(of id: RegistrationID, by user: UserName?, app: Int64, after sequence: Int64) throws -> Int64? {
        try self.database.value(
            "SELECT max(version) FROM tombstone WHERE app = ? AND id = ? AND user IN ('', ?) AND version > ?",
            [app, id.text, user?.key.text ?? "", sequence]
        )
    }

    /// Whether any unknown id was deleted after that change.
    func isAnyDeleted(after sequence: Int64) throws -> Bool {
        try self.database.exists("SELECT 1 FROM tombstone WHERE version > ? LIMIT 1", [sequence])
    }
}
