/// A value that breaks a rule of the model, with an explanation for its sender.
///
/// The caller, which knows the member of the input, adds it with ``named(_:)``.
package struct InvalidValue: Error, Equatable, Sendable, CustomStringConvertible {
    /// The member of the input, such as `to.tag`; empty when not known here.
    package let member: String
    /// The fault and its remedy.
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

    // MARK: Reasons that several inputs have

    /// Of a number that is too small or too large, or has a fraction.
    package static func mustBeWhole(_ range: ClosedRange<Int>) -> String {
        "must be a whole number from \(range.lowerBound) to \(range.upperBound)"
    }

    package static let mustBeBool = "must be true or false"
}
