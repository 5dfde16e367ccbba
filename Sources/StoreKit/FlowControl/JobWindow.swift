package import PushModel
package import Store

/// An app's messages of jobs in a queue at one priority.
package struct JobLoad {
    /// How many are published, or about to be.
    package let inFlight: Int
    /// How many wait for nothing but credit.
    package let waiting: Int

    package init(inFlight: Int, waiting: Int) {
        self.inFlight = inFlight
        self.waiting = waiting
    }
}

/// Decides which new messages of jobs their own process publishes, and which the sweeper does as the window has room for them (rule 12).
///
/// For one app and priority.
package struct JobWindow {
    /// How many more of each queue their own process may publish; filled in as a queue is asked for.
    private var credit: [WorkQueue: Int] = [:]
    private let most: Int

    package init(_ window: InFlightWindow) { self.most = window.jobMessages }

    /// How the next new message of a queue begins: ready, or deferred and due.
    package mutating func begin(
        in queue: WorkQueue,
        load: (WorkQueue, _ most: Int) throws -> JobLoad
    ) rethrows -> MessageState {
        let credit = try self.credit[queue] ?? self.creditForNew(load(queue, self.most))
        self.credit[queue] = max(0, credit - 1)
        return credit > 0 ? .ready : .deferred
    }

    /// Credit is kept for those that wait: where more comes than goes, they would wait for ever.
    private func creditForNew(_ load: JobLoad) -> Int { self.most - load.inFlight - load.waiting }
}
