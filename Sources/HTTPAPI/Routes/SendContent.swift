import Payloads
import PushModel

/// What a send says: a message for all services, forms of the sender's own for some, or both.
struct SendContent {
    static let members = ["title", "body", "data", "native"]
    /// The services that may have a form of the sender's own, by the members of `native`.
    private static let forms: [PushService] = [.apns, .fcm, .wns]

    let content: Content
    /// The services to send to; empty = all.
    let platforms: [PushService]

    /// - Parameters:
    ///   - body: The body of a send.
    ///   - platforms: The services that it names; empty = all.
    ///   - spec: The app.
    /// - Throws: ``Problem`` that names the member.
    init(_ body: StrictMembers, platforms: [PushService], spec: AppSpec) throws {
        let message = Content.Message(
            title: try body.string("title"),
            body: try body.string("body"),
            data: try body.texts("data")
        )
        let isMessage = !message.isSilent || !message.data.isEmpty
        let forms = try Self.native(body, spec: spec)
        guard isMessage || !forms.isEmpty else {
            throw Problem.invalid("body", "at least one of title, body, data and native is required")
        }
        self.content =
            forms.isEmpty ? .message(message) : .native(.init(message: isMessage ? message : nil, forms: forms))
        let formed = forms.map(\.kind.pns)
        if !isMessage, let pns = platforms.first(where: { !formed.contains($0) }) {
            throw body.fault(
                "platforms",
                "\(pns.rawValue) has nothing to get: give native.\(pns.rawValue), or a message"
            )
        }
        self.platforms = isMessage || !platforms.isEmpty ? platforms : formed
    }

    /// The services that a send would go to, by the members that its body has.
    ///
    /// - Parameters:
    ///   - body: The body of a send, of which a count reads little.
    ///   - platforms: The services that it names; empty = all.
    /// - Returns: Those, or without a message those that have a form; empty = all.
    /// - Throws: ``Problem`` where `native` is no object of forms.
    static func platforms(_ body: StrictMembers, named platforms: [PushService]) throws -> [PushService] {
        let native = try Self.members(body)
        guard let native, platforms.isEmpty, ["title", "body", "data"].allSatisfy({ body[$0] == nil }) else {
            return platforms
        }
        return Self.forms.filter { native[$0.rawValue] != nil }
    }

    private static func members(_ body: StrictMembers) throws -> StrictMembers? {
        try body["native"].map { try StrictMembers($0, path: "native", known: Self.forms.map(\.rawValue)) }
    }

    private static func native(_ body: StrictMembers, spec: AppSpec) throws -> [NativePayload] {
        guard let native = try Self.members(body) else { return [] }
        let forms = try Self.forms.compactMap { pns in
            try native[pns.rawValue].map { try Self.form($0, of: pns, spec: spec) }
        }
        guard !forms.isEmpty else { throw body.fault("native", "must have one of apns, fcm and wns, or be left out") }
        return forms
    }

    private static func form(_ value: JSONValue, of pns: PushService, spec: AppSpec) throws -> NativePayload {
        let path = "native.\(pns.rawValue)"
        let known = pns == .apns ? ["payload", "headers"] : pns == .fcm ? ["message"] : ["body", "headers"]
        let form = try StrictMembers(value, path: path, known: known)
        guard let content = form[known[0]] else { throw form.fault(known[0], "is required") }
        do {
            switch pns {
            case .apns:
                return try NativeForm.apns(payload: content, headers: Self.headers(form), topic: spec.apns?.topic)
            case .fcm: return try NativeForm.fcm(message: content)
            default: return try NativeForm.wns(body: form.requiredString("body"), headers: Self.headers(form))
            }
        } catch let fault as InvalidValue {
            throw Problem.invalid([fault.named(path)])
        }
    }

    /// Headers as they stand, repeated ones too, for the form's reader to judge.
    private static func headers(_ form: StrictMembers) throws -> [NativeForm.Header] {
        guard let value = form["headers"] else { return [] }
        guard case .object(let members) = value else {
            throw form.fault("headers", "must be an object, not \(value.kind)")
        }
        return try members.map { member in
            guard case .string(let text) = member.value else {
                throw form.fault("headers.\(member.name)", "must be a string, not \(member.value.kind)")
            }
            return (member.name, text)
        }
    }
}
