/// Why a hub did not do what it was asked, or did not say.
package struct HubError: Error, Sendable, Equatable, CustomStringConvertible {
    /// What its caller may do about it.
    package enum Kind: Sendable, Equatable {
        /// It surely did nothing; later it may, after the wait that it asks for.
        case unavailable(after: Duration? = nil)
        /// It surely did nothing, nor will it do anything else until somebody acts: the key or the rights are wrong, or there is no such hub.
        case misconfigured
        /// It never will do this.
        case refused
        /// It may have done it (rule 18): a change of a registration can be repeated, and a send cannot.
        case unknown
    }

    package let kind: Kind
    package let message: String
    /// The status of the answer of a hub over a wire; nil = there was none.
    package let status: Int?

    package init(_ kind: Kind, _ message: String, status: Int? = nil) {
        self.kind = kind
        self.message = message
        self.status = status
    }

    /// How long the hub asks to wait; nil = it does not say.
    package var retryAfter: Duration? { if case .unavailable(let wait) = self.kind { wait } else { nil } }

    package var description: String { self.message }
}
