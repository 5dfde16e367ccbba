import Dispatch
import Logging
import PushModel
import Store

/// Writes a row while its process writes nothing else, so that what it reads counts, over a connection of its own.
///
/// Every eighth time that connection is made anew: so all servers are asked for their timeline while other connections live, and one that is
/// later than ours ends those.
final class Heartbeat: @unchecked Sendable {
    private let connection: PooledConnection
    private let servers: Servers
    /// Used on the connection's queue alone.
    private var count = 0

    init(_ connection: PooledConnection, _ servers: Servers) { (self.connection, self.servers) = (connection, servers) }

    /// Writes at once, and then every few seconds.
    ///
    /// - Throws: ``StoreError`` where no server acknowledges a write.
    func begin() throws {
        let end = ContinuousClock.now + self.servers.deadlines.commit
        try self.connection.queue.sync {
            do throws(WireFault) { try self.connection.removeOldRows(until: end) } catch {
                throw StoreError(.unavailable, "PostgreSQL does not acknowledge a write: \(error.ofRead)")
            }
        }
        self.wait()
    }

    private func wait() {
        self.connection.queue.asyncAfter(deadline: .now() + self.servers.deadlines.heartbeat.inSeconds) { [weak self] in
            self?.beat()
            self?.wait()
        }
    }

    private func beat() {
        let deadlines = self.servers.deadlines
        self.count += 1
        let isAnew = self.count.isMultiple(of: 8)
        guard isAnew || !self.servers.isProven(self.servers.generation, within: deadlines.heartbeat) else { return }
        do throws(WireFault) { try self.connection.touch(anew: isAnew, until: .now + deadlines.commit) } catch {
            // Whoever reads or writes hears of it, and is told why.
            self.servers.logger.debug("PostgreSQL does not acknowledge a write", metadata: ["error": "\(error.ofRead)"])
        }
    }
}
