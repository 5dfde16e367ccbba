/// The permissions of an account or key within its app.
package enum Role: String, Codable, Sendable, CaseIterable {
    /// Its own devices, sends and jobs.
    case user
    /// Sends to any user or tag, and sees its own jobs.
    case sender
    /// Sees all of the app, and changes nothing.
    case viewer
    /// All of the app.
    case `operator`
}

/// Someone who signs in with name and password.
package struct Account: Sendable, Equatable {
    package let app: AppID
    package let name: UserName
    package let role: Role
    package let isDisabled: Bool
    package let created: Timestamp

    package init(app: AppID, name: UserName, role: Role, isDisabled: Bool, created: Timestamp) {
        self.app = app
        self.name = name
        self.role = role
        self.isDisabled = isDisabled
        self.created = created
    }
}

/// A backend's key, without its secret.
package struct APIKey: Sendable, Equatable {
    package let app: AppID
    /// Public: names the key in lists, logs and jobs.
    package let name: String
    package let role: Role
    package let created: Timestamp
    package let revoked: Timestamp?

    package init(app: AppID, name: String, role: Role, created: Timestamp, revoked: Timestamp?) {
        self.app = app
        self.name = name
        self.role = role
        self.created = created
        self.revoked = revoked
    }
}

extension APIKey {
    /// Checks the name of a new key, which has the alphabet of a user's own tags: the classic route sends as `from:` that name.
    ///
    /// - Throws: ``InvalidValue`` for any other text.
    package static func check(name: String) throws(InvalidValue) {
        guard (1...Tag.Owned.longestName).contains(name.utf8.count), name.utf8.allSatisfy(Tag.allowsInName) else {
            throw InvalidValue(
                "a key's name has 1 to \(Tag.Owned.longestName) letters, digits and _ @ # . : - ="
            )
        }
    }
}

extension UserName {
    /// The account of that name as idempotency keys, pauses and quotas name it, apart from a key of the same name.
    package var caller: String { "account:\(self.key)" }
}
