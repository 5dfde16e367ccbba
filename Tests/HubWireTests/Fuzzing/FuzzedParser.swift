import HubWire
import Payloads
import PushModel
import StoreKit

/// A parser of the wire, and what must hold for whatever it reads.
enum FuzzedParser: String, CaseIterable, Sendable {
    /// The API's expressions, of which the wire has only such as fit a header.
    case audience
    case xml, registration, filter, expression, template, properties, installation, patch, batch, token, connection,
        time
    case legacy = "gcm"

    /// Something that does not hold.
    struct Broken: Error, CustomStringConvertible {
        let description: String

        init(_ description: String) { self.description = description }
    }

    /// The longest inputs that a server hands to it.
    var longest: Int { self == .audience ? TagExpression.maximumBytes : 64 << 10 }

    /// How many times ``check(_:)`` goes through an input, at most.
    var readings: Double {
        switch self {
        case .audience, .expression: 6
        // With each of the hostile values, twice.
        case .template: 30
        default: 5
        }
    }

    /// Reads an input, and checks what must hold for it.
    ///
    /// - Returns: Whether it was taken.
    /// - Throws: ``Broken``.
    func check(_ input: [UInt8]) throws -> Bool {
        switch self {
        case .audience: try Self.checkAudience(input)
        case .xml: try Self.checkXML(input)
        case .registration: try Self.checkRegistration(input)
        case .filter: try Self.checkFilter(input)
        case .expression: try Self.checkExpression(input)
        case .template: try Self.checkTemplate(input)
        case .properties: (try? TemplateProperties(reading: input)) != nil
        case .installation: try Self.checkInstallation(input)
        case .patch: try Self.checkPatch(input)
        case .batch: try Self.checkBatch(input)
        case .token: try Self.checkToken(input)
        case .connection: try Self.checkConnection(input)
        case .time: try Self.checkTime(input)
        case .legacy: try Self.checkLegacy(input)
        }
    }

    private static func hold(_ isTrue: Bool, _ what: String) throws(Broken) { if !isTrue { throw Broken(what) } }

    /// Escapes make a text six times as long; nothing else may make more of it.
    private static func holdSize(_ output: [UInt8], of input: [UInt8]) throws(Broken) {
        try self.hold(output.count <= 6 * input.count + 2048, "\(input.count) bytes became \(output.count)")
    }

    /// Bytes, for to Swift two ways to write an accent are equal.
    private static func same(_ one: String, _ other: String) -> Bool { Array(one.utf8) == Array(other.utf8) }

    private static func text(_ input: [UInt8]) -> String { String(decoding: input, as: UTF8.self) }

    private static func checkXML(_ input: [UInt8]) throws -> Bool {
        guard let tree = try? XMLReader.read(input) else { return false }
        let written = tree.bytes
        try self.holdSize(written, of: input)
        let again = try XMLReader.read(written)
        try self.hold(again == tree && again.bytes == written, "what was written is read as something else")
        return true
    }

    private static func checkRegistration(_ input: [UInt8]) throws -> Bool {
        guard let registration = try? WireRegistration(reading: input) else { return false }
        let place = WireRegistration.Place(address: "https://h/a", updated: Timestamp(milliseconds: 0))
        let written = registration.entry(place)
        try self.holdSize(written, of: input)
        let again = try WireRegistration(reading: written)
        try self.hold(again.entry(place) == written, "what was written is read as something else")
        try self.hold(
            again.platform == registration.platform && again.handle == registration.handle
                && again.tags == registration.tags && again.id == registration.id
                && again.template?.body == registration.template?.body,
            "what was written lacks something"
        )
        return true
    }

    private static func checkFilter(_ input: [UInt8]) throws -> Bool {
        guard let filter = try? HandleFilter(self.text(input)) else { return false }
        try self.hold(!filter.handles.isEmpty, "no handle")
        return true
    }

    private static func checkAudience(_ input: [UInt8]) throws -> Bool {
        guard let expression = try? TagExpression(parsing: self.text(input), .folded) else { return false }
        let compiled = CompiledExpression(expression)
        try self.hold(compiled.leaves <= TagExpression.maximumOperands, "\(compiled.leaves) operands were taken")
        _ = expression.mayHold { $0.key < "m" }
        let again = try TagExpression(stored: expression.description, .folded)
        try self.hold(again == expression, "what was written is read as something else")
        return true
    }

    private static func checkExpression(_ input: [UInt8]) throws -> Bool {
        let text = self.text(input)
        _ = try? WireTags.tag(text, .folded)
        _ = try? WireTags.tags(WireTags.list(text), .exact)
        guard let expression = try? WireTags.expression(text, .folded) else { return false }
        let again = try WireTags.expression(expression.description, .folded)
        try self.hold(again == expression, "\(expression) is read as \(again)")
        return true
    }

    private static func checkTime(_ input: [UInt8]) throws -> Bool {
        let text = self.text(input)
        _ = WireTime.expiration(text)
        guard let time = WireTime.loose(text) else { return false }
        try self.hold(WireTime.loose(time.iso8601) == time, "\(time.iso8601) is read as another time")
        return true
    }

    private static func checkToken(_ input: [UInt8]) throws -> Bool {
        guard let token = SASToken(header: self.text(input)) else { return false }
        try self.hold(!token.isSigned(with: "another key"), "signed with a key that nobody has")
        _ = token.covers(authority: "localhost:1", path: "/default/messages")
        _ = token.covers(authority: "", path: self.text(input))
        _ = token.hasExpired(at: .now)
        return true
    }

    private static func checkConnection(_ input: [UInt8]) throws -> Bool {
        guard let connection = try? ConnectionString(self.text(input)) else { return false }
        try self.hold(try ConnectionString(connection.text) == connection, "what was written is read as something else")
        return true
    }

    private static func checkLegacy(_ input: [UInt8]) throws -> Bool {
        guard let payload = try? JSONReader.read(input), let message = try? LegacyFCM.translate(payload).message else {
            return false
        }
        try self.holdSize(message.bytes, of: input)
        try self.hold((try? JSONReader.read(message.bytes)) != nil, "the message is no JSON")
        return true
    }

    private static func checkBatch(_ input: [UInt8]) throws -> Bool {
        let type = "multipart/mixed; boundary=b"
        // The header is as hostile as the body.
        _ = try? DirectSendBody(reading: input, contentType: "multipart/mixed; " + self.text(Array(input.prefix(300))))
        guard let body = try? DirectSendBody(reading: input, contentType: type) else { return false }
        try self.hold((1...WireNames.maximumHandles).contains(body.handles.count), "\(body.handles.count) handles")
        let written =
            Array("--b\r\nContent-Disposition: inline; name=notification\r\n\r\n".utf8) + body.notification
            + Array("\r\n--b\r\nContent-Disposition: inline; name=devices\r\n\r\n".utf8)
            + JSONValue.strings(body.handles).bytes + Array("\r\n--b--\r\n".utf8)
        let again = try DirectSendBody(reading: written, contentType: type)
        try self.hold(
            again.notification == body.notification && again.handles.elementsEqual(body.handles, by: self.same),
            "what was written is read as something else"
        )
        return true
    }

    private static func checkInstallation(_ input: [UInt8]) throws -> Bool {
        guard let installation = try? WireInstallation(reading: input, id: "i-1") else { return false }
        try self.holdSame(installation, input)
        return true
    }

    /// An installation is read back as it was written; what it does not say of its end becomes "never".
    private static func holdSame(_ installation: WireInstallation, _ input: [UInt8]) throws {
        let written = installation.json.bytes
        try self.holdSize(written, of: input)
        let again = try WireInstallation(reading: written, id: installation.id)
        try self.hold(again.json.bytes == written, "what was written is read as something else")
        try self.hold(
            again.tags == installation.tags && again.templates == installation.templates
                && again.pushVariables == installation.pushVariables && again.userID == installation.userID,
            "what was written lacks something"
        )
    }

    private static func checkPatch(_ input: [UInt8]) throws -> Bool {
        guard let patch = try? InstallationPatch(reading: input) else { return false }
        _ = patch.tagsAlone
        var installation = WireInstallation(id: "i-1", platform: .apple, pushChannel: "AB")
        installation.tags = ["a", "b"]
        installation.templates = [.init(name: "t", body: "{}")]
        guard (try? patch.apply(to: &installation)) != nil else { return false }
        try self.holdSame(installation, input)
        return true
    }
}

// MARK: - Templates

extension FuzzedParser {
    /// Values that break out of what is put together as text.
    private static let hostile = [
        "\",\"b\":\"", "\\", "</text><text a=\"", "]]>", "&lt;", "1]", "$(name)", "{'a'}", "\u{0}", "e\u{301}", "\r\n",
    ]

    /// No value may change what a template is made of.
    private static func checkTemplate(_ input: [UInt8]) throws -> Bool {
        let text = self.text(input)
        if let expression = try? TemplateExpression(text) {
            _ = try? expression.value(for: TemplateProperties(["name": "Hello, World", "n": "7"]))
        }
        for value in Self.hostile { _ = try? HubTemplate(text, isRaw: true).filled(Self.properties(value)) }
        guard let template = try? HubTemplate(text) else { return false }
        guard let plain = try? template.filled(Self.properties("1")) else { return false }
        let shape = try self.shape(plain)
        for value in Self.hostile {
            guard let filled = try? template.filled(Self.properties(value)) else { continue }
            try self.hold(try self.shape(filled) == shape, "\(value.debugDescription) changes the document")
        }
        return true
    }

    private static func properties(_ value: String) -> TemplateProperties {
        TemplateProperties(["name": value, "x": value, "n": value])
    }

    /// A document without its values.
    private static func shape(_ bytes: [UInt8]) throws -> String {
        if bytes.first == UInt8(ascii: "<") { return self.shape(try XMLReader.read(bytes)) }
        return self.shape(try JSONReader.read(bytes))
    }

    private static func shape(_ tree: XMLTree) -> String {
        "<\(tree.name) \(tree.attributes.map(\.name))>\(tree.elements.map(self.shape))"
    }

    private static func shape(_ value: JSONValue) -> String {
        switch value {
        case .null, .bool, .number, .string, .written: "."
        case .array(let values): "[\(values.map(self.shape))]"
        case .object(let members): "{\(members.map { "\($0.name):\(self.shape($0.value))" })}"
        }
    }
}
