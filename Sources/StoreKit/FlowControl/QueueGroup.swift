package import PushModel
package import Store

/// Messages of a queue that are alike in all by which they are taken, of one app.
package struct QueueGroup: Sendable {
    let queue: WorkQueue
    let state: MessageState
    /// How long the job at its head has waited; nil where that is to be tried later.
    let age: Duration?

    /// - Parameters:
    ///   - queue: The queue.
    ///   - state: Where its messages stand.
    ///   - began: When the job at its head was accepted, or was to start, in milliseconds; nil where it is to be tried later.
    ///   - wall: The time, by the same clock.
    package init(queue: WorkQueue, state: MessageState, began: Int64?, wall: Timestamp) {
        self.queue = queue
        self.state = state
        self.age = began.map { .milliseconds(max(0, wall.milliseconds.clampedSubtracting($0))) }
    }
}

/// Adds up the groups of messages of some queues.
package struct QueueLoads: Sendable {
    package private(set) var loads = Dictionary(uniqueKeysWithValues: WorkQueue.allCases.map { ($0, QueueLoad()) })
    /// The messages that are counted, and the most of a queue.
    private var counted: [WorkQueue: Int] = [:]
    private let most: Int

    package init(most: Int) { self.most = most }

    /// How many messages of a group are still to be counted.
    package func limit(of group: QueueGroup) -> Int { self.most - self.counted[group.queue, default: 0] }

    /// Adds a group.
    ///
    /// - Parameters:
    ///   - group: The group.
    ///   - messages: How many of its messages were counted.
    ///   - members: How many jobs or batches these have.
    package mutating func add(_ group: QueueGroup, messages: Int, members: Int) {
        self.counted[group.queue, default: 0] += messages
        var load = self.loads[group.queue] ?? QueueLoad()
        if let age = group.age { load.oldest = max(load.oldest, age) }
        switch (group.queue, group.state) {
        // The store does not know which of these jobs are in progress.
        case (.register, _), (.send, _), (.deliver, .ready): load.waiting += members
        case (.deliver, .published): load.open += members
        case (.deliver, .deferred): load.deferred += members
        }
        self.loads[group.queue] = load
    }
}
