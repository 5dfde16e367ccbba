/// Whom a send is for.
package enum SendAudience: Sendable, Equatable {
    /// The live registrations that an expression selects.
    case tags(TagExpression)
    /// All live registrations of the app.
    case all
    /// The devices of a list, which the store keeps beside the job.
    case list(RecipientCount)

    /// The registrations as an expression; nil for a list.
    package var expression: TagExpression? {
        switch self {
        case .tags(let expression): expression
        case .all: .everyone
        case .list: nil
        }
    }

    /// The tags of which one is enough; nil for any other audience.
    package var alternatives: [Tag]? {
        if case .tags(let expression) = self { expression.alternatives } else { nil }
    }
}

/// The size of a send's list.
package struct RecipientCount: Sendable, Equatable {
    /// How a list names its devices.
    package enum Kind: String, Codable, Sendable {
        case handles
        case registrations
    }

    package let kind: Kind
    /// How many the sender named.
    package let given: Int
    /// How many of them the send is for: each device once, at the send's services, and only registrations that were there.
    package let count: Int

    package init(kind: Kind, given: Int, count: Int) {
        self.kind = kind
        self.given = given
        self.count = count
    }
}

extension SendAudience: Codable {
    private enum CodingKeys: String, CodingKey { case kind, given, count }

    private static let everyone = "all"

    /// Reads an expression's text, or an object with the kind of another audience.
    package init(from decoder: any Decoder) throws {
        guard let container = try? decoder.container(keyedBy: CodingKeys.self), container.contains(.kind) else {
            self = .tags(try TagExpression(from: decoder))
            return
        }
        if try container.decode(String.self, forKey: .kind) == Self.everyone {
            self = .all
        } else {
            self = .list(
                RecipientCount(
                    kind: try container.decode(RecipientCount.Kind.self, forKey: .kind),
                    given: try container.decode(Int.self, forKey: .given),
                    count: try container.decode(Int.self, forKey: .count)
                )
            )
        }
    }

    package func encode(to encoder: any Encoder) throws {
        if case .tags(let expression) = self { return try expression.encode(to: encoder) }
        var container = encoder.container(keyedBy: CodingKeys.self)
        guard case .list(let list) = self else { return try container.encode(Self.everyone, forKey: .kind) }
        try container.encode(list.kind, forKey: .kind)
        try container.encode(list.given, forKey: .given)
        try container.encode(list.count, forKey: .count)
    }
}
