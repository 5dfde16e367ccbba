import HTTPTypes
import Hummingbird
import NIOCore
import PushModel
import Store

/// Sending to a user, and rich push, as existing apps do it.
///
/// Successful answers have an empty body: apps parse it as XML.
struct ClassicNotificationRoutes: Sendable {
    let context: RouteContext

    var routes: [Route] {
        [
            Route(.post, "/api/notifications", body: .limited, handler: self.post),
            Route(.get, "/api/notifications/{id}", handler: self.content),
        ]
    }

    private func post(_ request: APIRequest) async throws -> Response {
        let pns = request.query.tolerant("pns")
        let recipient = request.query.tolerant("to_tag")
        if pns == nil, recipient == nil { return try await self.rich(request) }
        guard let pns = pns?.value else { throw Problem.invalid("pns", "is needed beside to_tag") }
        guard let recipient = recipient?.value else { throw Problem.invalid("to_tag", "is needed beside pns") }
        return try await self.send(request, platform: pns, to: recipient)
    }

    private func send(_ request: APIRequest, platform: String, to recipient: String) async throws -> Response {
        let caller = try request.caller
        let sender = try Self.sender(caller)
        guard let pns = PNS(platformName: platform), pns.isInService else {
            throw Problem.invalid("pns", "\"\(platform.prefix(40))\" is none of wns, apns, gcm and fcm")
        }
        let user: UserName
        do { user = try UserName(recipient) } catch { throw Problem.invalid([error.named("to_tag")]) }
        let from: Tag
        do { from = try Tag("from:\(sender.name)") } catch { throw Problem.invalid([error]) }
        // Nothing said is an empty text, as at the classic backend.
        let content = Content.classic(sender: sender, text: try ClassicBody(request.body).message ?? "")
        try SendJobs.check(content, for: [pns], spec: request.spec)
        let answer = try await self.take(
            SendRequest(audience: .any([.tag(Tag(user: user)), .tag(from)]), platforms: [pns], content: content),
            request: request
        )
        return self.response(to: answer, request: request)
    }

    /// A key sends under its name.
    private static func sender(_ caller: Caller) throws -> UserName {
        switch caller.identity {
        case .account(let name): return name
        case .key(let name):
            do { return try UserName(name) } catch { throw Problem.forbidden("the key's name is no legal user name") }
        }
    }

    private func take(_ send: SendRequest, request: APIRequest) async throws -> JobIntake.Answer {
        let configuration = self.context.configuration
        return try await SendJobs(context: self.context).take(
            send,
            priority: .normal,
            request: request,
            wait: request.preference.limit(most: configuration.maximumWait) ?? configuration.classicWait,
            idempotentAs: "POST /api/notifications"
        )
    }

    /// 200 for all that the hub took or may yet take; 500 for Abandoned and Unknown, as the original has it.
    private func response(to answer: JobIntake.Answer, request: APIRequest) -> Response {
        let id = answer.job.id.description
        let preference = request.preference
        var headers: HTTPFields = [.job: id]
        headers[.preferenceApplied] = preference.applied(
            answered: answer.isAnswered,
            most: self.context.configuration.maximumWait
        )
        let hasFailed =
            answer.job.hubState == .abandoned || answer.job.hubState == .unknown || answer.job.state == .abandoned
        if hasFailed { return Response(status: .internalServerError, headers: headers) }
        if !answer.isAnswered, preference.isStated {
            headers[.location] = "\(request.prefix)jobs/\(id)"
            return Response(status: .accepted, headers: headers)
        }
        return Response(status: .ok, headers: headers)
    }

    /// Creates a rich notification for the caller, then tells the caller's devices to fetch it.
    private func rich(_ request: APIRequest) async throws -> Response {
        let caller = try request.caller
        let user = try caller.requireUser()
        let wanted = try RichWish(request)
        if let content = wanted.content {
            let found = try await self.context.store.content(content, app: request.app)
            let isDefault = content == request.spec.richDefault.content
            guard let found, isDefault || found.owner == nil || found.owner == user || caller.role == .operator else {
                throw Problem(
                    .notFound,
                    "no such content",
                    errors: [InvalidValue(member: "content", "there is no content of that id")]
                )
            }
        }
        // Its size is checked with the longest id there is: nothing is kept of what cannot be sent.
        let longest = wanted.push(id: .max)
        try SendJobs.check(.rich(longest), for: [], spec: request.spec)
        let notification = NewRichNotification(
            sender: user,
            addressee: user,
            message: wanted.message,
            richType: wanted.richType,
            content: wanted.content,
            isSecure: wanted.isSecure
        )
        // Committed before the push: the app fetches at once.
        let id = try await self.context.store.add(notification, app: request.app)
        let answer = try await self.take(
            SendRequest(audience: .tag(Tag(user: user)), content: .rich(wanted.push(id: id))),
            request: request
        )
        return self.response(to: answer, request: request)
    }

    /// The content of a rich notification, for its addressee and its sender; the addressee's first look is remembered.
    private func content(_ request: APIRequest) async throws -> Response {
        let missing = Problem.notFound("no such notification")
        let user = try request.caller.requireUser()
        guard let id = request.parameters["id"].flatMap(Int32.init), id > 0,
            let notification = try await self.context.store.richNotification(id, app: request.app),
            notification.addressee == user || notification.sender == user
        else { throw missing }
        var content = DefaultPicture.content
        if let stored = notification.content {
            guard let found = try await self.context.store.content(stored, app: request.app) else { throw missing }
            content = found
        }
        // Before it counts as read: it may be refused.
        let response = try ContentRoutes.response(content, for: try request.caller, within: self.context)
        if notification.addressee == user, notification.read == nil, request.head.method != .head {
            try await self.context.store.markRead(id, app: request.app, at: .now)
        }
        return response
    }
}

/// What a rich notification is to say: the app's default wherever the body says nothing.
private struct RichWish {
    let message: String
    let richType: String
    let content: String?
    let isSecure: Bool

    init(_ request: APIRequest) throws {
        let standard = request.spec.richDefault
        let body = try ClassicBody(request.body)
        // The store's texts end at a U+0000.
        let message = body.message.map { $0.unicodeScalars.map { $0 == "\0" ? "\u{FFFD}" : $0 } }
        self.message = message.map { String(String.UnicodeScalarView($0)) } ?? standard.message
        self.richType = body.richType ?? standard.richType
        self.content = body.content ?? standard.content
        self.isSecure = body.isSecure
    }

    func push(id: Int32) -> Content.RichPush {
        Content.RichPush(id: id, message: self.message, richType: self.richType, isSecure: self.isSecure)
    }
}
