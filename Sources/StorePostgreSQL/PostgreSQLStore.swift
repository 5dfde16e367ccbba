package import Logging
import Metrics
import NIOConcurrencyHelpers
package import PushModel
import PushlineMetrics
package import Store
package import StoreKit
package import StoreSQL

/// The store in a PostgreSQL, which many hosts share.
package final class PostgreSQLStore: SQLEngine {
    package let clock: StoreClock
    package let cursors: ListCursors
    package let handles: HandleDigest
    package let logger: Logger
    let limits: JobLimits
    let roundRobin = RoundRobin()
    /// What stands for names that registrations have.
    let numbers = KnownNumbers()
    /// How far this process has looked for jobs whose time is over.
    let expired = NIOLockedValueBox(OverduePlace())
    /// The same of jobs whose batches are closed.
    let completedThrough = NIOLockedValueBox<Int64>(0)
    /// For reads that need several in one snapshot.
    let snapshots: SnapshotReads
    private let reads: ConnectionPool
    private let writes: ConnectionPool
    private let heartbeat: Heartbeat
    private let finished = Dictionary(
        uniqueKeysWithValues: Job.State.allCases.filter(\.isFinal).map {
            ($0, MetricDescription.jobsFinished.counter([.state: $0.rawValue]))
        }
    )

    /// Opens a store whose tables are there; its thread waits for a server meanwhile.
    ///
    /// - Parameters:
    ///   - addresses: Where its servers are.
    ///   - clock: The store's clock; nil = that of the servers, which all hosts have in common.
    ///   - limits: How much is accepted.
    ///   - deadlines: How long is waited for a server.
    ///   - logger: Says what an operator must know of the servers.
    /// - Throws: ``StoreError``: no server can be had, or none that acknowledges a write, or its tables are not for this program.
    package init(
        _ addresses: ServerAddresses,
        clock: StoreClock? = nil,
        limits: JobLimits = JobLimits(),
        deadlines: Deadlines = Deadlines(),
        logger: Logger = Logger(label: "pushline.store")
    ) throws {
        let servers = Servers(addresses, deadlines, logger: logger)
        let end = ContinuousClock.now + deadlines.read
        let keys: SchemaKeys
        do {
            let wire = try servers.connect(until: end).wire
            keys = try Schema.keys(wire, until: end)
            self.clock = try clock ?? ServerClock.make(SystemClock(), wire, until: end)
        } catch let error as WireFault { throw error.ofRead }
        (self.limits, self.logger) = (limits, logger)
        self.cursors = try ListCursors(key: keys.cursors)
        self.handles = try HandleDigest(key: keys.handles, isWide: true)
        self.snapshots = SnapshotReads(servers, self.clock, size: 2)
        self.reads = ConnectionPool(servers, self.clock, size: 3)
        self.writes = ConnectionPool(servers, self.clock, size: 4)
        self.heartbeat = Heartbeat(PooledConnection(servers, self.clock), servers)
        try self.heartbeat.begin()
    }

    package func rows(_ statements: [SQLStatement], size: ReadSize) async throws -> [[SQLRow]] {
        try await self.read(statements).rows
    }

    /// The reads are one round trip, and the writes with their commit another, or two where the value is made of the answers alone.
    package func attempt<Value: Sendable>(_ transaction: SQLTransaction<Value>) async throws -> Value {
        try await self.attempt(transaction, reading: self.read)
    }

    /// The same, by ``readEach(_:)``.
    func attemptReadingEach<Value: Sendable>(_ transaction: SQLTransaction<Value>) async throws -> Value {
        try await self.attempt(transaction, reading: self.readEach)
    }

    /// Rows that were read.
    struct Found {
        var rows: [[SQLRow]] = []
        /// nil = nothing was read.
        var generation: Int?
    }

    /// That there is nothing to write is committed, too, and so is not said of what a server shows that was replaced meanwhile
    /// (rule 20).
    private func attempt<Value: Sendable>(
        _ transaction: SQLTransaction<Value>,
        reading read: ([SQLStatement]) async throws -> Found
    ) async throws -> Value {
        let found = try await read(transaction.reads)
        let decision = try transaction.decide(found.rows)
        let writes = decision.writes
        guard !writes.isEmpty || found.generation != nil else { return try decision.value(of: []) }
        let answers: [SQLAnswer]?
        do {
            answers = try await self.writes.commit(
                writes.map(PostgreSQLStatement.init(shared:)),
                decidedBy: found.generation,
                awaitsAnswers: decision.awaitsAnswers
            )
        } catch let failure as GuardFails { throw writes[failure.statement].guardError }
        let counted = answers.map { answers in
            zip(writes, answers).map { write, answer in
                write.expectedRows.map { SQLAnswer(rows: [], count: $0) } ?? answer
            }
        }
        return try decision.value(of: counted)
    }

    /// Its connection's row is written, and nothing else.
    package func confirmReads() async throws { _ = try await self.writes.commit([], awaitsAnswers: false) }

    package func countFinished(_ state: Job.State) { self.finished[state]?.increment() }

    /// There is no such index: most jobs would be written to it three times.
    package var findsJobsByState: Bool { false }

    /// Reads without a snapshot for all: each sees what was committed when it began, and may take numbers.
    func readEach(_ statements: [SQLStatement]) async throws -> Found {
        let reading = try await self.reads.read(statements.map(PostgreSQLStatement.init(shared:)))
        return Found(rows: reading.answers.map(\.rows), generation: reading.generation)
    }

    /// Several see one snapshot.
    private func read(_ statements: [SQLStatement]) async throws -> Found {
        var sent = statements.map(PostgreSQLStatement.init(shared:))
        guard !sent.isEmpty else { return Found() }
        let isOne = sent.count == 1
        if !isOne {
            let begin = PostgreSQLStatement("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            sent = [begin] + sent + [PostgreSQLStatement("COMMIT")]
        }
        let reading = try await self.reads.read(sent)
        let answers = isOne ? reading.answers[...] : reading.answers.dropFirst().dropLast()
        return Found(rows: answers.map(\.rows), generation: reading.generation)
    }
}

extension PostgreSQLStore: AccountStore, ActStore, AdministrationStore, AppStore, HubRuleStore, PauseStore, SessionStore
{}

extension PostgreSQLStore: ContentStore {
    package func put(_ content: StoredContent, app: AppID, quota: AppSpec.Contents) async throws -> ContentAcceptance {
        let id = RegistrationID.random().text
        return try await self.perform(ContentTable.put(content, id: id, app: app, quota: quota, at: self.clock.wall))
    }
}
