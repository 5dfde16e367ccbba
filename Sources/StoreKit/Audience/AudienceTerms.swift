package import PushModel
package import Store

/// An expression with the store's numbers of its tags.
package struct AudienceTerms: Sendable {
    private let expression: TagExpression
    package let compiled: CompiledExpression
    package let app: Int64
    /// The tags of the expression; nil = no registration ever had it.
    package let tags: [StoredTag?]

    package init(expression: TagExpression, compiled: CompiledExpression, app: Int64, tags: [StoredTag?]) {
        self.expression = expression
        self.compiled = compiled
        self.app = app
        self.tags = tags
    }

    /// The only tag of the audience, if it has just one.
    package var onlyTag: StoredTag? {
        guard self.expression.alternatives != nil else { return nil }
        let known = self.tags.compactMap { $0 }
        return known.count == 1 ? known.first : nil
    }
}

extension AudienceQuery {
    /// The number of service and kind.
    package var slot: Int { RegistrationSlot.number(self.pns, self.kind) }
}
