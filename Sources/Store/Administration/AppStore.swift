package import PushModel

/// The apps of the installation.
package protocol AppStore: Sendable {
    /// Declares an app, or replaces its declaration.
    ///
    /// - Parameters:
    ///   - spec: The declaration.
    ///   - app: The app.
    /// - Returns: Whether anything changed.
    /// - Throws: ``StoreError``, with ``StoreError/Code/conflict`` and a sentence for the operator where ``AppSpec/users`` would change
    ///   and the app has registrations, jobs or contents, or accounts that would become one.
    func apply(_ spec: AppSpec, to app: AppID) async throws -> Bool

    func app(_ app: AppID) async throws -> AppSpec?

    /// All apps, sorted by name.
    func apps() async throws -> [AppID: AppSpec]
}
