import GRDB
import PushModel
import Store

/// The numbers of a live registration's tags, as its row keeps them: what its rows in `tagged` are found by.
///
/// A user's own tag has no number.
struct TagList: Equatable, Sendable {
    let numbers: [Int64]

    init(_ numbers: [Int64]) { self.numbers = numbers }

    /// - Parameter text: What the row holds.
    /// - Throws: ``StoreError`` when it is no list of numbers.
    init(stored text: String?) throws(StoreError) {
        guard let text else {
            self.numbers = []
            return
        }
        var numbers: [Int64] = []
        var number: Int64?
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"):
                let (tens, isLarge) = (number ?? 0).multipliedReportingOverflow(by: 10)
                guard !isLarge else { throw Self.broken }
                number = tens &+ Int64(byte - UInt8(ascii: "0"))
            case UInt8(ascii: ","), UInt8(ascii: "]"):
                guard let complete = number else { throw Self.broken }
                numbers.append(complete)
                number = nil
            case UInt8(ascii: "["): continue
            default: throw Self.broken
            }
        }
        guard number == nil else { throw Self.broken }
        self.numbers = numbers
    }

    private static var broken: StoreError { StoreError(.corrupt, "a registration's tags are no list of numbers") }

    /// A JSON array, so that SQL can read it; nil for none.
    var text: String? {
        guard let first = self.numbers.first else { return nil }
        var text = "[\(first)"
        for number in self.numbers.dropFirst() {
            text += ","
            text += String(number)
        }
        return text + "]"
    }

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
