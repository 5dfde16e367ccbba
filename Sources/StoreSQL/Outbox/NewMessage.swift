package import PushModel
package import StoreKit

/// A message that is to be written.
package struct NewMessage {
    private let queue: WorkQueue
    private let app: Int64
    private let priority: Int
    private let state: MessageState
    private let due: Int64
    private let members: Int
    private let size: Int
    private let jobs: ClosedRange<Int64>
    private let redeliveries: Int

    package init(
        queue: WorkQueue,
        app: Int64,
        priority: Int,
        state: MessageState,
        due: Int64,
        members: Int,
        size: Int = 0,
        jobs: ClosedRange<Int64> = 0...0,
        redeliveries: Int = 0
    ) {
        (self.queue, self.app, self.priority, self.state, self.due) = (queue, app, priority, state, due)
        (self.members, self.size, self.jobs, self.redeliveries) = (members, size, jobs, redeliveries)
    }

    /// A message of new jobs, the first of all of which has that sequence.
    package init(_ message: JobAdmission.Message, from first: Int64, app: Int64, now: Int64) {
        self.init(
            queue: message.queue,
            app: app,
            priority: message.priority.rank,
            state: message.state,
            due: now,
            members: message.count,
            jobs: message.jobs(from: first)
        )
    }

    /// A message for a single job, due at once; only the sweeper publishes it.
    package init(of job: Int64, _ kind: JobKind, app: Int64, priority: Int, now: Int64) {
        self.init(
            queue: kind == .register ? .register : .send,
            app: app,
            priority: priority,
            state: .deferred,
            due: now,
            members: 1,
            jobs: job...job
        )
    }

    package static let columns = "app, queue, priority, state, due, open, size, first, last, redeliveries"

    package static let insertion = "INSERT INTO message(\(NewMessage.columns)) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"

    /// The parameters of ``insertion``, in the order of ``columns``.
    package var values: [Int64] {
        [
            self.app, Int64(self.queue.number), Int64(self.priority), Int64(self.state.rawValue), self.due,
            Int64(self.members), Int64(self.size), self.jobs.lowerBound, self.jobs.upperBound, Int64(self.redeliveries),
        ]
    }

    /// Writes it; the statement behind it finds its number as ``number``.
    var insertion: SQLStatement { SQLStatement(Self.insertion, self.values) }

    /// The number of the row that was inserted last.
    static let number = "last_insert_rowid()"
}
