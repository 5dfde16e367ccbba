import Dispatch
import Foundation
import GRDB
import Logging
import NIOConcurrencyHelpers
import PushModel
import Store

/// Moves the log into the file, on a connection and a queue of its own, where no other process does (rule 8).
final class Checkpointer: Sendable {
    /// The log's length from which on it is emptied, in bytes.
    private static let longLog = 64 << 20

    private let path: String
    private let lock: FileLock
    private let logger: Logger
    private let queue = DispatchQueue(label: "pushline.store.checkpointer", qos: .utility)
    private let state = NIOLockedValueBox(State())

    private struct State {
        var isHolding = false
        var connection: DatabaseQueue?
        var lastChange: Date?
    }

    init(path: String, logger: Logger) throws {
        self.path = path
        self.lock = try FileLock(path: path + ".checkpointer")
        self.logger = logger
    }

    /// Takes a turn; does nothing where another process has the task, or nothing was written.
    ///
    /// Checkpoints block: they never run on the cooperative pool.
    func turn() async {
        await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
            self.queue.async {
                do {
                    try self.checkpointIfChanged()
                } catch {
                    // Busy or full: the log grows until the next turn.
                    self.logger.debug("The store's log was not moved", metadata: ["store.error": "\(error)"])
                }
                done.resume()
            }
        }
    }

    /// Lets another process have the task.
    func stop() {
        self.state.withLockedValue { state in
            state.connection = nil
            if state.isHolding { self.lock.unlock() }
            state.isHolding = false
        }
    }

    private func checkpointIfChanged() throws {
        let lastChange = self.state.withLockedValue { state -> Date?? in
            state.isHolding = state.isHolding || self.lock.tryLock()
            return state.isHolding ? state.lastChange : Date??.none
        }
        guard let lastChange else { return }
        let attributes = try FileManager.default.attributesOfItem(atPath: self.path + "-wal")
        let change = attributes[.modificationDate] as? Date
        guard change != lastChange else { return }
        let size = (attributes[.size] as? NSNumber)?.intValue ?? 0
        try self.connected().inDatabase { database in
            try database.checkpoint(.passive)
            if size > Self.longLog { try database.checkpoint(.truncate) }
        }
        self.state.withLockedValue { $0.lastChange = change }
    }

    private func connected() throws -> DatabaseQueue {
        if let connection = self.state.withLockedValue({ $0.connection }) { return connection }
        var settings = GRDB.Configuration()
        // Emptying the log holds up writers while it waits for readers: not for long.
        settings.busyMode = .timeout(0.1)
        settings.prepareDatabase { database in
            try database.execute(sql: "PRAGMA wal_autocheckpoint = 0; PRAGMA cache_size = -1024")
        }
        let connection = try DatabaseQueue(path: self.path, configuration: settings)
        self.state.withLockedValue { $0.connection = connection }
        return connection
    }
}
