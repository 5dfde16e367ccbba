import HTTPTypes
import Hummingbird
import Intake
import PushModel
import Store
import WebServing

/// The registrations of the app, for its backend and its operators; of oneself, for users.
struct RegistrationRoutes: Sendable {
    let context: RouteContext

    var routes: [Route] {
        [
            Route(.get, "/api/registrations", embeddedOnly: Self.reading, handler: self.list),
            Route(.post, "/api/registrations", body: .limited, handler: self.create),
            Route(.get, "/api/registrations/{id}", embeddedOnly: Self.reading, handler: self.show),
            Route(.put, "/api/registrations/{id}", body: .limited, handler: self.put),
            Route(
                .patch,
                "/api/registrations/{id}",
                body: .limited,
                embeddedOnly: "replace the whole registration with PUT",
                handler: self.patch
            ),
            Route(.delete, "/api/registrations/{id}", handler: self.delete),
        ]
    }

    static let reading = "read them there, with the hub's own clients"

    // MARK: Reading

    private func list(_ request: APIRequest) async throws -> Response {
        let caller = try request.caller
        let list = try ListQuery(request, filters: ["user", "tag", "service", "handle", "state"])
        var query = RegistrationQuery(
            app: request.app,
            user: try list.user("user"),
            tag: try list.tag("tag"),
            pns: try list.service,
            handles: try list.handles("handle"),
            state: try list.choice(
                "state",
                Registration.State.allCases.map(\.rawValue),
                Registration.State.init(rawValue:)
            ),
            cursor: try list.cursor,
            limit: try list.limit
        )
        if !caller.actsForApp, !caller.seesAll {
            let user = try caller.requireUser()
            if let wanted = query.user, wanted != user {
                throw Problem.forbidden("only a backend's key or an operator may list the registrations of others")
            }
            query.user = user
        }
        let page = try await self.context.store.registrations(query)
        return .page(page.items.map(Self.text), cursor: page.cursor)
    }

    private func show(_ request: APIRequest) async throws -> Response {
        _ = try request.query.strict(known: [])
        return .json(Self.text(try await self.registration(Self.id(of: request), request)))
    }

    /// What a change answers: the registration as it is stored, or at a hub over a wire as it was written there.
    private func shown(
        _ id: RegistrationID,
        _ upsert: RegisterRequest.Upsert,
        _ request: APIRequest
    ) async throws -> JSONValue {
        guard request.spec.azureHub != nil else { return Self.text(try await self.registration(id, request)) }
        let user = try upsert.onBehalf.map(\.user) ?? request.caller.user
        let written = Registration(
            row: 0,
            id: id,
            app: request.app,
            user: user,
            pns: upsert.pns,
            handle: upsert.handle,
            tags: Set(upsert.tags + [user.flatMap { Tag(.user, of: $0) }].compactMap { $0 }).sorted(),
            state: .live,
            updated: .now
        )
        return Self.text(written)
    }

    // MARK: Changing

    private func create(_ request: APIRequest) async throws -> Response {
        let upsert = try self.upsert(request)
        let candidate = RegistrationID.random()
        return try await self.take(.create(candidate: candidate, upsert), request, user: request.caller.user) {
            result in
            guard case .issued(let id) = result else { return nil }
            var response = Response.json(
                try await self.shown(id, upsert, request),
                status: id == candidate ? .created : .ok
            )
            response.headers[.location] = "\(request.prefix)registrations/\(id)"
            return response
        }
    }

    private func put(_ request: APIRequest) async throws -> Response {
        let upsert = try self.upsert(request)
        let id = try Self.id(of: request)
        return try await self.take(.upsert(id, upsert), request, user: request.caller.user) { result in
            switch result {
            case .done, .superseded: .json(try await self.shown(id, upsert, request))
            default: nil
            }
        }
    }

    private func patch(_ request: APIRequest) async throws -> Response {
        let caller = try request.caller
        _ = try request.query.strict(known: [])
        let patch = try Self.patch(request, claimedBy: caller.actsForApp ? nil : caller.requireUser())
        let id = try Self.id(of: request)
        let user = caller.actsForApp ? nil : try caller.requireUser()
        // What it refuses depends on what the registration has become.
        return try await self.take(.patch(id, patch), request, user: user, refusal: .conflict) { result in
            switch result {
            case .done, .superseded: .json(Self.text(try await self.registration(id, request)))
            default: nil
            }
        }
    }

    private func delete(_ request: APIRequest) async throws -> Response {
        let caller = try request.caller
        _ = try request.query.strict(known: [])
        let user = caller.actsForApp ? nil : try caller.requireUser()
        return try await self.take(.delete(Self.id(of: request)), request, user: user) { result in
            switch result {
            case .done, .superseded, .gone, .issued: Response(status: .noContent)
            default: nil
            }
        }
    }

    private func take(
        _ work: RegisterRequest,
        _ request: APIRequest,
        user: UserName?,
        refusal: HTTPResponse.Status = .badRequest,
        success: (RegisterResult) async throws -> Response?
    ) async throws -> Response {
        let jobs = RegisterJobs(context: self.context)
        let answer = try await jobs.take(work, user: user, request: request)
        return try await jobs.response(to: answer, request: request, refusal: refusal, success: success)
    }

    // MARK: Bodies

    /// What the body wants a registration to be.
    ///
    /// - Throws: ``Problem``: 400 that names the member; `Refusal` for what the caller may not claim.
    private func upsert(_ request: APIRequest) throws -> RegisterRequest.Upsert {
        let caller = try request.caller
        _ = try request.query.strict(known: [])
        let members = try StrictMembers(request.json(), known: ["service", "handle", "credential", "user", "tags"])
        let wanted: ImportedRegistration
        do {
            wanted = try ImportLine(spec: request.spec, owner: caller.user).registration(members)
        } catch let error as InvalidValue {
            throw Problem.invalid([error])
        }
        if caller.actsForApp {
            let onBehalf = RegisterRequest.OnBehalf(of: wanted.user)
            return .init(
                pns: wanted.pns,
                handle: wanted.handle,
                credential: wanted.credential,
                tags: wanted.tags,
                onBehalf: onBehalf
            )
        }
        let user = try caller.requireUser()
        guard wanted.user == user else {
            throw Problem.forbidden("only a backend's key or an operator may register the devices of others")
        }
        try TagPolicy(request.spec).check(wanted.tags, claimedBy: user)
        return .init(pns: wanted.pns, handle: wanted.handle, credential: wanted.credential, tags: wanted.tags)
    }

    /// Reads a patch.
    ///
    /// - Parameters:
    ///   - request: `{"tags": {"add": […], "remove": […]}, "credential": …}`, one of both at least.
    ///   - user: Who claims the tags; nil = the app.
    /// - Returns: The patch.
    /// - Throws: ``Problem`` or `InvalidValue` that names the member; `Refusal` for what the user may not claim.
    private static func patch(_ request: APIRequest, claimedBy user: UserName?) throws -> RegisterRequest.Patch {
        let members = try StrictMembers(request.json(), known: ["tags", "credential"])
        let credential = try Self.credential(members, spec: request.spec)
        guard let value = members["tags"] else {
            guard let credential else { throw members.fault("tags", "is required: {\"add\": […], \"remove\": […]}") }
            return RegisterRequest.Patch(credential: credential)
        }
        let changes = try StrictMembers(value, path: "tags", known: ["add", "remove"])
        let patch = RegisterRequest.Patch(
            add: try RegistrationTags.read(changes["add"], member: "tags.add", request.spec),
            remove: try RegistrationTags.read(changes["remove"], member: "tags.remove", request.spec),
            credential: credential,
            mostTags: request.spec.mostTags
        )
        guard !patch.add.isEmpty || !patch.remove.isEmpty else {
            throw members.fault("tags", "add or remove must name a tag")
        }
        try TagPolicy(request.spec).check(patch, claimedBy: user)
        return patch
    }

    /// The credential that a patch names, with the services that have it: which one matters is seen when it is done.
    private static func credential(
        _ members: StrictMembers,
        spec: AppSpec
    ) throws -> RegisterRequest.CredentialChoice? {
        guard let name = try members.string("credential") else { return nil }
        if name == CredentialName.default.name { return .init(.default, services: PushService.allCases) }
        let services = PushService.allCases.filter { (try? spec.credential(name, of: $0)) != nil }
        guard !services.isEmpty, let credential = try? CredentialName(name) else {
            let known = Set(PushService.allCases.flatMap(spec.credentials.names)).subtracting([.default]).sorted()
            let list = ([.default] + known).map(\.name).joined(separator: ", ")
            throw members.fault("credential", "the app declares no credential of that name; declared: \(list)")
        }
        return .init(credential, services: services)
    }

    private static func id(of request: APIRequest) throws -> RegistrationID {
        guard let id = request.parameters["id"].flatMap(RegistrationID.init) else { throw Self.unknown }
        return id
    }

    /// A registration that the caller may see.
    private func registration(_ id: RegistrationID, _ request: APIRequest) async throws -> Registration {
        let caller = try request.caller
        guard let found = try await self.context.store.registration(id, app: request.app),
            caller.actsForApp || caller.seesAll || found.user != nil && found.user == caller.user
        else { throw Self.unknown }
        return found
    }

    private static var unknown: Problem { .notFound("no such registration") }

    static func text(_ registration: Registration) -> JSONValue {
        .members([
            "id": .string(registration.id.text),
            "user": registration.user.map { .string($0.name) },
            "service": registration.pns.map { .string($0.rawValue) },
            // Shortened, because a whole handle lets its reader send to the device.
            "handle": registration.handle.map { .string($0.description) },
            "credential": registration.credential.named.map { .string($0.name) },
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
