/// Whom a send is for.
package enum SendAudience: Sendable, Equatable {
    /// The live registrations that an expression selects.
    case tags(TagExpression)
    /// All live registrations of the app.
    case all
    /// The devices of a list, which the store keeps beside the job.
    case list(RecipientCount)
    /// The registrations that an expression selects at a hub over a wire: the store keeps its calls beside the job, as a list.
    case hub(TagExpression, calls: Int)

    /// The registrations of the store as an expression; nil if it keeps a list.
    package var expression: TagExpression? {
        switch self {
        case .tags(let expression): expression
        case .all: .everyone
        case .list, .hub: nil
        }
    }

    /// The expression that selects it, wherever; nil = it has none.
    package var selection: TagExpression? {
        switch self {
        case .tags(let expression), .hub(let expression, _): expression
        case .all, .list: nil
        }
    }

    /// The same with another expression that selects it.
    package func selected(by expression: TagExpression) -> SendAudience {
        if case .hub(_, let calls) = self { .hub(expression, calls: calls) } else { .tags(expression) }
    }

    /// Whether a hub over a wire is called for it: that delivers by itself.
    package var isAtHub: Bool {
        switch self {
        case .tags, .all: false
        case .list(let list): list.isAtHub
        case .hub: true
        }
    }

    /// How many the list has that the store keeps; nil = none is kept.
    package var listed: Int? {
        switch self {
        case .tags, .all: nil
        case .list(let list): list.count
        case .hub(_, let calls): calls
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
    /// Whether they are the devices of a hub over a wire, which is called for each.
    package let isAtHub: Bool

    package init(kind: Kind, given: Int, count: Int, isAtHub: Bool = false) {
        self.kind = kind
        self.given = given
        self.count = count
        self.isAtHub = isAtHub
    }
}

extension SendAudience: Codable {
    private enum CodingKeys: String, CodingKey { case kind, given, count, expression, atHub }

    private static let everyone = "all"
    private static let atHub = "hub"

    /// Reads an expression's text, or an object with the kind of another audience.
    package init(from decoder: any Decoder) throws {
        guard let container = try? decoder.container(keyedBy: CodingKeys.self), container.contains(.kind) else {
            self = .tags(try TagExpression(from: decoder))
            return
        }
        switch try container.decode(String.self, forKey: .kind) {
        case Self.everyone: self = .all
        case Self.atHub:
            let expression = try container.decodeIfPresent(TagExpression.self, forKey: .expression)
            self = .hub(expression ?? .everyone, calls: try container.decode(Int.self, forKey: .count))
        default:
            self = .list(
                RecipientCount(
                    kind: try container.decode(RecipientCount.Kind.self, forKey: .kind),
                    given: try container.decode(Int.self, forKey: .given),
                    count: try container.decode(Int.self, forKey: .count),
                    isAtHub: try container.decodeIfPresent(Bool.self, forKey: .atHub) ?? false
                )
            )
        }
    }

    package func encode(to encoder: any Encoder) throws {
        if case .tags(let expression) = self { return try expression.encode(to: encoder) }
        var container = encoder.container(keyedBy: CodingKeys.self)
        switch self {
        case .tags, .all: try container.encode(Self.everyone, forKey: .kind)
        case .list(let list):
            try container.encode(list.kind, forKey: .kind)
            try container.encode(list.given, forKey: .given)
            try container.encode(list.count, forKey: .count)
            if list.isAtHub { try container.encode(true, forKey: .atHub) }
        case .hub(let expression, let calls):
            try container.encode(Self.atHub, forKey: .kind)
            // Everybody has no text.
            if expression != .everyone { try container.encode(expression, forKey: .expression) }
            try container.encode(calls, forKey: .count)
        }
    }
}
