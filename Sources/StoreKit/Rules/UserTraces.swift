package import PushModel
package import Store

/// What of a user stands in jobs, and the jobs without it.
///
/// Names are compared as they are decoded, never as words in a row's text.
package struct UserTraces: Sendable {
    private let user: UserName
    /// The user's own tags, and what stands in their place: a tag of nobody, for no user's name is empty.
    private let tags: [(own: Tag, nobody: Tag)]

    package init(_ user: UserName) throws(StoreError) {
        self.user = user
        var tags: [(own: Tag, nobody: Tag)] = []
        for owned in Tag.Owned.allCases { tags.append((Tag(owned, of: user), try Tag(stored: owned.rawValue))) }
        self.tags = tags
    }

    /// Texts of which one is in each stored work that names the user, among others.
    package var patterns: [String] { self.tags.map(\.own.key) + ["\"key\":\"\(self.user.key)\""] }

    /// The tags without which the user is in no list of names.
    package var ownTags: [Tag] { self.tags.map(\.own) }

    // MARK: Register jobs

    /// - Parameters:
    ///   - request: A change.
    ///   - asker: The account that asked.
    /// - Returns: Whose device it is about; nil where it names nobody.
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

    /// The send without the user's name; nil where it does not name the user.
    package func removed(from send: SendRequest) -> SendRequest? {
        guard let expression = send.audience.selection else { return nil }
        let named = self.tags.filter { expression.tags.contains($0.own) }
        guard !named.isEmpty else { return nil }
        let replaced = expression.replacing(Dictionary(named.map { ($0.own, $0.nobody) }, uniquingKeysWith: { $1 }))
        return send.with(audience: send.audience.selected(by: replaced), truncatedTags: send.truncatedTags)
    }

    /// A list of tags, a line each, without the user's; nil where it does not have them.
    package func removed(fromLines lines: String) -> String? {
        var isNamed = false
        let rest = lines.split(separator: "\n").map { line -> Substring in
            guard let tag = self.tags.first(where: { $0.own.name == line }) else { return line }
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
