/// A rule of an app's hub, as the holders of its keys know it: a name, what it allows, and two keys.
///
/// There are two keys so that one can be replaced while the other works.
package struct HubRule: Sendable, Equatable {
    /// What a rule allows.
    package enum Right: String, Sendable, CaseIterable, Comparable {
        /// Change and read the registrations of devices.
        case listen
        /// Send.
        case send
        /// Everything else: lists of registrations, also those of a tag.
        case manage

        package static func < (lhs: Right, rhs: Right) -> Bool { lhs.rawValue < rhs.rawValue }
    }

    /// Which of the two keys.
    package enum Key: String, Sendable, CaseIterable { case primary, secondary }

    package let app: AppID
    package let name: String
    package let rights: Set<Right>
    package var primaryKey: String
    package var secondaryKey: String
    package let created: Timestamp

    package init(
        app: AppID,
        name: String,
        rights: Set<Right>,
        primaryKey: String,
        secondaryKey: String,
        created: Timestamp
    ) {
        self.app = app
        self.name = name
        self.rights = rights
        self.primaryKey = primaryKey
        self.secondaryKey = secondaryKey
        self.created = created
    }

    /// Checks a name: 1 to 64 letters, digits, `-`, `_` and `.` characters.
    ///
    /// - Throws: ``InvalidValue`` unless it has 1 to 64 letters, digits, hyphens, underscores and dots.
    package static func check(name: String) throws(InvalidValue) {
        let isPlain = name.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                true
            default: "-_.".utf8.contains(byte)
            }
        }
        guard isPlain, (1...64).contains(name.utf8.count) else {
            throw InvalidValue("a rule's name must have 1 to 64 letters, digits and - _ .")
        }
    }
}
