import HubWire
import Payloads
import PushModel

extension DeviceTemplate {
    /// Reads the template of a registration.
    ///
    /// - Throws: `InvalidValue` that names the element.
    init(_ wire: WireTemplate, name: String, for platform: WirePlatform, _ pns: PushService) throws(InvalidValue) {
        guard name.utf8.count <= DeviceTemplate.longestName else {
            throw InvalidValue(
                member: "TemplateName",
                "a template's name has at most \(DeviceTemplate.longestName) characters"
            )
        }
        // An empty list of headers of APNs says nothing, nor does an empty element.
        let content = Content(
            body: wire.body,
            headers: wire.headers.map { NativePayload.Header($0.name, $0.value) },
            expiry: wire.expiry.flatMap { $0.isEmpty ? nil : $0 },
            priority: wire.priority.flatMap { $0.isEmpty ? nil : $0 },
            platform: platform.written
        )
        try TemplatePayload.check(content, for: pns)
        self.init(name: name, content: content)
    }

    /// As a registration shows it.
    var wire: WireTemplate {
        var wire = WireTemplate(
            body: self.content.body,
            name: self.name.isEmpty ? nil : self.name,
            headers: self.content.headers.map { WireTemplate.Header($0.name, $0.value) }
        )
        wire.expiry = self.content.expiry
        wire.priority = self.content.priority
        return wire
    }
}

extension WireInstallation.Template {
    /// The template as a registration has it.
    var alone: WireTemplate {
        var template = WireTemplate(body: self.body, name: self.name, headers: self.headers)
        template.expiry = self.expiry
        return template
    }

    /// As an installation shows the template of a registration.
    ///
    /// - Parameters:
    ///   - template: The template.
    ///   - tags: Its tags that are not the installation's.
    init(_ template: DeviceTemplate, tags: [String]) {
        self.init(name: template.name, body: template.content.body)
        self.headers = template.content.headers.map { WireTemplate.Header($0.name, $0.value) }
        self.expiry = template.content.expiry
        self.tags = tags
    }
}
