import Dispatch
import FaultInjection
import Foundation
import Logging
import Metrics
import PushModel
import PushlineMetrics
import Store
import StoreKit
import StoreSQL

/// A connection of a pool, with a thread of its own: libpq's calls wait, and the pool of async code has no threads to spare.
///
/// Where it is over, another takes its place. Each begins with a write (``WriterRow``): so it is known what became of the last commit, and
/// nobody reads at a server whose writes are acknowledged no more, as a primary's are not that was replaced.
final class PooledConnection: @unchecked Sendable {
    let queue = DispatchQueue(label: "pushline.store.postgresql", qos: .userInitiated)
    private let servers: Servers
    private let clock: StoreClock
    // Used on the queue alone.
    private var current: Servers.Connection?
    private var row = WriterRow()
    private let commitTime = MetricDescription.storeCommitDuration.timer()
    private let commitSize = MetricDescription.storeCommitChanges.recorder()

    /// How often what was lost is sent.
    private static let attempts = 3

    init(_ servers: Servers, _ clock: StoreClock) { (self.servers, self.clock) = (servers, clock) }

    /// Answers to reads.
    struct Reading: Sendable {
        let answers: [SQLAnswer]
        /// Of the connection they came over.
        let generation: Int
    }

    /// What is committed together.
    struct Transaction: AwaitsCommit, Sendable {
        let statements: [PostgreSQLStatement]
        /// Of the connection over which was read what it was decided by; nil = nothing was read.
        let generation: Int?
        /// Whether the answers are there before it is committed.
        let awaitsAnswers: Bool
        let deadline: CommitDeadline?
        /// Until when it waits for a connection.
        let patience: ContinuousClock.Instant
        /// Until when it is to be known what became of it.
        let end: ContinuousClock.Instant

        /// Whether what it was decided by was read in a generation, if anything was.
        func isDecided(by generation: Int) -> Bool { self.generation.map { $0 == generation } ?? true }
    }

    /// Sends statements that read.
    ///
    /// - Returns: The answers to them all, of a server that was the primary a moment ago or later.
    /// - Throws: ``StoreError``; ``ReadIsOld``.
    func read(_ statements: [PostgreSQLStatement], until end: ContinuousClock.Instant) throws -> Reading {
        do throws(WireFault) {
            var (connection, attempt) = (try self.connected(until: end), 1)
            while true {
                do throws(WireFault) {
                    let answers = try self.answers(to: statements, over: connection, until: end)
                    return Reading(answers: answers, generation: connection.generation)
                } catch {
                    guard case .lost = error, attempt < Self.attempts, ContinuousClock.now < end else { throw error }
                }
                // A server that was started anew ends its connections; whoever reads need not know.
                (connection, attempt) = (try self.connectedAgain(until: end), attempt + 1)
            }
        } catch { throw error.ofRead }
    }

    /// Reads step by step in one snapshot; each step has a read's time.
    ///
    /// - Parameter body: It is run again where the connection is lost meanwhile.
    /// - Returns: What it returns.
    /// - Throws: ``StoreError``; ``ReadIsOld``; what it throws.
    func readInSteps<Value>(_ body: (Snapshot) throws -> Value) throws -> Value {
        var end: ContinuousClock.Instant { .now + self.servers.deadlines.read }
        do {
            var (connection, attempt) = (try self.connected(until: end), 1)
            while true {
                do {
                    let snapshot = Snapshot { [connection] statements throws(WireFault) in
                        try self.exchange(statements, over: connection, until: end)
                    }
                    let value: Value
                    do { value = try body(snapshot) } catch {
                        if connection.wire.isInTransaction {
                            _ = try self.exchange([Snapshot.end], over: connection, until: end)
                        }
                        throw error
                    }
                    if connection.wire.isInTransaction {
                        _ = try self.answers(to: [Snapshot.end], over: connection, until: end)
                    }
                    return value
                } catch let fault as WireFault {
                    guard case .lost = fault, attempt < Self.attempts else { throw fault }
                }
                (connection, attempt) = (try self.connectedAgain(until: end), attempt + 1)
            }
        } catch let fault as WireFault { throw fault.ofRead }
    }

    /// Commits a transaction, once, whatever becomes of the answer.
    ///
    /// What was read over a connection that is over is read again, for it may be older than what another server has by now: a
    /// number that was taken there may be lower than those of later jobs.
    ///
    /// - Returns: The answers to its statements; nil = it is committed, and they are lost.
    /// - Throws: ``StoreError``, `unknown` where nothing could be found out in time; ``GuardFails``; ``ReadIsOld``. But for `unknown`
    ///   nothing was written, or an answer cannot be read.
    func commit(_ transaction: Transaction) throws -> [SQLAnswer]? {
        var connection: Servers.Connection
        do throws(WireFault) { connection = try self.connected(until: transaction.patience) } catch {
            throw transaction.isOver ? StoreError.overdue : error.ofRead
        }
        guard !transaction.isOver else { throw StoreError.overdue }
        guard transaction.isDecided(by: connection.generation) else { throw ReadIsOld() }
        let hasWrites = !transaction.statements.isEmpty
        if hasWrites { transaction.deadline?.begin() }
        var attempt = 1
        while true {
            let number = self.row.serial + 1
            var answers: [SQLAnswer]?
            let fault: WireFault
            do throws(WireFault) {
                try self.send(transaction, as: number, over: connection, &answers)
                return answers
            } catch {
                fault = try self.loss(error, of: transaction, over: connection)
            }
            let end = fault.mayBeCommitted && hasWrites ? transaction.end : transaction.patience
            do throws(WireFault) { connection = try self.connectedAgain(until: end) } catch {
                self.count("unknown", fault)
                throw hasWrites ? fault.ofWrite : fault.ofRead
            }
            if self.row.serial >= number {
                self.count("committed", fault)
                return answers
            }
            // It is not committed, and cannot be any more.
            let isLate = ContinuousClock.now + self.servers.deadlines.commit > transaction.end
            guard attempt < Self.attempts, !isLate else { throw fault.ofRead }
            guard transaction.isDecided(by: connection.generation) else {
                throw ContinuousClock.now < transaction.patience ? ReadIsOld() : fault.ofRead
            }
            self.count("repeated", fault)
            attempt += 1
        }
    }

    /// Writes the row alone, after all servers were asked again which of them is the primary, if that is wanted.
    ///
    /// - Throws: ``WireFault``.
    func touch(anew: Bool, until end: ContinuousClock.Instant) throws(WireFault) {
        if anew { self.current = nil }
        let isNew = self.current == nil
        let connection = try self.connected(until: end)
        if !isNew { try self.begin(connection, until: end) }
    }

    /// Removes the rows of processes that have ended.
    ///
    /// - Throws: ``WireFault``.
    func removeOldRows(until end: ContinuousClock.Instant) throws(WireFault) {
        let connection = try self.connected(until: end)
        _ = try self.exchange([WriterRow.removal(at: self.clock.now)], over: connection, until: end)
    }

    // MARK: Exchanges

    /// - Throws: ``WireFault`` where the answers do not come, or are not known to be the primary's.
    private func answers(
        to statements: [PostgreSQLStatement],
        over connection: Servers.Connection,
        until end: ContinuousClock.Instant
    ) throws(WireFault) -> [SQLAnswer] {
        let answers = try self.exchange(statements, over: connection, until: end)
        guard connection.generation == self.servers.generation else {
            throw .lost("another server may be the primary", isSent: false)
        }
        // A write that is acknowledged now proves more than one before.
        if !self.servers.isProven(connection.generation, within: self.servers.deadlines.proof) {
            try self.begin(connection, until: end)
        }
        return answers
    }

    /// Commits; `answers` are there as soon as they are known, for it may be committed without them, and not committed with them.
    private func send(
        _ transaction: Transaction,
        as number: Int64,
        over connection: Servers.Connection,
        _ answers: inout [SQLAnswer]?
    ) throws(WireFault) {
        let statements = transaction.statements + [self.row.end(of: number, at: self.clock.now)]
        let start = ContinuousClock.now
        let end = start + self.servers.deadlines.commit
        var sent = start
        do throws(WireFault) {
            if transaction.awaitsAnswers {
                let begin = PostgreSQLStatement("BEGIN")
                let found: [SQLAnswer]
                do throws(WireFault) {
                    found = try self.exchange([begin] + statements, over: connection, until: end)
                } catch { throw error.beforeCommit }
                answers = Array(found.dropFirst().dropLast())
                sent = .now
                CrashPoint.storeCommitting.reach()
                _ = try self.exchange([PostgreSQLStatement("COMMIT")], over: connection, until: end)
            } else {
                CrashPoint.storeCommitting.reach()
                answers = Array(try self.exchange(statements, over: connection, until: end).dropLast())
            }
        } catch {
            // Only an answer is missing.
            if case .unreadable = error, !transaction.awaitsAnswers { self.row.committed(number) }
            throw error
        }
        CrashPoint.storeCommitted.reach()
        self.commitTime.recordSeconds((ContinuousClock.now - start).inSeconds)
        self.commitSize.record(1)
        self.row.committed(number)
        self.servers.acknowledged(connection.generation, sent: sent)
    }

    /// The fault of a transaction of which it must be found out what became of it.
    ///
    /// - Throws: The error of one that nothing is to be found out of.
    private func loss(
        _ fault: WireFault,
        of transaction: Transaction,
        over connection: Servers.Connection
    ) throws -> WireFault {
        switch fault {
        case .refused(let refusal) where refusal.isGuard(at: transaction.statements.count):
            // Its row went, or a beginning that was given up has come behind ours.
            self.drop(connection)
            return .lost("the row of the writer has changed", isSent: false)
        case .refused(let refusal): throw refusal.error
        case .unreadable(let error): throw error
        case .lost: return fault
        }
    }

    /// What an exchange leaves in no good state is ended: a transaction that failed, or the connection.
    private func exchange(
        _ statements: [PostgreSQLStatement],
        over connection: Servers.Connection,
        until end: ContinuousClock.Instant
    ) throws(WireFault) -> [SQLAnswer] {
        do throws(WireFault) { return try connection.wire.exchange(statements, until: end) } catch {
            if case .lost = error {
                self.drop(connection)
            } else if connection.wire.isInTransaction {
                do throws(WireFault) {
                    _ = try connection.wire.exchange([PostgreSQLStatement("ROLLBACK")], until: end)
                } catch { self.drop(connection) }
            }
            throw error
        }
    }

    // MARK: Connecting

    /// The connection, or another where it is over.
    private func connected(until end: ContinuousClock.Instant) throws(WireFault) -> Servers.Connection {
        if let current, current.generation == self.servers.generation {
            if current.wire.isAlive { return current }
            // Its server is perhaps another now, which has not all that others have read there.
            self.servers.lost(current.generation)
        }
        self.current = nil
        let connection: Servers.Connection
        do throws(StoreError) { connection = try self.servers.connect(until: end) } catch {
            throw .lost(error.message, isSent: false)
        }
        do throws(WireFault) {
            try self.checkTables(connection, until: end)
            try self.begin(connection, until: end)
        } catch { throw error.ofBeginning }
        self.current = connection
        return connection
    }

    /// Refuses tables that a migration has changed since the store was opened: with its connections this program's lock was gone too.
    private func checkTables(
        _ connection: Servers.Connection,
        until end: ContinuousClock.Instant
    ) throws(WireFault) {
        let answer = try self.exchange([Schema.version], over: connection, until: end)[0]
        let refusal: String?
        do throws(StoreError) { refusal = try Schema.refusal(answer) } catch { throw .unreadable(error) }
        self.servers.compare(refusal: refusal)
        if let refusal { throw .lost(refusal, isSent: false) }
    }

    /// A connection in place of one that was lost: it is tried until it can be had.
    private func connectedAgain(until end: ContinuousClock.Instant) throws(WireFault) -> Servers.Connection {
        var pause = 0.005
        // An attempt that had no time left says less than one before.
        var reason: WireFault?
        while true {
            let left: Double
            do throws(WireFault) { return try self.connected(until: end) } catch {
                left = (end - .now).inSeconds
                guard left > 0 else { throw reason ?? error }
                reason = error
            }
            // Processes that have lost a server at the same time do not come back at the same time.
            Thread.sleep(forTimeInterval: min(left, .random(in: pause / 2...pause)))
            pause = min(2 * pause, 1)
        }
    }

    private func begin(
        _ connection: Servers.Connection,
        until end: ContinuousClock.Instant
    ) throws(WireFault) {
        let sent = ContinuousClock.now
        let answers = try self.exchange([self.row.beginning(at: self.clock.now)], over: connection, until: end)
        let (missing, latest): (Int64, Int64?)
        do throws(StoreError) { (missing, latest) = try self.row.begin(answers[0]) } catch { throw .unreadable(error) }
        self.servers.acknowledged(connection.generation, sent: sent)
        if let latest { self.servers.compare(self.clock.now, with: latest) }
        guard missing > 0 else { return }
        MetricDescription.storeLostCommits.counter().increment(by: missing)
        self.servers.logger.error(
            "PostgreSQL has lost commits that it had acknowledged",
            metadata: ["commits": "\(missing)"]
        )
    }

    private func drop(_ connection: Servers.Connection) {
        self.current = nil
        self.servers.lost(connection.generation)
    }

    /// Counts a commit whose answer was lost.
    private func count(_ outcome: String, _ fault: WireFault) {
        guard fault.mayBeCommitted else { return }
        MetricDescription.storeUnansweredCommits.counter([.outcome: outcome]).increment()
    }
}
