import Foundation
import PushModel
import Store
import StoreKit

/// The live registration of a handle (decision 20): an entry for each, found by the handle's digest.
///
/// No two live registrations of an app and slot have handles of the same device (``PushModel/Handle/sameDevice(at:)``). Handles with
/// equal digests have positions 0, 1, 2 … without a gap, so that a free position ends a search.
enum HandleIndex {
    /// A registration and the number of its handle.
    struct Entry {
        let digest: Int64
        let row: Int64
    }

    /// A query for the live registration of a handle's device: by digest, and by the handle itself, because others may share the
    /// digest.
    static func find(_ columns: String) -> String {
        """
        SELECT \(columns) FROM handle_index AS h CROSS JOIN registration AS r ON r.row = h.row
        WHERE h.digest = ?1 AND r.handle BETWEEN ?2 AND ?3 AND r.pns = ?4 AND r.app = ?5 AND r.\(KeptRegistration.live)
            AND r.template_slot IS ?6
        """
    }
}

// MARK: The check

extension HandleIndex {
    /// The faults of the entries: each live registration must have one, and no two the same device's handle.
    static func faults(in database: Database, _ digest: HandleDigest) throws -> [String] {
        try database.reading { database in
            var faults: [String] = []
            let (missing, found) = try self.missing(in: database, digest)
            faults += missing
            let all: Int = try database.value("SELECT count(*) FROM handle_index") ?? 0
            let others = all - found
            if others != 0 { faults.append("\(others) entries of handles belong to no live registration") }
            let gaps = """
                SELECT count(*) FROM
                    (SELECT 1 FROM handle_index GROUP BY digest HAVING min(position) < 0 OR max(position) >= count(*))
                """
            let broken: Int = try database.value(gaps) ?? 0
            if broken != 0 { faults.append("\(broken) numbers of handles have positions without an entry") }
            faults += try self.twins(in: database)
            return faults
        }
    }

    /// Live registrations without an entry, and how many have one.
    private static func missing(in database: Database, _ digest: HandleDigest) throws -> ([String], found: Int) {
        let entry = "SELECT 1 FROM handle_index WHERE digest = ? AND row = ?"
        var (faults, found) = ([String](), 0)
        try database.read(
            "SELECT row, id, app, pns, handle, template_slot FROM registration WHERE \(KeptRegistration.live)"
        ) { row in
            let handle = Handle(stored: row["handle"] ?? "")
            // One of an unknown service can be found by nothing.
            let slot = try? RegistrationSlot(stored: row["pns"] ?? 0, template: row["template_slot"])
            let number = slot.map { digest.number(of: handle, $0.pns, $0.kind, app: row["app"]) }
            if let number, try database.exists(entry, [number, row["row"] as Int64]) {
                found += 1
            } else if faults.count < SQLiteStore.mostFaults {
                faults.append("registration \(row["id"] as String): it is live, and not found by its handle")
            }
            return true
        }
        return (faults, found)
    }

    private static func twins(in database: Database) throws -> [String] {
        var faults: [String] = []
        try database.read(
            """
            SELECT one.id, one.handle, one.pns, one.template_slot, other.id AS other_id, other.handle AS other_handle
            FROM handle_index AS a
            CROSS JOIN handle_index AS b ON b.digest = a.digest AND (b.position = 0 OR b.position < a.position)
            CROSS JOIN registration AS one ON one.row = a.row
            CROSS JOIN registration AS other ON other.row = b.row
            WHERE a.position <> 0 AND one.pns = other.pns AND one.app = other.app
                AND one.handle IS NOT NULL AND other.handle IS NOT NULL AND one.template_slot IS other.template_slot
            """
        ) { pair in
            guard let slot = try? RegistrationSlot(stored: pair["pns"], template: pair["template_slot"]),
                Handle(stored: pair["handle"]).sameDevice(at: slot.pns).contains(pair["other_handle"])
            else { return true }
            let (id, other) = (pair["id"] as String, pair["other_id"] as String)
            faults.append("registration \(id): it has the same handle as \(other)")
            return faults.count < SQLiteStore.mostFaults
        }
        return faults
    }
}

extension Database {
    /// How the store makes numbers of handles.
    func handleDigest(mask: UInt64 = .max) throws -> HandleDigest {
        let key: [UInt8]? = try self.value("SELECT key FROM handle_key WHERE id = 1")
        return try HandleDigest(key: Data(key ?? []), mask: mask)
    }
}
