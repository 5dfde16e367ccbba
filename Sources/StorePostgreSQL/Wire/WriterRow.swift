import Store
import StoreSQL

/// The row by which a writing connection knows what became of a commit whose answer was lost.
///
/// Each connection begins with a write that raises the row's epoch, and each transaction ends with one that sets its serial number, in
/// that epoch alone. So from a beginning on nothing that was sent before can be committed any more, and the serial number says what was.
struct WriterRow {
    private let id = (0..<16).map { _ in UInt8.random(in: .min ... .max) }
    /// Of the last transaction that is known to be committed.
    private(set) var serial: Int64 = 0
    private var epoch: Int64 = 0

    /// The first write of a connection.
    func beginning(at now: Int64) -> PostgreSQLStatement {
        PostgreSQLStatement(
            """
            INSERT INTO writer AS own(id, epoch, serial, seen) VALUES ($1, 1, 0, $2)
            ON CONFLICT (id) DO UPDATE SET epoch = own.epoch + 1, seen = excluded.seen
            RETURNING serial, epoch, (SELECT max(seen) FROM writer) AS latest
            """,
            [.bytes(self.id), .integer(now)]
        )
    }

    /// Reads the answer to the first write.
    ///
    /// - Returns: How many transactions of ours were acknowledged, and are not there; the latest time that anybody has written before, if
    ///   anybody has.
    /// - Throws: ``StoreError`` where it cannot be read.
    mutating func begin(_ answer: SQLAnswer) throws(StoreError) -> (missing: Int64, latest: Int64?) {
        guard let row = answer.rows.first else { throw StoreError(.corrupt, "the row of a writer is missing") }
        let (known, serial) = (self.serial, try row["serial"] as Int64)
        (self.serial, self.epoch) = (serial, try row["epoch"])
        return (max(0, known - serial), try row["latest"])
    }

    /// The last write of a transaction: it fails where another connection has begun meanwhile.
    func end(of transaction: Int64, at now: Int64) -> PostgreSQLStatement {
        PostgreSQLStatement(
            """
            WITH own AS (UPDATE writer SET serial = $3, seen = $4 WHERE id = $1 AND epoch = $2 RETURNING 1)
            SELECT must(count(*) = 1) FROM own
            """,
            [.bytes(self.id), .integer(self.epoch), .integer(transaction), .integer(now)]
        )
    }

    /// A transaction is known to be committed.
    mutating func committed(_ transaction: Int64) { self.serial = transaction }

    /// Forgets the rows of processes that have ended: whoever is alive writes its own every few seconds.
    static func removal(at now: Int64) -> PostgreSQLStatement {
        PostgreSQLStatement("DELETE FROM writer WHERE seen < $1", [.integer(now - 7 * 86_400_000)])
    }
}
