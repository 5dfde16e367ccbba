import DequeModule
import Dispatch
import FaultInjection
import Foundation
import GRDB
import Logging
import Metrics
import NIOConcurrencyHelpers
import PushModel
import PushlineMetrics
import Store
import StoreKit
import StoreSQL

/// Writes for all callers of this process.
///
/// Changes that arrive together share a commit (rule 8).
///
/// A failed change undoes only itself: it runs in a savepoint, or alone. A caller continues when the group's commit is
/// durable. If other processes wait to write, one of them gets its turn before this process's next commit; otherwise
/// they starve for seconds.
///
/// What a change has read is so until its commit. Where that keeps something right which a second writer would break, the place says what
/// it needs. So do three of administration: the last operator is counted before one goes (with a second writer the app's row is locked), a
/// session is opened behind the comparison of a password (the account's row is shared until then), and an app's kind of hub changes only
/// while it has no jobs (those who accept share its row while that is so).
final class GroupWriter: Sendable {
    /// The longest time to yield to a waiting process, which may be stopped.
    static let pause = Duration.milliseconds(5)
    /// The most changes in one commit.
    static let maximumGroup = 512
    /// The time after which a transaction takes no further changes.
    static let maximumTime = Duration.milliseconds(50)
    /// Pages that a bulk change may keep, in KiB, negative as SQLite wants it: with less room, pages are written and read again
    /// before its commit.
    static let bulkCache = -24_576
    /// The most changes that may wait.
    static let maximumWaiting = 20_000

    private let pool: DatabasePool
    private let lock: FileLock
    /// Held by the processes that wait for ``lock``.
    private let waiting: FileLock
    private let clock: StoreClock
    private let digest: HandleDigest
    private let timeout: Duration
    private let logger: Logger
    private let queue = DispatchQueue(label: "pushline.store.writer", qos: .userInitiated)
    private let inlineExecution: InlineExecution
    private let state = NIOLockedValueBox(State())
    private let watch = CommitWatch()
    private let commitCount = NIOLockedValueBox(0)
    private let commitTime = MetricDescription.storeCommitDuration.timer()
    private let commitSize = MetricDescription.storeCommitChanges.recorder()
    private let finished = Dictionary(
        uniqueKeysWithValues: Job.State.allCases.filter(\.isFinal).map {
            ($0, MetricDescription.jobsFinished.counter([.state: $0.rawValue]))
        }
    )

    init(
        pool: DatabasePool,
        lock: FileLock,
        waiting: FileLock,
        clock: StoreClock,
        digest: HandleDigest,
        timeout: Duration,
        inlineExecution: InlineExecution,
        logger: Logger
    ) {
        self.pool = pool
        self.lock = lock
        self.waiting = waiting
        self.clock = clock
        self.digest = digest
        self.timeout = timeout
        self.inlineExecution = inlineExecution
        self.logger = logger
    }

    private struct State {
        /// A deque, so that it does not retain changes taken from it: an import's change is large.
        var waiting: Deque<Change> = []
        var isScheduled = false
        /// Used only on the queue's thread.
        var lastCommit: ContinuousClock.Instant?
        var lastSeen: Int64 = 0
        /// The time since which commits fail, and the time of the last log entry about it.
        var failing: (since: ContinuousClock.Instant, loggedAt: ContinuousClock.Instant)?
    }

    /// A change that waits for its group.
    private struct Change: AwaitsCommit, Sendable {
        let size: Size
        let deadline = CommitDeadline.current
        /// Does it; the value stays with the closure until ``finish`` hands it over.
        let perform: @Sendable (WriteContext) throws -> Void
        let finish: @Sendable ((any Error)?) -> Void

        /// Whether it may be in a group with others.
        func mayJoin(isAtOnce: Bool) -> Bool { isAtOnce ? self.size == .short : self.size != .bulk }
    }

    /// A group's first change failed, and the group ends with it.
    private struct FailedAlone: Error { let fault: any Error }

    /// Holds a change's result until it is durable.
    private final class Slot<Value: Sendable>: Sendable {
        let value = NIOLockedValueBox<Value?>(nil)
    }

    func countFinished(_ state: Job.State, _ count: Int) { self.finished[state]?.increment(by: count) }

    /// How many commits there were.
    var commits: Int { self.commitCount.withLockedValue { $0 } }

    /// Runs a change and returns when it is durable.
    ///
    /// A cancelled caller waits nevertheless, because the change may be in its commit. One with a ``CommitDeadline`` waits for the
    /// beginning of its commit until then.
    ///
    /// - Parameters:
    ///   - size: The size of the write.
    ///   - body: The change.
    /// - Returns: The change's result.
    /// - Throws: The change's error, or ``StoreError``.
    func write<Value: Sendable>(
        _ size: Size = .ordinary,
        _ body: @escaping @Sendable (WriteContext) throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            let slot = Slot<Value>()
            let change = Change(
                size: size,
                perform: { context in
                    let value = try body(context)
                    slot.value.withLockedValue { $0 = value }
                },
                finish: { error in
                    if let error {
                        continuation.resume(throwing: error)
                    } else if let value = slot.value.withLockedValue({ $0 }) {
                        continuation.resume(returning: value)
                    } else {
                        continuation.resume(throwing: StoreError(.corrupt, "a change ended without a value"))
                    }
                }
            )
            self.enqueue(change)
        }
    }

    /// Whether other changes or processes wait for this transaction; large writes then end theirs.
    var isAwaited: Bool { self.state.withLockedValue { !$0.waiting.isEmpty } || self.waiting.isShared }

    private func enqueue(_ change: Change) {
        guard !change.isOver else { return change.finish(StoreError.overdue) }
        enum Next { case schedule, wait, refuse }
        let next = self.state.withLockedValue { state -> Next in
            guard state.waiting.count < Self.maximumWaiting else { return .refuse }
            state.waiting.append(change)
            if state.isScheduled { return .wait }
            state.isScheduled = true
            return .schedule
        }
        switch next {
        case .schedule:
            if change.size == .short, self.commitAtOnce() { return }
            self.queue.async { self.drain() }
        case .wait: break
        case .refuse: return change.finish(StoreError(.unavailable, "too many changes wait to be written"))
        }
        if change.deadline != nil { self.watch.begin(self.dropOverdue) }
    }

    /// - Returns: Whether others wait that have a deadline.
    private func dropOverdue() -> Bool {
        let (overdue, hasMore) = self.state.withLockedValue { state in
            (state.waiting.removeOverdue(), state.waiting.contains { $0.deadline != nil })
        }
        for change in overdue { change.finish(StoreError.overdue) }
        return hasMore
    }

    private func drain() {
        repeat {
            self.yieldToOtherWriters()
            self.commitGroup()
        } while self.hasMore()
    }

    /// Whether more changes wait; if not, the next change schedules the writer.
    private func hasMore() -> Bool {
        self.state.withLockedValue { state -> Bool in
            if state.waiting.isEmpty { state.isScheduled = false }
            return state.isScheduled
        }
    }

    /// Commits waiting changes on this thread, unless a commit was made a moment ago or another process writes or waits
    /// to write.
    ///
    /// - Returns: false if it was not possible at once; nothing is written then.
    private func commitAtOnce() -> Bool {
        // Right behind another commit more is to be expected, and is committed together.
        if let last = self.state.withLockedValue({ $0.lastCommit }), .now - last < InlineExecution.longest {
            return false
        }
        let isDone = self.inlineExecution.run {
            guard !self.waiting.isShared, self.lock.tryLock() else { return false }
            self.commitGroup(isAtOnce: true)
            return true
        }
        guard isDone == true else { return false }
        if self.hasMore() { self.queue.async { self.drain() } }
        return true
    }

    /// Lets another process begin its turn, if one waits.
    private func yieldToOtherWriters() {
        guard let last = self.state.withLockedValue({ $0.lastCommit }) else { return }
        let end = last + Self.pause
        while ContinuousClock.now < end, self.waiting.isShared, self.lock.isFree { usleep(50) }
    }

    /// - Parameter isAtOnce: Whether the lock is held already, and only short changes are wanted.
    private func commitGroup(isAtOnce: Bool = false) {
        var results: [(change: Change, error: (any Error)?)] = []
        let counts = Counts()
        let start = ContinuousClock.now
        do {
            if !isAtOnce { try self.lock.lock(within: self.timeout, waiting: self.waiting) }
            defer { self.lock.unlock() }
            try self.pool.writeWithoutTransaction { connection in
                let database = Database(connection)
                let end = Result {
                    try database.writing {
                        try self.perform(&results, isAtOnce: isAtOnce, in: $0, counts: counts)
                        CrashPoint.storeCommitting.reach()
                    }
                }
                // Success or failure, the memory is released.
                if results.first?.change.size == .bulk { self.shrinkCache(of: database) }
                try end.get()
            }
            CrashPoint.storeCommitted.reach()
            self.logRecovery()
            self.commitCount.withLockedValue { $0 += 1 }
            self.commitTime.recordSeconds((ContinuousClock.now - start).inSeconds)
            self.commitSize.record(results.count)
            for (state, count) in counts.finished { self.countFinished(state, count) }
        } catch let failed as FailedAlone {
            results = results.map { ($0.change, failed.fault) }
        } catch {
            let fault = self.fault(error)
            self.logFailure(fault)
            results = results.map { ($0.change, $0.error ?? fault) }
            if results.isEmpty { results = self.takeAll().map { ($0, fault) } }
        }
        self.state.withLockedValue { $0.lastCommit = .now }
        for result in results { result.change.finish(result.error) }
    }

    /// Shrinks the cache of a bulk change.
    ///
    /// A failure here does not concern its commit.
    private func shrinkCache(of database: Database) {
        do {
            try database.setCache(SQLiteStore.cacheSize)
        } catch {
            self.logger.debug("Shrinking the store's cache failed", metadata: ["error": "\(self.fault(error))"])
        }
    }

    /// Runs the changes of a group.
    private func perform(
        _ results: inout [(change: Change, error: (any Error)?)],
        isAtOnce: Bool,
        in database: Database,
        counts: Counts
    ) throws {
        // From here on: a long wait for the lock does not shorten the transaction.
        let begun = ContinuousClock.now
        while results.count < Self.maximumGroup,
            let (change, isLast) = self.state.withLockedValue({ state in
                results.isEmpty || state.waiting.first?.mayJoin(isAtOnce: isAtOnce) == true
                    ? state.waiting.popFirst().map { ($0, state.waiting.isEmpty) } : nil
            })
        {
            // Listed before it runs, so that its caller gets a result in any case.
            results.append((change, change.isOver ? StoreError.overdue : nil))
            if results.last?.error != nil { continue }
            change.deadline?.begin()
            if results.count == 1, isLast || change.size == .bulk {
                try self.performAlone(change, in: database, counts: counts)
            } else {
                results[results.count - 1].error = try self.perform(change, in: database, counts: counts)
            }
            let longest = isAtOnce ? InlineExecution.longest : Self.maximumTime
            if change.size == .bulk || ContinuousClock.now - begun > longest { break }
        }
        for statement in counts.writes { _ = try database.answer(statement) }
        try self.noteTime(in: database)
    }

    /// Logs once, and again each minute, that store writes are failing; the failed callers need no log entries.
    private func logFailure(_ fault: any Error) {
        let isDue = self.state.withLockedValue { state -> Bool in
            let now = ContinuousClock.now
            if let failing = state.failing, now - failing.loggedAt < .seconds(60) { return false }
            state.failing = (since: state.failing?.since ?? now, loggedAt: now)
            return true
        }
        self.logger.log(
            level: isDue ? .warning : .debug,
            "Store writes fail",
            metadata: ["error": "\(fault)"]
        )
    }

    private func logRecovery() {
        guard
            let failing = self.state.withLockedValue({ state in
                defer { state.failing = nil }
                return state.failing
            })
        else { return }
        let seconds = (ContinuousClock.now - failing.since).inSeconds.rounded()
        self.logger.notice("Store writes succeed again", metadata: ["seconds": "\(seconds)"])
    }

    /// Runs a group's first change without a savepoint, while no other waits.
    ///
    /// Most groups are one change, and a savepoint copies every page changed in it. A failure ends the group.
    ///
    /// - Throws: ``FailedAlone``; another error when the whole transaction has failed.
    private func performAlone(_ change: Change, in database: Database, counts: Counts) throws {
        let context = WriteContext(database: database, clock: self.clock, digest: self.digest, counts: counts)
        if change.size == .bulk { try database.setCache(Self.bulkCache) }
        do {
            try change.perform(context)
            counts.add(context.added)
        } catch {
            throw FailedAlone(fault: try self.ownFault(error, in: database))
        }
    }

    /// Runs one change in a savepoint.
    ///
    /// - Returns: The change's own error.
    /// - Throws: When the whole transaction has failed.
    private func perform(_ change: Change, in database: Database, counts: Counts) throws -> (any Error)? {
        let context = WriteContext(database: database, clock: self.clock, digest: self.digest, counts: counts)
        try database.run("SAVEPOINT change")
        do {
            try change.perform(context)
            try database.run("RELEASE change")
            counts.add(context.added)
            return nil
        } catch {
            let fault = try self.ownFault(error, in: database)
            try database.run("ROLLBACK TO change")
            try database.run("RELEASE change")
            return fault
        }
    }

    /// The error of a single change.
    ///
    /// - Throws: The error, if the whole transaction has failed.
    private func ownFault(_ error: any Error, in database: Database) throws -> any Error {
        let fault = self.fault(error)
        let isOwn = (error as? DatabaseError).map { !$0.endsGroup } ?? true
        guard isOwn, database.isInsideTransaction else { throw fault }
        return fault
    }

    /// Writes down how far the clock has come, every ten seconds or so.
    private func noteTime(in database: Database) throws {
        let now = self.clock.now
        let last = self.state.withLockedValue { $0.lastSeen }
        guard now - last >= 10_000 else { return }
        try database.run("UPDATE clock SET seen = max(seen, ?)", [now])
        self.state.withLockedValue { $0.lastSeen = now }
    }

    private func takeAll() -> [Change] {
        self.state.withLockedValue { state in
            defer { state.waiting = [] }
            return Array(state.waiting)
        }
    }

    private func fault(_ error: any Error) -> any Error {
        (error as? DatabaseError).map { StoreError($0) } ?? error
    }
}
