import Authentication
import PushModel

/// Which page a session is for: one of the app's page is nothing at the console, nor the other way round.
enum SessionKind: Sendable {
    case page
    case console

    /// The name of the cookie of the default app, and what that of another begins with.
    var cookie: String {
        switch self {
        case .page: "__Host-pushline"
        case .console: "__Host-console"
        }
    }

    var purpose: SessionSecret.Purpose {
        switch self {
        case .page: .page
        case .console: .console
        }
    }

    /// The role that an account of that role has in a session; nil = it may have none.
    func role(of role: Role) -> Role? {
        switch self {
        // A viewer's session would have devices and sends of its own.
        case .page: role == .viewer ? nil : .user
        case .console: role == .operator || role == .viewer ? role : nil
        }
    }

    /// Why an account of another role is turned away.
    var refusal: String {
        switch self {
        case .page: "a viewer only sees what is there, and has no page of their own"
        case .console: "the console is for operators and viewers"
        }
    }
}
