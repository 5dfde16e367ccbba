import NIOConcurrencyHelpers
import PushModel
import Settings

/// Ends an exchange whose peer transfers too few bytes a second, or which lasts too long.
///
/// The time spent waiting for the peer, minus the time that its bytes should take at the rate, is how far it is behind (a leaky bucket).
/// So a byte now and then keeps nothing alive.
package final class ProgressTimeout: Sendable {
    /// The other side is too far behind.
    package struct Stalled: Error {}

    private let idle: Duration
    private let total: Duration
    private let rate: Int
    private let state = NIOLockedValueBox(State())

    private struct State {
        /// How far the other side was behind when the last wait ended.
        var behind = Duration.zero
        var waitingSince: ContinuousClock.Instant?
    }

    /// - Parameters:
    ///   - idle: The longest lag behind the rate; also the longest silence.
    ///   - total: The longest time in all.
    ///   - rate: The least bytes a second.
    init(idle: Duration, total: Duration, rate: Int) {
        self.idle = idle
        self.total = total
        self.rate = rate
    }

    /// Runs an operation that waits for the client.
    ///
    /// Time between such operations is ours and does not count.
    ///
    /// - Parameters:
    ///   - bytes: The bytes transferred by the operation.
    ///   - body: The operation.
    /// - Returns: The operation's result.
    /// - Throws: The operation's error.
    package func waiting<Value>(_ bytes: (Value) -> Int, _ body: () async throws -> Value) async throws -> Value {
        let start = ContinuousClock.now
        self.state.withLockedValue { $0.waitingSince = start }
        let result: Result<Value, any Error>
        do { result = .success(try await body()) } catch { result = .failure(error) }
        var made = Duration.zero
        if case .success(let value) = result { made = .seconds(Double(bytes(value)) / Double(self.rate)) }
        self.state.withLockedValue { state in
            state.behind = max(.zero, state.behind + (.now - start) - made)
            state.waitingSince = nil
        }
        return try result.get()
    }

    /// Runs the work and cancels it when the client stalls.
    ///
    /// - Throws: The work's error or ``Stalled``, after the work has ended.
    package func run(_ work: @escaping @Sendable () async throws -> Void) async throws {
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
            let behind = self.state.withLockedValue { $0.behind + (now - ($0.waitingSince ?? now)) }
            guard behind < self.idle, now - start < self.total else { throw Stalled() }
        }
    }
}

extension ProgressTimeout {
    /// For lines, in or out.
    package convenience init(_ limits: ServingLimits) {
        self.init(idle: limits.settings.requestTime, total: limits.bulkTime, rate: limits.lineRate)
    }

    /// The error text for a client that was too slow.
    package static func words(_ limits: ServingLimits) -> String {
        "the body fell more than \(limits.settings.requestTime.inSeconds) s behind \(limits.lineRate) bytes a second, or took "
            + "longer than \(limits.bulkTime.inSeconds) s"
    }
}
