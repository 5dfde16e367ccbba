import GRDB
import PushModel
import Store
import StoreKit

extension TagList {
    static let tables = """
        -- The numbers of a live registration's tags, as JSON; null = it has none.
        ALTER TABLE registration ADD COLUMN tags TEXT;
        UPDATE registration SET tags = (
            SELECT nullif(json_group_array(t.tag), '[]') FROM registration_tag AS t JOIN tag ON tag.number = t.tag
            WHERE t.row = registration.row AND tag.name NOT GLOB 'username:*'
        ) WHERE state = 1;

        -- A user's own tag is in neither of these: the index of users stands for it.
        CREATE TABLE tag_name(
            number INTEGER PRIMARY KEY,
            app INTEGER NOT NULL REFERENCES app,
            name TEXT NOT NULL,
            UNIQUE (app, name)
        ) STRICT;
        INSERT INTO tag_name SELECT number, app, name FROM tag WHERE name NOT GLOB 'username:*';
        -- The primary key is the audience's order. No foreign keys: each would cost a look-up a row; the store's check does it.
        CREATE TABLE tagged(
            tag INTEGER NOT NULL,
            pns INTEGER NOT NULL,
            row INTEGER NOT NULL,
            PRIMARY KEY (tag, pns, row)
        ) STRICT, WITHOUT ROWID;
        INSERT INTO tagged SELECT t.tag, t.pns, t.row
            FROM tag_name CROSS JOIN registration_tag AS t ON t.tag = tag_name.number ORDER BY t.tag, t.pns, t.row;
        DROP TABLE registration_tag;
        DROP TABLE tag;

        -- In the audience's order too; state is a column for the same reason as in registration_live.
        DROP INDEX registration_user;
        CREATE INDEX registration_user ON registration(app, user, state, pns) WHERE state = 1 AND user IS NOT NULL;
        CREATE INDEX registration_user_ended ON registration(app, user) WHERE state <> 1 AND user IS NOT NULL;
        -- Lists are put together from the indexes of live and ended ones.
        DROP INDEX registration_app;
        """
}

extension TagList {
    /// What does not hold of registrations' tags: each must be one of its app's, and in `tagged`, which has nothing else.
    static func faults(in database: Database) throws -> [String] {
        // One statement, so that all of it sees one state of the store.
        let counts = try Row.fetchOne(
            database,
            sql: """
                SELECT count(*) AS listed,
                    count(EXISTS (SELECT 1 FROM tagged AS t WHERE t.tag = l.value AND t.pns = r.pns AND t.row = r.row) OR NULL)
                        AS found,
                    count(r.state = 1 OR NULL) AS live,
                    count(EXISTS (SELECT 1 FROM tag_name AS n WHERE n.number = l.value AND n.app = r.app) OR NULL) AS named,
                    (SELECT count(*) FROM tagged) AS tagged
                FROM registration AS r CROSS JOIN json_each(CASE WHEN json_valid(r.tags) THEN r.tags END) AS l
                WHERE r.tags IS NOT NULL
                """
        )
        guard let counts else { return [] }
        let listed: Int = counts["listed"]
        let found: Int = counts["found"]
        let faults: [(count: Int, text: String)] = [
            (listed - found, "tags of registrations are not in the audiences' index"),
            (counts["tagged"] - found, "entries of the audiences' index are no registration's"),
            (listed - counts["live"], "tags are of registrations that are not live"),
            (listed - counts["named"], "tags of registrations have no name in their app"),
        ]
        return try faults.filter { $0.count != 0 }.map { "\($0.count) \($0.text)" } + self.unreadable(in: database)
    }

    /// Registrations whose tags are no list: nothing can be done with those.
    private static func unreadable(in database: Database) throws -> [String] {
        let rows = try RawStatement(
            "SELECT id, tags, json_valid(tags) FROM registration WHERE tags IS NOT NULL",
            in: database
        )
        defer { rows.reset() }
        var faults: [String] = []
        while faults.count < SQLiteStore.mostFaults, try rows.step() {
            let isList = Result { () throws(StoreError) in try TagList(stored: rows.text(1)) }
            if rows.integer(2) == 1, case .success = isList { continue }
            faults.append("registration \(rows.text(0) ?? ""): its tags are no list of numbers")
        }
        return faults
    }
}

extension Database {
    /// Adds a registration to the audiences of its tags; its row has them already.
    func addToAudiences(_ row: Int64, _ pns: PNS, _ tags: TagList) throws {
        for tag in tags.numbers {
            try self.run("INSERT INTO tagged(tag, pns, row) VALUES (?, ?, ?)", [tag, pns.number, row])
        }
    }

    /// Takes a registration from the audiences of its tags; its row is the caller's to change.
    func removeFromAudiences(_ row: Int64, _ pns: PNS, _ tags: TagList) throws {
        for tag in tags.numbers {
            try self.run("DELETE FROM tagged WHERE tag = ? AND pns = ? AND row = ?", [tag, pns.number, row])
        }
    }
}
