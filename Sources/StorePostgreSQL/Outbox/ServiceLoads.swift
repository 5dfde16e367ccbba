import PushModel
import Store
import StoreKit
import StoreSQL

/// What apps have at push services, read for several together (rule 12).
struct ServiceLoads: Sendable {
    /// An app's messages to a push service at a priority.
    struct Key: Hashable, Sendable {
        let app: Int64
        let pns: PushService
        let priority: Priority
    }

    private let counts: [Key: (messages: Int, devices: Int)]
    let limits: RateLimitRows
    private let paused: [(queue: WorkQueue, app: Int64)]

    func load(of app: Int64, at pns: PushService, _ priority: Priority) -> ServiceLoad {
        let isPaused = self.paused.contains { $0.queue == .deliver(pns) && [PauseTable.allApps, app].contains($0.app) }
        if isPaused { return ServiceLoad(isPaused: true) }
        let (messages, devices) = self.counts[Key(app: app, pns: pns, priority: priority)] ?? (0, 0)
        return ServiceLoad(messages: messages, devices: devices, limits: self.limits.limits(of: app, at: pns))
    }

    // MARK: Reading

    /// What is read of some of them.
    struct Reads: Sendable {
        private let keys: [Key]
        private let now: Int64

        init(_ keys: some Sequence<Key>, now: Int64) { (self.keys, self.now) = (Array(keys), now) }

        static let pauses: SQLStatement = "SELECT queue, app FROM pause"

        /// Reads the rows of ``pauses``.
        static func paused(_ rows: [SQLRow]) throws -> [(queue: WorkQueue, app: Int64)] {
            try rows.compactMap { row in
                guard let queue = WorkQueue(try row["queue"] as String) else { return nil }
                return (queue, try row["app"])
            }
        }

        var statements: [SQLStatement] {
            let apps = Set(self.keys.map(\.app)).sorted()
            return [self.counts, RateLimitRows.read(of: "\(numbers: apps)"), Self.pauses]
        }

        private var counts: SQLStatement {
            func column(_ value: (Key) -> Int64) -> SQLArray { .integers(self.keys.map { value($0) }) }
            let states = "\(MessageState.published.rawValue), \(MessageState.deferred.rawValue)"
            return """
                SELECT asked.place, load.messages, load.devices
                FROM unnest(\(column { $0.app }), \(column { Int64(WorkQueue.deliver($0.pns).number) }),
                    \(column { Int64($0.priority.rank) })) WITH ORDINALITY AS asked(app, queue, priority, place) CROSS JOIN LATERAL (
                    SELECT count(*) AS messages, CAST(coalesce(sum(size), 0) AS bigint) AS devices FROM message
                    WHERE message.priority = asked.priority AND message.app = asked.app AND message.queue = asked.queue
                        AND message.state IN (\(raw: states)) AND message.size > 0) AS load
                """
        }

        /// Reads what ``statements`` give.
        func loads(_ answers: [[SQLRow]]) throws -> ServiceLoads {
            var counts: [Key: (messages: Int, devices: Int)] = [:]
            for row in answers[0] {
                counts[self.keys[(try row["place"] as Int) - 1]] = (try row["messages"], try row["devices"])
            }
            return ServiceLoads(
                counts: counts,
                limits: try RateLimitRows(answers[1], now: self.now),
                paused: try Self.paused(answers[2])
            )
        }
    }
}
