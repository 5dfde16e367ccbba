package import PushModel
package import StoreKit

/// Sums that change with the outcomes and ends of one transaction, each of which is written once: the tables `delivery_count`,
/// `platform_count` and `backlog`, and how many members of messages are open.
///
/// They are added to what is stored, so that their order does not matter.
package final class Counts {
    private struct Key: Hashable {
        let pns: Int
        let kind: DeliveryCountClass
    }

    private struct PlatformKey: Hashable {
        let job: Int64
        let platform: String
        let kind: DeliveryCountClass
    }

    private typealias DeviceRow = (job: Int64, pns: Int, kind: Int, count: Int)
    private typealias PlatformRow = (job: Int64, platform: String, kind: Int, count: Int)

    private var jobs: [Int64: [Key: Int]] = [:]
    /// Of the table `platform_count`.
    private var platforms: [PlatformKey: Int] = [:]
    /// How many members have left each message.
    private var messages: [Int64: Int] = [:]
    /// How many more jobs are unfinished.
    package private(set) var unfinished = 0
    /// How many more jobs wait for their start.
    package private(set) var scheduled = 0
    /// How many jobs came to their end in each state.
    package private(set) var finished: [Job.State: Int] = [:]

    package init() {}

    package func count(_ change: BacklogChange) {
        self.unfinished += change.unfinished
        self.scheduled += change.scheduled
    }

    package func countFinished(_ state: Job.State, _ count: Int) { self.finished[state, default: 0] += count }

    package func add(_ count: Int, of kind: DeliveryCountClass, job: Int64, pns: Int, platform: String?) {
        guard count != 0 else { return }
        self.jobs[job, default: [:]][Key(pns: pns, kind: kind), default: 0] += count
        if let platform {
            self.platforms[PlatformKey(job: job, platform: platform, kind: kind), default: 0] += count
        }
    }

    package func leave(message: Int64) { self.messages[message, default: 0] += 1 }

    package func leaves(of message: Int64) -> Int { self.messages[message] ?? 0 }

    package func add(_ other: Counts) {
        for (job, counts) in other.jobs { self.jobs[job, default: [:]].merge(counts, uniquingKeysWith: +) }
        self.platforms.merge(other.platforms, uniquingKeysWith: +)
        self.messages.merge(other.messages, uniquingKeysWith: +)
        self.unfinished += other.unfinished
        self.scheduled += other.scheduled
        for (state, count) in other.finished { self.countFinished(state, count) }
    }

    /// How many rows the backlog has where several write: one that all change would be held by one at a time until its commit.
    package static let backlogSlots = 64
    /// Which of them a change is counted in.
    static let ownBacklog: SQLStatement = "/*! WHERE slot = pg_backend_pid() % \(raw: "\(Counts.backlogSlots)")*/"
    /// Reads it.
    package static let backlog: SQLStatement = """
        SELECT CAST(sum(unfinished) AS bigint) AS unfinished, CAST(sum(scheduled) AS bigint) AS scheduled FROM backlog
        """

    private static let addsDevices = """
        ON CONFLICT (job, pns, class/*!, slot*/) DO UPDATE SET count = delivery_count.count + excluded.count
        """
    private static let addsPlatform = """
        ON CONFLICT (job, platform, class/*!, slot*/) DO UPDATE SET count = platform_count.count + excluded.count
        """
    private static let addDevices =
        "INSERT INTO delivery_count(job, pns, class, count) VALUES (?, ?, ?, ?) \(addsDevices)"
    private static let addPlatform =
        "INSERT INTO platform_count(job, platform, class, count) VALUES (?, ?, ?, ?) \(addsPlatform)"

    // In the order of the tables: their pages are each gone to once, and two writers do not wait for each other in a circle.

    private var deviceRows: [DeviceRow] {
        self.jobs.sorted { $0.key < $1.key }.flatMap { job, counts in
            counts.map { (job, $0.key.pns, $0.key.kind.number, $0.value) }
                .sorted { ($0.1, $0.2) < ($1.1, $1.2) }
        }
    }

    private var platformRows: [PlatformRow] {
        self.platforms.map { ($0.key.job, $0.key.platform, $0.key.kind.number, $0.value) }
            .sorted { ($0.0, $0.1, $0.2) < ($1.0, $1.1, $1.2) }
    }

    /// What of them are in tables with a row for all.
    private var backlogWrites: [SQLStatement] {
        guard self.unfinished != 0 || self.scheduled != 0 else { return [] }
        return [
            """
            UPDATE backlog SET unfinished = unfinished + \(self.unfinished), scheduled = scheduled + \(self.scheduled)
            \(Self.ownBacklog)
            """
        ]
    }

    /// Adds them to what is stored, in the order in which rows are held by all: messages, then sums, of which many share the last.
    package var writes: [SQLStatement] {
        var writes: [SQLStatement] = []
        // Members leave first, and then the message goes: were it deleted where they are the last, two writers that look at the same time
        // would both find one more, and leave a message without a member, which is published for ever.
        for (message, count) in self.messages.sorted(by: { $0.key < $1.key }) {
            writes.append(SQLStatement("UPDATE message SET open = open - ?2 WHERE id = ?1", [message, count]))
            writes.append(SQLStatement("DELETE FROM message WHERE id = ? AND open <= 0", [message]))
        }
        writes += self.deviceRows.map { SQLStatement(Self.addDevices, [$0.job, $0.pns, $0.kind, $0.count]) }
        writes += self.platformRows.map { SQLStatement(Self.addPlatform, [$0.job, $0.platform, $0.kind, $0.count]) }
        return writes + self.backlogWrites
    }

    /// The same in as few statements as there are tables, which PostgreSQL alone reads.
    package var setWrites: [SQLStatement] {
        var writes: [SQLStatement] = []
        let (devices, platforms) = (self.deviceRows, self.platformRows)
        let messages = self.messages.sorted { $0.key < $1.key }
        func integers(_ numbers: some Sequence<Int>) -> SQLArray { .integers(numbers.map { Int64($0) }) }
        if !messages.isEmpty {
            let ids = SQLArray.integers(messages.map(\.key))
            writes.append(
                """
                UPDATE message SET open = message.open - done.members
                FROM unnest(\(ids), \(integers(messages.map(\.value)))) AS done(id, members) WHERE message.id = done.id
                """
            )
            writes.append("DELETE FROM message WHERE id = ANY(\(ids)) AND open <= 0")
        }
        if !devices.isEmpty {
            writes.append(
                """
                INSERT INTO delivery_count(job, pns, class, count)
                SELECT * FROM unnest(\(SQLArray.integers(devices.map(\.job))), \(integers(devices.map(\.pns))),
                    \(integers(devices.map(\.kind))), \(integers(devices.map(\.count)))) \(raw: Self.addsDevices)
                """
            )
        }
        if !platforms.isEmpty {
            writes.append(
                """
                INSERT INTO platform_count(job, platform, class, count)
                SELECT * FROM unnest(\(SQLArray.integers(platforms.map(\.job))), \(SQLArray.texts(platforms.map(\.platform))),
                    \(integers(platforms.map(\.kind))), \(integers(platforms.map(\.count)))) \(raw: Self.addsPlatform)
                """
            )
        }
        return writes + self.backlogWrites
    }
}
