import Foundation
import Store

/// An exclusive lock between processes (`flock(2)`): whoever dies lets it go.
///
/// Each value has an open file of its own, so two stores in one process exclude each other too.
final class FileLock: Sendable {
    private let descriptor: Int32

    /// - Throws: ``StoreError`` when the file cannot be opened.
    init(path: String) throws(StoreError) {
        self.descriptor = unsafe open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0o600)
        guard self.descriptor >= 0 else {
            let why = unsafe String(cString: strerror(errno))
            throw StoreError(.unavailable, "\(path): \(why); its folder must exist and be writable for this user")
        }
    }

    deinit { close(self.descriptor) }

    func tryLock() -> Bool { flock(self.descriptor, LOCK_EX | LOCK_NB) == 0 }

    func unlock() { _ = flock(self.descriptor, LOCK_UN) }

    /// Does something while holding the lock; blocks the thread.
    ///
    /// It polls, for a waiting `flock` cannot be given a deadline.
    func withLock<T>(within limit: Duration, _ body: () throws -> T) throws -> T {
        let start = ContinuousClock.now
        while !self.tryLock() {
            guard ContinuousClock.now - start < limit else {
                throw StoreError(.unavailable, "another process has been writing for too long")
            }
            usleep(500)
        }
        defer { self.unlock() }
        return try body()
    }
}
