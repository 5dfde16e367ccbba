import NIOConcurrencyHelpers
import PushModel

/// Ends an exchange whose other side makes no progress, or which lasts too long.
final class StallWatch: Sendable {
    /// The other side was silent for too long.
    struct Stalled: Error {}

    private let idle: Duration
    private let total: Duration
    private let waitingSince = NIOLockedValueBox<ContinuousClock.Instant?>(nil)

    /// - Parameters:
    ///   - idle: The longest wait for the other side's next step.
    ///   - total: The longest time for all.
    init(idle: Duration, total: Duration) {
        self.idle = idle
        self.total = total
    }

    /// Does something that the other side may hold up; our own work in between is not its fault.
    func waiting<Value>(_ body: () async throws -> Value) async throws -> Value {
        self.waitingSince.withLockedValue { $0 = .now }
        defer { self.waitingSince.withLockedValue { $0 = nil } }
        return try await body()
    }

    /// Does the work, and cancels it when the other side stalls.
    ///
    /// - Throws: What the work throws, or ``Stalled``; in any case after the work has ended.
    func run(_ work: @escaping @Sendable () async throws -> Void) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await work() }
            group.addTask { try await self.watch() }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    private func watch() async throws {
        let start = ContinuousClock.now
        while true {
            try await Task.sleep(for: min(self.idle, self.total) / 8)
            let now = ContinuousClock.now
            let since = self.waitingSince.withLockedValue { $0 } ?? now
            guard now - since < self.idle, now - start < self.total else { throw Stalled() }
        }
    }
}
