import PushModel
import Store

/// Apps, accounts and keys as the store has them, remembered for a moment so that a request costs no read.
final class AppDirectory: Sendable {
    struct Credential: Sendable {
        let account: Account
        let passwordHash: String
    }

    private struct AccountKey: Hashable, Sendable {
        let app: AppID
        let name: UserName
    }

    private let store: any ResultStore
    private let apps: ExpiringCache<AppID, AppSpec?>
    private let accounts: ExpiringCache<AccountKey, Credential?>
    private let keys: ExpiringCache<[UInt8], APIKey?>

    /// - Parameters:
    ///   - store: The truth.
    ///   - lifetime: For how long a change may go unseen by this process.
    init(store: any ResultStore, lifetime: Duration) {
        self.store = store
        self.apps = ExpiringCache(lifetime: lifetime, capacity: 1_000)
        self.accounts = ExpiringCache(lifetime: lifetime, capacity: 10_000)
        self.keys = ExpiringCache(lifetime: lifetime, capacity: 10_000)
    }

    func spec(of app: AppID) async throws -> AppSpec? {
        if let known = self.apps[app] { return known }
        let spec = try await self.store.app(app)
        self.apps.store(spec, for: app)
        return spec
    }

    func account(_ name: UserName, app: AppID) async throws -> Credential? {
        let key = AccountKey(app: app, name: name)
        if let known = self.accounts[key] { return known }
        let found = try await self.store.account(name, app: app).map {
            Credential(account: $0.account, passwordHash: $0.passwordHash)
        }
        self.accounts.store(found, for: key)
        return found
    }

    func key(_ secret: APIKeySecret) async throws -> APIKey? {
        let hash = secret.hash
        if let known = self.keys[hash] { return known }
        let found = try await self.store.key(hash: hash)
        self.keys.store(found, for: hash)
        return found
    }
}
