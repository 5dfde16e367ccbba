import Dispatch
import Foundation
import GRDB
import Logging
import NIOConcurrencyHelpers
import PushModel
import Store

/// Checkpoints the log, on its own connection and queue, while no other process does (rule 8).
final class Checkpointer: Sendable {
    /// The growth of the log file since the last pass that triggers another at once, in bytes.
    private static let growingLog = 16 << 20
    /// The log length in pages that triggers a restart of the log: 64 MB.
    private static let longLog = 16 * 1024
    /// The size of its file from which on that is cut to nothing, in bytes.
    private static let largeFile = 96 << 20
    /// So few pages of the log are moved while others wait to write.
    private static let fewPages = 1024
    /// The rest after a restart that a reader prevented: each try makes writers wait.
    private static let rest = Duration.seconds(2)

    private let path: String
    private let interval: Duration
    private let lock: FileLock
    /// The locks of those who write: the log is emptied between them.
    private let writer: FileLock
    private let waiting: FileLock
    private let logger: Logger
    /// As important as the writers, who wait for it while the log is restarted.
    private let queue = DispatchQueue(label: "pushline.store.checkpointer", qos: .userInitiated)
    private let state = NIOLockedValueBox(State())

    private struct State {
        var isLocked = false
        var connection: DatabaseQueue?
        var lastChange: Date?
        var lastPass: ContinuousClock.Instant?
        /// The size of the log's file, and how many of its pages are moved.
        var size = 0
        var moved = 0
        /// Whether the last pass had much to move: then the next has too, though the file does not grow.
        var isBusy = false
        /// The end of the rest after a restart that a reader prevented.
        var restsUntil: ContinuousClock.Instant?

        func isDue(_ log: LogFile, after interval: Duration, at now: ContinuousClock.Instant) -> Bool {
            guard log.changed != self.lastChange else { return false }
            return self.isBusy || log.size - self.size >= Checkpointer.growingLog
                || self.lastPass.map { now - $0 >= interval } ?? true
        }
    }

    /// - Parameters:
    ///   - path: The store's file.
    ///   - interval: The time between checkpoints of a log that grows slowly.
    ///   - logger: Logs at debug when a checkpoint fails.
    /// - Throws: ``StoreError`` when a lock's file cannot be opened.
    init(path: String, interval: Duration, logger: Logger) throws {
        self.path = path
        self.interval = interval
        self.lock = try FileLock(path: path + ".checkpointer")
        self.writer = try FileLock(path: path + ".writer")
        self.waiting = try FileLock(path: path + ".waiting")
        self.logger = logger
    }

    /// Makes a pass; does nothing where another process has the task, or nothing that matters was written.
    ///
    /// Checkpoints block: they never run on the cooperative pool.
    func pass() async {
        await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
            self.queue.async {
                do {
                    try self.checkpointIfChanged()
                } catch {
                    // Busy or full: the log grows until the next pass.
                    self.logger.debug("A checkpoint of the store's WAL failed", metadata: ["error": "\(error)"])
                }
                done.resume()
            }
        }
    }

    /// Lets another process have the task.
    func stop() {
        self.state.withLockedValue { state in
            state.connection = nil
            if state.isLocked { self.lock.unlock() }
            state.isLocked = false
        }
    }

    private func checkpointIfChanged() throws {
        let start = ContinuousClock.now
        let isLocked = self.state.withLockedValue { state in
            state.isLocked = state.isLocked || self.lock.tryLock()
            return state.isLocked
        }
        guard isLocked else { return }
        let log = try LogFile(of: self.path)
        let (isDue, rests) = self.state.withLockedValue { state in
            (state.isDue(log, after: self.interval, at: start), state.restsUntil.map { start < $0 } ?? false)
        }
        guard isDue else { return }
        let (pages, moved) = try self.connected().inDatabase { database in
            let found = try database.checkpoint(.passive)
            let isLarge = log.size > Self.largeFile
            if !rests, isLarge || found.walFrameCount > Self.longLog {
                let isEmptied = try self.empty(database, isLarge: isLarge)
                self.state.withLockedValue { $0.restsUntil = isEmptied ? nil : .now + Self.rest }
            }
            return found
        }
        let size = try LogFile(of: self.path).size
        self.state.withLockedValue { state in
            state.lastChange = log.changed
            state.size = size
            state.lastPass = start
            // A restarted log is shorter than the checkpointed part of the one before.
            state.isBusy = pages - (pages < state.moved ? 0 : state.moved) >= Self.fewPages
            state.moved = moved
        }
    }

    /// Checkpoints pages written in the meantime until few are left, and the rest while writers are blocked.
    ///
    /// The file is kept and overwritten from its beginning, because making a growing file durable takes a file system
    /// half as long again.
    ///
    /// - Returns: False where a reader still needs the log.
    private func empty(_ database: GRDB.Database, isLarge: Bool) throws -> Bool {
        for _ in 0..<4 {
            let (pages, moved) = try database.checkpoint(.passive)
            if pages - moved < Self.fewPages { break }
        }
        return try self.writer.withLock(within: .seconds(1), waiting: self.waiting) {
            do {
                _ = try database.checkpoint(isLarge ? .truncate : .restart)
                return true
            } catch let error as DatabaseError where error.resultCode == .SQLITE_BUSY {
                return false
            }
        }
    }

    private func connected() throws -> DatabaseQueue {
        if let connection = self.state.withLockedValue({ $0.connection }) { return connection }
        var settings = GRDB.Configuration()
        // Restarting the log blocks writers while it waits for readers: only briefly.
        settings.busyMode = .timeout(0.1)
        settings.prepareDatabase { database in
            try database.execute(sql: "PRAGMA wal_autocheckpoint = 0; PRAGMA cache_size = -1024")
        }
        let connection = try DatabaseQueue(path: self.path, configuration: settings)
        self.state.withLockedValue { $0.connection = connection }
        return connection
    }
}

/// The log beside a store's file.
///
/// Its index, `-shm`, knows how much of the file is in use. It is not opened here: closing it would release the locks
/// that SQLite holds on it in this process.
struct LogFile {
    /// In bytes.
    ///
    /// A restarted log reuses the file, so parts of it may be unused.
    let size: Int
    let changed: Date?

    /// - Parameter path: The store's file.
    /// - Throws: Where there is no log.
    init(of path: String) throws {
        let attributes = try FileManager.default.attributesOfItem(atPath: path + "-wal")
        self.size = (attributes[.size] as? NSNumber)?.intValue ?? 0
        self.changed = attributes[.modificationDate] as? Date
    }
}
