import HTTPTypes
import Hummingbird
import Payloads
import PushModel
import Store

/// `POST /api/sends`.
struct SendRoutes: Sendable {
    /// The most tags that a send may name, as at an Azure hub.
    static let maximumTags = 20
    /// The longest that a push service keeps a notification: 28 days.
    static let maximumTimeToLive = 2_419_200

    let context: RouteContext

    var routes: [Route] {
        [Route(.post, "/api/sends", body: .limited, handler: self.send)]
    }

    private func send(_ request: APIRequest) async throws -> Response {
        let caller = try request.caller
        _ = try request.query.strict(known: [])
        let wish = try SendWish(request.json())
        try Self.authorize(wish, caller: caller)
        let content = Content.message(wish.message)
        let options = PayloadFormatter.Options(
            priority: wish.priority,
            timeToLive: wish.timeToLive,
            collapse: wish.collapse
        )
        try SendJobs.check(content, for: wish.platforms, options: options, spec: request.spec)
        let preference = request.preference
        let answer = try await SendJobs(context: self.context).take(
            SendRequest(
                audience: wish.audience,
                platforms: wish.platforms,
                content: content,
                timeToLive: wish.timeToLive,
                collapse: wish.collapse
            ),
            priority: wish.priority,
            request: request,
            wait: preference.limit(most: self.context.configuration.maximumWait) ?? .zero,
            idempotentAs: "POST /api/sends"
        )
        let waited = preference.wait != nil && answer.isAnswered
        var response = JobText(job: answer.job, prefix: request.prefix).response(status: waited ? .ok : .accepted)
        response.headers[.job] = answer.job.id.description
        response.headers[.location] = "\(request.prefix)jobs/\(answer.job.id)"
        response.headers[.preferenceApplied] = preference.applied(answered: waited)
        return response
    }

    /// A user writes to users; tags are for senders and operators.
    private static func authorize(_ wish: SendWish, caller: Caller) throws {
        guard caller.role == .user, !wish.isToUser else { return }
        throw Problem.forbidden(
            "a user may send to a user (to.user); sending to tags takes the role sender or operator"
        )
    }
}

/// The body of `POST /api/sends`.
struct SendWish {
    let audience: TagExpression
    let isToUser: Bool
    let message: Content.Message
    let platforms: [PNS]
    let priority: Priority
    let timeToLive: Duration?
    let collapse: String?

    init(_ value: JSONValue) throws {
        let body = try StrictMembers(
            value,
            known: ["to", "title", "body", "data", "platforms", "priority", "ttl", "collapse"]
        )
        guard let to = body["to"] else {
            throw body.fault("to", "is needed: {\"user\": …}, {\"tag\": …} or {\"tags\": […]}")
        }
        (self.audience, self.isToUser) = try Self.audience(to)
        self.message = Content.Message(
            title: try body.string("title"),
            body: try body.string("body"),
            data: try body.texts("data")
        )
        if self.message.isSilent, self.message.data.isEmpty {
            throw Problem.invalid("body", "a send says something: title, body or data is needed")
        }
        self.platforms = try Self.platforms(body)
        self.priority = try Self.priority(body)
        self.timeToLive = try body.integer("ttl", in: 0...SendRoutes.maximumTimeToLive).map { .seconds($0) }
        self.collapse = try body.string("collapse")
        if let collapse = self.collapse {
            guard (1...PayloadFormatter.maximumCollapse).contains(collapse.utf8.count),
                collapse.utf8.allSatisfy({ (0x20...0x7E).contains($0) })
            else {
                throw body.fault("collapse", "must have 1 to \(PayloadFormatter.maximumCollapse) ASCII characters")
            }
        }
    }

    private static func audience(_ value: JSONValue) throws -> (TagExpression, isToUser: Bool) {
        let to = try StrictMembers(value, path: "to", known: ["user", "tag", "tags"])
        let named = ["user", "tag", "tags"].filter { to[$0] != nil }
        guard named.count == 1 else {
            throw Problem.invalid("to", "must have exactly one of user, tag and tags")
        }
        if let user = try to.string("user") {
            do { return (.tag(Tag(user: try UserName(user))), true) } catch {
                throw Problem.invalid([error.named("to.user")])
            }
        }
        if let tag = try to.string("tag") { return (.tag(try Self.tag(tag, member: "to.tag")), false) }
        let values = try to.array("tags") ?? []
        guard (1...SendRoutes.maximumTags).contains(values.count) else {
            throw to.fault("tags", "must have 1 to \(SendRoutes.maximumTags) tags")
        }
        let tags = try values.enumerated().map { index, value in
            guard case .string(let text) = value else {
                throw to.fault("tags[\(index)]", "must be a string, not \(value.kind)")
            }
            return TagExpression.tag(try Self.tag(text, member: "to.tags[\(index)]"))
        }
        return (.any(tags), false)
    }

    private static func tag(_ text: String, member: String) throws -> Tag {
        do { return try Tag(text) } catch { throw Problem.invalid([error.named(member)]) }
    }

    private static func platforms(_ body: StrictMembers) throws -> [PNS] {
        var found: [PNS] = []
        guard let values = try body.array("platforms") else { return [] }
        for (index, value) in values.enumerated() {
            guard case .string(let name) = value, let pns = PNS(platformName: name) else {
                throw body.fault("platforms[\(index)]", "must be one of apns, fcm (or gcm), wns and mpns")
            }
            if !found.contains(pns) { found.append(pns) }
        }
        guard !found.isEmpty else { throw body.fault("platforms", "must name a service; leave it out for all") }
        return found
    }

    private static func priority(_ body: StrictMembers) throws -> Priority {
        guard let name = try body.string("priority") else { return .normal }
        guard let priority = Priority(rawValue: name), priority != .low else {
            throw body.fault("priority", "must be high or normal")
        }
        return priority
    }
}
