import NIOConcurrencyHelpers

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// A file that one process of the host holds locked; the system gives it up when that process ends, however it ends.
package final class LeaderLock: Sendable {
    private let path: String
    /// The open file while the lock is held.
    private let held = NIOLockedValueBox<Int32?>(nil)

    /// - Parameter path: The file; it is made when it is missing, and never removed.
    package init(path: String) { self.path = path }

    deinit { self.release() }

    /// Takes the lock, or keeps it.
    ///
    /// - Returns: false when another process has it, or the file cannot be opened.
    package func acquire() -> Bool {
        self.held.withLockedValue { held in
            if held != nil { return true }
            let descriptor = unsafe open(self.path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
            guard descriptor >= 0 else { return false }
            guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
                close(descriptor)
                return false
            }
            held = descriptor
            return true
        }
    }

    package func release() {
        self.held.withLockedValue { held in
            if let descriptor = held { close(descriptor) }
            held = nil
        }
    }
}
