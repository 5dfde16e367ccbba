package import PushModel

/// The apps of the installation.
package protocol AppStore: Sendable {
    /// Declares an app, or replaces its declaration.
    ///
    /// - Returns: Whether anything changed.
    func apply(_ spec: AppSpec, to app: AppID) async throws -> Bool

    func app(_ app: AppID) async throws -> AppSpec?

    /// All apps, sorted by name.
    func apps() async throws -> [AppID: AppSpec]
}

/// Accounts and keys.
package protocol AccountStore: Sendable {
    /// Adds an account, or gives an existing one this role and password and enables it again.
    ///
    /// - Parameters:
    ///   - account: App, name, role.
    ///   - passwordHash: Opaque to the store; never the password.
    /// - Throws: ``StoreError``.
    func put(_ account: Account, passwordHash: String) async throws

    /// The account and its password's hash, or nil.
    func account(_ name: UserName, app: AppID) async throws -> (account: Account, passwordHash: String)?

    /// All accounts of the app, by name.
    func accounts(app: AppID) async throws -> [Account]

    /// - Returns: false when there is no such account.
    func setDisabled(_ disabled: Bool, account: UserName, app: AppID) async throws -> Bool

    /// Stores a key.
    ///
    /// - Parameters:
    ///   - key: App, name, role.
    ///   - hash: SHA-256 of the secret.
    /// - Throws: ``StoreError`` with ``StoreError/Code/conflict`` when the app has a key of that name.
    func add(_ key: APIKey, hash: [UInt8]) async throws

    /// The key whose secret has that hash, revoked or not.
    func key(hash: [UInt8]) async throws -> APIKey?

    /// All keys of the app, by name.
    func keys(app: AppID) async throws -> [APIKey]

    /// - Returns: false when there is no such key that still works.
    func revokeKey(named name: String, app: AppID) async throws -> Bool
}
