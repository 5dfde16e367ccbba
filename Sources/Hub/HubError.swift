/// A failure of a hub.
package struct HubError: Error, Sendable, CustomStringConvertible {
    /// The kind of fault.
    package struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Base: String { case unavailable, refused }
        private let base: Base

        /// The hub cannot answer now; trying later may help.
        package static let unavailable = Code(base: .unavailable)
        /// The hub will never take this.
        package static let refused = Code(base: .refused)

        package var description: String { self.base.rawValue }
    }

    package let code: Code
    package let message: String
    /// How long the hub asks to wait; nil = it does not say.
    package let retryAfter: Duration?

    package init(_ code: Code, _ message: String, retryAfter: Duration? = nil) {
        self.code = code
        self.message = message
        self.retryAfter = retryAfter
    }

    package var description: String { "\(self.message) (\(self.code))" }
}
