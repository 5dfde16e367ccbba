import HTTPTypes
import Hummingbird
import Intake
import Payloads
import PushModel
import Store
import WebServing

/// `POST /api/sends`, `POST /api/sends/count` and `POST /api/sends/preview`.
struct SendRoutes: Sendable {
    /// The longest that a push service keeps a notification: 28 days.
    static let maximumTimeToLive = 2_419_200

    private let context: RouteContext
    private let audiences: AudienceCounts
    private let counts = FairPermits(AudienceCounts.maximumUnderWay)

    init(context: RouteContext) {
        self.context = context
        self.audiences = AudienceCounts(store: context.store, time: context.configuration.countTime)
    }

    var routes: [Route] {
        [
            Route(.post, "/api/sends", body: .send, takesKey: true, handler: self.send),
            Route(
                .post,
                "/api/sends/count",
                body: .send,
                embeddedOnly: "it counts no audience before a send; a job shows what it counted",
                isForViewers: true,
                handler: self.count
            ),
            Route(.post, "/api/sends/preview", body: .send, isForViewers: true, handler: self.preview),
        ]
    }

    private func send(_ request: APIRequest) async throws -> Response {
        let caller = try request.caller
        _ = try request.query.strict(known: [])
        let body = try Self.body(request.json(), caller: caller, spec: request.spec)
        let answer = try await self.take(body.send, request)
        return answer.response(
            isDone: answer.isAwaited,
            prefix: request.prefix,
            warnings: body.warnings
        )
    }

    /// Accepts a send; one that somebody wrote on the console is an act.
    private func take(_ send: NewSend, _ request: APIRequest) async throws -> JobAnswer {
        let jobs = SendJobs(context: self.context)
        guard request.via == .console else {
            return try await jobs.take(send, request: request, idempotentAs: "POST /api/sends")
        }
        return try await self.context.longAct(.send, target: send.label?.text, request) {
            try await jobs.take(send, request: request, idempotentAs: "POST /api/sends")
        } result: {
            "job \($0.job.id)"
        }
    }

    /// Counts the registrations a send would reach.
    ///
    /// The body and the permissions are those of the send.
    private func count(_ request: APIRequest) async throws -> Response {
        let caller = try request.caller
        _ = try request.query.strict(known: [])
        let body = try StrictMembers(request.json(), known: SendBody.members)
        let target = try SendTarget(body, request.spec)
        try SendBody.authorize(body, target, caller: caller)
        let services = try SendContent.services(body, named: target.services)
        guard self.counts.take(for: caller) else {
            throw Problem.later(.serviceUnavailable, "too many audiences are being counted at once", seconds: 1)
        }
        defer { self.counts.release(of: caller) }
        let answer = try await self.audiences.count(
            target.audience,
            target.recipients,
            of: request.app,
            services: services
        )
        return .json(
            .members([
                "total": .integer(answer.counts.reduce(0) { $0 + $1.count }),
                "counts": .object(answer.counts.map { .init($0.pns.rawValue, .integer($0.count)) }),
                "isComplete": .bool(answer.isComplete),
            ])
        )
    }

    /// Shows what each push service would get; nothing is stored.
    ///
    /// The body and the permissions are those of the send. A payload that is too large is shown with its size.
    private func preview(_ request: APIRequest) async throws -> Response {
        let caller = try request.caller
        _ = try request.query.strict(known: [])
        let body = try SendBody(request.json(), caller: caller, request.spec)
        let begins = max(.now, body.startsAt ?? .now)
        let (send, spec) = (body.send, request.spec)
        let previews = body.reached.flatMap { pns in
            body.credentials(of: pns).map { SendPreview(of: send, at: pns, $0, begins: begins, spec: spec) }
        }
        return .json(PreviewJSON.json(previews, warnings: body.warnings))
    }

    /// Reads the body of a send, and checks the caller's permission and the services' limits.
    ///
    /// - Throws: ``Problem`` or `InvalidValue` that names the member.
    static func body(_ value: JSONValue, caller: Caller, spec: AppSpec) throws -> SendBody {
        let body = try SendBody(value, caller: caller, spec)
        let options = PayloadFormatter.Options(
            priority: body.priority,
            timeToLive: body.timeToLive,
            collapse: body.collapse
        )
        // Those of the handles: what another service would refuse is not a fault. Where they are none of those named, it goes nowhere.
        let services = body.reached.isEmpty ? body.content.services : body.reached
        try PayloadCheck.check(body.content.content, for: services, options: options, spec: spec)
        return body
    }
}

/// The audience and services of a send.
struct SendTarget {
    let audience: SendAudience
    /// The devices of a list.
    let recipients: RecipientList?
    let isToUser: Bool
    /// Whether its list is a broadcast channel of APNs.
    let isToChannel: Bool
    let services: [PushService]

    /// The members that name an audience.
    private static let audiences = ["user", "users", "tag", "tags", "handles", "registrations", "channel", "all"]

    init(_ body: StrictMembers, _ spec: AppSpec) throws {
        guard let value = body["to"] else {
            throw body.fault("to", "is required: an object with one of \(Self.audiences.joined(separator: ", "))")
        }
        let to = try StrictMembers(value, path: "to", known: Self.audiences + ["credential"])
        guard (Self.audiences.count { to[$0] != nil }) == 1 else {
            throw Problem.invalid("to", "must have exactly one of \(Self.audiences.joined(separator: ", "))")
        }
        self.isToChannel = to["channel"] != nil
        guard self.isToChannel || to["credential"] == nil else {
            throw to.fault("credential", "is only for to.channel; handles and registrations name their own credentials")
        }
        self.recipients = try Self.recipients(to, spec)
        if let recipients = self.recipients {
            (self.audience, self.isToUser) = (.list(recipients.count), false)
        } else if let isAll = try to.bool("all") {
            guard isAll else { throw to.fault("all", "must be true, or left out") }
            (self.audience, self.isToUser) = (.all, false)
        } else {
            let (expression, isToUser) = try Self.expression(to, spec.users)
            (self.audience, self.isToUser) = (.tags(expression), isToUser)
        }
        self.services =
            try body.array("services").map { try Self.services($0, member: body.name(of: "services")) } ?? []
    }

    private static func recipients(_ to: StrictMembers, _ spec: AppSpec) throws -> RecipientList? {
        if let handles = try to.array("handles") { return try RecipientList(handles: handles, of: to, spec: spec) }
        if let channel = try to.string("channel") { return try RecipientList(channel: channel, of: to, spec: spec) }
        return try to.array("registrations").map { try RecipientList(registrations: $0, of: to) }
    }

    private static func expression(
        _ to: StrictMembers,
        _ users: AppSpec.Users
    ) throws -> (TagExpression, isToUser: Bool) {
        if let user = try to.string("user") {
            do { return (.tag(Tag(user: try UserName(user, users))), true) } catch {
                throw Problem.invalid([error.named("to.user")])
            }
        }
        if let names = try to.array("users") {
            let tags = try SendList.tags(names, of: to, "users", of: "names") { name throws(InvalidValue) in
                Tag(user: try UserName(name, users))
            }
            return (.any(tags), true)
        }
        if let tag = try to.string("tag") {
            do { return (.tag(try Tag(tag, users)), false) } catch { throw Problem.invalid([error.named("to.tag")]) }
        }
        return (try Self.tags(to["tags"], of: to, users), false)
    }

    /// A text is an expression; of a list one tag is enough.
    private static func tags(
        _ value: JSONValue?,
        of to: StrictMembers,
        _ users: AppSpec.Users
    ) throws -> TagExpression {
        switch value {
        case .string(let text):
            do { return try TagExpression(parsing: text, users) } catch {
                throw Problem.invalid([error.named("to.tags")])
            }
        case .array(let values):
            let tags = try SendList.tags(values, of: to, "tags", of: "tags") { tag throws(InvalidValue) in
                try Tag(tag, users)
            }
            return .any(tags)
        default:
            throw to.fault("tags", "must be a tag expression or an array of tags, not \(value?.kind ?? "nothing")")
        }
    }

    /// The services that an array names.
    ///
    /// - Parameters:
    ///   - values: The array.
    ///   - member: Its name.
    ///   - otherNames: Whether names are read as the classic routes write them.
    /// - Returns: The services, each once.
    /// - Throws: ``Problem`` that names the place.
    static func services(_ values: [JSONValue], member: String, otherNames: Bool = false) throws -> [PushService] {
        var found: [PushService] = []
        for (index, value) in values.enumerated() {
            let name = if case .string(let text) = value { text } else { nil as String? }
            let service = name.flatMap { otherNames ? PushService(platformName: $0) : PushService(rawValue: $0) }
            guard let service else {
                let fault = PushService.unknown(name, otherNames: otherNames)
                throw Problem.invalid([fault.named("\(member)[\(index)]")])
            }
            if !found.contains(service) { found.append(service) }
        }
        guard !found.isEmpty else { throw Problem.invalid(member, "must name a service, or be left out") }
        return found
    }
}

/// The body of `POST /api/sends`.
struct SendBody {
    static let members = SendContent.members + ["to", "services"] + Self.options
    /// How it goes out, whatever it says.
    static let options = ["priority", "ttl", "collapse", "at", "label", "dryRun"]

    let target: SendTarget
    let content: SendContent
    /// The services that it names, or those of its handles, or those that the app has credentials for.
    let reached: [PushService]
    let priority: Priority
    let timeToLive: Duration?
    let collapse: String?
    /// When it is to go out; nil = at once.
    let startsAt: Timestamp?
    /// The sender's own name for it.
    let label: JobLabel?
    let isDryRun: Bool

    /// Warnings of members that have no effect.
    var warnings: [InvalidValue] {
        let warnings = MessageMember.warnings(of: self.content.content, for: self.reached)
        guard self.collapse != nil, !self.reached.contains(where: { ServiceFormat.of($0)?.hasCollapse == true }) else {
            return warnings
        }
        return warnings + [InvalidValue(member: "collapse", "is dropped: no service of the send has a collapse key")]
    }

    /// The credentials that devices of a service are reached with, as far as the send says so.
    func credentials(of pns: PushService) -> [CredentialName] {
        guard case .handles(let devices)? = self.target.recipients?.devices else { return [.default] }
        return Set(devices.lazy.filter { $0.pns == pns }.map(\.credential)).sorted()
    }

    private static func reached(_ named: [PushService], _ target: SendTarget, _ spec: AppSpec) -> [PushService] {
        var reached: Set<PushService>?
        if case .handles(let devices)? = target.recipients?.devices { reached = Set(devices.map(\.pns)) }
        if !named.isEmpty { return named.filter { reached?.contains($0) ?? true } }
        if let reached { return reached.sorted() }
        let declared = spec.services
        return declared.isEmpty ? PushService.inService : declared
    }

    /// The send that it asks for.
    var send: NewSend {
        var send = NewSend(
            SendRequest(
                to: self.target.audience,
                platforms: self.content.services,
                content: self.content.content,
                timeToLive: self.timeToLive,
                collapse: self.collapse,
                isDryRun: self.isDryRun
            )
        )
        (send.priority, send.startsAt, send.label) = (self.priority, self.startsAt, self.label)
        send.recipients = self.target.recipients
        return send
    }

    init(_ value: JSONValue, caller: Caller, _ spec: AppSpec) throws {
        let body = try StrictMembers(value, known: Self.members)
        self.target = try SendTarget(body, spec)
        try Self.authorize(body, self.target, caller: caller)
        self.priority = try Self.priority(body)
        self.timeToLive = try body.integer("ttl", in: 0...SendRoutes.maximumTimeToLive).map { .seconds($0) }
        self.startsAt = try Self.start(body)
        guard !self.target.isToChannel || body["liveActivity"] != nil else {
            throw Problem.invalid("to.channel", "takes liveActivity alone: only Live Activities listen to a channel")
        }
        self.content =
            try SendContent.liveActivity(
                body,
                to: self.target,
                priority: self.priority,
                at: max(self.startsAt ?? .now, .now)
            ) ?? SendContent(body, services: self.target.services, spec: spec)
        self.reached = Self.reached(self.content.services, self.target, spec)
        self.label = try Self.label(body)
        self.isDryRun = try body.bool("dryRun") ?? false
        self.collapse = try body.string("collapse")
        if let collapse = self.collapse {
            guard !self.target.isToChannel else {
                throw body.fault("collapse", "cannot stand beside to.channel: Apple replaces nothing there")
            }
            guard (1...PayloadFormatter.maximumCollapse).contains(collapse.utf8.count),
                collapse.utf8.allSatisfy({ (0x20...0x7E).contains($0) }),
                // Header values cannot begin or end with spaces.
                !collapse.hasPrefix(" "), !collapse.hasSuffix(" ")
            else {
                throw body.fault(
                    "collapse",
                    "must have 1 to \(PayloadFormatter.maximumCollapse) ASCII characters, and no space at either end"
                )
            }
        }
    }

    /// A user writes messages to users; the rest is for senders and operators.
    ///
    /// - Throws: ``Problem`` that names the member, before what is in it is judged.
    static func authorize(_ body: StrictMembers, _ target: SendTarget, caller: Caller) throws {
        guard caller.role == .user else { return }
        guard target.isToUser else {
            throw Problem.forbidden(
                "sending to tags, lists, channels or all requires the role sender or operator; a user may send to users (to.user, to.users)"
            )
        }
        // A user could imitate a call, or wake all apps of another, with a payload that the app never shows.
        for member in ["native", "liveActivity", "dryRun"] + SendContent.ownMembers
        where (body[member] ?? .bool(false)) != .bool(false) {
            throw Problem.forbidden("\(member) requires the role sender or operator")
        }
    }

    private static func start(_ body: StrictMembers) throws -> Timestamp? {
        guard let text = try body.string("at") else { return nil }
        guard let moment = Timestamp(rfc3339: text) else {
            throw body.fault("at", "must be a time with a time zone (Z or +01:00), as in 2026-11-21T08:30:00Z")
        }
        do { try SendStart.check(moment) } catch { throw body.fault("at", error.reason) }
        return moment
    }

    private static func label(_ body: StrictMembers) throws -> JobLabel? {
        do { return try body.string("label").map { text throws(InvalidValue) in try JobLabel(text) } } catch let fault
            as InvalidValue
        {
            throw Problem.invalid([fault.named("label")])
        }
    }

    private static func priority(_ body: StrictMembers) throws -> Priority {
        guard let name = try body.string("priority") else { return .normal }
        guard let priority = Priority(rawValue: name), priority != .low else {
            throw body.fault("priority", "must be high or normal")
        }
        return priority
    }
}
