import NIOConcurrencyHelpers
package import PushModel

/// A counting semaphore for a resource of the process.
///
/// It leaves permits to other callers and to other apps.
///
/// A single caller may hold seven eighths. The last eighth (at least one permit, of two or more) is the *reserve*: its
/// first half is for callers below their share, and its last half only if their app is below its share, too.
///
/// - A *caller* is below its share without a permit, or with less than an eighth of the free ones. The share shrinks as
///   callers use the reserve, so that a few of them cannot empty it.
/// - An *app* is below its share without a permit, or with less than an equal part of all permits among the apps with a
///   request since the process began. A single app is always below it.
///
/// There is no waiting: a request without a permit is refused, and may be repeated.
package final class FairPermits: Sendable {
    /// Permits that are released with this.
    package final class Permit: Sendable {
        private let permits: FairPermits
        private let count: Int
        private let caller: Caller

        fileprivate init(_ count: Int, of permits: FairPermits, caller: Caller) {
            self.permits = permits
            self.count = count
            self.caller = caller
        }

        deinit { self.permits.release(self.count, of: self.caller) }
    }

    private struct State {
        var free: Int
        /// Permits held by each caller that holds any.
        var callers: [Caller: Int] = [:]
        /// Permits held by each app that has ever asked; bounded by the declared apps.
        var apps: [AppID: Int] = [:]
    }

    /// The number of permits.
    let capacity: Int
    private let reserve: Int
    private let state: NIOLockedValueBox<State>
    private let whenIdle: @Sendable () -> Void

    /// - Parameters:
    ///   - capacity: The number of permits.
    ///   - whenIdle: Called when all permits are free again.
    package init(_ capacity: Int, whenIdle: @escaping @Sendable () -> Void = {}) {
        self.capacity = capacity
        self.reserve = capacity < 2 ? 0 : max(1, capacity / 8)
        self.state = NIOLockedValueBox(State(free: capacity))
        self.whenIdle = whenIdle
    }

    /// Takes permits; ``release(_:of:)`` must follow.
    ///
    /// - Returns: false when the caller may have none now.
    package func take(_ count: Int = 1, for caller: Caller) -> Bool {
        self.state.withLockedValue { state in
            let ofApp = state.apps[caller.app, default: 0]
            let held = state.callers[caller, default: 0]
            let left = state.free - count
            let isTaken =
                left >= self.reserve || (left >= 0 && self.mayUseReserve(state, left: left, held: held, ofApp: ofApp))
            // It has asked, granted or not: from now on it has a share.
            state.apps[caller.app] = isTaken ? ofApp + count : ofApp
            guard isTaken else { return false }
            state.callers[caller] = held + count
            state.free = left
            return true
        }
    }

    /// Releases permits taken with ``take(_:for:)``.
    package func release(_ count: Int = 1, of caller: Caller) {
        let isIdle = self.state.withLockedValue { state in
            state.free += count
            state.apps[caller.app, default: 0] -= count
            let held = state.callers[caller, default: 0] - count
            state.callers[caller] = held > 0 ? held : nil
            return state.free == self.capacity
        }
        if isIdle { self.whenIdle() }
    }

    /// Takes permits that are released with the result.
    ///
    /// - Returns: nil when the caller may have none now.
    package func permit(_ count: Int = 1, for caller: Caller) -> Permit? {
        self.take(count, for: caller) ? Permit(count, of: self, caller: caller) : nil
    }

    private func mayUseReserve(_ state: State, left: Int, held: Int, ofApp: Int) -> Bool {
        guard held == 0 || held < state.free / 8 else { return false }
        return left >= self.reserve / 2 || ofApp == 0 || ofApp < self.capacity / max(1, state.apps.count)
    }
}
