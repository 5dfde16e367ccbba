package import PushModel
package import Store
import StoreKit

/// The room that quotas leave for rich notifications which are kept together: each leaves less of it for those behind it.
///
/// Two that are kept at a time could both have the last place. So the app's row is held, and what was counted is counted again behind that.
package struct RichRoom: Sendable {
    /// What a sender has, nil = nobody's.
    private struct Sender: Sendable {
        /// Finds notifications of the sender's, as many as a quota counts.
        let counted: SQLStatement
        let found: Int
        var own: Int
        /// Those that were read, the oldest first: as many as others may take the place of.
        var read: ArraySlice<Int64>
        var isKept = false
    }

    private let app: SQLStatement
    private var senders: [UserName?: Sender] = [:]
    private let found: Int
    private var all: Int

    // MARK: Reading

    /// Reads what ``init(for:app:_:)`` takes.
    ///
    /// - Parameters:
    ///   - notifications: All that may be kept.
    ///   - app: The app's number.
    /// - Returns: The statements; none where there are no notifications.
    package static func reads(for notifications: [NewRichNotification], app: SQLStatement) -> [SQLStatement] {
        guard !notifications.isEmpty else { return [] }
        let ofSenders = self.bySender(notifications).flatMap { sender, some -> [SQLStatement] in
            [
                "SELECT count(*) AS own FROM (\(self.counted(sender, some, app))) AS counted",
                """
                SELECT number FROM rich WHERE \(self.of(sender, app)) AND read IS NOT NULL ORDER BY number LIMIT \(some.count)
                """,
            ]
        }
        return [self.total(app)] + ofSenders
    }

    /// - Parameters:
    ///   - notifications: All that may be kept.
    ///   - app: The app's number.
    ///   - answers: What ``reads(for:app:)`` give, which is taken from them.
    /// - Throws: ``StoreError``.
    package init(
        for notifications: [NewRichNotification],
        app: SQLStatement,
        _ answers: inout ArraySlice<[SQLRow]>
    ) throws {
        self.app = app
        self.found = notifications.isEmpty ? 0 : try answers.removeFirst().first?["total"] ?? 0
        self.all = self.found
        for (sender, some) in Self.bySender(notifications) {
            let own: Int = try answers.removeFirst().first?["own"] ?? 0
            let read = try answers.removeFirst().map { try $0["number"] as Int64 }
            let counted = Self.counted(sender, some, app)
            self.senders[sender] = Sender(counted: counted, found: own, own: own, read: read[...])
        }
    }

    /// In one order, whoever asks.
    private static func bySender(
        _ notifications: [NewRichNotification]
    ) -> [(sender: UserName?, notifications: [NewRichNotification])] {
        Dictionary(grouping: notifications, by: \.sender).map { ($0.key, $0.value) }
            .sorted { ($0.sender?.key.text ?? "") < ($1.sender?.key.text ?? "") }
    }

    private static func of(_ sender: UserName?, _ app: SQLStatement) -> SQLStatement {
        sender.map { "app = \(app) AND sender = \($0.key.text)" } ?? "app = \(app) AND sender IS NULL"
    }

    private static func counted(
        _ sender: UserName?,
        _ notifications: [NewRichNotification],
        _ app: SQLStatement
    ) -> SQLStatement {
        let most = notifications.map(\.quota.perSender).max() ?? 0
        return "SELECT 1 FROM rich WHERE \(self.of(sender, app)) LIMIT \(most)"
    }

    private static func total(_ app: SQLStatement) -> SQLStatement {
        "SELECT count AS total FROM rich_count WHERE app = \(app)"
    }

    // MARK: Keeping

    /// Keeps a notification, where its quotas have a place, or an earlier one of its sender's that was read makes room.
    ///
    /// - Parameters:
    ///   - notification: The notification.
    ///   - wall: When it is made.
    /// - Returns: What is written.
    /// - Throws: ``StoreError``, ``StoreError/Code/quotaReached`` where there is no room.
    package mutating func keep(_ notification: NewRichNotification, at wall: Timestamp) throws -> [SQLStatement] {
        guard var sender = self.senders[notification.sender] else {
            throw StoreError(.corrupt, "a rich notification whose room was not looked for")
        }
        let needsRoom = try RichQuota.needsRoom(
            own: sender.own,
            all: self.all,
            hasRead: !sender.read.isEmpty,
            quota: notification.quota
        )
        let taken = StoreError(.conflict, "the id of a rich notification is taken")
        var writes = [RichTable.insertion(of: notification, app: self.app, at: wall).expecting(1, otherwise: taken)]
        if needsRoom, let oldest = sender.read.popFirst() {
            writes.append(("DELETE FROM rich WHERE number = \(oldest)" as SQLStatement).expecting(1))
        } else {
            (sender.own, self.all) = (sender.own + 1, self.all + 1)
        }
        sender.isKept = true
        self.senders[notification.sender] = sender
        return writes
    }

    /// Goes on only where there is as much room as was found; in front of what keeps notifications.
    package var guards: [SQLStatement] {
        let kept = self.senders.filter(\.value.isKept).sorted { ($0.key?.key.text ?? "") < ($1.key?.key.text ?? "") }
        guard !kept.isEmpty else { return [] }
        let counts =
            [(counted: Self.total(self.app), found: self.found)]
            + kept.map { (counted: "SELECT count(*) FROM (\($0.value.counted)) AS counted", found: $0.value.found) }
        return [.hold(self.app)]
            + counts.map { counted, found in
                ("SELECT 1 AS found WHERE coalesce((\(counted)), 0) <= \(found)" as SQLStatement).expecting(1)
            }
    }

    /// Keeps one.
    package static func keep(
        _ notification: NewRichNotification,
        app: SQLStatement,
        at wall: Timestamp
    ) -> SQLTransaction<Void> {
        SQLTransaction(reading: self.reads(for: [notification], app: app)) { answers in
            var answers = answers[...]
            var room = try RichRoom(for: [notification], app: app, &answers)
            let writes = try room.keep(notification, at: wall)
            return SQLDecision(writing: room.guards + writes, giving: ())
        }
    }
}
