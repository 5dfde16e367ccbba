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
        guard let pns = pns?.value else { throw Problem.invalid("pns", "is needed") }
        guard let recipient = recipient?.value else { throw Problem.invalid("to_tag", "is needed") }
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
        let content = Content.classic(sender: sender, text: try ClassicText(body: request.body).text)
        try SendJobs.check(content, for: [pns], spec: request.spec)
        let answer = try await self.take(
            SendRequest(audience: .any([.tag(Tag(user: user)), .tag(from)]), platforms: [pns], content: content),
            request: request,
            idempotentAs: "POST /api/notifications"
        )
        return Self.response(to: answer, request: request)
    }

    /// A key sends under its name.
    private static func sender(_ caller: Caller) throws -> UserName {
        switch caller.identity {
        case .account(let name): return name
        case .key(let name):
            do { return try UserName(name) } catch { throw Problem.forbidden("the key's name is no legal user name") }
        }
    }

    private func take(
        _ send: SendRequest,
        request: APIRequest,
        idempotentAs route: String? = nil
    ) async throws -> JobIntake.Answer {
        let configuration = self.context.configuration
        return try await SendJobs(context: self.context).take(
            send,
            priority: .normal,
            request: request,
            wait: request.preference.limit(most: configuration.maximumWait) ?? configuration.classicWait,
            idempotentAs: route
        )
    }

    /// 200 for all that the hub took or may yet take; 500 for Abandoned and Unknown, as the original has it.
    private static func response(to answer: JobIntake.Answer, request: APIRequest) -> Response {
        let id = answer.job.id.description
        let preference = request.preference
        var headers: HTTPFields = [.job: id]
        headers[.preferenceApplied] = preference.applied(answered: answer.isAnswered)
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
        return Self.response(to: answer, request: request)
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
        if notification.addressee == user, notification.read == nil, request.head.method != .head {
            try await self.context.store.markRead(id, app: request.app, at: .now)
        }
        return ContentRoutes.response(content)
    }
}

/// The message of a classic send: one JSON string, or what stands between two quotes.
struct ClassicText: Equatable {
    let text: String

    /// - Throws: ``Problem`` 400 when the body is neither.
    init(body: [UInt8]) throws {
        let space: Set<UInt8> = [0x20, 0x09, 0x0A, 0x0D]
        let start = body.drop(while: space.contains)
        let trimmed = start.reversed().drop(while: space.contains).reversed()
        let parsed = Result { () throws(JSONSyntaxError) in try JSONReader.read(body) }
        switch parsed {
        case .success(.string(let text)):
            self.text = text
        case .success(let value):
            throw Problem.invalid([InvalidValue("the body must be one JSON string, not \(value.kind)")])
        case .failure(let error):
            // Existing apps paste raw text between two quotes.
            let bytes = Array(trimmed)
            guard bytes.count >= 2, bytes.first == UInt8(ascii: "\""), bytes.last == UInt8(ascii: "\""),
                let text = String(validating: bytes.dropFirst().dropLast(), as: UTF8.self)
            else { throw Problem.invalid(error) }
            self.text = text
        }
    }
}

/// What a rich notification is to say: the app's default without a body, else what the body names.
private struct RichWish {
    let message: String
    let richType: String
    let content: String?
    let isSecure: Bool

    init(_ request: APIRequest) throws {
        let standard = request.spec.richDefault
        guard !request.body.isEmpty else {
            self.message = standard.message
            self.richType = standard.richType
            self.content = standard.content
            self.isSecure = false
            return
        }
        let members = try TolerantMembers(request.anyJSON())
        self.message = try Self.text(members, "message") ?? standard.message
        self.richType = try Self.text(members, "richType") ?? standard.richType
        self.content = try Self.text(members, "content") ?? standard.content
        switch members["secure"] {
        case nil: self.isSecure = false
        case .bool(let value): self.isSecure = value
        case let other?: throw Problem.invalid("secure", "must be true or false, not \(other.kind)")
        }
    }

    func push(id: Int32) -> Content.RichPush {
        Content.RichPush(id: id, message: self.message, richType: self.richType, isSecure: self.isSecure)
    }

    private static func text(_ members: TolerantMembers, _ name: String) throws -> String? {
        guard let text = try members.string(name) else { return nil }
        guard !text.utf8.contains(0) else { throw Problem.invalid(name, "must not hold U+0000") }
        return text
    }
}
