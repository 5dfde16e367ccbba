import Authentication
import HTTPTypes
import Hummingbird
import PushModel
import Store
import WebServing

/// Sessions of users in browsers, for the app's page, and of operators and viewers for the console.
struct SessionRoutes: Sendable {
    let context: RouteContext
    let authenticator: Authenticator

    private var sessions: Sessions { self.authenticator.sessions }

    var routes: [Route] {
        [
            Route(.post, "/api/session", access: .app, body: .limited, handler: self.open),
            Route(.get, "/api/session", access: .app, handler: self.session),
            Route(.delete, "/api/session", access: .app, handler: self.end),
        ]
    }

    /// The most characters of a name and of a password.
    private static let longest = 1024

    private func open(_ request: APIRequest) async throws -> Response {
        try PageOrigin.check(request.head, mustTell: false)
        _ = try request.query.strict(known: [])
        let found = try await self.signIn(request)
        let former = SessionCookie.secret(in: request.head.headerFields, of: self.sessions.kind, app: request.app)
        let act = self.act(found.user, request)
        // Who signed in to the console stands in the audit, by the session's own commit.
        let opened = try await NewAct.$current.withValue(act) {
            try await self.sessions.open(
                found.user,
                passwordHash: found.passwordHash,
                app: request.app,
                replacing: former
            )
        }
        guard let opened else { throw Problem(.unauthorized, "the account was changed: sign in again") }
        var response = Self.response(to: opened.session, role: found.role, status: .created)
        response.headers[.setCookie] = SessionCookie.header(
            opened.secret,
            of: self.sessions.kind,
            app: request.app,
            lifetime: self.sessions.lifetime
        )
        return response
    }

    /// Who signs in, by a password or a link.
    private func signIn(_ request: APIRequest) async throws -> Authenticator.SignedIn {
        let isConsole = self.sessions.kind == .console
        let members = try StrictMembers(request.json(), known: ["user", "password"] + (isConsole ? ["link"] : []))
        if members["link"] != nil {
            guard members["user"] == nil, members["password"] == nil else {
                throw members.fault("link", "stands alone, without user and password")
            }
            return try await self.authenticator.redeem(Self.text("link", in: members), app: request.app)
        }
        let (name, password) = (try Self.text("user", in: members), try Self.text("password", in: members))
        do {
            return try await self.authenticator.signIn(
                name: name,
                password: password,
                app: request.app,
                spec: request.spec,
                client: request.client ?? .unspecified,
                authority: request.head.authority
            )
        } catch let problem as Problem where problem.status == .unauthorized {
            throw Problem(.unauthorized, problem.detail)
        }
    }

    private func act(_ user: UserName, _ request: APIRequest) -> NewAct? {
        guard self.sessions.kind == .console else { return nil }
        return self.context.newAct(.consoleOpen, by: "account:\(user.name)", request)
    }

    private func session(_ request: APIRequest) async throws -> Response {
        _ = try request.query.strict(known: [])
        let found = try await self.sessions.session(of: request.head, app: request.app, spec: request.spec)
        guard let found else { throw Sessions.ended }
        return Self.response(to: found.session, role: found.role, status: .ok)
    }

    private func end(_ request: APIRequest) async throws -> Response {
        _ = try request.query.strict(known: [])
        try await self.sessions.end(request.head, app: request.app)
        let gone = SessionCookie.header(nil, of: self.sessions.kind, app: request.app)
        return Response(status: .noContent, headers: [.setCookie: gone])
    }

    private static func text(_ name: String, in members: StrictMembers) throws -> String {
        let text = try members.requiredString(name)
        guard text.unicodeScalars.count <= Self.longest else {
            throw members.fault(name, "must have at most \(Self.longest) characters")
        }
        return text
    }

    private static func response(to session: Session, role: Role, status: HTTPResponse.Status) -> Response {
        let text = JSONValue.members([
            "user": .string(session.user.name),
            "role": .string(role.rawValue),
            "expires": .string(session.expires.iso8601),
        ])
        var response = Response.json(text, status: status)
        response.headers[.cacheControl] = "no-store"
        return response
    }
}
