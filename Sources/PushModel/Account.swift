/// What an account or key may do within its app.
public enum Role: String, Codable, Sendable, CaseIterable {
    /// Its own devices, sends and jobs.
    case user
    /// Sends to any user or tag, and sees its own jobs.
    case sender
    /// All of the app.
    case `operator`
}

/// Someone who signs in with name and password.
public struct Account: Sendable, Equatable {
    public let app: AppID
    public let name: UserName
    public let role: Role
    public let isDisabled: Bool
    public let created: Timestamp

    public init(app: AppID, name: UserName, role: Role, isDisabled: Bool, created: Timestamp) {
        self.app = app
        self.name = name
        self.role = role
        self.isDisabled = isDisabled
        self.created = created
    }
}

/// A backend's key, without its secret.
public struct APIKey: Sendable, Equatable {
    public let app: AppID
    /// Public: names the key in lists, logs and jobs.
    public let name: String
    public let role: Role
    public let created: Timestamp
    public let revoked: Timestamp?

    public init(app: AppID, name: String, role: Role, created: Timestamp, revoked: Timestamp?) {
        self.app = app
        self.name = name
        self.role = role
        self.created = created
        self.revoked = revoked
    }
}
