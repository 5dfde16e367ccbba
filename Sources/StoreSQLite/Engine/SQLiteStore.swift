import CSQLite
import Dispatch
import Foundation
import GRDB
package import Logging
import NIOConcurrencyHelpers
import PushModel
package import Store
package import StoreKit

/// The store in a SQLite file on a local disk of one host, for any number of processes of that host (rule 8).
///
/// All that changes it goes through a ``GroupWriter``; reads have connections of their own and end with their page.
package final class SQLiteStore: Sendable {
    /// How the store is opened.
    package struct Configuration: Sendable {
        /// The file, made when missing.
        ///
        /// Beside it lie `-wal`, `-shm`, `.writer`, `.waiting`, `.users`, `.schema-N`, `.checkpointer` and `.sweeper`.
        package var path: String
        /// The most unfinished jobs; nil = any number.
        package var maximumBacklog: Int?
        /// Bytes of the disk that no uploaded content is to take.
        package var reserve: Int
        /// How much of an app may be under way to a push service at each priority.
        package var window = InFlightWindow()
        /// Connections for reading.
        package var readers: Int
        /// How long a write waits for other processes before it is given up.
        package var timeout: Duration
        /// How often the log is moved into the file.
        package var checkpointInterval: Duration
        package var audienceReadLimits = AudienceReadLimits()
        /// Bits of the numbers that stand for handles; a test leaves few, so that handles share numbers.
        var digestMask = UInt64.max
        /// The steps of the schema; a test has some of its own.
        var schema = Schema.plan

        package init(
            path: String,
            maximumBacklog: Int? = nil,
            reserve: Int = 0,
            readers: Int = 3,
            timeout: Duration = .seconds(5),
            checkpointInterval: Duration = .seconds(2)
        ) {
            self.path = path
            self.maximumBacklog = maximumBacklog
            self.reserve = reserve
            self.readers = readers
            self.timeout = timeout
            self.checkpointInterval = checkpointInterval
        }
    }

    package let configuration: Configuration
    let pool: DatabasePool
    private let reader: ReadQueue
    let writer: GroupWriter
    /// Held in shared mode by every process with the store open: a restore needs it exclusively.
    private let users: FileLock
    /// Held in shared mode by every process of this version of the schema: a step that contracts looks for older ones.
    private let version: FileLock
    package let clock: StoreClock
    /// Seals the cursors of lists.
    package let cursors: ListCursors
    /// Makes the numbers by which handles are found.
    package let handles: HandleDigest
    package let logger: Logger
    let roundRobin = RoundRobin()

    /// Turns off `SQLITE_CONFIG_MEMSTATUS`: its counters take a global lock at every allocation, and nothing reads
    /// them.
    ///
    /// Without effect if SQLite was used earlier in the process.
    private static let isConfigured: Void = { _ = pushline_sqlite_count_no_memory() }()

    /// Opens the store, and creates the tables in a new file; blocks the thread.
    ///
    /// - Parameters:
    ///   - configuration: The path and the limits.
    ///   - source: The clocks; the machine's, except in tests.
    ///   - logger: Logs at debug and below.
    /// - Throws: ``StoreError``.
    package init(
        configuration: Configuration,
        source: (any ClockSource)? = nil,
        logger: Logger = Logger(label: "pushline.store")
    ) throws {
        _ = Self.isConfigured
        do {
            self.configuration = configuration
            self.logger = logger
            let lock = try FileLock(path: configuration.path + ".writer")
            let waiting = try FileLock(path: configuration.path + ".waiting")
            self.users = try FileLock(path: configuration.path + ".users")
            self.version = try FileLock(path: Self.versionLock(configuration.schema.version, of: configuration.path))
            let source = try source ?? SystemClock()
            let (users, version) = (self.users, self.version)
            let limit = configuration.timeout + Self.openingTime
            let (pool, clock, keys) = try lock.withLock(within: limit, waiting: waiting) {
                guard users.tryLockShared(), version.tryLockShared() else {
                    throw StoreError(.unavailable, "a backup is being restored")
                }
                try Self.checkNoMove(to: configuration.path)
                Self.createPrivately(configuration.path)
                return try Self.openPool(configuration, source: source)
            }
            guard let clock else { throw StoreError(.corrupt, "the store's clock cannot be set") }
            self.pool = pool
            let inlineExecution = InlineExecution()
            self.reader = ReadQueue(pool: pool, limit: configuration.readers, inlineExecution: inlineExecution)
            self.clock = clock
            (self.cursors, self.handles) = (keys.cursors, keys.digest)
            self.writer = GroupWriter(
                pool: pool,
                lock: lock,
                waiting: waiting,
                clock: clock,
                digest: keys.digest,
                timeout: configuration.timeout,
                inlineExecution: inlineExecution,
                logger: logger
            )
        } catch let error as DatabaseError {
            throw StoreError(error)
        }
    }

    /// Opens the store without blocking the caller's thread.
    ///
    /// - Parameters:
    ///   - configuration: The path and the limits.
    ///   - source: The clocks; the machine's, except in tests.
    ///   - logger: Logs at debug and below.
    /// - Returns: The store.
    /// - Throws: ``StoreError``.
    package static func open(
        _ configuration: Configuration,
        source: (any ClockSource)? = nil,
        logger: Logger = Logger(label: "pushline.store")
    ) async throws -> SQLiteStore {
        try await withCheckedThrowingContinuation { continuation in
            DispatchQueue(label: "pushline.store.open").async {
                continuation.resume(
                    with: Result { try SQLiteStore(configuration: configuration, source: source, logger: logger) }
                )
            }
        }
    }

    /// Opens the connections, and creates the tables in a new file.
    ///
    /// A process stopped during recovery of the log holds its lock for longer than SQLite's busy timeout, so this waits
    /// longer.
    private static func openPool(
        _ configuration: Configuration,
        source: any ClockSource
    ) throws -> (DatabasePool, StoreClock?, StoreKeys) {
        let end = ContinuousClock.now + configuration.timeout + Self.openingTime
        while true {
            do {
                let pool = try DatabasePool(path: configuration.path, configuration: Self.settings(configuration))
                // The pool sets NORMAL for itself; an accepted job must outlive a power cut.
                try pool.writeWithoutTransaction { try $0.execute(sql: "PRAGMA synchronous = FULL") }
                try Self.createTables(in: pool, configuration.schema)
                let clock = try pool.writeWithoutTransaction { database in
                    var clock: StoreClock?
                    try Database(database).writing { clock = try StoreClock.anchor(source, in: $0) }
                    return clock
                }
                return (pool, clock, try pool.read { try StoreKeys(Database($0), mask: configuration.digestMask) })
            } catch let error as DatabaseError where error.resultCode == .SQLITE_BUSY && .now < end {
                usleep(50_000)
            }
        }
    }

    /// Makes the tables of a new file; those that this program cannot work with are refused.
    private static func createTables(in pool: DatabasePool, _ plan: SchemaPlan) throws {
        let found = try pool.read { try Schema.found(in: Database($0)) }
        guard found == .none else { return try Self.check(found, plan) }
        try pool.writeWithoutTransaction { try Database($0).writing { try Schema.create(in: $0, plan) } }
    }

    /// Refuses a place that a store is still to be moved to: an empty one there would be in the way of it.
    private static func checkNoMove(to path: String) throws {
        let files = FileManager.default
        guard files.fileExists(atPath: path) || !files.fileExists(atPath: MovedFile.partial(path)) else {
            throw StoreError(.unavailable, "a move to \(path) has not ended: run `pushline store move` again")
        }
    }

    /// Creates a missing file readable for its owner only, because it has hashes of passwords; the log inherits the
    /// mode.
    ///
    /// An existing file is not opened: closing it would release the locks that SQLite holds on it in this process.
    static func createPrivately(_ path: String) {
        let descriptor = unsafe Foundation.open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0o600)
        if descriptor >= 0 { close(descriptor) }
    }

    /// How much longer opening may wait for other processes than a write: one of them may be changing the tables.
    private static let openingTime = Duration.seconds(25)

    /// Pages of a connection, in KiB, negative as SQLite wants it.
    static let cacheSize = -4096

    private static func settings(_ configuration: Configuration) -> GRDB.Configuration {
        var settings = GRDB.Configuration()
        settings.busyMode = .timeout(configuration.timeout.inSeconds)
        settings.maximumReaderCount = configuration.readers
        settings.persistentReadOnlyConnections = true
        // A rollback that fails must not end the process: the next group begins with another.
        settings.allowsUnsafeTransactions = true
        settings.prepareDatabase { database in
            // Only the checkpointer checkpoints; 4 MB of pages per connection.
            try database.execute(sql: "PRAGMA wal_autocheckpoint = 0")
            try database.execute(sql: "PRAGMA cache_size = \(Self.cacheSize)")
            try database.execute(sql: "PRAGMA temp_store = MEMORY")
        }
        return settings
    }

    /// Reads in a transaction: all queries see one snapshot.
    ///
    /// - Parameters:
    ///   - size: The size of the read.
    ///   - body: The read.
    /// - Returns: The read's result.
    /// - Throws: ``StoreError``, `CancellationError`, the read's error.
    func read<Value: Sendable>(
        size: ReadSize = .ordinary,
        _ body: @escaping @Sendable (Database) throws -> Value
    ) async throws -> Value {
        do {
            return try await self.reader.read(size: size, body)
        } catch let error as DatabaseError {
            throw StoreError(error)
        }
    }

    func write<Value: Sendable>(
        _ size: GroupWriter.Size = .ordinary,
        _ body: @escaping @Sendable (WriteContext) throws -> Value
    ) async throws -> Value {
        try await self.writer.write(size, body)
    }
}

/// What a store makes with keys of its own, which lie in it.
private struct StoreKeys {
    let digest: HandleDigest
    package let cursors: ListCursors

    init(_ database: Database, mask: UInt64) throws {
        self.digest = try database.handleDigest(mask: mask)
        let key: [UInt8]? = try database.value("SELECT key FROM cursor_key WHERE id = 1")
        self.cursors = try ListCursors(key: Data(key ?? []))
    }
}
