package import PushModel
import StoreKit

/// The table `handle_index`: the live registration of a handle (decision 20), an entry for each, found by the handle's digest.
///
/// Where digests are wide, each live registration has its own in the column `digest` instead.
///
/// No two live registrations of an app and slot have handles of the same device (``PushModel/Handle/sameDevice(at:)``). Handles with
/// equal digests have positions 0, 1, 2 … without a gap, so that a free position ends a search.
package enum HandleTable {
    /// The live registrations that may have a handle of these digests.
    static func rows(_ digests: [Int64]) -> SQLStatement {
        let list = SQLStatement(joining: digests.map { "\($0)" }, with: ", ")
        return "SELECT \"row\" FROM handle_index WHERE digest IN (\(list))"
    }

    /// Gives a registration an entry, at the next position; its row is an expression.
    package static func add(_ digest: Int64, to row: SQLStatement) -> SQLStatement {
        """
        INSERT INTO handle_index(digest, position, "row")
        SELECT CAST(\(digest) AS BIGINT), count(*), \(row) FROM handle_index WHERE digest = \(digest)
        """
    }

    /// Takes an entry away; the last of those that share the digest moves to where it was.
    ///
    /// Positions 0 to n - 1 of n entries add up to a number that tells the one that is free.
    package static func remove(_ digest: Int64, of row: Int64) -> [SQLStatement] {
        [
            "DELETE FROM handle_index WHERE digest = \(digest) AND \"row\" = \(row)",
            """
            UPDATE handle_index
            SET position = (SELECT count(*) * (count(*) + 1) / 2 - sum(position) FROM handle_index WHERE digest = \(digest))
            WHERE digest = \(digest) AND position >= (SELECT count(*) FROM handle_index WHERE digest = \(digest))
            """,
        ]
    }
}

/// A handle at its service, and what for.
struct HandleUse {
    let handle: Handle
    let pns: PushService
    let kind: RegistrationKind
}

extension RegistrationTable {
    /// The condition of the live registrations that may have one of some handles.
    ///
    /// Not by the index of all live ones of the app.
    func mayHave(_ uses: [HandleUse]) -> SQLStatement {
        guard self.digest.isWide else {
            let digests = uses.map { self.digest.number(of: $0.handle, $0.pns, $0.kind, app: self.app) }
            return "\"row\" IN (\(HandleTable.rows(digests))) AND +app = \(self.app)"
        }
        let digests = uses.map { self.digest.bytes(of: $0.handle, $0.pns, $0.kind, app: self.app) }
        let list = SQLStatement(joining: digests.map { "\($0)" }, with: ", ")
        return "digest IN (\(list)) AND \(raw: KeptRegistration.live) AND +app = \(self.app)"
    }

    /// The condition of live registrations that have a handle of the same device.
    ///
    /// By its digest, and by the handle itself, because others may share the digest.
    package func have(_ handle: Handle, _ pns: PushService, _ kind: RegistrationKind) -> SQLStatement {
        let device = handle.sameDevice(at: pns)
        return """
            \(self.mayHave([HandleUse(handle: handle, pns: pns, kind: kind)])) AND +pns = \(RegistrationSlot.number(pns, kind))
            AND handle BETWEEN \(device.lowerBound) AND \(device.upperBound)
            """
    }

    /// Reads the row of the live registration for native notifications that has a handle.
    package func holder(of handle: Handle, _ pns: PushService) -> SQLStatement {
        "SELECT \"row\" FROM registration WHERE \(self.have(handle, pns, .native))"
    }
}
