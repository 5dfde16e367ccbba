package import PushModel
package import Store

/// An account's part in who may act as the app's operator.
package struct AccountStanding: Sendable, Equatable {
    package let role: Role
    package let isDisabled: Bool

    package init(role: Role, isDisabled: Bool) {
        self.role = role
        self.isDisabled = isDisabled
    }

    package var isOperator: Bool { self.role == .operator && !self.isDisabled }

    /// After a change.
    package func after(_ update: AccountUpdate) -> AccountStanding {
        AccountStanding(role: update.role ?? self.role, isDisabled: update.isDisabled ?? self.isDisabled)
    }
}

/// An app that has an operator, an account or a key, keeps one when accounts change.
package enum LastOperator {
    /// Checks a change of an account.
    ///
    /// - Parameters:
    ///   - before: The account before.
    ///   - after: The account after the change; nil = it goes.
    ///   - hasOthers: Whether another account or a key is an operator.
    /// - Returns: Whether the change is right only while there are others.
    /// - Throws: ``StoreError/Code/lastOperator``.
    package static func check(
        _ before: AccountStanding,
        becoming after: AccountStanding?,
        hasOthers: Bool
    ) throws(StoreError) -> Bool {
        guard before.isOperator, after?.isOperator != true else { return false }
        guard hasOthers else { throw Self.refusal }
        return true
    }

    package static let refusal = StoreError(.lastOperator, "the app would be left without an operator")
}
