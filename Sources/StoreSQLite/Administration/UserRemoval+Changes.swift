import PushModel
import Store
import StoreKit
import StoreSQL

// What each step of a removal changes.

extension UserRemoval {
    /// Changes the rows of a slice, and moves the removal on.
    ///
    /// - Returns: Whether that was all.
    func take(_ slice: Slice, in context: WriteContext) throws -> Bool {
        var end = slice.end
        switch self.position.step {
        case .registrations: for row in slice.rows { try self.remove(registration: row, in: context) }
        case .tombstones: if try self.removeTombstones(in: context) { end = self.position }
        case .jobs: for row in slice.rows { try self.remove(fromJob: row, in: context) }
        case .deadLetters:
            for row in slice.rows {
                try context.database.run("UPDATE dead SET work = NULL, body = x'' WHERE id = ?", [row])
            }
        case .contents: for row in slice.rows { try self.remove(content: row, in: context) }
        case .notifications:
            for row in slice.rows { try context.database.run("DELETE FROM rich WHERE number = ?", [row]) }
        case .keys: if try self.removeKeys(in: context) { end = self.position }
        case .names: try self.removeNames(in: context)
        }
        guard let end else {
            try self.end(in: context)
            return true
        }
        try context.database.run(
            "UPDATE user_removal SET step = ?, after = ? WHERE job = ?",
            [end.step.rawValue, end.after, self.job]
        )
        return false
    }

    /// Removes a registration that is still the user's.
    ///
    /// Its id keeps the version: an earlier change that comes late does not make it again (rule 11), and a later one of another user
    /// may.
    private func remove(registration row: Int64, in context: WriteContext) throws {
        let database = context.database
        let found = try database.first(
            "SELECT id, version FROM registration WHERE row = ? AND app = ? AND user = ? AND version < ?",
            [row, self.app, self.user.key.text, self.job]
        ) { (id: try RegistrationID(stored: $0[0]), version: $0[1] as Int64) }
        guard let found else { return }
        try context.end(row, as: .deleted, reason: "", where: "1", [])
        try context.remember(deletionOf: found.id, by: nil, app: self.app, version: found.version, most: nil)
        try database.run("DELETE FROM dead_handle WHERE row = ?", [row])
        try database.run("DELETE FROM registration WHERE row = ?", [row])
    }

    /// Removes what is remembered of the user's own deletions: no earlier change of the user does anything now.
    ///
    /// - Returns: Whether there may be more.
    private func removeTombstones(in context: WriteContext) throws -> Bool {
        try context.database.change(
            """
            DELETE FROM tombstone WHERE (app, id, user) IN (
                SELECT app, id, user FROM tombstone WHERE app = ? AND user = ? AND version < ? LIMIT ?)
            """,
            [self.app, self.user.key.text, self.job, Self.rowsASlice]
        ) == Self.rowsASlice
    }

    private func remove(content number: Int64, in context: WriteContext) throws {
        let id = try context.database.first("SELECT id FROM content WHERE number = ?", [number]) { $0[0] as String }
        let spec = try context.database.first("SELECT spec FROM app WHERE number = ? AND spec IS NOT NULL", [self.app])
        {
            try StoredJSON.value(AppSpec.self, from: $0[0])
        }
        guard let id, id == spec?.richDefault.content else {
            return try context.database.run("DELETE FROM content WHERE number = ?", [number])
        }
        // The app's default picture is the app's.
        try context.database.run("UPDATE content SET owner = NULL WHERE number = ?", [number])
    }

    /// - Returns: Whether there may be more.
    private func removeKeys(in context: WriteContext) throws -> Bool {
        try context.database.change(
            """
            DELETE FROM idempotency WHERE (app, caller, route, key) IN (
                SELECT app, caller, route, key FROM idempotency WHERE app = ? AND caller = ? AND job < ? LIMIT ?)
            """,
            [self.app, self.user.caller, self.job, Self.rowsASlice]
        ) == Self.rowsASlice
    }

    /// Removes the name where it stands once: in pauses, in sessions, and in names of tags that no device has.
    private func removeNames(in context: WriteContext) throws {
        try context.database.run(
            "UPDATE pause SET by = 'an account that was removed' WHERE app = ? AND by = ?",
            [self.app, self.user.caller]
        )
        // Of the demonstration scheme: the user may have signed in since.
        _ = try context.database.answer(.endSessions(of: self.user, app: "\(self.app)"))
        for tag in self.traces.ownTags {
            try context.database.run(
                Self.unusedTag,
                [self.app, tag.key]
            )
        }
    }

    /// Keeps the result, as ``WriteContext/applyOnce(_:_:)`` does, and forgets the removal.
    private func end(in context: WriteContext) throws {
        try context.database.run("DELETE FROM user_removal WHERE job = ?", [self.job])
        try context.database.run(
            "UPDATE job SET result = ? WHERE sequence = ?",
            [try StoredJSON.text(RegisterResult.done), self.job]
        )
    }
}
