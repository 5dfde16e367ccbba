package import PushModel
package import Store

/// The delivery messages of a step of a group, as they are filled with batches.
package struct GroupDeliveries {
    package struct Delivery {
        package let number: Int64
        package let pns: PushService
        /// Between which jobs its batches are.
        package private(set) var jobs: ClosedRange<Int64>
        package private(set) var batches = 0
        package private(set) var devices = 0

        fileprivate init(_ number: Int64, at pns: PushService, of job: Int64) {
            (self.number, self.pns, self.jobs) = (number, pns, job...job)
        }

        fileprivate mutating func add(_ batch: SinglePage, of job: Int64) {
            self.jobs = self.jobs.lowerBound...job
            self.batches += 1
            self.devices += batch.size
        }
    }

    /// nil if none was begun.
    package private(set) var all: [Delivery?]

    /// - Parameter count: How many messages the step is divided into.
    package init(count: Int) { self.all = Array(repeating: nil, count: count) }

    /// The number of the message that a batch travels in.
    ///
    /// - Parameters:
    ///   - batch: The batch.
    ///   - job: Its job.
    ///   - begin: Begins the message, and gives its number, if the batch is its first.
    /// - Returns: The number.
    /// - Throws: What `begin` throws; ``StoreError`` where the step has no such message.
    package mutating func number(
        for batch: SinglePage,
        of job: Int64,
        begin: () throws -> Int64
    ) throws -> Int64 {
        guard self.all.indices.contains(batch.message) else {
            throw StoreError(.corrupt, "a batch in a message that the step does not have")
        }
        if let begun = self.all[batch.message] { return begun.number }
        let number = try begin()
        self.all[batch.message] = Delivery(number, at: batch.pns, of: job)
        return number
    }

    /// Puts a batch into its message, which is begun; jobs come in the order of their numbers.
    package mutating func put(_ batch: SinglePage, of job: Int64) { self.all[batch.message]?.add(batch, of: job) }
}
