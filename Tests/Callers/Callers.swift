package import PushModel

extension Caller {
    /// A user with the role of one; the name must be valid.
    package static func user(_ name: String, app: AppID = .default) -> Caller {
        guard let user = try? UserName(name, .folded) else { preconditionFailure("\(name) is no name of a user") }
        return Caller(app: app, identity: .account(user), role: .user)
    }
}
