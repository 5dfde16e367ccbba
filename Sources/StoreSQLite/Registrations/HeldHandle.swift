import Foundation
import GRDB
import PushModel
import Store
import StoreKit

/// Which live registration has a handle (decision 20): an entry for each, found by a number made of the handle.
///
/// No two live registrations of an app and service have the same handle. Handles that share a number have its places 0, 1, 2 …
/// without a gap, so that who finds the first place free knows that nobody has the handle.
enum HeldHandle {
    /// A registration and the number of its handle.
    struct Entry {
        let digest: Int64
        let row: Int64
    }

    static let insert = "INSERT INTO held(digest, place, row) VALUES (?, ?, ?)"
    /// What finds the live registration of a handle: by its number, and by itself, since others may share the number.
    static func find(_ columns: String) -> String {
        """
        SELECT \(columns) FROM held AS h CROSS JOIN registration AS r ON r.row = h.row
        WHERE h.digest = ?1 AND r.handle = ?2 AND r.pns = ?3 AND r.app = ?4 AND r.state = 1
        """
    }
    /// The next place of a number.
    static let add = "INSERT INTO held(digest, place, row) SELECT ?1, count(*), ?2 FROM held WHERE digest = ?1"
}

// MARK: The check

extension HeldHandle {
    /// What does not hold of the entries: each live registration has one, and no two of them one handle.
    static func faults(in database: Database, _ digest: HandleDigest) throws -> [String] {
        var faults: [String] = []
        // All of it sees one state of the store.
        try database.inTransaction(.deferred) {
            let (missing, found) = try self.missing(in: database, digest)
            faults += missing
            let others = try database.first("SELECT count(*) FROM held") { $0[0] as Int - found } ?? 0
            if others != 0 { faults.append("\(others) entries of handles are no live registration's") }
            let gaps = """
                SELECT count(*) FROM
                    (SELECT 1 FROM held GROUP BY digest HAVING min(place) < 0 OR max(place) >= count(*))
                """
            let broken = try database.first(gaps) { $0[0] as Int } ?? 0
            if broken != 0 { faults.append("\(broken) numbers of handles have places without an entry") }
            faults += try self.twins(in: database)
            return .commit
        }
        return faults
    }

    /// Live registrations without an entry, and how many have one.
    private static func missing(in database: Database, _ digest: HandleDigest) throws -> ([String], found: Int) {
        let live = try RawStatement("SELECT row, id, app, pns, handle FROM registration WHERE state = 1", in: database)
        let entry = try RawStatement("SELECT 1 FROM held WHERE digest = ? AND row = ?", in: database)
        defer {
            live.reset()
            entry.reset()
        }
        var (faults, found) = ([String](), 0)
        while try live.step() {
            let handle = Handle(stored: live.text(4) ?? "")
            try entry.restart(digest.number(of: handle, Int(live.integer(3)), app: live.integer(2)), live.integer(0))
            if try entry.step() {
                found += 1
            } else if faults.count < SQLiteStore.mostFaults {
                faults.append("registration \(live.text(1) ?? ""): it is live, and not found by its handle")
            }
        }
        return (faults, found)
    }

    private static func twins(in database: Database) throws -> [String] {
        try database.all(
            """
            SELECT one.id, other.id FROM held AS a
            CROSS JOIN held AS b ON b.digest = a.digest AND (b.place = 0 OR b.place < a.place)
            CROSS JOIN registration AS one ON one.row = a.row
            CROSS JOIN registration AS other ON other.row = b.row
            WHERE a.place <> 0 AND one.handle = other.handle AND one.pns = other.pns AND one.app = other.app LIMIT ?
            """,
            [SQLiteStore.mostFaults]
        ) { "registration \($0[0] as String): it has the same handle as \($0[1] as String)" }
    }
}

extension Database {
    /// How the store makes numbers of handles.
    func handleDigest(mask: UInt64 = .max) throws -> HandleDigest {
        let key = try self.first("SELECT key FROM handle_key WHERE id = 1") { $0[0] as Data }
        return try HandleDigest(key: key ?? Data(), mask: mask)
    }
}

extension WriteContext {
    /// The live registration that has a handle.
    func holder(of handle: Handle, _ pns: PushService, app: Int64) throws -> Int64? {
        let number = self.digest.number(of: handle, pns.number, app: app)
        return try self.database.first(HeldHandle.find("r.row"), [number, handle.text, pns.number, app]) {
            $0[0] as Int64
        }
    }

    /// Makes a live registration, whose handle nobody has, the one that has it.
    func hold(_ handle: Handle, _ pns: PushService, app: Int64, by row: Int64) throws {
        try self.database.run(HeldHandle.add, [self.digest.number(of: handle, pns.number, app: app), row])
    }

    /// Takes its handle from a registration that is not live any more, or has another now.
    func letGo(of handle: Handle, _ pns: PushService, app: Int64, by row: Int64) throws {
        let number = self.digest.number(of: handle, pns.number, app: app)
        let place = try self.database.first(
            "DELETE FROM held WHERE digest = ? AND row = ? RETURNING place",
            [number, row]
        ) { $0[0] as Int64 }
        guard let place else { return }
        // The last of those that share the number moves to where it was.
        try self.database.run(
            """
            UPDATE held SET place = ?2 WHERE digest = ?1 AND place > ?2
                AND place = (SELECT max(place) FROM held WHERE digest = ?1)
            """,
            [number, place]
        )
    }
}
