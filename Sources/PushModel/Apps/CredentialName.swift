/// The name of one of several credentials that an app declares for a push service.
///
/// It is made as an app's name is: lower-case letters, digits and `-`, 1 to 40 characters.
package struct CredentialName: Hashable, Sendable, Codable, Comparable, CustomStringConvertible {
    package let name: String

    /// - Throws: ``InvalidValue`` when the name breaks the rule.
    package init(_ name: String) throws(InvalidValue) {
        guard (try? AppID(name)) != nil else {
            throw InvalidValue("a credential's name is 1 to 40 lower-case letters, digits and '-'")
        }
        self.name = name
    }

    private init(unchecked name: String) { self.name = name }

    package init(from decoder: any Decoder) throws {
        try self.init(decoder.singleValueContainer().decode(String.self))
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(self.name)
    }

    /// The one that stands in the service's section itself, and that devices have that name none.
    package static let `default` = CredentialName(unchecked: "default")

    /// nil for ``default``, which nobody needs to name.
    package var named: CredentialName? { self == .default ? nil : self }

    package var description: String { self.name }

    package static func < (lhs: CredentialName, rhs: CredentialName) -> Bool { lhs.name < rhs.name }
}
