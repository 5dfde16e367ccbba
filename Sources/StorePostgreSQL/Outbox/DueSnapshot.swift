import PushModel
import Store
import StoreKit
import StoreSQL

/// What a search for due messages asks for, read ahead: in one round trip what groups there are, and in another what is in those that have
/// something due.
struct DueSnapshot: DueSource {
    /// A message, and when it was due.
    struct Row {
        let message: OutboxMessage
        let size: Int
        let due: Int64
    }

    let services: ServiceLoads
    /// Those with something due, in the order of the index.
    fileprivate let groups: [DueGroup]
    fileprivate let rows: [DueGroup: [Row]]
    /// Of messages of jobs.
    fileprivate let inFlight: [DueGroup: Int]

    func groups(of priority: Priority) -> [DueGroup] { self.groups.filter { $0.priority == priority } }

    func hasDue(_ group: DueGroup, before: Int64) -> Bool {
        self.rows[group]?.first.map { $0.due <= before } ?? false
    }

    func rows(
        of group: DueGroup,
        before: Int64,
        limit: Int,
        offset: Int
    ) -> [(message: OutboxMessage, size: Int)] {
        let due = self.rows[group, default: []].prefix { $0.due <= before }
        return due.dropFirst(offset).prefix(limit).map { ($0.message, $0.size) }
    }

    /// Groups of paused queues are not read.
    func isPaused(_ queue: WorkQueue, app: Int64) -> Bool { false }

    func load(of app: Int64, at pns: PushService, _ priority: Priority) -> ServiceLoad {
        self.services.load(of: app, at: pns, priority)
    }

    func jobsInFlight(of app: Int64, in queue: WorkQueue, _ priority: Priority, most: Int) -> Int {
        self.inFlight.first { $0.key.app == app && $0.key.queue == queue.number && $0.key.priority == priority }?.value
            ?? 0
    }
}

extension PostgreSQLStore {
    /// What is due in some queues; nil = nothing.
    func dueMessages(in queues: Set<WorkQueue>, limit: Int, _ flow: FlowControl) async throws -> DueSnapshot? {
        let (found, pauses) = try await self.rows(DueReads.groups, ServiceLoads.Reads.pauses)
        let paused = try ServiceLoads.Reads.paused(pauses)
        var groups: [DueGroup] = []
        for row in found where try (row["due"] as Int64) <= flow.now {
            let group = try DueGroup(row)
            let queue = try WorkQueue(number: group.queue)
            let isPaused = paused.contains { $0.queue == queue && [PauseTable.allApps, group.app].contains($0.app) }
            if queues.contains(queue), !isPaused { groups.append(group) }
        }
        guard !groups.isEmpty else { return nil }
        let reads = try DueReads(groups: groups, limit: limit, now: flow.now, window: flow.window)
        let answers = try await self.rows(reads.statements)
        return try reads.snapshot(answers)
    }
}

/// What is read of groups with something due.
struct DueReads {
    let groups: [DueGroup]
    let limit: Int
    let now: Int64
    let window: InFlightWindow
    /// At the services whose credit is asked for.
    private let services: ServiceLoads.Reads

    init(groups: [DueGroup], limit: Int, now: Int64, window: InFlightWindow) throws {
        (self.groups, self.limit, self.now, self.window) = (groups, limit, now, window)
        var loads: Set<ServiceLoads.Key> = []
        for group in groups {
            var services = PushService.allCases.filter { group.blockedOn & $0.bit != 0 }
            if case .deliver(let pns) = try WorkQueue(number: group.queue) { services.append(pns) }
            for pns in services { loads.insert(.init(app: group.app, pns: pns, priority: group.priority)) }
        }
        self.services = ServiceLoads.Reads(loads, now: now)
    }

    /// All groups, each with its first due time, found by one look each: with the due time among the values the next one's first row is
    /// sought, and the group in between is not walked through.
    static let groups: SQLStatement = """
        WITH RECURSIVE found(priority, app, queue, state, blocked_on, due) AS (
            SELECT CAST(rank AS smallint), CAST(-1 AS bigint), CAST(0 AS smallint), CAST(0 AS smallint), 0, CAST(0 AS bigint)
            FROM unnest(\(SQLArray.integers(Priority.allCases.map { Int64($0.rank) }))) AS priorities(rank)
            UNION ALL
            SELECT head.priority, head.app, head.queue, head.state, head.blocked_on, head.due
            FROM found CROSS JOIN LATERAL (
                SELECT message.priority, message.app, message.queue, message.state, message.blocked_on, message.due FROM message
                WHERE message.priority = found.priority AND (message.app, message.queue, message.state, message.blocked_on, message.due)
                    > (found.app, found.queue, found.state, found.blocked_on, \(raw: "\(Int64.max)"))
                ORDER BY message.app, message.queue, message.state, message.blocked_on, message.due LIMIT 1) AS head
        )
        SELECT priority, app, queue, state, blocked_on, due FROM found WHERE app >= 0 ORDER BY 1, 2, 3, 4, 5
        """

    /// The groups as a table, with their places.
    private var table: SQLStatement {
        func column(_ value: (DueGroup) -> Int64) -> SQLArray { .integers(self.groups.map { value($0) }) }
        return """
            unnest(\(column { Int64($0.priority.rank) }), \(column { $0.app }), \(column { Int64($0.queue) }),
                \(column { Int64($0.state) }), \(column { Int64($0.blockedOn) }))
                WITH ORDINALITY AS g(priority, app, queue, state, blocked_on, place)
            """
    }

    /// Of each group some more than its share is read; who leaves more is looked at again soon.
    private var share: Int { min(self.limit, max(32, 2 * self.limit / self.groups.count)) }

    var statements: [SQLStatement] {
        let apps = SQLArray.integers(Set(self.groups.map(\.app)).sorted().map { $0 })
        return [
            "SELECT number, name FROM app WHERE number = ANY(\(apps))",
            """
            SELECT g.place, due.id, due.epoch, due.size, due.due FROM \(self.table) CROSS JOIN LATERAL (
                SELECT id, epoch, size, due FROM message
                WHERE message.priority = g.priority AND message.app = g.app AND message.queue = g.queue AND message.state = g.state
                    AND message.blocked_on = g.blocked_on AND message.due <= \(self.now)
                ORDER BY message.due LIMIT \(self.share)) AS due
            ORDER BY g.place, due.due, due.id
            """,
            """
            SELECT g.place, count(under_way.found) AS messages FROM \(self.table) LEFT JOIN LATERAL (
                SELECT 1 AS found FROM message
                WHERE message.priority = g.priority AND message.app = g.app AND message.queue = g.queue
                    AND \(raw: AcceptanceWrites.isInFlight) LIMIT \(self.window.jobMessages)) AS under_way ON true
            WHERE g.queue < \(raw: "\(WorkQueue.firstDelivery)") AND g.state = \(raw: "\(MessageState.deferred.rawValue)")
            GROUP BY g.place
            """,
        ] + self.services.statements
    }

    func snapshot(_ answers: [[SQLRow]]) throws -> DueSnapshot {
        let names = try Dictionary(
            uniqueKeysWithValues: answers[0].map { (try $0["number"] as Int64, try AppID(stored: $0["name"])) }
        )
        var rows: [DueGroup: [DueSnapshot.Row]] = [:]
        for row in answers[1] {
            let group = self.groups[(try row["place"] as Int) - 1]
            guard let app = names[group.app] else { throw StoreError(.corrupt, "a message's app has no name") }
            let message = OutboxMessage(
                id: MessageID(number: try row["id"]),
                app: app,
                queue: try WorkQueue(number: group.queue),
                priority: group.priority,
                epoch: try row["epoch"]
            )
            rows[group, default: []].append(.init(message: message, size: try row["size"], due: try row["due"]))
        }
        var inFlight: [DueGroup: Int] = [:]
        for row in answers[2] { inFlight[self.groups[(try row["place"] as Int) - 1]] = try row["messages"] }
        return DueSnapshot(
            services: try self.services.loads(Array(answers[3...])),
            groups: self.groups,
            rows: rows,
            inFlight: inFlight
        )
    }
}

extension DueGroup {
    fileprivate init(_ row: SQLRow) throws {
        self.init(
            priority: try Priority(number: row["priority"]),
            app: try row["app"],
            queue: try row["queue"],
            state: try row["state"],
            blockedOn: try row["blocked_on"]
        )
    }
}
