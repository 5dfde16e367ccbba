/// A value that breaks a rule of the model: what is wrong with it, in words for the person who sent it.
///
/// The one who knows which member of the input it was adds that with ``named(_:)``.
package struct InvalidValue: Error, Equatable, Sendable, CustomStringConvertible {
    /// The member of the input, such as `to.tag`; empty when not known here.
    package let member: String
    /// What is wrong and what would be right.
    ///
    /// Never holds a secret or a whole device token.
    package let reason: String

    package init(member: String = "", _ reason: String) {
        self.member = member
        self.reason = reason
    }

    /// The same fault, with the member of the input it was found in.
    package func named(_ member: String) -> InvalidValue {
        InvalidValue(member: self.member.isEmpty ? member : "\(member).\(self.member)", self.reason)
    }

    package var description: String {
        self.member.isEmpty ? self.reason : "\(self.member): \(self.reason)"
    }
}
