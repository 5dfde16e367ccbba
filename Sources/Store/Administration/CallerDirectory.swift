package import PushModel

/// Accounts and keys as the store has them, remembered for a moment so that a request costs no read.
package final class CallerDirectory: Sendable {
    private struct AccountKey: Hashable, Sendable {
        let app: AppID
        let name: UserName
    }

    private let store: any AccountStore
    private let accounts: ExpiringCache<AccountKey, StoredAccount?>
    private let keys: ExpiringCache<[UInt8], APIKey?>
    /// The names of all keys of an app that a user may have.
    private let keyNames: ExpiringCache<AppID, Set<UserName>>

    /// - Parameters:
    ///   - store: The truth.
    ///   - lifetime: For how long a change may go unseen by this process.
    package init(store: any AccountStore, lifetime: Duration) {
        self.store = store
        self.accounts = ExpiringCache(lifetime: lifetime, capacity: 10_000)
        self.keys = ExpiringCache(lifetime: lifetime, capacity: 10_000)
        self.keyNames = ExpiringCache(lifetime: lifetime, capacity: 10_000)
    }

    /// - Returns: The account and its password's hash; nil when there is none.
    /// - Throws: ``StoreError``.
    package func account(_ name: UserName, app: AppID) async throws -> StoredAccount? {
        let key = AccountKey(app: app, name: name)
        if let known = self.accounts[key] { return known }
        let removals = self.accounts.removals
        let found = try await self.store.account(name, app: app)
        self.accounts.store(found, for: key, removals: removals)
        return found
    }

    /// Forgets an account that was changed: the next request of this process reads it anew.
    package func forget(_ name: UserName, app: AppID) { self.accounts.remove(AccountKey(app: app, name: name)) }

    /// - Parameter hash: SHA-256 of the key's secret.
    /// - Returns: The key; nil when there is none.
    /// - Throws: ``StoreError``.
    package func key(hash: [UInt8]) async throws -> APIKey? {
        if let known = self.keys[hash] { return known }
        let found = try await self.store.keys(.hash(hash)).first
        self.keys.store(found, for: hash)
        return found
    }

    /// - Parameters:
    ///   - name: A user's name.
    ///   - app: The app.
    ///   - users: How it compares names.
    /// - Returns: Whether a key of the app, revoked or not, has that name.
    /// - Throws: ``StoreError``.
    package func hasKey(named name: UserName, app: AppID, users: AppSpec.Users) async throws -> Bool {
        if let known = self.keyNames[app] { return known.contains(name) }
        let names = Set(try await self.store.keys(.app(app)).compactMap { try? UserName($0.name, users) })
        self.keyNames.store(names, for: app)
        return names.contains(name)
    }
}
