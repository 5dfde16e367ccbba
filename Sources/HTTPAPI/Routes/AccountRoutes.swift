import Authentication
import HTTPTypes
import Hummingbird
import PushModel
import Store
import WebServing

/// The app's accounts, for its operators.
struct AccountRoutes: Sendable {
    let context: RouteContext

    var routes: [Route] {
        [
            Route(.get, "/api/accounts", handler: self.list),
            Route(.post, "/api/accounts", body: .limited, handler: self.create),
            Route(.patch, "/api/accounts/{name}", body: .limited, handler: self.change),
            Route(.delete, "/api/accounts/{name}", handler: self.remove),
        ]
    }

    private func list(_ request: APIRequest) async throws -> Response {
        try request.caller.requireSeeingAll()
        let list = try ListQuery(request, filters: [])
        let page = try await self.context.store.accounts(
            AccountQuery(app: request.app, cursor: list.cursor, limit: list.limit)
        )
        return .page(page.items.map { Self.text($0.account) }, cursor: page.cursor)
    }

    private func create(_ request: APIRequest) async throws -> Response {
        try request.caller.requireOperator()
        _ = try request.query.strict(known: [])
        let members = try StrictMembers(request.json(), known: ["name", "role", "password"])
        let name: UserName
        do { name = try UserName(try members.requiredString("name"), request.spec.users) } catch let error
            as InvalidValue
        {
            throw Problem.invalid([error.named("name")])
        }
        // Basic authentication ends the name at the first colon.
        guard !name.name.utf8.contains(UInt8(ascii: ":")) else {
            throw members.fault("name", "must not contain a colon: nobody could sign in with it")
        }
        guard let role = try Self.role(members) else { throw members.fault("role", "is required") }
        let password = try Self.password(members.requiredString("password"))
        if let known = try await self.context.store.account(name, app: request.app)?.account { throw Self.taken(known) }
        let hash = try await self.context.passwords.hash(password)
        let account = Account(app: request.app, name: name, role: role, isDisabled: false, created: .now)
        _ = try await self.context.act(.accountAdd, user: name, target: role.rawValue, request) {
            try await self.context.store.apply(.account(.add(account, passwordHash: hash)))
        }
        self.context.directory.forget(name, app: request.app)
        return .json(Self.text(account), status: .created)
    }

    /// Changes role or password, disables an account, or enables it again.
    private func change(_ request: APIRequest) async throws -> Response {
        let name = try Self.name(request)
        let members = try StrictMembers(request.json(), known: ["role", "password", "disabled"])
        var update = AccountUpdate(role: try Self.role(members), isDisabled: try members.bool("disabled"))
        let password = try members.string("password").map(Self.password)
        guard update.role != nil || update.isDisabled != nil || password != nil else {
            throw members.fault("", "must have one of role, password and disabled")
        }
        if update.isDisabled == true || update.role.map({ $0 != .operator }) == true {
            try Self.protect(name, request)
        }
        guard try await self.context.store.account(name, app: request.app) != nil else { throw Self.missing }
        if let password { update.passwordHash = try await self.context.passwords.hash(password) }
        try await self.context.act(.accountChange, user: name, target: update.words, request) {
            let change = AccountChange.update(update, account: name, app: request.app)
            guard try await self.context.store.apply(.account(change)) else { throw Self.missing }
        }
        guard let found = try await self.context.store.account(name, app: request.app) else { throw Self.missing }
        self.context.directory.forget(name, app: request.app)
        return .json(Self.text(found.account))
    }

    private func remove(_ request: APIRequest) async throws -> Response {
        let name = try Self.name(request)
        try Self.protect(name, request)
        try await self.context.act(.accountRemove, user: name, request) {
            guard try await self.context.store.apply(.account(.remove(account: name, app: request.app))) else {
                throw Self.missing
            }
        }
        self.context.directory.forget(name, app: request.app)
        return Response(status: .noContent)
    }

    // MARK: Reading

    private static let missing = Problem.notFound("no such account")

    /// The account that an operator names.
    private static func name(_ request: APIRequest) throws -> UserName {
        try request.caller.requireOperator()
        _ = try self.isMeant(request)
        guard let name = try? request.parameters["name"].map({ try UserName($0, request.spec.users) }) else {
            throw Self.missing
        }
        return name
    }

    private static func role(_ members: StrictMembers) throws -> Role? {
        guard let text = try members.string("role") else { return nil }
        guard let role = Role(rawValue: text) else {
            throw members.fault("role", "must be one of \(Role.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        return role
    }

    private static func password(_ text: String) throws -> String {
        do { try PasswordHash.checkLength(of: text) } catch { throw Problem.invalid([error]) }
        return text
    }

    /// Whether a request says that the caller's own account is meant: `?self=true`.
    ///
    /// - Throws: ``Problem`` 400 for another value than a boolean, and for another parameter.
    static func isMeant(_ request: APIRequest) throws -> Bool {
        guard let text = try request.query.strict(known: ["self"])["self"] else { return false }
        guard let value = Bool(text) else { throw Problem.invalid("self", InvalidValue.mustBeBool) }
        return value
    }

    /// Operators end their own account only where they say so.
    ///
    /// - Throws: ``Problem`` 409 where the account is the caller's own and the request does not say so; as ``isMeant(_:)``.
    static func protect(_ name: UserName, _ request: APIRequest) throws {
        guard try self.isMeant(request) || request.caller.user != name else {
            throw Problem(.conflict, "this is your own account: add ?self=true if you mean it", type: "own-account")
        }
    }

    private static func taken(_ known: Account) -> Problem {
        Problem(
            .conflict,
            "the app already has the account \(known.name), and names that differ only in letter case may be one user's (the setting users); change that account, or choose another name",
            type: "name-taken"
        )
    }

    private static func text(_ account: Account) -> JSONValue {
        .members([
            "name": .string(account.name.name),
            "role": .string(account.role.rawValue),
            "disabled": .bool(account.isDisabled),
            "created": .string(account.created.iso8601),
        ])
    }
}

extension AccountUpdate {
    /// What it changes, in a few words.
    fileprivate var words: String {
        let words = [
            self.role.map { "role \($0.rawValue)" }, self.passwordHash.map { _ in "password" },
            self.isDisabled.map { $0 ? "disabled" : "enabled" },
        ]
        return words.compactMap(\.self).joined(separator: ", ")
    }
}
