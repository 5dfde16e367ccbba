/// Why something that was asked for in the right form is not done; ``InvalidValue`` is for a wrong form.
package struct Refusal: Error, Sendable, Equatable {
    /// What its caller may do about it.
    package enum Kind: Sendable {
        /// Others may do it; this caller may not.
        case forbidden
        /// It cannot be done as things are.
        case impossible
    }

    package let kind: Kind
    /// What is wrong, without a secret or a whole device token.
    package let reason: String
    /// The member that is wrong, if it is one.
    package let fault: InvalidValue?
    /// A word for programs; nil = the kind is enough.
    package let code: String?

    package init(_ kind: Kind, _ reason: String, fault: InvalidValue? = nil, code: String? = nil) {
        self.kind = kind
        self.reason = reason
        self.fault = fault
        self.code = code
    }
}
