/// A label of a registration, by which audiences are chosen: letters, digits and `_ @ # . : -`, 1 to 120 characters.
///
/// The set is that of Azure Notification Hubs, so that an app can move between hubs, and so is that letter case makes no difference
/// (decision 27). A user's name within a tag is compared as the app compares names.
package struct Tag: Hashable, Sendable, Codable, Comparable, CustomStringConvertible {
    /// The greatest length, in characters.
    package static let maximumLength = 120

    /// What is shown: the tag as it was first written, or, where it has a meaning, its ``key``.
    package let name: String
    /// What stands for the tag wherever tags are compared or kept: without capitals, but for an exact name of a user in it.
    package let key: String

    /// The tags that the product itself gives a meaning, by their beginning; a user's name follows it.
    ///
    /// Such a tag is that user's alone. Whether a device may claim a tag, and whether an import may set it, is judged by this list:
    /// whatever else is given a meaning, now or later, is to stand here.
    package enum Owned: String, CaseIterable, Sendable {
        /// What is sent to the user; the server adds it to each of the user's registrations.
        case user = "username:"
        /// What the user sends by the classic route.
        case sender = "from:"

        /// How long a user's name may be, so that each of these is a legal tag.
        static let longestName = Tag.maximumLength - (Owned.allCases.map(\.rawValue.utf8.count).max() ?? 0)

        /// The meaning of a tag whose beginning has no capitals.
        fileprivate init?(of key: String) {
            guard let found = Owned.allCases.first(where: { key.utf8.starts(with: $0.rawValue.utf8) }) else {
                return nil
            }
            self = found
        }
    }

    /// Reads a tag that somebody wrote.
    ///
    /// A tag that was kept is read as exact, whatever its app says: a name in it was folded before it was kept, where names are.
    ///
    /// - Parameters:
    ///   - name: The text.
    ///   - users: How the app compares the names of its users.
    /// - Throws: ``InvalidValue`` when the text is empty, too long or holds a forbidden character.
    package init(_ name: String, _ users: AppSpec.Users) throws(InvalidValue) {
        guard !name.isEmpty, name.utf8.count <= Tag.maximumLength else {
            throw InvalidValue("a tag has 1 to \(Tag.maximumLength) characters")
        }
        guard name.utf8.allSatisfy(Tag.allows) else {
            throw InvalidValue("a tag is made of letters, digits and _ @ # . : -")
        }
        let folded = name.withoutCapitals
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

    /// The meaning that it has, whoever's it is; nil for a tag that is the apps' own.
    package var owned: Owned? { Owned(of: self.key) }

    /// What is shown, where it is another text than what is compared.
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

    package var description: String { self.name }

    package static func == (lhs: Tag, rhs: Tag) -> Bool { lhs.key == rhs.key }

    package static func < (lhs: Tag, rhs: Tag) -> Bool { lhs.key < rhs.key }

    package func hash(into hasher: inout Hasher) { hasher.combine(self.key) }
}
