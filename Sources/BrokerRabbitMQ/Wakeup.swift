#if canImport(Darwin)
import Darwin
#else
import Glibc
#endif

/// Ends a thread's `poll` from another thread: a pipe with one byte in it at the most.
final class Wakeup: Sendable {
    /// Readable when somebody called; give it to `poll`.
    let descriptor: Int32
    private let writer: Int32

    init() {
        var ends: [Int32] = [-1, -1]
        let status = unsafe pipe(&ends)
        precondition(status == 0, "No file descriptors are left for the broker's threads.")
        for end in ends {
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
        }
        self.descriptor = ends[0]
        self.writer = ends[1]
    }

    deinit {
        close(self.descriptor)
        close(self.writer)
    }

    func call() {
        // A full pipe wakes the thread as well as one byte.
        _ = unsafe withUnsafeBytes(of: UInt8(0)) { unsafe write(self.writer, $0.baseAddress, 1) }
    }

    func clear() {
        var buffer = (UInt64(0), UInt64(0))
        _ = unsafe withUnsafeMutableBytes(of: &buffer) { unsafe read(self.descriptor, $0.baseAddress, $0.count) }
    }

    /// Waits for a wakeup, for `socket` or for the timeout.
    ///
    /// - Parameters:
    ///   - socket: Another descriptor to wait for, or nil.
    ///   - writing: Whether to wait for room in the socket's send buffer too.
    ///   - timeout: The longest wait.
    func wait(for socket: Int32?, writing: Bool, timeout: Duration) {
        let interest = Int16(POLLIN) | (writing ? Int16(POLLOUT) : 0)
        var descriptors = [
            pollfd(fd: self.descriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: socket ?? -1, events: interest, revents: 0),
        ]
        let milliseconds = max(0, min(timeout.milliseconds, 60_000))
        _ = unsafe poll(&descriptors, nfds_t(descriptors.count), Int32(milliseconds))
        if descriptors[0].revents != 0 { self.clear() }
    }
}

extension Duration {
    /// Whole milliseconds, rounded up, so that a wait does not end before its time.
    var milliseconds: Int64 {
        let (seconds, attoseconds) = self.components
        return seconds * 1000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
    }
}
