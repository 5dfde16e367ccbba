import PushModel
import StoreKit

extension WriteContext {
    /// Remembers the latest change that claimed a handle, after its registration lost it (rule 11).
    ///
    /// - Parameters:
    ///   - handle: The handle.
    ///   - slot: What it was for.
    ///   - app: The app's number.
    ///   - version: The sequence of the change that claimed it, not of the one that ends it: a claim between the two is
    ///     valid.
    /// - Throws: SQLite's error.
    func release(_ handle: Handle, _ slot: RegistrationSlot, app: Int64, version: Int64) throws {
        try self.database.run(
            """
            INSERT INTO released_handle(app, pns, handle, version, at) VALUES (?, ?, ?, ?, ?)
            ON CONFLICT (app, pns, handle) DO UPDATE SET version = max(version, excluded.version), at = excluded.at
            """,
            [app, slot.number, ReleasedHandle.digest(handle, slot), version, self.now]
        )
    }

    /// Whether a later change claimed a handle that was released since.
    func isClaimed(_ handle: Handle, _ slot: RegistrationSlot, app: Int64, after sequence: Int64) throws -> Bool {
        try self.database.exists(
            "SELECT 1 FROM released_handle WHERE app = ? AND pns = ? AND handle = ? AND version > ?",
            [app, slot.number, ReleasedHandle.digest(handle, slot), sequence]
        )
    }

    /// Whether a later change claimed any handle that was released since.
    func isAnyClaimed(after sequence: Int64) throws -> Bool {
        try self.database.exists("SELECT 1 FROM released_handle WHERE version > ? LIMIT 1", [sequence])
    }
}
