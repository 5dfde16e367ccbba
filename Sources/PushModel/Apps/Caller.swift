/// The authenticated caller, within an app.
///
/// Compared without the role: a user who comes now with a password and now with a token has one share of the limits.
package struct Caller: Sendable, Hashable {
    package enum Identity: Sendable, Hashable {
        case account(UserName)
        /// The name of a backend's key.
        case key(String)
    }

    package let app: AppID
    package let identity: Identity
    package let role: Role

    package init(app: AppID, identity: Identity, role: Role) {
        self.app = app
        self.identity = identity
        self.role = role
    }

    /// Somebody who is not known: has a share of the limits, as all at that address, and no rights.
    package static func unknown(at client: IPAddress, app: AppID) -> Caller {
        Caller(app: app, identity: .key("client \(client)"), role: .user)
    }

    /// The user, or nil for a backend's key.
    package var user: UserName? {
        if case .account(let name) = self.identity { name } else { nil }
    }

    /// The key's name, or nil for a user.
    package var key: String? {
        if case .key(let name) = self.identity { name } else { nil }
    }

    /// Whether it speaks for the app, whose devices and users are its own affair: an operator, or a backend's key.
    package var actsForApp: Bool { self.role == .operator || self.role == .sender && self.key != nil }

    /// Whether it sees all of the app.
    package var seesAll: Bool { self.role == .operator || self.role == .viewer }

    /// Account or key with its kind, so that two callers never share data stored under it.
    package var description: String {
        switch self.identity {
        case .account(let name): name.caller
        case .key(let name): "key:\(name)"
        }
    }

    /// The caller for the log: a backend's key by its name, an account by its role alone, for logs hold no users' names.
    package var logged: String { self.key.map { "key:\($0)" } ?? "account:\(self.role.rawValue)" }

    package static func == (lhs: Caller, rhs: Caller) -> Bool { lhs.app == rhs.app && lhs.identity == rhs.identity }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(self.app)
        hasher.combine(self.identity)
    }

    /// Whether the caller may see the job: operators and viewers see all jobs of the app, others their own.
    package func maySee(_ job: Job) -> Bool {
        guard job.app == self.app else { return false }
        switch self.identity {
        case _ where self.seesAll: return true
        case .account(let name): return job.user == name && job.key == nil
        case .key(let name): return job.key == name
        }
    }
}
