import PushModel
import Store
import StoreKit
import StoreSQL

/// The table `message`: one row for everything that is published.
enum OutboxTable {
    static let schema = """
        -- A message of the outbox and its 1 to 500 members: jobs, or batches, whose rows name it. It goes with the last that is open.
        -- AUTOINCREMENT: a number is never used again, for messages of it may still be at the broker.
        CREATE TABLE message(
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            app INTEGER NOT NULL REFERENCES app,
            queue INTEGER NOT NULL,
            priority INTEGER NOT NULL,
            state INTEGER NOT NULL,
            due INTEGER NOT NULL,
            -- Bits of the services whose credit it waits for, and one more where it has begun there; 0 = none.
            blocked_on INTEGER NOT NULL DEFAULT 0,
            epoch INTEGER NOT NULL DEFAULT 0,
            -- How often it was claimed since its fan-out last came anywhere.
            claims INTEGER NOT NULL DEFAULT 0,
            redeliveries INTEGER NOT NULL DEFAULT 0,
            open INTEGER NOT NULL,
            -- The devices of a delivery message, as they were when it was written; what the window counts. 0 = of another queue.
            size INTEGER NOT NULL,
            -- Between which jobs its members are: where to look, not who is one.
            first INTEGER NOT NULL,
            last INTEGER NOT NULL,
            -- What a deferred one waits for: a WaitReason's text and cause.
            reason TEXT,
            cause TEXT
        ) STRICT;
        -- What is due, in groups that are looked at one after the other: a group that is blocked holds up nobody else (rule 12).
        CREATE INDEX message_due ON message(priority, app, queue, state, blocked_on, due);
        -- What is in flight; future retries are not in it. state stands in the columns too, else SQLite would fetch each row for it.
        CREATE INDEX message_window ON message(app, queue, priority, state, size) WHERE \(OutboxTable.isInFlight);
        """

    /// A delivery message (only these have a size) that is published or deferred.
    static let isInFlight = """
        size > 0 AND state IN (\(MessageState.published.rawValue), \(MessageState.deferred.rawValue))
        """
}

/// One row after the other: many in one statement gain nothing where each has a page of devices.
extension OutboxTable: StepRows {
    static func numbers(_ count: Int) -> SQLStatement {
        """
        SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'message'), 0) + value AS number
        FROM (\(numbers: Array(1..<Int64(count) + 1))) AS listed
        """
    }

    private static let message = """
        INSERT INTO message(id, \(NewMessage.columns)) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """
    private static let cursor = "INSERT INTO cursor(\(NewCursor.columns)) VALUES (?, ?, ?, ?, ?, ?, ?)"

    static func messages(_ messages: [(number: Int64, message: NewMessage)]) -> [SQLStatement] {
        messages.map { self.insertion(self.message, [$0.number] + $0.message.values) }
    }

    static func batches(_ batches: [NewBatch]) -> [SQLStatement] {
        batches.map { self.insertion(BatchTable.insert, $0.values) }
    }

    static func cursors(_ cursors: [NewCursor]) -> [SQLStatement] {
        cursors.map { self.insertion(self.cursor, $0.values) }
    }

    private static func insertion(_ text: String, _ row: [Int64?]) -> SQLStatement {
        SQLStatement(text, values: row.map(\.sqlValue))
    }
}

extension Database {
    /// The columns of ``OutboxMessage``.
    static let outboxColumns = "message.id, app.name AS app, message.queue, message.priority, message.epoch"

    static func outboxMessage(_ row: Row) throws -> OutboxMessage {
        OutboxMessage(
            id: MessageID(number: row["id"]),
            app: try AppID(stored: row["app"]),
            queue: try WorkQueue(number: row["queue"]),
            priority: try Priority(number: row["priority"]),
            epoch: row["epoch"]
        )
    }

    func outboxMessage(_ id: Int64) throws -> OutboxMessage? {
        try self.first(
            "SELECT \(Self.outboxColumns) FROM message JOIN app ON app.number = message.app WHERE message.id = ?",
            [id],
            read: Self.outboxMessage
        )
    }
}

extension WriteContext {
    /// - Returns: The number of the new message.
    func insert(_ message: NewMessage) throws -> Int64 {
        let insert = try PreparedStatement(NewMessage.insertion, in: self.database)
        try insert.bind(message.values)
        try insert.run()
        return self.database.lastInsertedRowID
    }

    /// How many members of a message are open at this point of the transaction; nil when it is gone.
    func openMembers(of message: Int64) throws -> Int? {
        let open: Int? = try self.database.value("SELECT open FROM message WHERE id = ?", [message])
        return open.map { $0 - self.unwrittenLeaves(of: message) }.flatMap { $0 > 0 ? $0 : nil }
    }
}
