package import PushModel

/// Tag expressions that a hub of Azure takes.
package enum AzureExpression {
    /// The most tags of an expression that has `||` alone.
    package static let mostAlternatives = 20
    /// The most tags of any other.
    package static let mostTags = 6

    /// Whether a hub takes a tag: names of users may have `=`, which no tag of Azure has, and others that no tag has.
    package static func allows(_ tag: Tag) -> Bool { tag.name.utf8.allSatisfy(Tag.allows) }

    /// Checks that a hub can know a user, whom it knows by a tag.
    ///
    /// - Throws: `InvalidValue` for a name that no tag of Azure can have.
    package static func check(_ user: UserName) throws(InvalidValue) {
        let tag = Tag(user: user)
        guard Self.allows(tag) else { throw Self.refusal(of: tag) }
    }

    /// Why a hub does not take what selects a user.
    private static func refusal(of tag: Tag) -> InvalidValue {
        InvalidValue(
            "an Azure hub knows a user by a tag, so by at most \(Tag.Owned.longestName) letters, digits and _ @ # . : -; leave \"\(tag)\" out"
        )
    }

    /// Divides an expression into those that a hub takes: most often it is one.
    ///
    /// Only an expression of users' tags that `||` joins is divided: a device has one user at most, so none gets the
    /// notification twice.
    ///
    /// - Parameter expression: The expression.
    /// - Returns: The parts.
    /// - Throws: `InvalidValue` with the limit that it exceeds.
    package static func parts(of expression: TagExpression) throws(InvalidValue) -> [TagExpression] {
        let count = expression.steps.count { if case .tag = $0 { true } else { false } }
        guard count > 0 else { throw InvalidValue("the expression is empty; use to.all") }
        // Users share a call: one such name would fail all the others.
        if let tag = expression.tags.first(where: { !Self.allows($0) }) {
            guard tag.owned != .user else { throw Self.refusal(of: tag) }
            throw InvalidValue("an Azure hub takes no tag with =, as \"\(tag)\" has; leave it out")
        }
        guard let alternatives = expression.alternatives else {
            guard count <= Self.mostTags else {
                throw InvalidValue(
                    "an Azure hub takes at most \(Self.mostTags) tags in an expression with && or !, not \(count)"
                )
            }
            return [expression]
        }
        guard count > Self.mostAlternatives else { return [expression] }
        guard alternatives.allSatisfy({ $0.owned == .user }) else {
            throw InvalidValue(
                "an Azure hub takes at most \(Self.mostAlternatives) tags, not \(count), and only tags of users can be divided into several sends: a device with two of the others would get the notification twice"
            )
        }
        return stride(from: 0, to: alternatives.count, by: Self.mostAlternatives).map { start in
            .any(Array(alternatives[start...].prefix(Self.mostAlternatives)))
        }
    }
}
