import NIOConcurrencyHelpers
import OutgoingHTTP

/// Counts the sends that use a client, so that it is not shut down under them.
final class SendsInProgress: Sendable {
    private struct State {
        var count = 0
        var isClosed = false
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    private let state = NIOLockedValueBox(State())

    /// - Returns: false when nothing more is to be begun; else ``end()`` must follow.
    func begin() -> Bool {
        self.state.withLockedValue { state in
            if !state.isClosed { state.count += 1 }
            return !state.isClosed
        }
    }

    func end() {
        let waiters = self.state.withLockedValue { state -> [CheckedContinuation<Void, Never>] in
            state.count -= 1
            guard state.count == 0 else { return [] }
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Lets no new send begin, and returns when those in progress have ended, or at the deadline.
    func close(by deadline: ContinuousClock.Instant) async {
        await DeadlineWatch.shared.run(until: deadline, grace: .zero) { await self.idle() }
    }

    private func idle() async {
        await withCheckedContinuation { continuation in
            let isIdle = self.state.withLockedValue { state in
                state.isClosed = true
                if state.count > 0 { state.waiters.append(continuation) }
                return state.count == 0
            }
            if isIdle { continuation.resume() }
        }
    }
}
