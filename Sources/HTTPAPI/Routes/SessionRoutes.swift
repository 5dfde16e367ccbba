import Authentication
import HTTPTypes
import Hummingbird
import PushModel
import Store
import WebServing

/// Sessions of users in browsers, for the app's page.
struct SessionRoutes: Sendable {
    let authenticator: Authenticator

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
        let members = try StrictMembers(request.json(), known: ["user", "password"])
        let (name, password) = (try Self.text("user", in: members), try Self.text("password", in: members))
        let found: (user: UserName, passwordHash: String?)
        do {
            found = try await self.authenticator.signIn(
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
        let opened = try await self.authenticator.sessions.open(
            found.user,
            passwordHash: found.passwordHash,
            app: request.app,
            replacing: SessionCookie.secret(in: request.head.headerFields, app: request.app)
        )
        guard let opened else { throw Problem(.unauthorized, "the account was changed: sign in again") }
        var response = Self.response(to: opened.session, status: .created)
        let lifetime = self.authenticator.sessions.lifetime
        response.headers[.setCookie] = SessionCookie.header(opened.secret, app: request.app, lifetime: lifetime)
        return response
    }

    private func session(_ request: APIRequest) async throws -> Response {
        _ = try request.query.strict(known: [])
        let sessions = self.authenticator.sessions
        guard let session = try await sessions.session(of: request.head, app: request.app, spec: request.spec) else {
            throw Sessions.ended
        }
        return Self.response(to: session, status: .ok)
    }

    private func end(_ request: APIRequest) async throws -> Response {
        _ = try request.query.strict(known: [])
        try await self.authenticator.sessions.end(request.head, app: request.app)
        return Response(status: .noContent, headers: [.setCookie: SessionCookie.header(nil, app: request.app)])
    }

    private static func text(_ name: String, in members: StrictMembers) throws -> String {
        let text = try members.requiredString(name)
        guard text.unicodeScalars.count <= Self.longest else {
            throw members.fault(name, "must have at most \(Self.longest) characters")
        }
        return text
    }

    private static func response(to session: Session, status: HTTPResponse.Status) -> Response {
        let text = JSONValue.members([
            "user": .string(session.user.name),
            "role": .string(Role.user.rawValue),
            "expires": .string(session.expires.iso8601),
        ])
        var response = Response.json(text, status: status)
        response.headers[.cacheControl] = "no-store"
        return response
    }
}
