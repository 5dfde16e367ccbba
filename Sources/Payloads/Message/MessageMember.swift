package import PushModel

/// A member of a message beside title, body and data: its name, its values, and what becomes of it at each service.
///
/// The one table of them makes payloads, the API's description, `docs/messages.md` and the warnings.
package struct MessageMember: Sendable {
    /// Its path in a send: a name, or that of a service and a name.
    package let name: String
    package let value: MemberValue
    /// Whether it is of a notification that is shown: without a text it is nothing.
    package let isShown: Bool
    /// Its place at each service that takes it.
    package let places: [PushService: MemberPlace]

    init(_ name: String, _ value: MemberValue, shown: Bool = true, _ places: [PushService: MemberPlace]) {
        self.name = name
        self.value = value
        self.isShown = shown
        self.places = places
    }

    package static let named = Dictionary(uniqueKeysWithValues: Self.all.map { ($0.name, $0) })

    /// The members that stand in a service's own object, or without a service beside title and body, by their names there.
    package static func members(of pns: PushService?) -> [(name: String, member: MessageMember)] {
        Self.grouped[pns] ?? []
    }

    /// Looked up for every send.
    private static let grouped: [PushService?: [(name: String, member: MessageMember)]] =
        Self.all.reduce(into: [:]) { groups, member in
            let name = member.name.split(separator: ".").last.map(String.init) ?? member.name
            groups[Self.service(of: member.name), default: []].append((name, member))
        }

    /// The service whose own object has the member of that path; nil = it is for every service.
    package static func service(of name: String) -> PushService? {
        name.firstIndex(of: ".").flatMap { PushService(rawValue: String(name[..<$0])) }
    }

    /// Reads a value.
    ///
    /// - Parameter value: The value in the send.
    /// - Returns: It, as a job keeps it.
    /// - Throws: ``InvalidValue`` that names the member.
    package func read(_ value: JSONValue) throws(InvalidValue) -> JSONValue.Member {
        guard let read = self.value.read(value) else { throw InvalidValue(member: self.name, self.value.words) }
        return JSONValue.Member(self.name, read)
    }

    /// A member that comes to nothing, and why.
    ///
    /// - Parameters:
    ///   - content: The content of a send.
    ///   - services: Those that it is for.
    /// - Returns: A warning for each member that none of them takes.
    package static func warnings(of content: Content, for services: [PushService]) -> [InvalidValue] {
        guard let message = Self.message(in: content) else { return [] }
        let taking = services.filter { $0.isInService && content.message(for: $0) != nil }
        let others = (message.members?.values ?? []).filter { $0.value != .bool(false) }.map(\.name)
        return (Self.texts(of: message) + others).compactMap { name in
            Self.warning(of: name, in: message, for: services, taking: taking)
        }
    }

    private static func warning(
        of name: String,
        in message: Content.Message,
        for services: [PushService],
        taking: [PushService]
    ) -> InvalidValue? {
        let member = Self.named[name]
        if member?.isShown == true, message.isSilent {
            return InvalidValue(
                member: name,
                "is dropped: it belongs to a text, and the message has no title and no body"
            )
        }
        guard !taking.isEmpty else { return InvalidValue(member: name, Self.wordsOfNone(services)) }
        var reasons: [String] = []
        // Title, body and data are not in the table: every service has a place for them.
        for pns in taking where member.map({ $0.places[pns] != nil }) ?? true {
            guard let reason = ServiceFormat.of(pns)?.reasonToDrop(name, message) else { return nil }
            reasons.append(reason)
        }
        guard reasons.isEmpty else {
            return InvalidValue(member: name, "is dropped: \(reasons.joined(separator: "; "))")
        }
        let titles = taking.map(\.descriptor.title).joined(separator: ", ")
        return InvalidValue(member: name, "is dropped: this message goes to \(titles), where it means nothing")
    }

    /// Why no service gets the message.
    private static func wordsOfNone(_ services: [PushService]) -> String {
        services.contains(where: \.isInService)
            ? "is dropped: every service of the send has a form in native"
            : "is dropped: the send goes to no service that takes messages"
    }

    /// The message beside forms too, whichever services have one.
    private static func message(in content: Content) -> Content.Message? {
        switch content {
        case .message(let message): message
        case .native(let native): native.message
        case .classic, .rich, .template: nil
        }
    }

    /// What a message has that is not in the table, since every service has a place for it.
    private static func texts(of message: Content.Message) -> [String] {
        [("title", message.title != nil), ("body", message.body != nil), ("data", !message.data.isEmpty)]
            .filter(\.1).map(\.0)
    }

    /// Whether a service gets it with this message.
    func isTaken(by pns: PushService, in message: Content.Message) -> Bool {
        guard self.places[pns] != nil, !(self.isShown && message.isSilent) else { return false }
        return ServiceFormat.of(pns)?.reasonToDrop(self.name, message) == nil
    }
}
