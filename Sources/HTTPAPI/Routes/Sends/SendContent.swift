import Payloads
import PushModel
import WebServing

/// What a send says: a message for all services, forms of the sender's own for some, or both; or what becomes of a Live Activity.
struct SendContent {
    static let members = ["title", "body", "data", "native", "liveActivity"] + Self.others
    /// The members of a message beside title, body and data.
    static let others = MessageMember.members(of: nil).map(\.name) + Self.ownMembers
    /// The objects that have what only one service knows.
    static let ownMembers = Self.services.map(\.rawValue)
    /// Those of which a message needs one; ``native`` is beside them.
    private static let needed = ["title", "body", "data", "titleLocKey", "bodyLocKey", "badge"]
    /// The members that replace the whole message at their service; without a message the send goes to that service alone.
    private static let whole = ["wns.badge", "wns.raw"]
    /// The services that may have a form of the sender's own, each under its name in `native`.
    private static let services = ServiceFormat.all.map(\.service)

    let content: Content
    /// The services to send to; empty = all.
    let services: [PushService]

    init(_ content: Content, services: [PushService]) {
        self.content = content
        self.services = services
    }

    /// - Parameters:
    ///   - body: The body of a send.
    ///   - named: The services that it names; empty = all.
    ///   - spec: The app.
    /// - Throws: ``Problem`` that names the member.
    init(_ body: StrictMembers, services named: [PushService], spec: AppSpec) throws {
        let message = Content.Message(
            title: try body.string("title"),
            body: try body.string("body"),
            data: try body.texts("data"),
            members: try Self.others(body)
        )
        let isMessage = !message.isSilent || !message.data.isEmpty || message.members?["badge"] != nil
        let isWhole = Self.whole.contains { message.members?[$0] != nil }
        let forms = try Self.native(body, spec: spec)
        guard isMessage || isWhole || !forms.isEmpty else {
            let needed = (Self.needed + Self.whole).joined(separator: ", ")
            throw Problem.invalid("body", "at least one of \(needed), native and liveActivity is required")
        }
        // Without a message the others would have no effect.
        if !isMessage, !isWhole, let member = message.members?.values.first {
            throw body.fault(member.name, "belongs to a message: give one of \(Self.needed.joined(separator: ", "))")
        }
        self.content =
            forms.isEmpty
            ? .message(message) : .native(.init(message: isMessage || isWhole ? message : nil, forms: forms))
        let getting = Self.services.filter { pns in
            forms.contains { $0.kind.pns == pns } || Self.hasWhole(of: pns) { message.members?[$0] != nil }
        }
        if !isMessage, let pns = named.first(where: { !getting.contains($0) }) {
            throw body.fault(
                "services",
                "\(pns.rawValue) has nothing to get: give native.\(pns.rawValue), or a message"
            )
        }
        self.services = isMessage || !named.isEmpty ? named : getting
    }

    /// Whether one of the members ``whole`` is given for the service.
    private static func hasWhole(of pns: PushService, isGiven: (String) -> Bool) -> Bool {
        Self.whole.contains { MessageMember.service(of: $0) == pns && isGiven($0) }
    }

    /// The services that a send would go to, by the members that its body has.
    ///
    /// - Parameters:
    ///   - body: The body of a send, of which a count reads little.
    ///   - named: The services that it names; empty = all.
    /// - Returns: Those, or without a message the services that get a form or a member of ``whole``; empty = all.
    /// - Throws: ``Problem`` where `native` is not an object of forms.
    static func services(_ body: StrictMembers, named: [PushService]) throws -> [PushService] {
        if body["liveActivity"] != nil { return [.apns] }
        let native = try Self.members(body)
        guard named.isEmpty, Self.needed.allSatisfy({ body[$0] == nil }) else { return named }
        return Self.services.filter { pns in
            native?[pns.rawValue] != nil || Self.hasWhole(of: pns) { Self.isGiven($0, of: pns, in: body) }
        }
    }

    /// Whether a service's own object has a member of that path.
    private static func isGiven(_ path: String, of pns: PushService, in body: StrictMembers) -> Bool {
        guard case .object(let own)? = body[pns.rawValue] else { return false }
        return own.contains { "\(pns.rawValue).\($0.name)" == path && $0.value != .null }
    }

    /// The other members of the message.
    private static func others(_ body: StrictMembers) throws -> MessageMembers? {
        var given: [(member: MessageMember, value: JSONValue)] = []
        for (name, member) in MessageMember.members(of: nil) {
            if let value = body[name] { given.append((member, value)) }
        }
        for pns in Self.services {
            guard let value = body[pns.rawValue] else { continue }
            let members = MessageMember.members(of: pns)
            let own = try StrictMembers(
                value,
                path: pns.rawValue,
                known: members.map(\.name),
                misplaced: ["payload": "native.\(pns.rawValue)", "message": "native.\(pns.rawValue)"]
                    .mapValues { "put it under \($0)" }
            )
            for (name, member) in members {
                if let value = own[name] { given.append((member, value)) }
            }
        }
        do {
            var values: [JSONValue.Member] = []
            for each in given { values.append(try each.member.read(each.value)) }
            let members = MessageMembers(values)
            if let members { try MessageRule.check(members) }
            return members
        } catch {
            throw Problem.invalid([error])
        }
    }

    /// Members as the services' own documentation has them, and where they belong here.
    private static func misplaced(_ path: String = "native") -> [String: String] {
        let places = ["aps": "native.apns.payload", "notification": "native.fcm.message", "data": "native.fcm.message"]
        return places.filter { $0.value.hasPrefix(path) }.mapValues { "put it under \($0)" }
    }

    private static func members(_ body: StrictMembers) throws -> StrictMembers? {
        try body["native"].map {
            try StrictMembers($0, path: "native", known: Self.services.map(\.rawValue), misplaced: Self.misplaced())
        }
    }

    private static func native(_ body: StrictMembers, spec: AppSpec) throws -> [NativePayload] {
        guard let native = try Self.members(body) else { return [] }
        let forms = try ServiceFormat.all.compactMap { format in
            try native[format.service.rawValue].map { try Self.payload($0, in: format, spec: spec) }
        }
        guard !forms.isEmpty else {
            let services = PushService.list(Self.services)
            throw body.fault("native", "must have a form for \(services), or be left out")
        }
        return forms
    }

    private static func payload(_ value: JSONValue, in format: ServiceFormat, spec: AppSpec) throws -> NativePayload {
        let path = "native.\(format.service.rawValue)"
        let form = try StrictMembers(value, path: path, known: format.form.members, misplaced: Self.misplaced(path))
        guard let payload = form[format.form.member] else { throw form.fault(format.form.member, "is required") }
        do {
            return try format.form.read(payload, headers: Self.headers(form), of: spec)
        } catch let fault as InvalidValue {
            throw Problem.invalid([fault.named(path)])
        }
    }

    /// Headers as they stand, repeated ones too, for the form's reader to judge.
    private static func headers(_ form: StrictMembers) throws -> [NativeForm.Header] {
        guard let value = form["headers"] else { return [] }
        guard case .object(let members) = value else {
            throw form.fault("headers", value.mustBe("an object"))
        }
        return try members.map { member in
            guard case .string(let text) = member.value else {
                throw form.fault("headers.\(member.name)", member.value.mustBe("a string"))
            }
            return (member.name, text)
        }
    }
}
