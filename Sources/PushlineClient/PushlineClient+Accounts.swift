extension PushlineClient {
    /// The app's accounts, in the order in which they were added; for operators.
    ///
    /// - Parameters:
    ///   - limit: The most to return, 1 to 1000.
    ///   - cursor: The cursor of the page before.
    /// - Returns: A page of the list.
    /// - Throws: ``PushlineError``.
    public func accounts(limit: Int? = nil, cursor: String? = nil) async throws -> Page<Account> {
        let query = [("limit", limit.map(String.init)), ("cursor", cursor)]
        return try await self.value(Call(method: "GET", path: ["accounts"], query: query))
    }

    /// Adds an account; for operators.
    ///
    /// - Parameters:
    ///   - name: The name to sign in with.
    ///   - role: `user`, `sender`, `viewer` or `operator`.
    ///   - password: 8 to 1024 characters.
    /// - Returns: The account.
    /// - Throws: ``PushlineError``; ``PushlineError/Code/conflict`` if the app has an account of that name.
    public func createAccount(named name: String, role: String, password: String) async throws -> Account {
        let body = try Coding.body(["name": name, "role": role, "password": password])
        return try await self.value(Call(method: "POST", path: ["accounts"], body: body))
    }

    /// Changes an account; for operators.
    ///
    /// - Parameters:
    ///   - name: The account.
    ///   - role: The new role; nil = it stays as it is, as for the others.
    ///   - password: The new password, 8 to 1024 characters.
    ///   - disabled: Whether signing in is refused.
    ///   - isSelf: Whether it may be the caller's own account that ceases to be an operator's.
    /// - Returns: The account as it is now.
    /// - Throws: ``PushlineError``; ``PushlineError/Code/conflict`` if the app would have no operator left.
    public func changeAccount(
        _ name: String,
        role: String? = nil,
        password: String? = nil,
        disabled: Bool? = nil,
        isSelf: Bool = false
    ) async throws -> Account {
        let body = try Coding.body(AccountChange(role: role, password: password, disabled: disabled))
        return try await self.value(
            Call(method: "PATCH", path: ["accounts", name], query: Self.own(isSelf), body: body)
        )
    }

    /// Removes an account; for operators.
    ///
    /// Its devices and sends stay: ``removeUser(_:isSelf:)`` removes them too.
    ///
    /// - Parameters:
    ///   - name: The account.
    ///   - isSelf: Whether it may be the caller's own.
    /// - Throws: ``PushlineError``; ``PushlineError/Code/conflict`` if the app would have no operator left.
    public func removeAccount(_ name: String, isSelf: Bool = false) async throws {
        try await self.answer(Call(method: "DELETE", path: ["accounts", name], query: Self.own(isSelf)))
    }

    /// Removes a user with all that there is of them: devices, uploads, rich notifications, contents of sends, the account and the
    /// name; for a backend's key, or for operators, who alone remove an account with it.
    ///
    /// - Parameters:
    ///   - user: The user.
    ///   - isSelf: Whether it may be the caller's own account.
    /// - Returns: The job: wait for it by ``waitForOutcome(of:within:onChange:)``. One that is under way is returned again.
    /// - Throws: ``PushlineError``; ``PushlineError/Code/forbidden`` for a key where an account has that name.
    public func removeUser(_ user: String, isSelf: Bool = false) async throws -> Job {
        try await self.value(Call(method: "DELETE", path: ["users", user], query: Self.own(isSelf)))
    }

    /// The parameter of a change that may end the caller's own account.
    static func own(_ isSelf: Bool) -> [(name: String, value: String?)] { [("self", isSelf ? "true" : nil)] }

    /// The app's keys, without their secrets; for operators.
    ///
    /// - Throws: ``PushlineError``.
    public func keys() async throws -> [Key] {
        let page: Page<Key> = try await self.value(Call(method: "GET", path: ["keys"]))
        return page.items
    }

    /// Creates a key; for operators.
    ///
    /// - Parameters:
    ///   - name: The key's name in lists and jobs.
    ///   - role: `sender` or `operator`.
    /// - Returns: The key with its secret, which is shown only once.
    /// - Throws: ``PushlineError``; ``PushlineError/Code/conflict`` if the app has a key of that name.
    public func createKey(named name: String, role: String) async throws -> Key {
        let body = try Coding.body(["name": name, "role": role])
        return try await self.value(Call(method: "POST", path: ["keys"], body: body))
    }

    /// Revokes a key; for operators.
    ///
    /// - Throws: ``PushlineError``; ``PushlineError/Code/notFound`` when no key of that name works.
    public func revokeKey(named name: String) async throws {
        try await self.answer(Call(method: "DELETE", path: ["keys", name]))
    }
}

/// The body of an account that is changed.
private struct AccountChange: Encodable {
    let role: String?
    let password: String?
    let disabled: Bool?
}
