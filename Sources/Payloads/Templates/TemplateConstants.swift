import PushModel

extension TemplatePayload {
    /// Refuses a template that no properties of a send can make valid: one with constants that the service refuses, or with a
    /// body of another kind than the service's.
    ///
    /// - Parameters:
    ///   - template: The template, all of whose expressions can be read.
    ///   - body: Its body.
    ///   - pns: The service.
    ///   - form: The service's form.
    /// - Throws: ``InvalidValue`` that names the member.
    static func checkConstants(
        _ template: DeviceTemplate.Content,
        body: HubTemplate,
        for pns: PushService,
        form: NativeForm
    ) throws(InvalidValue) {
        if let expiry = try template.expiry.flatMap(Self.constant) { _ = try Self.expiration(expiry) }
        var headers: [NativeForm.Header] = []
        for header in template.headers where header.name.lowercased() != "apns-topic" {
            // Topics are checked when it is sent: the app may have other credentials then.
            if let value = try Self.constant(header.value) { headers.append((header.name, value)) }
        }
        let ownPriority = "apns-priority"
        var hasPriority = false
        if form.headers.contains(ownPriority), let priority = try template.priority.flatMap(Self.constant),
            !template.headers.contains(where: { $0.name.lowercased() == ownPriority })
        {
            headers.append((ownPriority, priority))
            hasPriority = true
        }
        do {
            let payload = try Self.trial(body, &headers, for: pns)
            _ = try form.read(payload, headers: headers, of: AppSpec())
        } catch {
            if hasPriority, error.member == "headers.\(ownPriority)" {
                throw InvalidValue(member: "priority", error.reason)
            }
            guard !error.member.hasPrefix("headers.") else { throw error }
            let place = error.member.split(separator: ".").dropFirst().map { ".\($0)" }.joined()
            throw InvalidValue(member: "body\(place)", error.reason)
        }
    }

    /// A payload that is refused only if every notification of the template would be.
    ///
    /// Parts that depend on the properties, or on the headers of the send, are replaced by values that the service accepts.
    private static func trial(
        _ body: HubTemplate,
        _ headers: inout [NativeForm.Header],
        for pns: PushService
    ) throws(InvalidValue) -> JSONValue {
        func type(_ name: String) -> String? { headers.first { $0.name.lowercased() == name }?.value }
        if pns == .wns {
            switch type("x-wns-type") {
            case nil: return .string("<toast/>")
            case "wns/raw"?: return .string("raw")
            case _?: return .string(String(decoding: try body.filled(TemplateProperties([:])), as: UTF8.self))
            }
        }
        let bytes = try body.filled(TemplateProperties([:]))
        let json: JSONValue
        do throws(JSONSyntaxError) { json = try JSONReader.read(bytes) } catch {
            throw InvalidValue(member: "body", "\(pns.descriptor.title) takes JSON: \(error.reason)")
        }
        guard case .object = json else {
            throw InvalidValue(member: "body", "must be a JSON object, not \(json.kind)")
        }
        switch pns {
        case .apns:
            let sample = JSONValue.members(["aps": .members(["alert": .string("a")])])
            guard let kind = type("apns-push-type") else {
                // The push type that allows every priority; the send may name another.
                headers.append(("apns-push-type", "alert"))
                return sample
            }
            guard kind == "liveactivity" else { return json }
            return .members(["aps": .members(["timestamp": .number("1"), "event": .string("end")])])
        case .fcm: return .members(["data": .members(["a": .string("b")])])
        default: return json
        }
    }

    /// A value that is the same for every send; nil for a value that depends on the send.
    private static func constant(_ text: String) throws(InvalidValue) -> String? {
        try TemplateExpression(text).constant
    }
}
