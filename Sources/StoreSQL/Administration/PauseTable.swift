import PushModel
package import Store
import StoreKit

/// The table `pause`.
package enum PauseTable {
    /// The work of all apps; no app has that number.
    package static let allApps: Int64 = 0

    static func change(_ change: PauseChange, at wall: Timestamp) -> SQLTransaction<Bool> {
        switch change {
        case .begin(let queue, let app, let author):
            let mention = app.map { [SQLStatement.mention($0)] } ?? []
            let pause: SQLStatement = """
                INSERT INTO pause(queue, app, by, since) VALUES (\(queue.description), \(self.number(of: app)), \(author), \(wall))
                ON CONFLICT DO NOTHING
                """
            return SQLTransaction(SQLDecision(writing: mention + [pause]) { $0.last?.count == 1 })
        case .end(let queue, let app):
            return SQLTransaction(
                finding: "queue = \(queue.description) AND app = \(self.number(of: app))",
                in: "pause",
                write: "DELETE FROM pause"
            )
        }
    }

    /// All pauses, for ``pauses(_:)``.
    static let all: SQLStatement = """
        SELECT pause.queue, app.name AS app_name, pause.by, pause.since FROM pause LEFT JOIN app ON app.number = pause.app
        ORDER BY pause.queue, pause.app
        """

    static func pauses(_ rows: [SQLRow]) throws -> [Pause] {
        try rows.compactMap { row in
            // Of another release's queue nothing is known here.
            guard let queue = WorkQueue(try row["queue"] as String) else { return nil }
            return Pause(
                queue: queue,
                app: try (row["app_name"] as String?).map { try AppID(stored: $0) },
                by: try row["by"],
                since: try row["since"]
            )
        }
    }

    private static func number(of app: AppID?) -> SQLStatement { app.map { .app($0) } ?? "\(self.allApps)" }
}

extension PauseStore where Self: SQLEngine {
    package func pauses() async throws -> [Pause] { try PauseTable.pauses(try await self.rows(PauseTable.all)) }
}
