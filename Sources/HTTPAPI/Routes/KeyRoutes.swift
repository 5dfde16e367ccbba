import Authentication
import HTTPTypes
import Hummingbird
import PushModel
import Store
import WebServing

/// The app's keys, for its operators.
struct KeyRoutes: Sendable {
    let context: RouteContext

    var routes: [Route] {
        [
            Route(.get, "/api/keys", handler: self.list),
            Route(.post, "/api/keys", body: .limited, handler: self.create),
            Route(.delete, "/api/keys/{name}", handler: self.revoke),
        ]
    }

    private func list(_ request: APIRequest) async throws -> Response {
        try request.caller.requireSeeingAll()
        _ = try request.query.strict(known: [])
        let keys = try await self.context.store.keys(.app(request.app))
        return .page(keys.map { Self.text($0, secret: nil) }, cursor: nil)
    }

    /// The secret is in this answer and nowhere else.
    private func create(_ request: APIRequest) async throws -> Response {
        try request.caller.requireOperator()
        _ = try request.query.strict(known: [])
        let members = try StrictMembers(request.json(), known: ["name", "role"])
        let name = try members.requiredString("name")
        do { try APIKey.check(name: name) } catch { throw Problem.invalid([error.named("name")]) }
        guard let role = Role(rawValue: try members.requiredString("role")), role != .user else {
            throw members.fault("role", "must be sender, viewer or operator")
        }
        let secret = APIKeySecret.make()
        let key = APIKey(app: request.app, name: name, role: role, created: .now, revoked: nil)
        do {
            _ = try await self.context.act(.keyAdd, target: "\(name), \(role.rawValue)", request) {
                try await self.context.store.apply(.key(.add(key, hash: secret.hash)))
            }
        } catch let error as StoreError where error.code == .conflict {
            let detail = try await self.context.store.takenKeyName(name, app: request.app)
            throw Problem(.conflict, detail, type: "name-taken")
        }
        var response = Response.json(Self.text(key, secret: secret), status: .created)
        response.headers[.cacheControl] = "no-store"
        return response
    }

    private func revoke(_ request: APIRequest) async throws -> Response {
        try request.caller.requireOperator()
        _ = try request.query.strict(known: [])
        let missing = Problem.notFound("there is no such key, or it is revoked")
        guard let name = request.parameters["name"], (try? APIKey.check(name: name)) != nil else { throw missing }
        try await self.context.act(.keyRevoke, target: name, request) {
            guard try await self.context.store.apply(.key(.revoke(named: name, app: request.app))) else {
                throw missing
            }
        }
        return Response(status: .noContent)
    }

    private static func text(_ key: APIKey, secret: APIKeySecret?) -> JSONValue {
        .members([
            "name": .string(key.name),
            "role": .string(key.role.rawValue),
            "created": .string(key.created.iso8601),
            "revoked": key.revoked.map { .string($0.iso8601) },
            "secret": secret.map { .string($0.text) },
        ])
    }
}
