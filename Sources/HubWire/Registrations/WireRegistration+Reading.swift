package import PushModel

extension WireRegistration {
    /// Reads an Atom entry with a description, or a description alone, with its elements in any order.
    ///
    /// - Parameter bytes: The XML, whose size the caller bounds.
    /// - Throws: ``InvalidValue`` that names the element.
    package init(reading bytes: [UInt8]) throws(InvalidValue) {
        try self.init(Self.description(in: WireDocument.root(of: bytes)))
    }

    /// An entry of a feed.
    init(entry: XMLTree) throws(InvalidValue) { try self.init(Self.description(in: entry)) }

    /// The description within an entry.
    private static func description(in root: XMLTree) throws(InvalidValue) -> XMLTree {
        guard root.localName == "entry" else { return root }
        guard let content = root.first("content"), let description = content.elements.first else {
            throw InvalidValue(member: "entry", "must have a content with a registration's description")
        }
        return description
    }

    private init(_ element: XMLTree) throws(InvalidValue) {
        let (platform, isTemplate) = try Self.kind(of: element)
        var fields = try Self.fields(of: element, platform)
        let handle = platform.handleElements.map { fields.removeValue(forKey: $0)?.text ?? "" }
        // Baidu's user may be missing, and nothing else.
        for (name, part) in zip(platform.handleElements, handle) where part.isEmpty && name != "BaiduUserId" {
            throw InvalidValue(member: name, "is missing")
        }
        self.init(platform: platform, id: fields["RegistrationId"]?.text, handle: handle)
        self.etag = fields["ETag"]?.text
        self.expirationTime = fields["ExpirationTime"]?.text
        self.pushVariables = fields["PushVariables"]?.text
        self.secondaryTileName = fields["SecondaryTileName"]?.text
        self.tags = WireTags.list(fields["Tags"]?.text ?? "")
        guard isTemplate else { return }
        guard let body = fields["BodyTemplate"]?.text, !body.isEmpty else {
            throw InvalidValue(member: "BodyTemplate", "is missing")
        }
        var template = WireTemplate(body: body, name: fields["TemplateName"]?.text)
        template.expiry = fields["Expiry"]?.text
        template.priority = fields["Priority"]?.text
        template.messageType = fields["MessageType"]?.text
        if let names = platform.headersElement, let list = fields[names.list] {
            template.headers = try Self.headers(list, names.item)
        }
        self.template = template
    }

    /// What an element describes: by its own name, or by its attribute `type`.
    private static func kind(of element: XMLTree) throws(InvalidValue) -> (WirePlatform, isTemplate: Bool) {
        var name = String(element.localName)
        if name == "RegistrationDescription", let type = element.attribute("type") {
            name = String(type[(type.lastIndex(of: ":").map(type.index(after:)) ?? type.startIndex)...])
        }
        let end = "RegistrationDescription"
        if name.hasSuffix(end) {
            let isTemplate = name.hasSuffix("Template\(end)")
            let word = name.dropLast(isTemplate ? end.count + "Template".count : end.count)
            if let platform = WirePlatform.allCases.first(where: { $0.descriptionName == word }) {
                return (platform, isTemplate)
            }
            if word == "Fcm" { return (.gcm, isTemplate) }
        }
        throw InvalidValue("\"\(name.prefix(80))\" is not a description of a registration")
    }

    /// The elements that say something, by the names of ``WirePlatform/handleElements`` and the rest.
    private static func fields(
        of element: XMLTree,
        _ platform: WirePlatform
    ) throws(InvalidValue) -> [String: XMLTree] {
        var fields: [String: XMLTree] = [:]
        for child in element.elements where child.attribute("nil") != "true" {
            let given = String(child.localName)
            let name = platform.otherElements[given] ?? given
            guard fields.updateValue(child, forKey: name) == nil else {
                throw InvalidValue(member: String(given.prefix(80)), "is given twice")
            }
        }
        return fields
    }

    private static func headers(_ list: XMLTree, _ item: String) throws(InvalidValue) -> [WireTemplate.Header] {
        var headers: [WireTemplate.Header] = []
        for element in list.elements where element.localName == item {
            guard let name = element.first("Header")?.text, !name.isEmpty, let value = element.first("Value")?.text
            else {
                throw InvalidValue(member: String(list.localName), "each \(item) must have a Header and a Value")
            }
            headers.append(WireTemplate.Header(name, value))
        }
        return headers
    }
}
