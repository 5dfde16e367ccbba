package import PushModel
package import Store

extension QueueLoad {
    /// Adds messages that are alike in all by which they are taken.
    ///
    /// - Parameters:
    ///   - members: How many jobs or batches they have.
    ///   - queue: Their queue, whose load this is.
    ///   - state: Where they stand.
    ///   - age: How long the job at their head has waited; nil if it is to be tried later.
    package mutating func add(_ members: Int, of queue: WorkQueue, _ state: MessageState, age: Duration?) {
        if let age { self.oldest = max(self.oldest, age) }
        switch (queue, state) {
        // The store does not know which of these jobs are in progress.
        case (.register, _), (.send, _), (.deliver, .ready): self.waiting += members
        case (.deliver, .published): self.open += members
        case (.deliver, .deferred): self.deferred += members
        }
    }

    /// Adds what is tried again in one group of messages; the oldest is kept.
    package mutating func add(_ delay: Delay) {
        guard let known = self.delay, known.age >= delay.age else { return self.delay = delay }
    }
}
