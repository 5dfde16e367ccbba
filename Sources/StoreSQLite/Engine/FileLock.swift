import Foundation
import Store

/// An exclusive lock between processes (`flock(2)`), released when its process dies.
///
/// Each value has its own open file, so two stores in one process exclude each other too.
final class FileLock: Sendable {
    private let descriptor: Int32

    /// - Throws: ``StoreError`` when the file cannot be opened, or would be root's in another user's folder: that user could not open it.
    init(path: String) throws(StoreError) {
        if geteuid() == 0, let owner = Self.owner(of: URL(filePath: path).deletingLastPathComponent().path),
            owner.id != 0
        {
            let reason =
                "its folder belongs to \(owner.name), who could not open what root makes: run this as \(owner.name)"
            throw StoreError(.unavailable, "\(path): \(reason) (runuser -u \(owner.name) -- ...)")
        }
        self.descriptor = unsafe open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0o600)
        guard self.descriptor >= 0 else {
            let why = unsafe String(cString: strerror(errno))
            if let owner = Self.owner(of: path), owner.id != geteuid() {
                throw StoreError(
                    .unavailable,
                    "\(path): \(why); it belongs to \(owner.name): run this as \(owner.name), or chown it"
                )
            }
            throw StoreError(.unavailable, "\(path): \(why); its folder must exist and be writable for this user")
        }
    }

    /// - Returns: The user to whom a file or folder belongs; nil if nothing is there, or it cannot be seen.
    private static func owner(of path: String) -> (id: uid_t, name: String)? {
        guard let found = try? FileManager.default.attributesOfItem(atPath: path),
            let id = (found[.ownerAccountID] as? NSNumber)?.uint32Value
        else { return nil }
        return (id, found[.ownerAccountName] as? String ?? "\(id)")
    }

    deinit { close(self.descriptor) }

    func tryLock() -> Bool { flock(self.descriptor, LOCK_EX | LOCK_NB) == 0 }

    /// Takes the lock in shared mode, unless it is held exclusively.
    func tryLockShared() -> Bool { flock(self.descriptor, LOCK_SH | LOCK_NB) == 0 }

    func unlock() { _ = flock(self.descriptor, LOCK_UN) }

    /// Takes the lock; blocks the thread.
    ///
    /// It polls, because `flock` has no timeout.
    ///
    /// - Parameters:
    ///   - limit: The longest wait.
    ///   - waiting: A lock held in shared mode during the wait, so that the holder knows of waiters.
    /// - Throws: ``StoreError`` when the wait was too long.
    func lock(within limit: Duration, waiting: FileLock) throws(StoreError) {
        if self.tryLock() { return }
        // Someone may look at that moment whether others wait: then it is joined at the next try.
        var isWaiting = waiting.tryJoin()
        defer { waiting.unlock() }
        let start = ContinuousClock.now
        while !self.tryLock() {
            let waited = ContinuousClock.now - start
            guard waited < limit else {
                throw StoreError(.unavailable, "another process has been writing for too long")
            }
            // Most commits are over in less than a millisecond or two.
            usleep(waited < .milliseconds(2) ? 100 : 500)
            if !isWaiting { isWaiting = waiting.tryJoin() }
        }
    }

    /// Does something while holding the lock; see ``lock(within:waiting:)``.
    func withLock<T>(within limit: Duration, waiting: FileLock, _ body: () throws -> T) throws -> T {
        try self.lock(within: limit, waiting: waiting)
        defer { self.unlock() }
        return try body()
    }

    /// Whether no process holds the lock.
    var isFree: Bool {
        guard self.tryLock() else { return false }
        self.unlock()
        return true
    }

    /// Joins those who hold the lock together.
    private func tryJoin() -> Bool { flock(self.descriptor, LOCK_SH | LOCK_NB) == 0 }

    /// Whether others hold the lock together.
    var isShared: Bool {
        guard self.tryLock() else { return true }
        self.unlock()
        return false
    }
}
