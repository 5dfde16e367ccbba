/// A label of a registration, for choosing audiences: letters, digits and `_ @ # . : -`, 1 to 120 characters.
///
/// The tags of a user and of an installation may have `=` too, for names and ids may, such as those in base64.
///
/// The characters are those of Azure Notification Hubs, so that an app can move between hubs, and letter case is
/// ignored as there (decision 27). A user's name within a tag compares as the app compares names.
///
/// A user's name may be any text, and most texts are not a tag. Such a user's devices are selected by `user('…')`, a quote in the name
/// doubled, which stands in expressions alone: no device has it as a tag, and no caller can claim it.
package struct Tag: Hashable, Sendable, Codable, Comparable, CustomStringConvertible {
    /// The greatest length, in characters.
    package static let maximumLength = 120

    /// The tag for display: its original spelling, or for an owned tag its ``key``.
    package let name: String
    /// The tag for comparison and storage: lower case, except a user's exact name in it.
    package let key: String

    /// How the tag of an installation begins, which is its id at a hub: the app's users cannot claim one.
    package static let installationPrefix = "installation:"

    /// The prefixes of tags with a meaning for the product; a user's name follows.
    ///
    /// Such a tag is reserved for that user. This list decides whether a device may claim a tag and whether an import
    /// may set it, so every prefix with a meaning must be in it.
    package enum Owned: String, CaseIterable, Sendable {
        /// Sends to the user; the server adds the tag to each of the user's registrations.
        case user = "username:"
        /// The user's sends by the classic route.
        case sender = "from:"

        /// How long a user's name may be for each of these to be a legal tag.
        package static let longestName = Tag.maximumLength - (Owned.allCases.map(\.rawValue.utf8.count).max() ?? 0)

        /// The meaning of a tag with a lower-case prefix.
        fileprivate init?(of key: String) {
            if let found = Owned.allCases.first(where: { key.utf8.starts(with: $0.rawValue.utf8) }) {
                self = found
            } else if key.utf8.starts(with: Tag.userBegin) {
                self = .user
            } else {
                return nil
            }
        }
    }

    /// Reads a tag from user input.
    ///
    /// - Parameters:
    ///   - name: The text.
    ///   - users: The app's comparison of user names.
    /// - Throws: ``InvalidValue`` for an empty or too long text, or a forbidden character.
    package init(_ name: String, _ users: AppSpec.Users) throws(InvalidValue) {
        guard !name.isEmpty, name.utf8.count <= Tag.maximumLength else {
            throw InvalidValue("a tag must have 1 to \(Tag.maximumLength) characters")
        }
        let folded = name.withoutCapitals
        var hasColon = false
        for byte in name.utf8 where byte == UInt8(ascii: ":") { hasColon = true }
        // The beginnings with a meaning end with a colon: most tags need not be compared with each.
        let isNaming = hasColon && Tag.names(folded.utf8)
        guard name.utf8.allSatisfy({ isNaming ? Tag.allowsInName($0) : Tag.allows($0) }) else {
            throw InvalidValue("a tag is made of letters, digits and _ @ # . : -\(isNaming ? " =" : "")")
        }
        let owned = isNaming ? Owned(of: folded) : nil
        if users == .exact, let owned {
            self.key = owned.rawValue + String(decoding: name.utf8.dropFirst(owned.rawValue.utf8.count), as: UTF8.self)
        } else {
            self.key = folded
        }
        self.name = owned == nil ? name : self.key
    }

    /// Reads what was kept: a tag, with names in it that were folded, if at all, before; or what selects a user's devices.
    ///
    /// - Throws: ``InvalidValue`` for any other text.
    package init(kept text: String) throws(InvalidValue) {
        guard text.utf8.starts(with: Tag.userBegin) else {
            try self.init(text, .exact)
            return
        }
        guard let name = Tag.quoted(text.utf8) else { throw InvalidValue("the name of a user does not end") }
        // As it would be written now: by another text it would be another's.
        self.init(user: try UserName(key: name, shownAs: nil))
    }

    /// The user's own tag of that meaning; nil if the name cannot stand in one.
    package init?(_ owned: Owned, of user: UserName) {
        guard Tag.allowsAsName(user.key.text) else { return nil }
        self.key = owned.rawValue + user.key.text
        self.name = self.key
    }

    /// What selects the registrations of a user: the tag that each of them has, or `user('…')` where the name cannot stand in one.
    package init(user: UserName) {
        if let tag = Tag(.user, of: user) {
            self = tag
        } else {
            self.key = "user(\(QuotedText.of(user.key.text)))"
            self.name = self.key
        }
    }

    /// The key of the user whose registrations it selects; nil for any other tag.
    package var owner: ExactText? {
        if self.key.utf8.starts(with: Owned.user.rawValue.utf8) {
            return ExactText(String(decoding: self.key.utf8.dropFirst(Owned.user.rawValue.utf8.count), as: UTF8.self))
        }
        return self.isTag ? nil : Tag.quoted(self.key.utf8).map { ExactText($0) }
    }

    /// Whether it is a tag, and not what selects the devices of a user whose name cannot stand in one.
    package var isTag: Bool { !self.key.utf8.starts(with: Tag.userBegin) }

    /// How the selection of a user by name begins.
    static let userBegin = Array("user('".utf8)

    /// Whether a user's name can stand in each of the user's own tags.
    private static func allowsAsName(_ name: String) -> Bool {
        name.utf8.count <= Owned.longestName && name.utf8.allSatisfy(Tag.allowsInName)
    }

    /// The name in a text that is `user('…')` and no more.
    private static func quoted(_ text: String.UTF8View) -> String? {
        let bytes = Array(text)
        guard let (name, end) = Tag.quoted(in: bytes, at: 0), end == bytes.count else { return nil }
        return name
    }

    /// The name in a `user('…')` that begins at a place, and the place behind it; nil if it does not end.
    static func quoted(in bytes: [UInt8], at start: Int) -> (name: String, end: Int)? {
        var position = start + Tag.userBegin.count - 1
        guard let name = QuotedText.read(bytes, at: &position), position < bytes.count,
            bytes[position] == UInt8(ascii: ")")
        else { return nil }
        return (name, position + 1)
    }

    /// The tag's meaning, for any user; nil for an app's own tag.
    package var owned: Owned? { Owned(of: self.key) }

    /// Whether it begins with one of some prefixes, such as an app's reserved ones, in any letter case.
    package func begins(withOneOf prefixes: [String]) -> Bool {
        // Tags compare in any letter case, also where user names are exact.
        let text = self.key.withoutCapitals
        return prefixes.contains { !$0.isEmpty && text.utf8.starts(with: $0.withoutCapitals.utf8) }
    }

    /// The original spelling, if it differs from the key.
    package var shown: String? { ExactText(self.name) == ExactText(self.key) ? nil : self.name }

    package init(from decoder: any Decoder) throws {
        try self.init(kept: decoder.singleValueContainer().decode(String.self))
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(self.name)
    }

    package static func allows(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        case UInt8(ascii: "_"), UInt8(ascii: "@"), UInt8(ascii: "#"), UInt8(ascii: "."), UInt8(ascii: ":"),
            UInt8(ascii: "-"):
            true
        default: false
        }
    }

    /// Whether a byte may stand in the name of a user and in the id of an installation.
    package static func allowsInName(_ byte: UInt8) -> Bool { Tag.allows(byte) || byte == UInt8(ascii: "=") }

    /// Whether a text without capitals begins as the tag of a user or of an installation does.
    static func names(_ key: some Collection<UInt8>) -> Bool {
        key.starts(with: Tag.installationPrefix.utf8)
            || Owned.allCases.contains { key.starts(with: $0.rawValue.utf8) }
    }

    package var description: String { self.name }

    package static func == (lhs: Tag, rhs: Tag) -> Bool { ExactText(lhs.key) == ExactText(rhs.key) }

    package static func < (lhs: Tag, rhs: Tag) -> Bool { ExactText(lhs.key) < ExactText(rhs.key) }

    package func hash(into hasher: inout Hasher) { hasher.combine(ExactText(self.key)) }
}
