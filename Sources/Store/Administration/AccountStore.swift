package import PushModel

/// Accounts and keys.
package protocol AccountStore: Sendable {
    /// Changes an account or a key.
    ///
    /// - Parameter change: The change.
    /// - Returns: false if the account or key does not exist.
    /// - Throws: ``StoreError``, with ``StoreError/Code/conflict`` for a name that is taken, and for an account
    ///   whose name differs from another's only by letter case, in an app that folds names; with
    ///   ``StoreError/Code/lastOperator`` where the change would leave the app without an operator.
    @discardableResult
    func change(_ change: AccountChange) async throws -> Bool

    /// The account and its password's hash, or nil.
    func account(_ name: UserName, app: AppID) async throws -> (account: Account, passwordHash: String)?

    /// The app's accounts, in the order in which they were added.
    ///
    /// - Parameters:
    ///   - app: The app.
    ///   - cursor: The cursor of the page before.
    ///   - limit: The most, 1 to 1000.
    /// - Returns: A page of the list.
    /// - Throws: ``StoreError``.
    func accounts(app: AppID, cursor: String?, limit: Int) async throws -> Page<Account>

    /// The key whose secret has that hash, revoked or not.
    func key(hash: [UInt8]) async throws -> APIKey?

    /// All keys of the app, by name.
    func keys(app: AppID) async throws -> [APIKey]
}

extension AccountStore {
    /// Why a key cannot have a name that another has: the same words for the API and the command line.
    package func takenKeyName(_ name: String, app: AppID) async throws -> String {
        let known = try await self.keys(app: app).first { $0.name == name }
        return known?.revoked == nil
            ? "\(app) has a key named \"\(name)\"; choose another name"
            : "the name \"\(name)\" belongs to a revoked key of \(app), and names are not used again; choose another"
    }
}

/// A change of an account or a key.
package enum AccountChange: Sendable {
    /// Adds an account, or gives an existing one this role and password and enables it again.
    ///
    /// The password's hash is opaque to the store; it is never the password.
    case put(Account, passwordHash: String)
    /// Adds an account; needs a name that no account of the app has.
    case add(Account, passwordHash: String)
    /// Changes an account; needs one of that name.
    case update(AccountUpdate, account: UserName, app: AppID)
    /// Removes an account; needs one of that name. What it has registered, sent and uploaded stays.
    case remove(account: UserName, app: AppID)
    /// Adds a key, whose secret has that SHA-256; needs a name that no key of the app has.
    case addKey(APIKey, hash: [UInt8])
    /// Revokes a key; needs one of that name that still works.
    case revokeKey(named: String, app: AppID)
}

/// What to change of an account; nil = it stays as it is.
package struct AccountUpdate: Sendable {
    package var role: Role?
    package var passwordHash: String?
    package var isDisabled: Bool?

    package init(role: Role? = nil, passwordHash: String? = nil, isDisabled: Bool? = nil) {
        self.role = role
        self.passwordHash = passwordHash
        self.isDisabled = isDisabled
    }
}
