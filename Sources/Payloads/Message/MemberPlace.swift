import PushModel

/// Where a member of a message is in what a service gets.
package struct MemberPlace: Sendable {
    private enum Form: Sendable {
        /// A path of names in its JSON.
        case json
        case header
        /// The service's own code writes it.
        case own
    }

    private let form: Form
    /// A path, a header's name, or words: as the documentation has it.
    package let name: String
    /// The service's form of the value; nil = none.
    private let convert: @Sendable (JSONValue) -> JSONValue?

    static func json(_ path: String, _ convert: @escaping @Sendable (JSONValue) -> JSONValue? = { $0 }) -> MemberPlace {
        MemberPlace(form: .json, name: path, convert: convert)
    }

    static func header(_ name: String) -> MemberPlace { MemberPlace(form: .header, name: name, convert: { $0 }) }

    static func own(_ name: String) -> MemberPlace { MemberPlace(form: .own, name: name, convert: { $0 }) }

    /// A flag as Apple has it: 1, or nothing.
    static func one(_ path: String) -> MemberPlace { .json(path) { $0 == .bool(true) ? .integer(1) : nil } }

    /// A word in capitals, as Google has it.
    static func capitals(_ path: String) -> MemberPlace {
        .json(path) { if case .string(let word) = $0 { .string(word.uppercased()) } else { nil } }
    }

    /// The path and the value that are to be in the JSON.
    func member(_ value: JSONValue) -> (path: [Substring], value: JSONValue)? {
        guard self.form == .json, let value = self.convert(value) else { return nil }
        return (self.name.split(separator: "."), value)
    }

    /// The header that it is.
    func header(_ value: JSONValue) -> NativePayload.Header? {
        guard self.form == .header else { return nil }
        return switch value {
        case .string(let text), .number(let text): NativePayload.Header(self.name, text)
        default: nil
        }
    }
}

extension Content.Message {
    /// What a service shows or does of the other members, each with its place there.
    func placed(at pns: PushService) -> [(place: MemberPlace, value: JSONValue)] {
        (self.members?.values ?? []).compactMap { given in
            guard let member = MessageMember.named[given.name], let place = member.places[pns],
                member.isTaken(by: pns, in: self)
            else { return nil }
            return (place, given.value)
        }
    }

    /// The payload with the members that have their places in its JSON.
    func adding(to payload: JSONValue, at pns: PushService) -> JSONValue {
        self.placed(at: pns).compactMap { $0.place.member($0.value) }
            .reduce(payload) { $0.setting($1.path[...], to: $1.value) }
    }

    /// The headers that members are.
    func headers(at pns: PushService) -> [NativePayload.Header] {
        self.placed(at: pns).compactMap { $0.place.header($0.value) }
    }

    /// The data that the app is handed, with the link.
    ///
    /// - Throws: ``InvalidValue`` where both have a `link`.
    func handed() throws(InvalidValue) -> [String: String] {
        guard let link = self.members?.text("link") else { return self.data }
        guard self.data["link"] == nil else {
            throw InvalidValue(
                member: "data.link",
                "is where Pushline puts the member `link` of the send; give only one of them"
            )
        }
        return self.data.merging(["link": link]) { $1 }
    }

    /// - Throws: ``InvalidValue`` where nothing can be shown, for the service knows no texts of the app's.
    func requireText(for pns: PushService) throws(InvalidValue) {
        guard !self.isSilent, !self.hasText else { return }
        throw InvalidValue(
            member: "body",
            "is required for \(pns.descriptor.title), which cannot localise a text: give a title or body beside the keys, or leave the "
                + "service out with `services`"
        )
    }
}

extension JSONValue {
    /// The same with a value at a path of objects, which are made where they are missing.
    fileprivate func setting(_ path: ArraySlice<Substring>, to value: JSONValue) -> JSONValue {
        guard let name = path.first.map(String.init) else { return value }
        var members: [Member] = []
        if case .object(let own) = self { members = own }
        let index = members.firstIndex { $0.name == name }
        let old = index.map { members[$0].value } ?? .object([])
        let member = Member(name, old.setting(path.dropFirst(), to: value))
        if let index { members[index] = member } else { members.append(member) }
        return .object(members)
    }
}
