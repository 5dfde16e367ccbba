import HTTPTypes
import Hummingbird
import PushModel
import Store

/// The registrations of the app, for its operators; of oneself, for users.
struct RegistrationRoutes: Sendable {
    let context: RouteContext

    var routes: [Route] {
        [
            Route(.get, "/api/registrations", handler: self.list),
            Route(.delete, "/api/registrations/{id}", handler: self.delete),
        ]
    }

    private func list(_ request: APIRequest) async throws -> Response {
        let caller = try request.caller
        let list = try ListQuery(request, filters: ["user", "tag", "pns", "state"])
        var query = RegistrationQuery(
            app: request.app,
            user: try list.user("user"),
            tag: try list.tag("tag"),
            pns: try list.pns,
            state: try list.choice(
                "state",
                Registration.State.allCases.map(\.rawValue),
                Registration.State.init(rawValue:)
            ),
            cursor: try list.cursor,
            limit: try list.limit
        )
        if caller.role != .operator {
            let user = try caller.requireUser()
            if let wanted = query.user, wanted != user {
                throw Problem.forbidden("only an operator may list the registrations of others")
            }
            query.user = user
        }
        let page = try await self.context.store.registrations(query)
        return .page(page.items.map(Self.text), cursor: page.cursor)
    }

    private func delete(_ request: APIRequest) async throws -> Response {
        let caller = try request.caller
        _ = try request.query.strict(known: [])
        let user = caller.role == .operator ? nil : try caller.requireUser()
        guard let id = request.parameters["id"].flatMap(RegistrationID.init) else {
            throw Problem.notFound("no such registration")
        }
        let jobs = RegisterJobs(context: self.context)
        let answer = try await jobs.take(.delete(id), user: user, request: request)
        return try jobs.response(to: answer, request: request) { result in
            switch result {
            case .done, .superseded, .gone, .issued: Response(status: .noContent)
            default: nil
            }
        }
    }

    private static func text(_ registration: Registration) -> JSONValue {
        .members([
            "id": .string(registration.id.text),
            "user": registration.user.map { .string($0.name) },
            "pns": registration.pns.map { .string($0.rawValue) },
            // Shortened, because a whole handle lets its reader send to the device.
            "handle": registration.handle.map { .string($0.description) },
            "tags": .strings(registration.tags.map(\.name)),
            "state": .string(registration.state.rawValue),
            "updated": .string(registration.updated.iso8601),
            "expires": registration.expires.map { .string($0.iso8601) },
            "ended": registration.ended.map {
                .members(["at": .string($0.at.iso8601), "reason": .string($0.reason)])
            },
        ])
    }
}
