import HTTPTypes
import Hummingbird
import PushModel
import Store
import WebServing

/// The broadcast channels of the app's bundle id at Apple, for all callers who may send to them.
///
/// Register jobs call Apple, because the API has no credentials (decision 40).
struct ChannelRoutes: Sendable {
    let context: RouteContext

    var routes: [Route] {
        [
            Route(.get, "/api/channels", embeddedOnly: Self.atHub, handler: self.list),
            Route(
                .post,
                "/api/channels",
                body: .limited,
                takesKey: true,
                embeddedOnly: Self.atHub,
                handler: self.create
            ),
            Route(.get, "/api/channels/{id}", embeddedOnly: Self.atHub, handler: self.show),
            Route(.delete, "/api/channels/{id}", embeddedOnly: Self.atHub, handler: self.delete),
        ]
    }

    private static let atHub = "it has no broadcast channels; declare an app without an Azure hub for them"

    private func list(_ request: APIRequest) async throws -> Response {
        try Self.authorize(request)
        let list = try ListQuery(request, filters: ["credential"])
        let after: APNsChannelID?
        do { after = try list["cursor"].map(APNsChannelID.init) } catch {
            throw Problem.wrongCursor
        }
        let work = try Self.work(.list(after: after, limit: list.limit), credential: list["credential"], request)
        return try await self.read(work, request) { channels, hasMore in
            .page(channels.map(\.json), cursor: hasMore ? channels.last?.id.text : nil)
        }
    }

    private func show(_ request: APIRequest) async throws -> Response {
        try Self.authorize(request)
        let query = try request.query.strict(known: ["credential"])
        let work = try Self.work(.show(Self.id(of: request)), credential: query["credential"], request)
        return try await self.read(work, request) { channels, _ in channels.first.map { .json($0.json) } }
    }

    private func create(_ request: APIRequest) async throws -> Response {
        try Self.authorize(request)
        _ = try request.query.strict(known: [])
        let members = try StrictMembers(request.json(), known: ["storage", "credential"])
        let words = BroadcastChannel.Storage.allCases.map(\.rawValue)
        guard let storage = BroadcastChannel.Storage(rawValue: try members.string("storage") ?? words[0]) else {
            throw members.fault("storage", "must be one of \(words.joined(separator: ", "))")
        }
        let work = try Self.work(.create(storage), credential: try members.string("credential"), request)
        return try await self.context.longAct(.channelAdd, request) {
            try await self.take(work, request, idempotentAs: "channels") { result in
                guard case .channels(let channels, _) = result, let made = channels.first else { return nil }
                var response = Response.json(made.json, status: .created)
                response.headers[.location] = "\(request.prefix)channels/\(PercentCoding.encode(made.id.text))"
                return response
            }
        } result: {
            $0.status == .accepted ? "a job" : nil
        }
    }

    private func delete(_ request: APIRequest) async throws -> Response {
        try Self.authorize(request)
        let query = try request.query.strict(known: ["credential"])
        let work = try Self.work(.delete(Self.id(of: request)), credential: query["credential"], request)
        return try await self.context.longAct(.channelRemove, request) {
            try await self.take(work, request) { $0 == .done ? Response(status: .noContent) : nil }
        } result: {
            $0.status == .accepted ? "a job" : nil
        }
    }

    // MARK: Jobs

    private func read(
        _ work: RegisterRequest,
        _ request: APIRequest,
        _ text: ([BroadcastChannel], _ hasMore: Bool) -> Response?
    ) async throws -> Response {
        try await self.take(work, request) { result in
            if case .channels(let channels, let hasMore) = result { text(channels, hasMore) } else { nil }
        }
    }

    /// `route`: the route's name for `Idempotency-Key`, where a repeated request would make a second channel.
    private func take(
        _ work: RegisterRequest,
        _ request: APIRequest,
        idempotentAs route: String? = nil,
        success: (RegisterResult) -> Response?
    ) async throws -> Response {
        let jobs = RegisterJobs(context: self.context)
        let answer = try await jobs.take(work, user: try request.caller.user, request: request, idempotentAs: route)
        return try await jobs.response(
            to: answer,
            request: request,
            isRepeatable: route == nil,
            late: "Apple has not answered in time; the request continues as a job, and repeating it is safe"
        ) { result in
            switch result {
            case .notFound: throw Self.unknown
            case .refused(let reason):
                throw Problem(.unprocessableContent, reason, headers: [.job: answer.job.id.description])
            default: success(result)
            }
        }
    }

    private static func work(
        _ action: ChannelRequest.Action,
        credential name: String?,
        _ request: APIRequest
    ) throws -> RegisterRequest {
        let credential: CredentialName
        do { credential = try request.spec.credential(name, of: .apns) } catch {
            throw Problem.invalid([error.named("credential")])
        }
        guard request.spec.credentials[.apns, credential] != nil else {
            throw Problem(.unprocessableContent, PushService.apns.noCredentialsReason(credential))
        }
        return .channel(ChannelRequest(action, credential: credential))
    }

    private static func authorize(_ request: APIRequest) throws {
        guard try request.caller.role != .user else {
            throw Problem.forbidden("broadcast channels require the role sender or operator")
        }
    }

    private static func id(of request: APIRequest) throws -> APNsChannelID {
        guard let id = try? request.parameters["id"].map(APNsChannelID.init) else { throw Self.unknown }
        return id
    }

    private static var unknown: Problem {
        .notFound("the bundle id has no such channel in this environment; GET /api/channels lists its channels")
    }
}

extension BroadcastChannel {
    /// As answers have it.
    var json: JSONValue {
        .members(["id": .string(self.id.text), "storage": self.storage.map { .string($0.rawValue) }])
    }
}
