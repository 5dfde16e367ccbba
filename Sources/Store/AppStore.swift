package import PushModel

/// The apps of the installation.
package protocol AppStore: Sendable {
    /// Declares an app, or replaces its declaration.
    ///
    /// - Parameters:
    ///   - spec: What it is to be.
    ///   - app: The app.
    /// - Returns: Whether anything changed.
    /// - Throws: ``StoreError``, with ``StoreError/Code/conflict`` and a sentence for the operator where ``AppSpec/users`` would change
    ///   and the app has registrations, jobs or contents, or accounts that would become one.
    func apply(_ spec: AppSpec, to app: AppID) async throws -> Bool

    func app(_ app: AppID) async throws -> AppSpec?

    /// All apps, sorted by name.
    func apps() async throws -> [AppID: AppSpec]
}

/// Accounts and keys.
package protocol AccountStore: Sendable {
    /// Changes an account or a key.
    ///
    /// - Parameter change: What is to be changed.
    /// - Returns: false when there is nothing that it could change.
    /// - Throws: ``StoreError``, with ``StoreError/Code/conflict`` for a key whose name is taken, and for an account where there is
    ///   one whose name differs by letter case alone (where the app folds names).
    @discardableResult
    func change(_ change: AccountChange) async throws -> Bool

    /// The account and its password's hash, or nil.
    func account(_ name: UserName, app: AppID) async throws -> (account: Account, passwordHash: String)?

    /// All accounts of the app, by name.
    func accounts(app: AppID) async throws -> [Account]

    /// The key whose secret has that hash, revoked or not.
    func key(hash: [UInt8]) async throws -> APIKey?

    /// All keys of the app, by name.
    func keys(app: AppID) async throws -> [APIKey]
}

/// A change of an account or a key.
package enum AccountChange: Sendable {
    /// Adds an account, or gives an existing one this role and password and enables it again.
    ///
    /// The password's hash is opaque to the store; it is never the password.
    case put(Account, passwordHash: String)
    /// Disables an account, or enables it again; needs one of that name.
    case setDisabled(Bool, account: UserName, app: AppID)
    /// Adds a key, whose secret has that SHA-256; needs a name that no key of the app has.
    case addKey(APIKey, hash: [UInt8])
    /// Revokes a key; needs one of that name that still works.
    case revokeKey(named: String, app: AppID)
}
