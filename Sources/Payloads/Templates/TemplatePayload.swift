package import PushModel

/// The notification that a template makes of the properties of a send.
package enum TemplatePayload {
    /// Fills a template in.
    ///
    /// - Parameters:
    ///   - template: The template.
    ///   - values: The properties.
    ///   - sent: The sender's headers: those that the service does not have are left out, and those that the template sets too.
    ///   - pns: The service.
    ///   - app: The app's declaration.
    /// - Returns: A payload that the service takes.
    /// - Throws: ``InvalidValue`` for what the service would refuse.
    static func fill(
        _ template: DeviceTemplate.Content,
        with values: TemplateProperties,
        headers sent: [NativePayload.Header],
        for pns: PushService,
        of app: AppSpec
    ) throws(InvalidValue) -> NativePayload {
        guard let form = ServiceFormat.of(pns)?.form else { throw InvalidValue(pns.retiredReason) }
        // Its headers too: their values have a share of the room, not one each.
        var filling = TemplateFilling(properties: values)
        var headers: [NativeForm.Header] = []
        for header in template.headers {
            headers.append((header.name, try filling.value(of: TemplateExpression(header.value)).text))
        }
        func add(_ name: String, _ value: String) {
            guard form.headers.contains(where: { $0.lowercased() == name.lowercased() }),
                !headers.contains(where: { $0.name.lowercased() == name.lowercased() }), !value.isEmpty
            else { return }
            headers.append((name, value))
        }
        if let priority = template.priority {
            add("apns-priority", try filling.value(of: TemplateExpression(priority)).text)
        }
        if let expiry = template.expiry {
            add("apns-expiration", try Self.expiration(filling.value(of: TemplateExpression(expiry)).text))
        }
        for header in sent { add(header.name, header.value) }
        let bytes = try HubTemplate(template.body, isRaw: Self.isRaw(template, for: pns)).filled(&filling)
        let native = try form.read(try Self.payload(bytes, for: pns), headers: headers, of: app)
        return try PayloadFormatter.format(.native(.init(message: nil, forms: [native])), for: pns)
    }

    /// Refuses a template of which nothing can become.
    ///
    /// - Throws: ``InvalidValue`` that names the member.
    package static func check(_ template: DeviceTemplate.Content, for pns: PushService) throws(InvalidValue) {
        guard template.size <= DeviceTemplate.Content.maximumSize else {
            throw InvalidValue("a template has at most \(DeviceTemplate.Content.maximumSize) bytes with its headers")
        }
        // What is out of service is kept as it is: nothing is sent to it.
        guard let form = ServiceFormat.of(pns)?.form else { return }
        let body: HubTemplate
        do { body = try HubTemplate(template.body, isRaw: Self.isRaw(template, for: pns)) } catch {
            throw error.member.isEmpty ? error.named("body") : error
        }
        var names: Set<String> = []
        for header in template.headers {
            let name = String(header.name.prefix(40))
            guard form.headers.contains(where: { $0.lowercased() == header.name.lowercased() }) else {
                throw InvalidValue(
                    member: "headers.\(name)",
                    form.headers.isEmpty
                        ? "\(pns.descriptor.title) has no headers" : "known are \(form.headers.joined(separator: ", "))"
                )
            }
            guard names.insert(header.name.lowercased()).inserted else {
                throw InvalidValue(member: "headers.\(name)", "is given twice")
            }
            do { _ = try TemplateExpression(header.value) } catch { throw error.named("headers.\(name)") }
        }
        for (member, text) in [("expiry", template.expiry), ("priority", template.priority)] {
            guard let text else { continue }
            do { _ = try TemplateExpression(text) } catch { throw error.named(member) }
        }
        try Self.checkConstants(template, body: body, for: pns, form: form)
    }

    /// Whether the notification is raw bytes.
    private static func isRaw(_ template: DeviceTemplate.Content, for pns: PushService) -> Bool {
        pns == .wns
            && template.headers.contains { $0.name.lowercased() == "x-wns-type" && $0.value.lowercased() == "wns/raw" }
    }

    /// A time as APNs wants it: seconds since 1970.
    static func expiration(_ text: String) throws(InvalidValue) -> String {
        if text.isEmpty { return text }
        guard let seconds = Timestamp.expiration(loose: text) else {
            throw InvalidValue(
                member: "expiry",
                "must be a time, as 2027-01-31T08:00:00Z or 01/31/2027 08:00:00, or a number of seconds since 1970"
            )
        }
        return String(seconds)
    }

    private static func payload(_ bytes: [UInt8], for pns: PushService) throws(InvalidValue) -> JSONValue {
        if pns == .wns { return .string(String(decoding: bytes, as: UTF8.self)) }
        let json: JSONValue
        do throws(JSONSyntaxError) { json = try JSONReader.read(bytes) } catch {
            throw InvalidValue("the template makes no JSON: \(error.reason)")
        }
        guard pns == .fcm else { return json }
        // The body of a registration of the platform gcm has the members of the retired interface.
        guard case .object(let members) = json, members.count == 1, members[0].name == "message" else {
            return try LegacyFCM.translate(json).message
        }
        return members[0].value
    }
}
