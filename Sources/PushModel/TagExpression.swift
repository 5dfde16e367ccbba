/// Which registrations a send is for, by their tags.
///
/// JSON: a tag is a string; `{"any": […]}` is true where one of its members is.
package indirect enum TagExpression: Hashable, Sendable {
    /// The registrations that have this tag. Never parsed: each tag is literal.
    case tag(Tag)
    /// The registrations for which one of these holds.
    case any([TagExpression])

    /// The tags that the expression names, each once, in the order of their first mention.
    package var tags: [Tag] {
        var seen: Set<Tag> = []
        var found: [Tag] = []
        func visit(_ expression: TagExpression) {
            switch expression {
            case .tag(let tag): if seen.insert(tag).inserted { found.append(tag) }
            case .any(let members): members.forEach(visit)
            }
        }
        visit(self)
        return found
    }

    /// Whether a registration with these tags is meant.
    package func matches(_ tags: Set<Tag>) -> Bool {
        switch self {
        case .tag(let tag): tags.contains(tag)
        case .any(let members): members.contains { $0.matches(tags) }
        }
    }
}

extension TagExpression: Codable {
    private enum CodingKeys: String, CodingKey { case any }

    package init(from decoder: any Decoder) throws {
        if let tag = try? decoder.singleValueContainer().decode(Tag.self) {
            self = .tag(tag)
        } else {
            self = .any(try decoder.container(keyedBy: CodingKeys.self).decode([TagExpression].self, forKey: .any))
        }
    }

    package func encode(to encoder: any Encoder) throws {
        switch self {
        case .tag(let tag):
            var container = encoder.singleValueContainer()
            try container.encode(tag)
        case .any(let members):
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(members, forKey: .any)
        }
    }
}
