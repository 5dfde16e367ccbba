import Crypto
import Foundation
import GRDB
import PushModel
import Store
import StoreKit

/// A handle that left a registration, as a digest, because its owner may want it forgotten.
enum ReleasedHandle {
    /// How long it is remembered, in milliseconds: twice as long as a register job lives, so that none that is older can come.
    static let life: Int64 = 2 * 86_400_000

    static func digest(_ handle: Handle, _ slot: RegistrationSlot) -> Data {
        let identity = handle.sameDevice(at: slot.pns).lowerBound
        let name = slot.template.map { "\0\($0)" } ?? ""
        return Data(SHA256.hash(data: Data((identity + name).utf8)).prefix(16))
    }
}

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

    func forgetReleased(before time: Int64, limit: Int) throws {
        try self.database.run(
            """
            DELETE FROM released_handle WHERE (app, pns, handle) IN (
                SELECT app, pns, handle FROM released_handle WHERE at <= ? ORDER BY at LIMIT ?)
            """,
            [time, limit]
        )
    }
}
