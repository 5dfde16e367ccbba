import PushModel
import Store
import StoreKit

extension TagList {
    /// The faults of registrations' tag lists: each tag must be one of its app's, and `tagged` must have exactly these
    /// rows.
    static func faults(in database: Database) throws -> [String] {
        // One statement, so that all of it sees one state of the store.
        let faults = try database.first(
            """
            SELECT count(*) AS listed,
                count(EXISTS (SELECT 1 FROM tagged AS t WHERE t.tag = l.value AND t.pns = r.pns AND t.row = r.row) OR NULL)
                    AS found,
                count(r.\(KeptRegistration.live) OR NULL) AS live,
                count(EXISTS (SELECT 1 FROM tag_name AS n WHERE n.number = l.value AND n.app = r.app) OR NULL) AS named,
                (SELECT count(*) FROM tagged) AS tagged
            FROM registration AS r CROSS JOIN json_each(CASE WHEN json_valid(r.tags) THEN r.tags END) AS l
            WHERE r.tags IS NOT NULL
            """
        ) { counts -> [(count: Int, text: String)] in
            let (listed, found) = (counts["listed"] as Int, counts["found"] as Int)
            return [
                (listed - found, "tags of registrations are not in the audiences' index"),
                (counts["tagged"] - found, "entries of the audiences' index belong to no registration"),
                (listed - counts["live"], "tags are of registrations that are not live"),
                (listed - counts["named"], "tags of registrations have no name in their app"),
            ]
        }
        let found = (faults ?? []).filter { $0.count != 0 }.map { "\($0.count) \($0.text)" }
        return try found + self.unreadable(in: database)
    }

    /// Registrations with malformed tag lists, which are not checked further.
    private static func unreadable(in database: Database) throws -> [String] {
        var faults: [String] = []
        try database.read(
            "SELECT id, tags, json_valid(tags) AS is_json FROM registration WHERE tags IS NOT NULL"
        ) { row in
            let isList = Result { () throws(StoreError) in try TagList(stored: row["tags"] as String?) }
            if row["is_json"] as Bool, case .success = isList { return true }
            faults.append("registration \(row["id"] as String): its tags are not a list of numbers")
            return faults.count < SQLiteStore.mostFaults
        }
        return faults
    }
}
