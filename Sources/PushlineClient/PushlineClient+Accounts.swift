extension PushlineClient {
    /// The app's accounts; for operators.
    ///
    /// - Throws: ``PushlineError``.
    public func accounts() async throws -> [Account] {
        let page: Page<Account> = try await self.value(Call(method: "GET", path: ["accounts"]))
        return page.items
    }

    /// Disables an account, or enables it again; for operators.
    ///
    /// - Throws: ``PushlineError``.
    public func setDisabled(_ disabled: Bool, account name: String) async throws -> Account {
        let body = try Coding.body(["disabled": disabled])
        return try await self.value(Call(method: "PATCH", path: ["accounts", name], body: body))
    }

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
