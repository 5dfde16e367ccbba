package import PushModel

/// The sessions of users in browsers (decision 35): every API process knows them, and they outlive it.
///
/// They end by the store's clock. An account's sessions go in the commit that removes it, disables it or gives it another password,
/// a user's with the user.
package protocol SessionStore: Sendable {
    /// Opens a session; of those that the user has already, the oldest go beyond the limit.
    ///
    /// - Parameter session: The session.
    /// - Returns: The session; nil if its password is not the account's by now, or the account may not sign in.
    /// - Throws: ``StoreError``; ``StoreError/Code/conflict`` where one has its secret, be it one that has ended.
    func openSession(_ session: NewSession) async throws -> Session?

    /// The session whose secret has that hash, unless it has ended.
    ///
    /// - Throws: ``StoreError``.
    func session(hash: [UInt8]) async throws -> Session?
}

/// A session to open.
package struct NewSession: Sendable {
    package let app: AppID
    package let user: UserName
    /// SHA-256 of its secret.
    package let hash: [UInt8]
    /// The account's hash that the password was compared with; nil = the demonstration scheme, which needs no account.
    package let passwordHash: String?
    /// For how long it lasts at most.
    package let lifetime: Duration
    /// For how long it lasts without use.
    package let idle: Duration
    /// The most sessions of a user.
    package let limit: Int

    package init(
        app: AppID,
        user: UserName,
        hash: [UInt8],
        passwordHash: String?,
        lifetime: Duration,
        idle: Duration,
        limit: Int
    ) {
        self.app = app
        self.user = user
        self.hash = hash
        self.passwordHash = passwordHash
        self.lifetime = lifetime
        self.idle = idle
        self.limit = limit
    }
}

/// A session that has not ended.
package struct Session: Sendable, Equatable {
    package let app: AppID
    package let user: UserName
    /// Whether it was opened without an account, by the demonstration scheme.
    package let isDemonstration: Bool
    /// When it ends at the latest, as its user was told.
    package let expires: Timestamp
    /// How long it stays without use.
    package let left: Duration

    package init(app: AppID, user: UserName, isDemonstration: Bool, expires: Timestamp, left: Duration) {
        self.app = app
        self.user = user
        self.isDemonstration = isDemonstration
        self.expires = expires
        self.left = left
    }
}
