/// A label of a registration, for choosing audiences: letters, digits and `_ @ # . : -`, 1 to 120 characters.
///
/// The tags of a user and of an installation may have `=` too, for names and ids may, such as those in base64.
///
/// The characters are those of Azure Notification Hubs, so that an app can move between hubs, and letter case is
/// ignored as there (decision 27). A user's name within a tag compares as the app compares names.
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

        /// How long a user's name may be, so that each of these is a legal tag.
        static let longestName = Tag.maximumLength - (Owned.allCases.map(\.rawValue.utf8.count).max() ?? 0)

        /// The meaning of a tag with a lower-case prefix.
        fileprivate init?(of key: String) {
            guard let found = Owned.allCases.first(where: { key.utf8.starts(with: $0.rawValue.utf8) }) else {
                return nil
            }
            self = found
        }
    }

    /// Reads a tag from user input.
    ///
    /// A stored tag is read as exact for any app: names in it were folded, if at all, before it was stored.
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
        let isNaming = Tag.names(folded.utf8)
        guard name.utf8.allSatisfy({ isNaming ? Tag.allowsInName($0) : Tag.allows($0) }) else {
            throw InvalidValue("a tag is made of letters, digits and _ @ # . : -\(isNaming ? " =" : "")")
        }
        let owned = Owned(of: folded)
        if users == .exact, let owned {
            self.key = owned.rawValue + String(decoding: name.utf8.dropFirst(owned.rawValue.utf8.count), as: UTF8.self)
        } else {
            self.key = folded
        }
        self.name = owned == nil ? name : self.key
    }

    /// The user's own tag of that meaning.
    package init(_ owned: Owned, of user: UserName) {
        self.key = owned.rawValue + user.key
        self.name = self.key
    }

    /// The tag that every registration of that user has.
    package init(user: UserName) {
        self.init(.user, of: user)
    }

    /// The tag's meaning, for any user; nil for an app's own tag.
    package var owned: Owned? { Owned(of: self.key) }

    /// Whether it begins with one of some prefixes, such as an app's reserved ones, in any letter case.
    package func begins(withOneOf prefixes: [String]) -> Bool {
        // Tags compare in any letter case, also where user names are exact.
        let text = self.key.withoutCapitals
        return prefixes.contains { !$0.isEmpty && text.hasPrefix($0.withoutCapitals) }
    }

    /// The original spelling, if it differs from the key.
    package var shown: String? { self.name == self.key ? nil : self.name }

    package init(from decoder: any Decoder) throws {
        try self.init(decoder.singleValueContainer().decode(String.self), .exact)
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(self.name)
    }

    static func allows(_ byte: UInt8) -> Bool {
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

    package static func == (lhs: Tag, rhs: Tag) -> Bool { lhs.key == rhs.key }

    package static func < (lhs: Tag, rhs: Tag) -> Bool { lhs.key < rhs.key }

    package func hash(into hasher: inout Hasher) { hasher.combine(self.key) }
}
