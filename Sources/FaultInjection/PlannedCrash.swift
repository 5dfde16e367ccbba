#if DEBUG
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The end that this process was given by `PUSHLINE_CRASH_AT`.
final class PlannedCrash: Sendable {
    static let shared = PlannedCrash(unsafe getenv("PUSHLINE_CRASH_AT").map { unsafe String(cString: $0) })

    private let point: CrashPoint
    /// How often it may still be passed.
    private let left: Mutex<Int>

    private init?(_ text: String?) {
        guard let parts = text?.split(separator: ":"), let name = parts.first,
            let point = CrashPoint(rawValue: String(name))
        else {
            return nil
        }
        self.point = point
        self.left = Mutex(parts.dropFirst().first.flatMap { Int($0) } ?? 1)
    }

    func pass(_ point: CrashPoint) {
        guard point == self.point else { return }
        let isHere = self.left.withLock { left in
            left -= 1
            return left == 0
        }
        guard isHere else { return }
        kill(getpid(), SIGKILL)
        // This process stops here until the signal arrives.
        while true { pause() }
    }
}
#endif
