import HTTPTypes
package import Hummingbird
import NIOCore
import PushModel
import Store
package import WebServing

/// The API: finds the route, lets the caller in, and words every refusal as a problem.
package struct APIFront: WebFront {
    let kind: SessionKind
    let table: RouteTable
    private let apps: AppDirectory
    private let authenticator: Authenticator
    private let limits: CallerLimits

    init(
        kind: SessionKind,
        table: RouteTable,
        limits: CallerLimits,
        apps: AppDirectory,
        authenticator: Authenticator
    ) {
        self.kind = kind
        self.table = table
        self.limits = limits
        self.apps = apps
        self.authenticator = authenticator
    }

    package func answer(_ request: Request, _ exchange: WebExchange) async throws -> Response {
        exchange.origin = try await self.declaredOrigin(of: request)
        if exchange.origin != nil, let preflight = CrossOrigin.preflight(request) { return preflight }
        try Expectation.check(request.headers)
        let match = try self.table.match(request.method, path: request.uri.path)
        exchange.found(match.template, isOpen: match.route.access != .caller)
        return match.route.access == .open
            ? try await self.answerAnybody(request, match: match)
            : try await self.answer(request, match: match, exchange)
    }

    package func refusal(_ problem: Problem, of request: Request, _ exchange: WebExchange) -> Response? {
        var problem = problem
        if problem.status == .unauthorized { Authenticator.spareDialog(request.headers, &problem) }
        return problem.response()
    }

    package func hasKey(_ request: Request) -> Bool {
        guard request.headers.text(of: .idempotencyKey) != nil else { return false }
        // Elsewhere the header is ignored.
        return (try? self.table.match(request.method, path: request.uri.path))?.route.takesKey == true
    }

    package func complete(_ response: inout Response, of request: Request, _ exchange: WebExchange) {
        if let origin = exchange.origin { CrossOrigin.allow(origin, &response.headers) }
        if CrossOrigin.isDecided(on: request.uri.path) {
            response.headers.append(HTTPField(name: .vary, value: HTTPField.Name.origin.rawName))
            // A browser keeps what it got with a cookie for whoever uses it next; none of these answers is for later.
            if response.headers[.cacheControl] == nil { response.headers[.cacheControl] = "no-store" }
        }
        response.headers[.requestID] = exchange.id
    }

    /// The value of `Origin`, where the app declares it.
    ///
    /// - Throws: What keeps the declaration from being read: without it the request must not be executed, because its page could not
    ///   read the answer.
    private func declaredOrigin(of request: Request) async throws -> String? {
        // At the console no page but its own has business.
        guard self.kind == .page, let origin = request.headers.text(of: .origin),
            let app = CrossOrigin.app(of: request.uri.path),
            let spec = try await self.limits.arrive({ try await self.apps.spec(of: app) }),
            spec.api.origins.contains(where: { $0.text == origin })
        else { return nil }
        return origin
    }

    /// Answers on an open route, without authentication or limits: health checks must work under load too.
    private func answerAnybody(_ request: Request, match: RouteTable.Match) async throws -> Response {
        let asked = APIRequest(
            request,
            match: match,
            body: BodyReader.Body(),
            app: .default,
            spec: AppSpec(),
            identity: nil
        )
        return try await match.route.handler(asked)
    }

    /// Answers a caller, or a client, within its share of the limits.
    private func answer(
        _ request: Request,
        match: RouteTable.Match,
        _ exchange: WebExchange
    ) async throws -> Response {
        let context = exchange.context
        let (app, spec, identity, client) = try await self.limits.arrive {
            try await self.admit(request, match: match, connection: context.connection)
        }
        if let identity { exchange.admitted(identity.logged, of: identity.app) }
        guard identity?.role != .viewer || match.route.isForViewers else { throw Caller.onlyOperators }
        if spec.azureHub != nil, let reason = match.route.embeddedOnly {
            throw Problem(.unprocessableContent, "the app's registrations are at its Azure hub: \(reason)", type: "hub")
        }
        let caller = identity ?? .unknown(at: client ?? .unspecified, app: app)
        return try await self.limits.work(
            request,
            body: match.route.body,
            caller: caller,
            spec: spec,
            connection: context.body
        ) { body in
            let asked = APIRequest(
                request,
                match: match,
                body: body,
                app: app,
                spec: spec,
                identity: identity,
                client: client,
                connection: context.connection,
                via: self.via(request)
            )
            return try await match.route.handler(asked)
        }
    }

    /// By what way an act comes: from the console, unless a program says who it is.
    private func via(_ request: Request) -> ActVia {
        self.kind == .console && request.headers[.authorization] == nil ? .console : .api
    }

    /// Finds the app, and who asks: the caller, or where the route admits anybody the client.
    private func admit(
        _ request: Request,
        match: RouteTable.Match,
        connection: SocketAddress?
    ) async throws -> (app: AppID, spec: AppSpec, identity: Caller?, client: IPAddress?) {
        let (app, spec) = try await self.app(of: match)
        guard match.route.access == .caller else {
            return (app, spec, nil, self.authenticator.client(of: request.head, connection: connection))
        }
        let caller = try await self.authenticator.caller(request.head, app: app, spec: spec) { connection }
        return (app, spec, caller, nil)
    }

    private func app(of match: RouteTable.Match) async throws -> (AppID, AppSpec) {
        guard let app = try? match.parameters["app"].map(AppID.init) ?? .default,
            let spec = try await self.apps.spec(of: app)
        else { throw Problem.notFound("no such app") }
        return (app, spec)
    }
}
