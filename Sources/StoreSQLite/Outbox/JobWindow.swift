import GRDB
import PushModel
import Store

/// Decides which new messages of jobs their own process publishes, and which the sweeper does as the window has room for them (rule 12).
///
/// For one app and priority.
struct JobWindow {
    private let flow: FlowControl
    /// When the new messages are due, in milliseconds.
    private let now: Int64
    private let app: Int64
    private let priority: Priority
    /// How many more of each queue their own process may publish; filled in as a queue is asked for.
    private var credit: [WorkQueue: Int] = [:]

    init(flow: FlowControl, now: Int64, app: Int64, priority: Priority) {
        (self.flow, self.now, self.app, self.priority) = (flow, now, app, priority)
    }

    /// How the next new message of a queue begins: ready, or deferred and due.
    mutating func begin(in queue: WorkQueue, _ database: Database) throws -> MessageState {
        let credit = try self.credit[queue] ?? self.creditForNew(in: queue, database)
        self.credit[queue] = max(0, credit - 1)
        return credit > 0 ? .ready : .deferred
    }

    private func creditForNew(in queue: WorkQueue, _ database: Database) throws -> Int {
        let credit = try self.flow.jobCredit(in: queue, app: self.app, priority: self.priority, in: database)
        // Credit is kept for those that wait: where more comes than goes, they would wait for ever.
        let waiting = try database.first(
            FlowControl.waitingJobs,
            [self.priority.rank, self.app, queue.number, self.now, credit]
        ) { $0[0] as Int }
        return credit - (waiting ?? 0)
    }
}

extension FlowControl {
    /// How many messages of jobs an app has in a queue that are published, or are about to be; beyond the limit none is counted.
    static let jobsInFlight = """
        SELECT count(*) FROM (
            SELECT 1 FROM message
            WHERE priority = ? AND app = ? AND queue = ?
                AND state IN (\(MessageState.ready.rawValue), \(MessageState.published.rawValue)) LIMIT ?
        )
        """

    /// How many messages of jobs wait for nothing but credit; beyond the limit none is counted.
    static let waitingJobs = """
        SELECT count(*) FROM (
            SELECT 1 FROM message
            WHERE priority = ? AND app = ? AND queue = ? AND state = \(MessageState.deferred.rawValue) AND blocked_on = 0
                AND due <= ? LIMIT ?
        )
        """

    /// How many more messages of jobs may be published.
    func jobCredit(in queue: WorkQueue, app: Int64, priority: Priority, in database: Database) throws -> Int {
        let most = self.window.jobMessages
        let inFlight = try database.first(Self.jobsInFlight, [priority.rank, app, queue.number, most]) { $0[0] as Int }
        return most - (inFlight ?? 0)
    }
}
