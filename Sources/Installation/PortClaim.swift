import Foundation
import NIOConcurrencyHelpers
import NIOCore
import Settings

/// Decides whether a port may be shared: only with processes of this installation.
///
/// With SO_REUSEPORT the system lets any process of the same user join a port and gives it a part of the connections:
/// two installations on one port would each take the other's requests without an error. So listeners hold a shared lock
/// on a file beside the store, and the first one checks that the port is free.
package final class PortClaim: Sendable {
    /// A path that the processes of this installation share and no other has: the files lie beside it.
    let base: String
    /// The open file while the lock is held.
    private let lockFile = NIOLockedValueBox<Int32?>(nil)

    package init(base: String) { self.base = base }

    deinit { self.release() }

    /// Joins those of this installation that listen on the port.
    ///
    /// - Parameters:
    ///   - host: The address to listen on.
    ///   - port: The port.
    /// - Returns: Whether the port can be shared here: only on Linux, and not one that the system shall choose.
    /// - Throws: `IOError` where somebody else listens on it; ``ConfigurationError`` where the file cannot be locked.
    package func take(host: String, port: Int) async throws -> Bool {
        #if os(Linux)
        guard port != 0 else { return false }
        let path = self.path(port)
        let descriptor = unsafe open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw ConfigurationError("\(path) cannot be opened: \(unsafe String(cString: strerror(errno)))")
        }
        self.release()
        self.lockFile.withLockedValue { $0 = descriptor }
        if flock(descriptor, LOCK_EX | LOCK_NB) == 0, try Self.isTaken(host: host, port: port) {
            self.release()
            throw IOError(errnoCode: EADDRINUSE, reason: "bind")
        }
        for _ in 0..<200 {
            // From here on those who come after know that one of them listens.
            if flock(descriptor, LOCK_SH | LOCK_NB) == 0 { return true }
            try await Task.sleep(for: .milliseconds(10))
        }
        throw ConfigurationError("\(path): another process has held the lock for 2 s; end it")
        #else
        return false
        #endif
    }

    /// Leaves the others.
    package func release() {
        self.lockFile.withLockedValue { lockFile in
            if let descriptor = lockFile { close(descriptor) }
            lockFile = nil
        }
    }

    private func path(_ port: Int) -> String { "\(self.base).port-\(port)" }

    /// Whether a process of this installation listens on the port; nil if unknown.
    package func isTaken(port: Int) -> Bool? {
        #if os(Linux)
        guard port != 0 else { return nil }
        let descriptor = unsafe open(self.path(port), O_RDWR | O_CLOEXEC)
        guard descriptor >= 0 else { return errno == ENOENT ? false : nil }
        // Lets go of the lock again, where it was to be had.
        defer { close(descriptor) }
        return flock(descriptor, LOCK_EX | LOCK_NB) != 0
        #else
        return nil
        #endif
    }

    #if os(Linux)
    /// Binds the port for a moment without listening, so that no client can connect.
    private static func isTaken(host: String, port: Int) throws -> Bool {
        let address = try SocketAddress.makeAddressResolvingHost(host, port: port)
        let descriptor = socket(address.protocol.rawValue, Int32(SOCK_STREAM.rawValue), 0)
        // The server's own socket will report the error.
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        var yes: Int32 = 1
        unsafe setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
        return unsafe address.withSockAddr { unsafe bind(descriptor, $0, socklen_t($1)) } != 0 && errno == EADDRINUSE
    }
    #endif
}
