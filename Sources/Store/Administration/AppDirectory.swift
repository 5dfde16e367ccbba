package import PushModel

/// The apps' declarations, remembered for a moment so that a message or a request costs no read of its own.
package final class AppDirectory: Sendable {
    private let store: any AppStore
    private let apps: ExpiringCache<AppID, AppSpec?>

    /// - Parameters:
    ///   - store: Where apps are declared.
    ///   - lifetime: How long a change may go unseen.
    package init(store: any AppStore, lifetime: Duration = .seconds(2)) {
        self.store = store
        // Names come from messages and paths: bounded, also against a flood of unknown ones.
        self.apps = ExpiringCache(lifetime: lifetime, capacity: 10_000)
    }

    /// The app's declaration, or nil when no such app is declared.
    package func spec(of app: AppID) async throws -> AppSpec? {
        if let known = self.apps[app] { return known }
        let spec = try await self.store.app(app)
        self.apps.store(spec, for: app)
        return spec
    }
}
