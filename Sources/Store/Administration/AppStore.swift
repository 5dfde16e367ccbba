package import PushModel

/// The apps of the installation.
package protocol AppStore: Sendable {
    /// The declared apps.
    ///
    /// - Parameter name: The only one to look for; nil = all.
    /// - Returns: Their declarations.
    /// - Throws: ``StoreError``.
    func apps(_ name: AppID?) async throws -> [AppID: AppSpec]
}

extension AppStore {
    /// All declared apps.
    package func apps() async throws -> [AppID: AppSpec] { try await self.apps(nil) }

    /// The app's declaration, or nil.
    package func app(_ app: AppID) async throws -> AppSpec? { try await self.apps(app)[app] }
}
