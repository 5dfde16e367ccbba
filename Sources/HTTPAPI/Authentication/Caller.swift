import PushModel
import WebServing

extension Caller {
    /// - Throws: ``Problem`` 403 for everybody else.
    func requireOperator() throws {
        guard self.role == .operator else { throw Self.onlyOperators }
    }

    /// Lets operators in, and viewers, who see what these see.
    ///
    /// - Throws: ``Problem`` 403 for everybody else.
    func requireSeeingAll() throws {
        guard self.seesAll else { throw Self.onlyOperators }
    }

    static let onlyOperators = Problem.forbidden("only an operator of the app may do this")

    /// The account behind the call.
    ///
    /// Resources of a user need one.
    ///
    /// - Throws: ``Problem`` 403 for a backend's key.
    func requireUser() throws -> UserName {
        guard let user = self.user else {
            throw Problem.forbidden("this belongs to a user: sign in with an account, not with a key")
        }
        return user
    }
}
