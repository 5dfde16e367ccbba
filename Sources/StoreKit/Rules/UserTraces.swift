package import PushModel
package import Store

/// What of a user stands in jobs, and the jobs without it.
///
/// Names are compared as they are decoded, never as words in a row's text.
package struct UserTraces: Sendable {
    private let user: UserName
    /// What selects the user, and the user's tag as a sender; what stands in their place is a tag of nobody, for no user's name is empty.
    private let tags: [(own: Tag, nobody: Tag)]

    package init(_ user: UserName) throws(StoreError) {
        self.user = user
        var tags: [(own: Tag, nobody: Tag)] = []
        for owned in Tag.Owned.allCases {
            let own = owned == .user ? Tag(user: user) : Tag(owned, of: user)
            if let own { tags.append((own, try Tag(stored: owned.rawValue))) }
        }
        self.tags = tags
    }

    /// Texts of which one is in each stored work that names the user, among others that do not.
    ///
    /// A name is looked for up to its first character that JSON may write in several ways.
    package var patterns: [String] {
        (self.tags.map(\.own.key) + [self.user.key.text]).enumerated().map { index, text in
            let plain = String(decoding: text.utf8.prefix(while: Self.isPlain), as: UTF8.self)
            return index < self.tags.count ? plain : "\"key\":\"\(plain)"
        }
    }

    /// Whether JSON, and an expression within it, have a character as it is.
    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): false
        case UInt8(ascii: "&"), UInt8(ascii: "<"), UInt8(ascii: ">"): false
        default: (0x20...0x7E).contains(byte)
        }
    }

    /// The tags without which the user is in no list of names.
    package var ownTags: [Tag] { self.tags.map(\.own) }

    // MARK: Register jobs

    /// The result of a change about a removed user.
    package static let refusal = "its user was removed"

    /// - Parameters:
    ///   - request: A change.
    ///   - asker: The account that asked.
    /// - Returns: Whose device it is about; nil if it names nobody.
    package static func subject(of request: RegisterRequest, askedBy asker: UserName?) -> UserName? {
        if let onBehalf = request.onBehalf { return onBehalf.user }
        switch request {
        case .removeUser, .channel: return nil
        default: return asker
        }
    }

    /// Whether a change is on the user's behalf, or asks for the user's removal.
    package func isNamed(by request: RegisterRequest) -> Bool {
        if case .removeUser(let name, _) = request { return name == self.user }
        return request.onBehalf?.user == self.user
    }

    // MARK: Sends

    /// Whether a send reaches nobody but the user, and the devices that see what is sent to the user.
    package func isOnlyAudience(of send: SendRequest) -> Bool {
        guard let expression = send.audience.selection, send.truncatedTags == 0,
            self.tags.contains(where: { expression.tags.contains($0.own) })
        else { return false }
        // The classic backend sends to a user and to the sender's own devices.
        return !expression.mayHold { tag in tag.owned == .sender || self.ownTags.contains(tag) }
    }

    /// The send without the user's name; nil if it does not name the user.
    package func removed(from send: SendRequest) -> SendRequest? {
        guard let expression = send.audience.selection else { return nil }
        let named = self.tags.filter { expression.tags.contains($0.own) }
        guard !named.isEmpty else { return nil }
        let replaced = expression.replacing(Dictionary(named.map { ($0.own, $0.nobody) }, uniquingKeysWith: { $1 }))
        return send.with(audience: send.audience.selected(by: replaced), truncatedTags: send.truncatedTags)
    }

    /// A list of tags, a line each, without the user's; nil if it does not have them.
    package func removed(fromLines lines: String) -> String? {
        var isNamed = false
        let rest = lines.utf8.split(separator: UInt8(ascii: "\n")).map { line -> Substring in
            guard let tag = self.tags.first(where: { $0.own.name.utf8.elementsEqual(line) }) else {
                return Substring(line)
            }
            isNamed = true
            return tag.nobody.name[...]
        }
        return isNamed ? rest.joined(separator: "\n") : nil
    }
}

extension SendRequest {
    /// The send without its content.
    package var emptied: SendRequest {
        SendRequest(
            to: self.audience,
            truncatedTags: self.truncatedTags,
            platforms: self.platforms,
            content: .message(Content.Message()),
            timeToLive: self.timeToLive,
            isDryRun: self.isDryRun
        )
    }
}
