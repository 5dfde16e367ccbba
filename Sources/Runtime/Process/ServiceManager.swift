import Foundation
import NIOCore
import NIOPosix
import ServiceLifecycle

/// The host's service manager (systemd): it is told when the process serves and, where it asks for that, that the process is alive.
///
/// Source: sd_notify(3), sd_watchdog_enabled(3).
struct ServiceManager: Service {
    /// A path, or a name behind "@"; nil = nobody wants to know.
    private let socket: String?
    /// How long the process may say nothing; nil = for ever.
    private let watchdog: Duration?

    /// - Parameter environment: As the service manager has set it.
    init(_ environment: [String: String] = ProcessInfo.processInfo.environment) {
        self.socket = environment["NOTIFY_SOCKET"]
        let isOurs = environment["WATCHDOG_PID"].map { $0 == "\(getpid())" } ?? true
        self.watchdog = isOurs ? environment["WATCHDOG_USEC"].flatMap { Int64($0) }.map { .microseconds($0) } : nil
    }

    /// The process listens.
    @Sendable func ready() { self.tell("READY=1") }

    /// Says that the process is alive, twice as often as is asked for, until nothing else runs in it.
    ///
    /// A stuck event loop keeps it from that, and so does a stuck pool of threads for tasks.
    func run() async throws {
        guard let watchdog = self.watchdog, self.socket != nil else {
            try? await gracefulShutdown()
            return
        }
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                for loop in MultiThreadedEventLoopGroup.singleton.makeIterator() { try? await loop.submit {}.get() }
                self.tell("WATCHDOG=1")
                try? await Task.sleep(for: watchdog / 2)
            }
        }
    }

    /// Sends a datagram; one that does not arrive harms nobody but the process that is restarted then.
    private func tell(_ state: String) {
        guard let socket = self.socket, let address = UnixAddress(socket) else { return }
        let descriptor = Foundation.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        unsafe address.with { pointer, length in
            _ = unsafe sendto(descriptor, state, state.utf8.count, Int32(MSG_NOSIGNAL), pointer, length)
        }
    }
}

/// The address of a socket that has a path, or a name of Linux's own.
private struct UnixAddress {
    private var address = sockaddr_un()
    private let length: socklen_t

    /// nil if it is too long.
    init?(_ name: String) {
        var path = Array(name.utf8)
        // A name without a file begins with a zero.
        if path.first == UInt8(ascii: "@") { path[0] = 0 } else { path.append(0) }
        let start = MemoryLayout<sockaddr_un>.offset(of: \.sun_path) ?? 2
        guard start + path.count <= MemoryLayout<sockaddr_un>.size else { return nil }
        self.length = socklen_t(start + path.count)
        self.address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &self.address.sun_path) { unsafe $0.copyBytes(from: path) }
    }

    func with(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Void) {
        unsafe withUnsafePointer(to: self.address) { address in
            unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe body($0, self.length) }
        }
    }
}
