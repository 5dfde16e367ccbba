package import PushModel
package import Store
package import StoreKit

/// What a driver does for the statements that all drivers share.
package protocol SQLEngine: ConfirmsReads {
    var clock: StoreClock { get }
    /// Seals the cursors of lists.
    var cursors: ListCursors { get }
    /// Makes the numbers by which handles are found.
    var handles: HandleDigest { get }

    /// Reads from one snapshot; the statements are sent together.
    ///
    /// - Returns: The rows of each.
    /// - Throws: ``StoreError``.
    func rows(_ statements: [SQLStatement], size: ReadSize) async throws -> [[SQLRow]]

    /// Runs a transaction once.
    ///
    /// - Returns: Its value, when that is durable.
    /// - Throws: ``ReadIsOld`` where nothing was written, because what was read has changed; what the transaction throws;
    ///   ``StoreError``.
    func attempt<Value: Sendable>(_ transaction: SQLTransaction<Value>) async throws -> Value

    /// Counts a job that came to its end, for the metrics.
    func countFinished(_ state: Job.State)

    /// Batches of some jobs were closed in a transaction that did not end them: an engine with several writers asks again behind it
    /// whether something of them is open still, and one with a single writer has seen all.
    func closedBatches(of jobs: [Int64]) async

    /// Ends some jobs whose batches are closed, and that nobody came to who closed them: a part of ending jobs whose time is over.
    ///
    /// - Returns: How many; none where a single writer has seen all.
    /// - Throws: ``StoreError``.
    func completeLeftJobs() async throws -> Int

    /// Whether jobs of each state are found by an index; where not, a list of those of one looks at some of the app's at a time.
    var findsJobsByState: Bool { get }

    /// Jobs whose lifetime is over, and that are neither final nor being stopped.
    ///
    /// - Throws: ``StoreError``.
    func jobsToExpire(limit: Int) async throws -> [Int64]
}

extension SQLEngine {
    /// Reads what a message of the broker stands for.
    ///
    /// Whoever finds nothing of it acknowledges it, and a message whose row is there all the same would not come again before its
    /// lease is over; so before that is believed, it is read again behind ``confirmReads()`` (rule 20).
    ///
    /// - Parameters:
    ///   - isGone: Whether there is nothing to do for the message, or for a part of it.
    ///   - read: Reads it.
    /// - Returns: What was read.
    /// - Throws: ``StoreError``; what it throws.
    func readWork<Value>(unless isGone: (Value) -> Bool, _ read: () async throws -> Value) async throws -> Value {
        let found = try await read()
        guard isGone(found) else { return found }
        try await self.confirmReads()
        return try await read()
    }

    package var findsJobsByState: Bool { true }

    package func jobsToExpire(limit: Int) async throws -> [Int64] {
        try await self.rows(JobTable.jobsToExpire(at: self.clock.now, limit: limit)).map { try $0["sequence"] }
    }

    package func closedBatches(of jobs: [Int64]) async {}

    package func completeLeftJobs() async throws -> Int { 0 }

    /// The few rows of each statement.
    ///
    /// - Throws: ``StoreError``.
    package func rows(_ statements: [SQLStatement]) async throws -> [[SQLRow]] {
        try await self.rows(statements, size: .ordinary)
    }

    /// The rows of one statement.
    ///
    /// - Throws: ``StoreError``.
    package func rows(_ statement: SQLStatement, size: ReadSize = .ordinary) async throws -> [SQLRow] {
        try await self.rows([statement], size: size)[0]
    }

    /// The rows of two statements.
    ///
    /// - Throws: ``StoreError``.
    package func rows(
        _ first: SQLStatement,
        _ second: SQLStatement,
        size: ReadSize = .ordinary
    ) async throws -> ([SQLRow], [SQLRow]) {
        let found = try await self.rows([first, second], size: size)
        return (found[0], found[1])
    }

    /// The rows of three statements.
    ///
    /// - Throws: ``StoreError``.
    package func rows(
        _ first: SQLStatement,
        _ second: SQLStatement,
        _ third: SQLStatement
    ) async throws -> ([SQLRow], [SQLRow], [SQLRow]) {
        let found = try await self.rows([first, second, third])
        return (found[0], found[1], found[2])
    }

    /// Runs a transaction, again where what it has read has changed.
    ///
    /// Where the task is at an act (``NewAct/current``), its entry is written with whatever is changed.
    ///
    /// - Returns: Its value, when that is durable.
    /// - Throws: What the transaction throws; ``StoreError``.
    package func perform<Value: Sendable>(_ transaction: SQLTransaction<Value>) async throws -> Value {
        let transaction = self.recorded(transaction)
        return try await self.repeating { try await self.attempt(transaction) }
    }

    /// Does something again where what it has read has changed: six times at most, and for some ten seconds.
    ///
    /// - Returns: What it returns.
    /// - Throws: What it throws, but for ``ReadIsOld``; ``StoreError``.
    package func repeating<Value>(_ body: () async throws -> Value) async throws -> Value {
        let end = ContinuousClock.now + .seconds(10)
        var latest = ReadIsOld()
        for attempt in 0..<6 where ContinuousClock.now < end {
            do { return try await body() } catch let old as ReadIsOld {
                latest = old
                // Those that were in each other's way are not to meet again; a cancelled caller is served at once.
                try? await Task.sleep(for: .milliseconds(Int.random(in: 0...(2 << attempt))))
            }
        }
        throw latest.whenItStays
    }

    /// Runs a transaction by which jobs may end, and counts those.
    package func end<Value: Sendable>(_ transaction: SQLTransaction<Ended<Value>>) async throws -> Value {
        await self.finish(try await self.perform(transaction))
    }

    /// What comes behind a transaction by which jobs may have ended.
    ///
    /// - Returns: Its value.
    package func finish<Value: Sendable>(_ ended: Ended<Value>) async -> Value {
        for state in ended.states { self.countFinished(state) }
        // Its act has its entry.
        if !ended.closed.isEmpty {
            await NewAct.$current.withValue(nil) { await self.closedBatches(of: ended.closed) }
        }
        return ended.value
    }
}
