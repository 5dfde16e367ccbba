import NIOConcurrencyHelpers
package import PushModel
package import Store

/// The apps' declarations, remembered for a moment so that a message costs no read of its own.
package final class AppDirectory: Sendable {
    private struct Entry {
        let spec: AppSpec?
        let read: ContinuousClock.Instant
    }

    private let store: any AppStore
    private let lifetime: Duration
    private let entries = NIOLockedValueBox<[AppID: Entry]>([:])

    /// - Parameters:
    ///   - store: Where apps are declared.
    ///   - lifetime: How long a change may go unseen.
    package init(store: any AppStore, lifetime: Duration = .seconds(2)) {
        self.store = store
        self.lifetime = lifetime
    }

    /// The app's declaration, or nil when no such app is declared.
    package func spec(of app: AppID) async throws -> AppSpec? {
        let known = self.entries.withLockedValue { $0[app] }
        if let known, known.read.duration(to: .now) < self.lifetime { return known.spec }
        let spec = try await self.store.app(app)
        self.entries.withLockedValue { entries in
            // Names come from messages: forget all before a flood of unknown ones fills the memory.
            if entries.count >= 10_000 { entries.removeAll() }
            entries[app] = Entry(spec: spec, read: .now)
        }
        return spec
    }
}
