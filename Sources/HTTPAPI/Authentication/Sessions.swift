import Authentication
import HTTPTypes
import PushModel
import Store
import WebServing

/// Lets in users by the cookies of their sessions (decision 35).
///
/// Whoever signed in, a session of the app's page never has another role than user. One of the console has the account's role, as it is
/// at each request.
struct Sessions: Sendable {
    let kind: SessionKind
    let store: any AdministrationStore & SessionStore
    let directory: CallerDirectory
    /// For how long a session lasts at most, and without use.
    let lifetime: Duration
    let idle: Duration

    /// The most sessions of a user: the oldest ends.
    static let limit = 20

    /// Opens a session.
    ///
    /// - Parameters:
    ///   - user: Who has signed in.
    ///   - passwordHash: The hash that the password fitted; nil in the demonstration scheme.
    ///   - app: The app.
    ///   - former: The secret of the session that this one replaces.
    /// - Returns: The session and its secret; nil if the account was changed meanwhile.
    /// - Throws: `StoreError`.
    func open(
        _ user: UserName,
        passwordHash: String?,
        app: AppID,
        replacing former: SessionSecret?
    ) async throws -> (session: Session, secret: SessionSecret)? {
        let secret = SessionSecret.make()
        let session = try await self.store.openSession(
            NewSession(
                app: app,
                user: user,
                hash: self.hash(secret),
                passwordHash: passwordHash,
                lifetime: self.lifetime,
                idle: self.idle,
                limit: Self.limit
            )
        )
        guard let session else { return nil }
        if let former {
            // The act is the opening, which is written.
            try await NewAct.$current.withValue(nil) {
                _ = try await self.store.apply(.session(.end(hash: self.hash(former), app: app)))
            }
        }
        return (session, secret)
    }

    /// The session of a request's cookie with its user's role; nil where it has none, or one that has ended.
    ///
    /// - Throws: ``Problem`` 403 for a request that a page of another origin may have sent; `StoreError`.
    func session(of request: HTTPRequest, app: AppID, spec: AppSpec) async throws -> (session: Session, role: Role)? {
        guard let secret = SessionCookie.secret(in: request.headerFields, of: self.kind, app: app) else { return nil }
        try PageOrigin.check(request, mustTell: !request.method.isSafe)
        let hash = self.hash(secret)
        guard let session = try await self.store.session(hash: hash), session.app == app,
            let role = try await self.role(in: session, spec)
        else { return nil }
        // Not at each request: it is a commit.
        if session.left < self.idle - self.idle / 8 {
            try await self.store.apply(.session(.renew(hash: hash, idle: self.idle)))
        }
        return (session, role)
    }

    /// The caller of a request with a cookie; nil = it has none.
    ///
    /// - Throws: As ``session(of:app:spec:)``, and ``Problem`` 401 for a session that has ended.
    func caller(of request: HTTPRequest, app: AppID, spec: AppSpec) async throws -> Caller? {
        guard SessionCookie.secret(in: request.headerFields, of: self.kind, app: app) != nil else { return nil }
        guard let found = try await self.session(of: request, app: app, spec: spec) else { throw Self.ended }
        return Caller(app: app, identity: .account(found.session.user), role: found.role)
    }

    /// Ends the session of a request's cookie, if there is one.
    ///
    /// - Throws: As ``session(of:app:spec:)``.
    func end(_ request: HTTPRequest, app: AppID) async throws {
        guard let secret = SessionCookie.secret(in: request.headerFields, of: self.kind, app: app) else { return }
        try PageOrigin.check(request, mustTell: true)
        try await self.store.apply(.session(.end(hash: self.hash(secret), app: app)))
    }

    /// Takes a link's secret, which opens one session.
    ///
    /// - Returns: Whose it is; nil where it was used before, or its time is over.
    /// - Throws: `StoreError`.
    func redeem(_ link: SessionSecret, app: AppID) async throws -> UserName? {
        let hash = link.hash(for: .link)
        // Of two that come at once one ends it.
        guard let session = try await self.store.session(hash: hash), session.app == app,
            try await self.store.apply(.session(.end(hash: hash, app: app)))
        else { return nil }
        return session.user
    }

    /// Without a challenge: a browser would ask its user for a password, and hide the answer from the page.
    static let ended = Problem(.unauthorized, "there is no session, or it has ended: sign in with POST /api/session")

    private func hash(_ secret: SessionSecret) -> [UInt8] { secret.hash(for: self.kind.purpose) }

    /// The role in a session; nil where it is over.
    ///
    /// The app may have given the demonstration scheme up since, and the account may be disabled by one who did not know of it, or have
    /// another role now.
    private func role(in session: Session, _ spec: AppSpec) async throws -> Role? {
        guard spec.authentication == .accounts else { return self.kind == .page ? .user : nil }
        guard !session.isDemonstration,
            let credential = try await self.directory.account(session.user, app: session.app),
            !credential.account.isDisabled
        else { return nil }
        return self.kind.role(of: credential.account.role)
    }
}

extension HTTPRequest.Method {
    /// Whether it changes nothing (RFC 9110, 9.2.1).
    fileprivate var isSafe: Bool { self == .get || self == .head || self == .options }
}
