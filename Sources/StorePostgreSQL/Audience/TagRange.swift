import PushModel
import StoreKit
import StoreSQL

/// The registrations of a service and kind that have a tag, or all live ones of an app: a range of an index, in the order of rows.
struct TagRange {
    private let source: SQLStatement

    init(_ tag: StoredTag, slot: Int) {
        switch tag {
        case .number(let number): self.source = "tagged WHERE tag = \(number) AND pns = \(slot)"
        case .user(let name, let app):
            self.source = """
                registration WHERE app = \(app) AND "user" = \(name.text) AND \(raw: KeptRegistration.live) AND pns = \(slot)
                """
        }
    }

    init(liveOf app: Int64, slot: Int) {
        self.source = "registration WHERE app = \(app) AND \(raw: KeptRegistration.live) AND pns = \(slot)"
    }

    /// Its first rows behind one, up to another.
    func rows(after: Int64, through: Int64, limit: Int) -> SQLStatement {
        "SELECT \"row\" FROM \(self.source) AND \"row\" > \(after) AND \"row\" <= \(through) ORDER BY \"row\" LIMIT \(limit)"
    }

    /// Those of some rows that it has, as one list, and its next row behind the last of them.
    ///
    /// - Parameters:
    ///   - rows: The rows, ascending.
    ///   - isDense: Whether all between the first and the last are to be read, which costs less where that is what most of them are.
    /// - Returns: The statement; its columns are `numbers` and `next`.
    func among(_ rows: [Int64], isDense: Bool) -> SQLStatement {
        let (first, last) = (rows.first ?? 0, rows.last ?? 0)
        // Of a sparse list each row by itself: with a list of values the server may walk through all that the range has.
        let having: SQLStatement =
            isDense
            ? "SELECT \"row\" FROM \(self.source) AND \"row\" >= \(first) AND \"row\" <= \(last)"
            : """
            SELECT "row" FROM unnest(\(SQLArray.integers(rows))) AS wanted("row")
            WHERE (SELECT true FROM \(self.source) AND "row" = wanted."row")
            """
        return """
            SELECT (SELECT string_agg(int8send(part."row"), ''::bytea) FROM (\(having) ORDER BY "row") AS part) AS numbers,
                (\(self.rows(after: last, through: .max, limit: 1))) AS next
            """
    }

    /// Its sixteenth row from one on.
    func sixteenth(from row: Int64) -> SQLStatement {
        "SELECT \"row\" FROM \(self.source) AND \"row\" >= \(row) ORDER BY \"row\" LIMIT 1 OFFSET 15"
    }
}
