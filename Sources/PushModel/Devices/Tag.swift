/// A label of a registration, by which audiences are chosen: letters, digits and `_ @ # . : -`, 1 to 120 characters.
///
/// The set is that of Azure Notification Hubs, so that an app can move between hubs.
package struct Tag: Hashable, Sendable, Codable, Comparable, CustomStringConvertible {
    /// The greatest length, in characters.
    package static let maximumLength = 120

    package let name: String

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
    }

    /// - Throws: ``InvalidValue`` when the text is empty, too long or holds a forbidden character.
    package init(_ name: String) throws(InvalidValue) {
        guard !name.isEmpty, name.utf8.count <= Tag.maximumLength else {
            throw InvalidValue("a tag has 1 to \(Tag.maximumLength) characters")
        }
        guard name.utf8.allSatisfy(Tag.allows) else {
            throw InvalidValue("a tag is made of letters, digits and _ @ # . : -")
        }
        self.name = name
    }

    /// The user's own tag of that meaning.
    package init(_ owned: Owned, of user: UserName) {
        self.name = owned.rawValue + user.name
    }

    /// The tag that every registration of that user has.
    package init(user: UserName) {
        self.init(.user, of: user)
    }

    /// The meaning that it has, whoever's it is; nil for a tag that is the apps' own.
    ///
    /// Whatever the letter case: other hubs compare tags without regard to it, and people read them so.
    package var owned: Owned? {
        let name = self.name.lowercased()
        return Owned.allCases.first { name.hasPrefix($0.rawValue) }
    }

    package init(from decoder: any Decoder) throws {
        try self.init(decoder.singleValueContainer().decode(String.self))
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

    package static func < (lhs: Tag, rhs: Tag) -> Bool { lhs.name < rhs.name }
}
