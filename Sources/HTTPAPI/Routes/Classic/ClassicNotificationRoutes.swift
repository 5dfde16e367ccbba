import HTTPTypes
import Hummingbird
import Intake
import NIOCore
import PushModel
import Settings
import Store
import WebServing

/// Sending to a user, and rich push, as existing apps do it.
///
/// A send that is accepted has an empty body: apps parse it as XML.
struct ClassicNotificationRoutes: Sendable {
    let context: RouteContext

    var routes: [Route] {
        [
            Route(.post, "/api/notifications", body: .limited, isClassic: true, takesKey: true, handler: self.post),
            Route(.get, "/api/notifications", isClassic: true, handler: self.list),
            Route(.get, "/api/notifications/{id}", isClassic: true, handler: self.fetch),
        ]
    }

    private func post(_ request: APIRequest) async throws -> Response {
        let pns = request.query.tolerant("pns")
        let recipient = request.query.tolerant("to_tag")
        if pns == nil, recipient == nil { return try await self.rich(request) }
        guard let pns = pns?.value else { throw Problem.invalid("pns", "is required beside to_tag") }
        guard let recipient = recipient?.value else { throw Problem.invalid("to_tag", "is required beside pns") }
        return try await self.send(request, platform: pns, to: recipient)
    }

    private func send(_ request: APIRequest, platform: String, to recipient: String) async throws -> Response {
        let caller = try request.caller
        let sender = try Self.sender(caller, request.spec.users)
        guard let pns = PushService(platformName: platform), pns.isInService else {
            throw Problem.invalid([
                PushService.unknown(platform, among: PushService.inService, otherNames: true).named("pns")
            ])
        }
        let user: UserName
        do { user = try UserName(recipient, request.spec.users) } catch {
            throw Problem.invalid([error.named("to_tag")])
        }
        // An absent body is an empty text, as in the classic backend.
        let content = Content.classic(sender: sender.name, text: try ClassicBody(request.body).message ?? "")
        try PayloadCheck.check(content, for: [pns], spec: request.spec)
        let send = SendRequest(
            audience: .any([Tag(user: user)] + Self.listeners(to: sender, request.spec)),
            platforms: [pns],
            content: content
        )
        return self.response(to: try await self.take(NewSend(send), request: request), request: request)
    }

    /// The tag of the devices that asked for the sends of a sender: none for a name that no tag of the app's hub can have.
    private static func listeners(to sender: UserName, _ spec: AppSpec) -> [Tag] {
        guard let tag = Tag(.sender, of: sender), spec.azureHub == nil || HubAddressing.takes(tag) else { return [] }
        return [tag]
    }

    /// A key sends under its name.
    private static func sender(_ caller: Caller, _ users: AppSpec.Users) throws -> UserName {
        switch caller.identity {
        case .account(let name): return name
        case .key(let name):
            do { return try UserName(name, users) } catch {
                throw Problem.forbidden("the key's name is not a valid user name")
            }
        }
    }

    private func take(_ send: NewSend, request: APIRequest) async throws -> JobAnswer {
        try await SendJobs(context: self.context).take(send, request: request, idempotentAs: "POST /api/notifications")
    }

    /// 200 for all that the hub took or may yet take; 500 for what it has abandoned, as the original has it.
    private func response(to answer: JobAnswer, request: APIRequest) -> Response {
        let id = answer.job.id.description
        var headers: HTTPFields = [.job: id]
        headers[.preferenceApplied] = answer.preferenceApplied
        if answer.job.state == .abandoned { return Response(status: .internalServerError, headers: headers) }
        if !answer.hasCome, answer.wait.allowsAccepted {
            headers[.location] = "\(request.prefix)jobs/\(id)"
            return Response(status: .accepted, headers: headers)
        }
        return Response(status: .ok, headers: headers)
    }
}

// MARK: Rich push

extension ClassicNotificationRoutes {
    /// How often an id is drawn where the app has one of that number already: among a million, one draw of two thousand meets one.
    private static let draws = 8

    /// Creates a rich notification for the caller and tells the caller's devices to fetch it.
    private func rich(_ request: APIRequest) async throws -> Response {
        let caller = try request.caller
        let user = try caller.requireUser()
        let wanted = try RichBody(request)
        if let content = wanted.content {
            let found =
                content == request.spec.richDefault.content
                ? try await self.context.store.content(content, app: request.app)
                : try await ContentRoutes.readable(content, by: caller, within: self.context)
            guard found != nil else {
                throw Problem(
                    .notFound,
                    "no such content",
                    errors: [InvalidValue(member: "content", "there is no content of that id")]
                )
            }
        }
        // Checks the size with the longest possible id, so that nothing unsendable is stored.
        try PayloadCheck.check(.rich(wanted.push(id: .max)), for: wanted.platforms, spec: request.spec)
        var draws = Self.draws
        while true {
            draws -= 1
            do {
                return self.response(to: try await self.take(wanted, of: user, request: request), request: request)
            } catch let error as StoreError where error.code == .conflict && draws > 0 {
                continue
            }
        }
    }

    /// Commits the notification together with its job: the app fetches it at once, and a refused job leaves nothing.
    private func take(_ wanted: RichBody, of user: UserName, request: APIRequest) async throws -> JobAnswer {
        let settings = request.spec.richDefault
        let notification = NewRichNotification(
            sender: user,
            addressee: user,
            message: wanted.message,
            richType: wanted.richType,
            content: wanted.content,
            isSecure: wanted.isSecure,
            quota: NewRichNotification.Quota(perSender: settings.perAccount, perApp: settings.perApp)
        )
        var send = NewSend(
            SendRequest(
                audience: .tag(Tag(user: user)),
                platforms: wanted.platforms,
                content: .rich(wanted.push(id: notification.id))
            )
        )
        send.notification = notification
        return try await self.take(send, request: request)
    }

    /// A rich notification, for its addressee and its sender; the addressee's first look is remembered.
    private func fetch(_ request: APIRequest) async throws -> Response {
        let missing = Problem.notFound("no such notification")
        let user = try request.caller.requireUser()
        guard let id = request.parameters["id"].flatMap(Int32.init), id > 0,
            let notification = try await self.context.store.richNotification(id, app: request.app),
            notification.addressee == user || notification.sender == user
        else { throw missing }
        // Before it counts as read: it may be refused.
        let isText = notification.isSecure && request.spec.richDefault.isSecure
        let picture = isText ? nil : try await self.picture(of: notification, request: request, missing: missing)
        var isRead = notification.read != nil
        if notification.addressee == user, !isRead, request.head.method != .head {
            // Of two that fetch it at once, one is the first.
            isRead = try await !self.context.store.markRead(id, app: request.app, at: .now)
        }
        if let picture { return picture }
        // In the words of the apps that fetch it.
        return .json(
            .members([
                "Id": .integer(Int(id)), "Payload": .string(notification.message), "Read": .bool(isRead),
            ])
        )
    }

    private func picture(
        of notification: RichNotification,
        request: APIRequest,
        missing: Problem
    ) async throws -> Response {
        var content = DefaultPicture.content
        if let stored = notification.content {
            guard let found = try await self.context.store.content(stored, app: request.app) else { throw missing }
            content = found
        }
        return try ContentRoutes.response(content, for: try request.caller, within: self.context)
    }

    /// Sent notifications and whether they were read: the caller's own, or for an operator the app's.
    private func list(_ request: APIRequest) async throws -> Response {
        let caller = try request.caller
        let list = try ListQuery(request, filters: ["user", "sender", "since"])
        var query = RichNotificationQuery(
            app: request.app,
            sender: try list.user("sender"),
            addressee: try list.user("user"),
            since: try list.time("since"),
            cursor: try list.cursor,
            limit: try list.limit
        )
        if !caller.seesAll {
            let user = try caller.requireUser()
            if let sender = query.sender, sender != user {
                throw Problem.forbidden("only an operator may list the notifications of others")
            }
            query.sender = user
        }
        let page = try await self.context.store.richNotifications(query)
        return .page(page.items.map(Self.text), cursor: page.cursor)
    }

    private static func text(_ notification: RichNotification) -> JSONValue {
        .members([
            "id": .integer(Int(notification.id)),
            "sender": notification.sender.map { .string($0.name) },
            "user": .string(notification.addressee.name),
            "richType": .string(notification.richType),
            "content": notification.content.map { .string($0) },
            "isSecure": .bool(notification.isSecure),
            "created": .string(notification.created.iso8601),
            "isRead": .bool(notification.read != nil),
            "read": notification.read.map { .string($0.iso8601) },
        ])
    }
}

/// The members of a rich notification, with the app's defaults for absent ones.
private struct RichBody {
    let message: String
    let richType: String
    let content: String?
    let isSecure: Bool
    let platforms: [PushService]

    init(_ request: APIRequest) throws {
        let standard = request.spec.richDefault
        let body = try ClassicBody(request.body)
        // The store's texts end at a U+0000.
        let message = body.message.map { $0.unicodeScalars.map { $0 == "\0" ? "\u{FFFD}" : $0 } }
        self.message = message.map { String(String.UnicodeScalarView($0)) } ?? standard.message
        self.richType = body.richType ?? standard.richType
        self.content = body.content ?? standard.content
        self.isSecure = body.isSecure ?? standard.isSecure
        // As the classic backend has it; others where they are asked for.
        self.platforms = body.platforms ?? [.apns]
    }

    func push(id: Int32) -> Content.RichPush {
        Content.RichPush(id: id, message: self.message, richType: self.richType, isSecure: self.isSecure)
    }
}
