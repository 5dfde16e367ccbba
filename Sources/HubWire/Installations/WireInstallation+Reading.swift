package import PushModel

extension WireInstallation {
    /// Reads an installation; null is as good as absent.
    ///
    /// - Parameters:
    ///   - bytes: The JSON.
    ///   - id: The id that the path has.
    /// - Throws: ``InvalidValue`` that names the member.
    package init(reading bytes: [UInt8], id: String) throws(InvalidValue) {
        let value: JSONValue
        do throws(JSONSyntaxError) { value = try JSONReader.read(bytes) } catch {
            throw InvalidValue("the body is not JSON: line \(error.line), column \(error.column): \(error.reason)")
        }
        let members = try InstallationMembers(value, at: "")
        // The path says which one it is; the body may repeat it.
        let stated = try members.text("installationId")
        guard stated == nil || stated == id else {
            throw InvalidValue(member: "installationId", "must be the id of the path")
        }
        guard let name = try members.text("platform") else { throw InvalidValue(member: "platform", "is missing") }
        guard let platform = WirePlatform(installationName: name) else {
            let names = WirePlatform.allCases.map(\.installationName).joined(separator: ", ")
            throw InvalidValue(member: "platform", "\"\(name.prefix(40))\" is none of \(names)")
        }
        guard let channel = try Self.channel(members["pushChannel"]), !channel.isEmpty else {
            throw InvalidValue(member: "pushChannel", "is missing")
        }
        self.init(id: id, platform: platform, pushChannel: channel)
        if name != platform.installationName { self.platformName = name }
        if case .object? = members["pushChannel"] { self.isChannelObject = true }
        // The documents have it in two spellings.
        let other = try members.text("userID")
        self.userID = (try members.text("userId") ?? other).flatMap { $0.isEmpty ? nil : $0 }
        self.tags = try members.texts("tags")
        self.templates = try Self.templates(members["templates"])
        self.pushVariables = try Self.variables(members["pushVariables"])
        self.expirationTime = try members.text("expirationTime")
        // Of the two names the documents have the second.
        self.isChannelExpired = [members["pushChannelExpired"], members["expiredPushChannel"]].contains(.bool(true))
        if case .object(let tiles)? = members["secondaryTiles"] { self.hasSecondaryTiles = !tiles.isEmpty }
    }

    /// A text, or a browser's object with three parts.
    private static func channel(_ value: JSONValue?) throws(InvalidValue) -> String? {
        switch value {
        case nil: nil
        case .string(let text): text
        case .object: value?.compactText
        case .some(let other): throw InvalidValue(member: "pushChannel", other.mustBe("a string"))
        }
    }

    /// The templates of an object.
    static func templates(_ value: JSONValue?) throws(InvalidValue) -> [Template] {
        guard let value else { return [] }
        guard case .object(let members) = value else {
            throw InvalidValue(member: "templates", value.mustBe("an object"))
        }
        var templates: [Template] = []
        var names: Set<String> = []
        for member in members {
            if case .null = member.value { continue }
            guard names.insert(member.name).inserted else {
                throw InvalidValue(member: "templates.\(member.name.prefix(40))", "is given twice")
            }
            templates.append(try Self.template(member.name, member.value))
        }
        return templates
    }

    /// One template.
    static func template(_ name: String, _ value: JSONValue) throws(InvalidValue) -> Template {
        let place = "templates.\(name.prefix(40))"
        guard (1...200).contains(name.utf8.count) else {
            throw InvalidValue(member: "templates", "a template's name must have 1 to 200 characters")
        }
        let members = try InstallationMembers(value, at: place)
        guard let body = try members.text("body"), !body.isEmpty else {
            throw InvalidValue(member: "\(place).body", "is missing")
        }
        var template = Template(name: name, body: body)
        template.headers = try Self.headers(members["headers"], at: "\(place).headers")
        template.expiry = try members.text("expiry")
        template.tags = try members.texts("tags")
        return template
    }

    /// The headers of a template.
    static func headers(_ value: JSONValue?, at place: String) throws(InvalidValue) -> [WireTemplate.Header] {
        try Self.pairs(value, at: place).map { WireTemplate.Header($0.name, $0.value) }
    }

    /// The device's own values.
    static func variables(_ value: JSONValue?) throws(InvalidValue) -> [Variable] {
        try Self.pairs(value, at: "pushVariables").map { Variable(name: $0.name, value: $0.value) }
    }

    private static func pairs(_ value: JSONValue?, at place: String) throws(InvalidValue) -> [(
        name: String, value: String
    )] {
        guard let value else { return [] }
        guard case .object(let members) = value else {
            throw InvalidValue(member: place, value.mustBe("an object"))
        }
        var pairs: [(name: String, value: String)] = []
        var names: Set<String> = []
        for member in members {
            if case .null = member.value { continue }
            guard case .string(let text) = member.value else {
                throw InvalidValue(
                    member: "\(place).\(member.name.prefix(40))",
                    member.value.mustBe("a string")
                )
            }
            guard names.insert(member.name).inserted else {
                throw InvalidValue(member: "\(place).\(member.name.prefix(40))", "is given twice")
            }
            pairs.append((member.name, text))
        }
        return pairs
    }
}

/// The members of an object that say something, each name once.
struct InstallationMembers {
    private let members: [String: JSONValue]
    private let nulls: Set<String>
    private let place: String

    init(_ value: JSONValue, at place: String) throws(InvalidValue) {
        guard case .object(let list) = value else {
            throw InvalidValue(member: place, value.mustBe("an object"))
        }
        var members: [String: JSONValue] = [:]
        for member in list {
            guard members.updateValue(member.value, forKey: member.name) == nil else {
                throw InvalidValue(member: Self.name(member.name, in: place), "is given twice")
            }
        }
        self.members = members.filter { $0.value != .null }
        self.nulls = Set(members.keys).subtracting(self.members.keys)
        self.place = place
    }

    private static func name(_ member: String, in place: String) -> String {
        place.isEmpty ? String(member.prefix(40)) : "\(place).\(member.prefix(40))"
    }

    subscript(name: String) -> JSONValue? { self.members[name] }

    /// Whether it is there, as null.
    func isNull(_ name: String) -> Bool { self.nulls.contains(name) }

    func text(_ name: String) throws(InvalidValue) -> String? {
        guard let value = self.members[name] else { return nil }
        guard case .string(let text) = value else {
            throw InvalidValue(member: Self.name(name, in: self.place), value.mustBe("a string"))
        }
        return text
    }

    func texts(_ name: String) throws(InvalidValue) -> [String] {
        guard let value = self.members[name] else { return [] }
        let fault = InvalidValue(member: Self.name(name, in: self.place), "must be an array of strings")
        guard case .array(let values) = value else { throw fault }
        var texts: [String] = []
        for case let value in values {
            guard case .string(let text) = value else { throw fault }
            texts.append(text)
        }
        return texts
    }
}
