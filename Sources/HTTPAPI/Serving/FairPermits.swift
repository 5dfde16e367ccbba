import NIOConcurrencyHelpers
import PushModel

/// A fixed number of permits for what takes memory or time of the whole process, shared so that nobody takes all of them.
///
/// Whoever is alone may have seven eighths. The last eighth (one at least, where there are two) is the *reserve*: who asks gets of its first
/// half only while the caller is below its share, and of its last half only while its app is, too.
///
/// - A *caller* is below its share while it holds none, or less than an eighth of what is free. The more callers take of the reserve, the
///   less each may have of it: no few of them empty it.
/// - An *app* is below its share while it holds none, or less than an equal part of all permits: one for each app that has
///   asked since the process began. An app that is alone is always below it.
///
/// Nobody waits: who gets none is refused, and may come again.
final class FairPermits: Sendable {
    /// Permits that are taken for as long as somebody has this.
    final class Permit: Sendable {
        private let permits: FairPermits
        private let count: Int
        private let caller: Caller

        fileprivate init(_ count: Int, of permits: FairPermits, caller: Caller) {
            self.permits = permits
            self.count = count
            self.caller = caller
        }

        deinit { self.permits.giveBack(self.count, of: self.caller) }
    }

    private struct State {
        var free: Int
        /// What those hold who hold any.
        var callers: [Caller: Int] = [:]
        /// What each app holds that has asked: no more than are declared.
        var apps: [AppID: Int] = [:]
    }

    /// How many there are.
    let capacity: Int
    private let reserve: Int
    private let state: NIOLockedValueBox<State>
    private let whenIdle: @Sendable () -> Void

    /// - Parameters:
    ///   - capacity: How many there are.
    ///   - whenIdle: Called when the last that was taken is given back.
    init(_ capacity: Int, whenIdle: @escaping @Sendable () -> Void = {}) {
        self.capacity = capacity
        self.reserve = capacity < 2 ? 0 : max(1, capacity / 8)
        self.state = NIOLockedValueBox(State(free: capacity))
        self.whenIdle = whenIdle
    }

    /// Takes permits; ``giveBack(_:of:)`` must follow.
    ///
    /// - Returns: false when the caller may have none now.
    func take(_ count: Int = 1, for caller: Caller) -> Bool {
        self.state.withLockedValue { state in
            let ofApp = state.apps[caller.app, default: 0]
            let held = state.callers[caller, default: 0]
            let left = state.free - count
            let isTaken =
                left >= self.reserve || (left >= 0 && self.mayUseReserve(state, left: left, held: held, ofApp: ofApp))
            // It has asked, whatever the answer: from now on it has a share.
            state.apps[caller.app] = isTaken ? ofApp + count : ofApp
            guard isTaken else { return false }
            state.callers[caller] = held + count
            state.free = left
            return true
        }
    }

    /// Gives back what ``take(_:for:)`` took.
    func giveBack(_ count: Int = 1, of caller: Caller) {
        let isIdle = self.state.withLockedValue { state in
            state.free += count
            state.apps[caller.app, default: 0] -= count
            let held = state.callers[caller, default: 0] - count
            state.callers[caller] = held > 0 ? held : nil
            return state.free == self.capacity
        }
        if isIdle { self.whenIdle() }
    }

    /// Takes permits for as long as somebody has what is returned.
    ///
    /// - Returns: nil when the caller may have none now.
    func permit(_ count: Int = 1, for caller: Caller) -> Permit? {
        self.take(count, for: caller) ? Permit(count, of: self, caller: caller) : nil
    }

    private func mayUseReserve(_ state: State, left: Int, held: Int, ofApp: Int) -> Bool {
        guard held == 0 || held < state.free / 8 else { return false }
        return left >= self.reserve / 2 || ofApp == 0 || ofApp < self.capacity / max(1, state.apps.count)
    }
}
