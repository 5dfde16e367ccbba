/// A label of a registration, by which audiences are chosen: letters, digits and `_ @ # . : -`, 1 to 120 characters.
///
/// The set is that of Azure Notification Hubs, so that an app can move between hubs.
package struct Tag: Hashable, Sendable, Codable, Comparable, CustomStringConvertible {
    /// The greatest length, in characters.
    package static let maximumLength = 120
    /// The beginning of the tag that the server adds for a registration's user.
    package static let userPrefix = "username:"

    package let name: String

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

    /// The tag that every registration of that user has.
    package init(user: UserName) {
        self.name = Tag.userPrefix + user.name
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
