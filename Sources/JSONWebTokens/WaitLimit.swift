import NIOConcurrencyHelpers

/// Bounds the tokens of all apps that wait for keys, so that slow issuers leave room for other requests.
package final class WaitLimit: Sendable {
    private let waiting = NIOLockedValueBox(0)
    private let most: Int

    /// - Parameter most: The most tokens that wait at a time.
    package init(_ most: Int) { self.most = most }

    /// - Returns: false when too many wait already; otherwise ``leave()`` must follow.
    func enter() -> Bool {
        self.waiting.withLockedValue { waiting in
            guard waiting < self.most else { return false }
            waiting += 1
            return true
        }
    }

    func leave() { self.waiting.withLockedValue { $0 -= 1 } }
}
