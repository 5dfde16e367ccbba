package import PushModel

/// Changes of apps, and of who may do what with them.
package protocol AdministrationStore: Sendable {
    /// Makes a change.
    ///
    /// - Parameter change: The change.
    /// - Returns: false if nothing changed: what it needs is not there, or all is so already.
    /// - Throws: ``StoreError``; the kinds of changes say which.
    @discardableResult
    func apply(_ change: AdministrationChange) async throws -> Bool
}

/// A change of an app, or of who may do what with it.
package enum AdministrationChange: Sendable {
    /// Declares an app, or replaces its declaration.
    ///
    /// ``StoreError/Code/conflict``, with a sentence for the operator, where ``AppSpec/users`` or the kind of hub would change and the app has
    /// what depends on it, or accounts that would become one.
    case app(AppID, AppSpec)
    case account(AccountChange)
    case key(KeyChange)
    case hubRule(HubRuleChange)
    case pause(PauseChange)
    case session(SessionChange)
}

/// A change of an account.
///
/// ``StoreError/Code/lastOperator`` where it would leave the app without an operator.
package enum AccountChange: Sendable {
    /// Adds an account, or gives an existing one this role and password and enables it again.
    ///
    /// The password's hash is opaque to the store; it is never the password. ``StoreError/Code/conflict`` for an account whose name
    /// differs from another's only by letter case, in an app that folds names.
    case put(Account, passwordHash: String)
    /// Adds an account; ``StoreError/Code/conflict`` for a name that an account of the app has.
    case add(Account, passwordHash: String)
    /// Changes an account; needs one of that name.
    case update(AccountUpdate, account: UserName, app: AppID)
    /// Removes an account; needs one of that name. What it has registered, sent and uploaded stays.
    case remove(account: UserName, app: AppID)
}

/// What to change of an account; nil = it stays as it is.
package struct AccountUpdate: Sendable {
    package var role: Role?
    package var passwordHash: String?
    package var isDisabled: Bool?

    package init(role: Role? = nil, passwordHash: String? = nil, isDisabled: Bool? = nil) {
        self.role = role
        self.passwordHash = passwordHash
        self.isDisabled = isDisabled
    }
}

/// A change of a key.
package enum KeyChange: Sendable {
    /// Adds a key, whose secret has that SHA-256; ``StoreError/Code/conflict`` for a name that a key of the app has, revoked or not.
    case add(APIKey, hash: [UInt8])
    /// Revokes a key; needs one of that name that still works.
    ///
    /// Whoever is left: a secret that has leaked must not work on, and the host can always make another.
    case revoke(named: String, app: AppID)
}

/// A change of a rule of an app's hub.
package enum HubRuleChange: Sendable {
    /// Adds a rule; ``StoreError/Code/conflict`` where the app has a rule of that name.
    case add(HubRule)
    /// Replaces one of a rule's keys; needs a rule of that name.
    case replace(HubRule.Key, with: String, ofRule: String, app: AppID)
    /// Deletes a rule, so that its keys work no more; needs one of that name.
    case delete(named: String, app: AppID)
}

/// A change of what is not worked on; without an app it is of all apps.
package enum PauseChange: Sendable {
    /// Pauses a queue; one that is paused stays as it is. `by`: the author, for display.
    case begin(WorkQueue, app: AppID?, by: String)
    /// Ends a pause, so that waiting messages are due; needs one.
    case end(WorkQueue, app: AppID?)
}

/// A change of a session, by SHA-256 of its secret.
package enum SessionChange: Sendable {
    /// Puts the end of a session that is used off, to `idle` from now, and never beyond its latest end; needs one that has not ended.
    case renew(hash: [UInt8], idle: Duration)
    /// Ends a session of the app; needs one.
    case end(hash: [UInt8], app: AppID)
}
