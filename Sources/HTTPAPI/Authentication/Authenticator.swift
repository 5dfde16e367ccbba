import Authentication
import HTTPTypes
import Hummingbird
import NIOCore
import PushModel
import Store
import WebServing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Finds out who asks.
struct Authenticator: Sendable {
    let directory: CallerDirectory
    let passwords: PasswordVerifier
    let tokens: TokenSignIn
    let sessions: Sessions
    let failures: SignInFailures
    let proxies: TrustedProxies
    /// Whether the demonstration scheme may be used: only on a loopback address.
    let isLoopback: Bool

    /// - Parameters:
    ///   - request: The request.
    ///   - app: The app that it is for.
    ///   - spec: The app's declaration.
    ///   - connection: The other end of the connection, evaluated only if a password must be checked.
    /// - Returns: The caller.
    /// - Throws: ``Problem``: 401, or 403 and 421 in the demonstration scheme; 503 when the store cannot be read or too many sign in at once.
    func caller(
        _ request: HTTPRequest,
        app: AppID,
        spec: AppSpec,
        connection: () -> SocketAddress?
    ) async throws -> Caller {
        let headers = request.headerFields
        // A cookie comes by itself: what a program says of itself comes first.
        if headers.text(of: .authorization) == nil {
            try self.requireLoopback(spec, named: request.authority)
            if let caller = try await self.sessions.caller(of: request, app: app, spec: spec) { return caller }
        }
        switch spec.authentication {
        case .accounts:
            return try await self.account(headers: headers, app: app, spec: spec) {
                self.client(of: request, connection: connection())
            }
        case .demonstration: return try await self.demonstration(request, app: app, spec: spec)
        }
    }

    /// The client of a request.
    func client(of request: HTTPRequest, connection: SocketAddress?) -> IPAddress {
        self.proxies.client(of: connection, headers: request.headerFields)
    }

    /// Checks the password of somebody who opens a session.
    ///
    /// - Parameters:
    ///   - name: The user's name.
    ///   - password: The password.
    ///   - app: The app.
    ///   - spec: The app's declaration.
    ///   - client: Who signs in.
    ///   - authority: The server's name and port, as the client has them.
    /// - Returns: The user.
    /// - Throws: As ``caller(_:app:spec:connection:)``.
    func signIn(
        name: String,
        password: String,
        app: AppID,
        spec: AppSpec,
        client: IPAddress,
        authority: String?
    ) async throws -> SignedIn {
        switch spec.authentication {
        case .accounts:
            let found = try await self.credential(name: name, password: password, app: app, users: spec.users) {
                client
            }
            return try self.admit(found)
        case .demonstration:
            try self.requireLoopback(spec, named: authority)
            let user = try Self.demonstrated(name: name, password: password, spec: spec)
            return SignedIn(user: user, passwordHash: nil, role: .user)
        }
    }

    /// Takes the secret of a link, which signs in once.
    ///
    /// - Throws: ``Problem`` 401 where it does not any more; `StoreError`.
    func redeem(_ link: String, app: AppID) async throws -> SignedIn {
        guard let secret = SessionSecret(link), let user = try await self.sessions.redeem(secret, app: app),
            let found = try await self.directory.account(user, app: app), !found.account.isDisabled
        else { throw Problem(.unauthorized, "the link was used before, or its time is over") }
        return try self.admit(found)
    }

    /// - Throws: ``Problem`` 403 for an account whose role has no session here.
    private func admit(_ found: StoredAccount) throws -> SignedIn {
        let account = found.account
        guard let role = self.sessions.kind.role(of: account.role) else {
            throw Problem.forbidden(self.sessions.kind.refusal)
        }
        return SignedIn(user: account.name, passwordHash: found.passwordHash, role: role)
    }

    /// Who may open a session.
    struct SignedIn: Sendable {
        let user: UserName
        /// The account's hash, which the password fits; nil in the demonstration scheme.
        let passwordHash: String?
        /// The role that the session has.
        let role: Role
    }

    private func account(
        headers: HTTPFields,
        app: AppID,
        spec: AppSpec,
        client: () -> IPAddress
    ) async throws -> Caller {
        switch Authorization(headers.text(of: .authorization)) {
        case nil:
            throw Self.unauthorized("authentication required: Basic with name and password, or Bearer with a key")
        case .basic(let name, let password):
            try CrossOrigin.refuseForeignPage(headers, spec: spec)
            let found = try await self.credential(
                name: name,
                password: password,
                app: app,
                users: spec.users,
                client: client
            )
            return Caller(app: app, identity: .account(found.account.name), role: found.account.role)
        case .bearer(let token):
            if let settings = spec.tokens, !token.hasPrefix(APIKeySecret.prefix) {
                return try await self.tokens.caller(token, app: app, settings: settings, users: spec.users)
            }
            guard let caller = try await self.key(token, app: app) else {
                throw Self.unauthorized(Self.unknownKey(token, app: app))
            }
            return caller
        }
    }

    /// The account that a name and a password are of.
    private func credential(
        name: String,
        password: String,
        app: AppID,
        users: AppSpec.Users,
        client: () -> IPAddress
    ) async throws -> StoredAccount {
        let user = try? UserName(name, users)
        var credential: StoredAccount?
        if let user { credential = try await self.directory.account(user, app: app) }
        if credential?.account.isDisabled == true { credential = nil }
        // Without an account a decoy is hashed, so that the time of an answer does not reveal which names exist.
        let isRight: Bool
        do {
            isRight = try await self.passwords.verify(
                password,
                // All spellings of an account's name share its failures.
                name: user?.key.text ?? name,
                app: app,
                stored: credential?.passwordHash,
                client: client
            )
        } catch is SignInQueues.TurnedAway {
            self.failures.countTurnedAway(app: app)
            throw Problem.later(.serviceUnavailable, "too many concurrent sign-ins", seconds: 5)
        }
        guard isRight, let credential else {
            self.failures.count(.password, app: app)
            throw Self.unauthorized("name or password is wrong")
        }
        return credential
    }

    /// The same for anything that is not a key of the app: nobody learns what else a secret is good for.
    private static func unknownKey(_ token: String, app: AppID) -> String {
        guard token.hasPrefix(APIKeySecret.prefix) else { return "unknown key; keys begin with \(APIKeySecret.prefix)" }
        return "app \(app) has no such key, or it was revoked; a key works for its own app alone, at /api/apps/ITS-APP/"
    }

    private func key(_ token: String, app: AppID) async throws -> Caller? {
        guard let secret = APIKeySecret(token), let key = try await self.directory.key(hash: secret.hash),
            key.app == app, key.revoked == nil
        else {
            self.failures.count(.key, app: app)
            return nil
        }
        return Caller(app: app, identity: .key(key.name), role: key.role)
    }

    /// The classic backend's scheme: the name is the password.
    ///
    /// Keys work beside it, for operators and backends.
    private func demonstration(_ request: HTTPRequest, app: AppID, spec: AppSpec) async throws -> Caller {
        try self.requireLoopback(spec, named: request.authority)
        let headers = request.headerFields
        switch Authorization(headers.text(of: .authorization)) {
        case nil:
            throw Problem.forbidden("the header Authorization with the scheme Basic is required")
        case .bearer(let token):
            guard let caller = try await self.key(token, app: app) else {
                throw Problem.forbidden(Self.unknownKey(token, app: app))
            }
            return caller
        case .basic(let name, let password):
            try CrossOrigin.refuseForeignPage(headers, spec: spec)
            let user = try Self.demonstrated(name: name, password: password, spec: spec)
            return Caller(app: app, identity: .account(user), role: .user)
        }
    }

    private static func demonstrated(name: String, password: String, spec: AppSpec) throws -> UserName {
        // As the original reads it: the password ends at the second colon.
        let compared = password.utf8.prefix { $0 != UInt8(ascii: ":") }
        guard !name.isEmpty, ConstantTime.equal(Array(name.utf8), Array(compared)) else {
            throw Problem.forbidden("name and password must be equal in the demonstration scheme")
        }
        do { return try UserName(name, spec.users) } catch { throw Problem.forbidden(error.description) }
    }

    /// - Throws: ``Problem`` where the app has the demonstration scheme: 403 where others than this host may ask, and 421 for a request
    ///   that has another name for it: a page may have its own name lead here (DNS rebinding).
    private func requireLoopback(_ spec: AppSpec, named authority: String?) throws {
        guard spec.authentication == .demonstration else { return }
        guard self.isLoopback else {
            throw Problem.forbidden("the demonstration scheme works on a loopback address only")
        }
        guard LoopbackName.isLoopback(authority: authority) else {
            throw Problem(
                .misdirectedRequest,
                "Host: with the demonstration scheme this server is localhost, 127.0.0.1 or [::1], and has no other name"
            )
        }
    }

    /// Keeps a browser from asking its user for a password where a script has asked: it would not hear of the answer.
    ///
    /// - Parameters:
    ///   - headers: The request's.
    ///   - problem: The answer; it challenges a script with the scheme that opens no dialog.
    static func spareDialog(_ headers: HTTPFields, _ problem: inout Problem) {
        guard let mode = headers.text(of: .fetchMode), mode != "navigate",
            problem.headers[.wwwAuthenticate]?.hasPrefix("Basic") == true
        else { return }
        problem.headers[.wwwAuthenticate] = Self.bearer
    }

    private static let bearer = "Bearer realm=\"pushline\""

    /// - Parameters:
    ///   - detail: The reason, for the problem.
    ///   - error: The error of RFC 6750, section 3.1, for a token of the app's own.
    /// - Returns: 401 with the schemes that are taken; with an error, only the one of the token that has it.
    static func unauthorized(_ detail: String, error: String? = nil) -> Problem {
        let schemes =
            error.map { "\(Self.bearer), error=\"\($0)\"" }
            ?? "Basic realm=\"pushline\", charset=\"UTF-8\", \(Self.bearer)"
        return Problem(.unauthorized, detail, headers: [.wwwAuthenticate: schemes])
    }
}

/// The header `Authorization`, as far as it is understood.
enum Authorization: Equatable {
    case basic(name: String, password: String)
    case bearer(String)

    /// - Returns: nil when the header is missing, of another scheme or malformed.
    init?(_ header: String?) {
        guard let header, header.utf8.count <= 8192 else { return nil }
        let text = header[...].trimming()
        guard let blank = text.utf8.firstIndex(of: UInt8(ascii: " ")) else { return nil }
        let rest = text[blank...].trimming()
        switch text[..<blank].lowercased() {
        case "basic":
            guard let bytes = Data(base64Encoded: String(rest)), let text = String(validating: bytes, as: UTF8.self),
                let colon = text.utf8.firstIndex(of: UInt8(ascii: ":"))
            else { return nil }
            // Cut between bytes: a colon with an accent over it is one character to Swift.
            self = .basic(
                name: String(decoding: text.utf8[..<colon], as: UTF8.self),
                password: String(decoding: text.utf8[colon...].dropFirst(), as: UTF8.self)
            )
        case "bearer": self = .bearer(String(rest))
        default: return nil
        }
    }
}
