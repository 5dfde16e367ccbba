import NIOConcurrencyHelpers
package import PushModel

/// How many messages of each app a worker works on at the moment.
package final class WorkInHand: Sendable {
    private let state = NIOLockedValueBox<[AppID: Int]>([:])

    package init() {}

    /// By app, of those that have some.
    package var counts: [AppID: Int] { self.state.withLockedValue { $0 } }

    func begin(_ app: AppID?) {
        guard let app else { return }
        self.state.withLockedValue { $0[app, default: 0] += 1 }
    }

    func end(_ app: AppID?) {
        guard let app else { return }
        self.state.withLockedValue { counts in
            let rest = (counts[app] ?? 0) - 1
            counts[app] = rest > 0 ? rest : nil
        }
    }
}
