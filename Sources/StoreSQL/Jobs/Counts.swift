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

    private static let addDevices = """
        INSERT INTO delivery_count(job, pns, class, count) VALUES (?, ?, ?, ?)
        ON CONFLICT (job, pns, class/*!, slot*/) DO UPDATE SET count = delivery_count.count + excluded.count
        """
    private static let addPlatform = """
        INSERT INTO platform_count(job, platform, class, count) VALUES (?, ?, ?, ?)
        ON CONFLICT (job, platform, class/*!, slot*/) DO UPDATE SET count = platform_count.count + excluded.count
        """

    /// Adds them to what is stored.
    package var writes: [SQLStatement] {
        var writes: [SQLStatement] = []
        if self.unfinished != 0 || self.scheduled != 0 {
            writes.append(
                """
                UPDATE backlog SET unfinished = unfinished + \(self.unfinished), scheduled = scheduled + \(self.scheduled)
                \(Self.ownBacklog)
                """
            )
        }
        // In the order of the table, so that its pages are each gone to once.
        for (job, counts) in self.jobs.sorted(by: { $0.key < $1.key }) {
            writes += counts.map { SQLStatement(Self.addDevices, [job, $0.key.pns, $0.key.kind.number, $0.value]) }
        }
        for (key, count) in self.platforms {
            writes.append(SQLStatement(Self.addPlatform, [key.job, key.platform, key.kind.number, count]))
        }
        // Members leave first, and then the message goes: were it deleted where they are the last, two writers that look at the same time
        // would both find one more, and leave a message without a member, which is published for ever.
        for (message, count) in self.messages {
            writes.append(SQLStatement("UPDATE message SET open = open - ?2 WHERE id = ?1", [message, count]))
            writes.append(SQLStatement("DELETE FROM message WHERE id = ? AND open <= 0", [message]))
        }
        return writes
    }
}
