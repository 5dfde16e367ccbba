/// The audience of a send by tags, such as `beta && (ios || android) && !muted`.
///
/// `!` binds tighter than `&&`, which binds tighter than `||`. An expression is stored as steps in postfix order, so
/// that neither its depth nor its size can overflow a stack. The store keeps the canonical text, ``description``.
package struct TagExpression: Hashable, Sendable {
    /// A step of the expression: combines the operands of earlier steps into one.
    package enum Step: Hashable, Sendable {
        /// The registration has the tag of that index in ``TagExpression/tags``.
        case tag(Int)
        /// The operand before does not hold.
        case not
        /// All of the preceding operands, of this number, hold; at least 2, or none: then every registration is meant.
        case all(Int)
        /// One of the preceding operands, of this number, holds; at least 2.
        case any(Int)
    }

    /// The tags that the expression names, each once, in the order of their first mention.
    package private(set) var tags: [Tag] = []
    /// In postfix order.
    ///
    /// Canonical: no `not` of a `not`, no `all` that is an operand of an `all`, no `any` of an `any`.
    package private(set) var steps: [Step] = []

    private init() {}

    /// The registrations that have this tag.
    package static func tag(_ tag: Tag) -> TagExpression {
        var expression = TagExpression()
        expression.tags = [tag]
        expression.steps = [.tag(0)]
        return expression
    }

    /// All registrations: whatever no condition excludes.
    ///
    /// It has no text that could be read again.
    package static var everyone: TagExpression {
        var expression = TagExpression()
        expression.steps = [.all(0)]
        return expression
    }

    /// The registrations for which one of these holds; one at least must be given.
    package static func any(_ members: [TagExpression]) -> TagExpression {
        var builder = Builder()
        var count = 0
        for member in members {
            // An any within this one is opened: its operands become operands of this.
            if case .any(let inner)? = member.steps.last {
                builder.append(member, steps: member.steps.dropLast())
                count += inner
            } else {
                builder.append(member, steps: member.steps[...])
                count += 1
            }
        }
        precondition(count > 0, "an expression names a tag")
        if count > 1 { builder.append(.any(count)) }
        return builder.expression
    }

    /// The registrations with one of these tags, of which there must be at least one; duplicates are dropped.
    package static func any(_ tags: [Tag]) -> TagExpression {
        var expression = TagExpression()
        var known = Set<Tag>(minimumCapacity: tags.count)
        expression.tags = tags.filter { known.insert($0).inserted }
        precondition(!expression.tags.isEmpty, "an expression names a tag")
        expression.steps = expression.tags.indices.map { .tag($0) }
        if expression.tags.count > 1 { expression.steps.append(.any(expression.tags.count)) }
        return expression
    }

    /// The tags of which one is enough; nil if the expression is not as simple as that.
    package var alternatives: [Tag]? {
        guard self.steps.count > 1 else { return self.tags.isEmpty ? nil : self.tags }
        guard case .any(let count)? = self.steps.last, count == self.steps.count - 1 else { return nil }
        let isPlain = self.steps.dropLast().allSatisfy { step in
            if case .tag = step { true } else { false }
        }
        return isPlain ? self.tags : nil
    }

    /// Puts an expression together, step by step.
    struct Builder {
        private(set) var expression = TagExpression()
        private var indexes: [Tag: Int] = [:]

        mutating func append(_ tag: Tag) {
            let index = self.indexes[tag] ?? self.expression.tags.count
            if index == self.expression.tags.count {
                self.indexes[tag] = index
                self.expression.tags.append(tag)
            }
            self.expression.steps.append(.tag(index))
        }

        mutating func append(_ step: Step) { self.expression.steps.append(step) }

        mutating func append(_ other: TagExpression, steps: ArraySlice<Step>) {
            for step in steps {
                if case .tag(let index) = step { self.append(other.tags[index]) } else { self.append(step) }
            }
        }

        /// Turns the operand that was completed last into its opposite; it may be joined by a step that is not appended yet.
        ///
        /// - Returns: How the operand is joined now.
        mutating func negate(_ operand: Operand) -> Operand {
            self.close(operand)
            guard self.expression.steps.last == .not else {
                self.append(.not)
                return .single
            }
            self.expression.steps.removeLast()
            switch self.expression.steps.last {
            case .all(let count)?:
                self.expression.steps.removeLast()
                return .all(count)
            case .any(let count)?:
                self.expression.steps.removeLast()
                return .any(count)
            default: return .single
            }
        }

        /// Appends the step that joins an operand.
        mutating func close(_ operand: Operand) {
            switch operand {
            case .single: break
            case .all(let count): self.append(.all(count))
            case .any(let count): self.append(.any(count))
            }
        }
    }

    /// The operand at the end of the steps, before its operator is known.
    enum Operand {
        /// Complete.
        case single
        /// This number of operands, to be joined by an ``Step/all(_:)``.
        case all(Int)
        /// This number of operands, to be joined by an ``Step/any(_:)``.
        case any(Int)
    }
}

extension TagExpression: Codable {
    private enum CodingKeys: String, CodingKey { case any }

    /// Reads the text form, and `{"any": […]}` as it was stored before expressions had one.
    package init(from decoder: any Decoder) throws {
        if let container = try? decoder.singleValueContainer(), let text = try? container.decode(String.self) {
            // As a kept tag is read.
            self = try TagExpression(stored: text, .exact)
            return
        }
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let members = try container.decode([TagExpression].self, forKey: .any)
        guard !members.isEmpty else {
            throw DecodingError.dataCorruptedError(forKey: .any, in: container, debugDescription: "names no tag")
        }
        self = .any(members)
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(self.description)
    }
}
