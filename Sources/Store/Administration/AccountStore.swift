package import PushModel

/// Accounts and keys.
package protocol AccountStore: Sendable {
    /// Accounts of an app, in the order in which they were added.
    ///
    /// - Throws: ``StoreError``.
    func accounts(_ query: AccountQuery) async throws -> Page<StoredAccount>

    /// Keys, revoked or not, by name.
    ///
    /// - Throws: ``StoreError``.
    func keys(_ query: KeyQuery) async throws -> [APIKey]
}

/// Which accounts to list.
package struct AccountQuery: Sendable {
    package var app: AppID
    package var name: UserName?
    /// The cursor of the page before.
    package var cursor: String?
    /// 1 to 1000.
    package var limit: Int

    package init(app: AppID, name: UserName? = nil, cursor: String? = nil, limit: Int = 100) {
        self.app = app
        self.name = name
        self.cursor = cursor
        self.limit = limit
    }
}

/// Which keys to list.
package enum KeyQuery: Sendable {
    /// All of an app.
    case app(AppID)
    /// The one whose secret has that SHA-256.
    case hash([UInt8])
}

/// An account, with its password's hash.
package struct StoredAccount: Sendable {
    package let account: Account
    package let passwordHash: String

    package init(account: Account, passwordHash: String) {
        self.account = account
        self.passwordHash = passwordHash
    }
}

extension AccountStore {
    /// The app's account of that name, or nil.
    package func account(_ name: UserName, app: AppID) async throws -> StoredAccount? {
        try await self.accounts(AccountQuery(app: app, name: name, limit: 1)).items.first
    }

    /// Why a key cannot have a name that another has: the same words for the API and the command line.
    package func takenKeyName(_ name: String, app: AppID) async throws -> String {
        let known = try await self.keys(.app(app)).first { $0.name == name }
        return known?.revoked == nil
            ? "\(app) has a key named \"\(name)\"; choose another name"
            : "the name \"\(name)\" belongs to a revoked key of \(app), and names are not used again; choose another"
    }
}
