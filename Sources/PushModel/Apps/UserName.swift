/// A user's name: any text of 1 to 256 bytes of UTF-8 but for characters that nobody sees, or that change what others see.
///
/// Two names are equal if the app treats them as one user (decision 27): byte by byte, but for the case of ASCII letters where the app
/// ignores it.
package struct UserName: Hashable, Sendable, CustomStringConvertible {
    /// The greatest length, in bytes of UTF-8.
    package static let maximumLength = 256

    /// The original spelling, for display.
    package let name: String
    /// The name for comparison and storage: small letters, unless the app compares exactly.
    package let key: ExactText

    /// Reads a name that somebody wrote.
    ///
    /// - Parameters:
    ///   - name: The text.
    ///   - users: How the app compares the names of its users.
    /// - Throws: ``InvalidValue`` when the name is empty, too long, a part of a path, or holds a forbidden character.
    package init(_ name: String, _ users: AppSpec.Users) throws(InvalidValue) {
        try Self.check(name)
        // Clients and proxies take them out of a path, and another user or all of them would be meant.
        guard name != ".", name != ".." else { throw InvalidValue("a user name cannot be . or ..") }
        self.name = name
        self.key = ExactText(users == .exact ? name : name.withoutCapitals)
    }

    /// A stored name.
    ///
    /// - Parameters:
    ///   - key: The name for comparison.
    ///   - name: The original spelling; nil = the same.
    /// - Throws: ``InvalidValue`` if one of them is not a legal name.
    package init(key: String, shownAs name: String?) throws(InvalidValue) {
        try Self.check(key)
        if let name { try Self.check(name) }
        self.key = ExactText(key)
        self.name = name ?? key
    }

    /// The original spelling, if it differs from the key.
    package var shown: String? { ExactText(self.name) == self.key ? nil : self.name }

    package var description: String { self.name }

    package static func == (lhs: UserName, rhs: UserName) -> Bool { lhs.key == rhs.key }

    package func hash(into hasher: inout Hasher) { hasher.combine(self.key) }

    private static func check(_ name: String) throws(InvalidValue) {
        guard (1...Self.maximumLength).contains(name.utf8.count) else {
            throw InvalidValue("a user name must have 1 to \(Self.maximumLength) bytes of UTF-8")
        }
        // Most names are ASCII.
        if name.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) { return }
        for scalar in name.unicodeScalars where !Self.allows(scalar) {
            let code = String(scalar.value, radix: 16, uppercase: true)
            throw InvalidValue(
                "a user name has no control characters, and none of those that turn text round or stand for what could not be read; U+\(String(repeating: "0", count: max(0, 4 - code.count)) + code) is one"
            )
        }
    }

    private static func allows(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        // Bidirectional ones: a name with one shows the text around it in another order.
        case 0x202A...0x202E, 0x2066...0x2069: return false
        // What a lone surrogate, or bytes that are not UTF-8, became on the way: it may have been any of several names.
        case 0xFFFD: return false
        default: break
        }
        return switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: false
        default: true
        }
    }
}

extension UserName: Codable {
    private enum CodingKeys: String, CodingKey {
        case key
        case shown
    }

    package init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        let key = try members.decode(String.self, forKey: .key)
        try self.init(key: key, shownAs: members.decodeIfPresent(String.self, forKey: .shown))
    }

    package func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: CodingKeys.self)
        try members.encode(self.key.text, forKey: .key)
        try members.encodeIfPresent(self.shown, forKey: .shown)
    }
}
