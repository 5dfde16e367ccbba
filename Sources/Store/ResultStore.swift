/// Everything that the store keeps: the truth of which messages are only hints (rule 1).
///
/// Every method that changes something returns after the change is durable. Writes that come together are committed together
/// (rule 8). Methods throw ``StoreError``.
package typealias ResultStore = AccountStore & AppStore & ContentStore & DeadLetterStore
    & FanOutStore & HousekeepingStore & JobStore & OutboxStore & OutcomeSink & PauseStore & RegistrationStore
    & StoreHealth

/// A piece of a list, in the list's order.
package struct Page<Element: Sendable>: Sendable {
    package let items: [Element]
    /// Give this to get the next piece; nil at the end.
    package let cursor: String?

    package init(items: [Element], cursor: String?) {
        self.items = items
        self.cursor = cursor
    }
}

/// What went wrong in the store.
package struct StoreError: Error, Sendable, CustomStringConvertible {
    /// The kind of fault.
    package struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Base: String { case unavailable, backlogFull, quotaReached, conflict, corrupt, invalidCursor }
        private let base: Base

        /// It cannot commit now: locked, full, read-only.
        ///
        /// Trying later may help.
        package static let unavailable = Code(base: .unavailable)
        /// So much is accepted and unfinished that no more is taken.
        package static let backlogFull = Code(base: .backlogFull)
        /// So much of a kind is kept for an account or an app that no more is taken; the message says of what.
        package static let quotaReached = Code(base: .quotaReached)
        /// Something of that name exists.
        package static let conflict = Code(base: .conflict)
        /// What was read makes no sense.
        package static let corrupt = Code(base: .corrupt)
        /// The cursor is not one of ours.
        package static let invalidCursor = Code(base: .invalidCursor)

        package var description: String { self.base.rawValue }
    }

    package let code: Code
    /// For the log; never holds values of rows.
    package let message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    package var description: String { "\(self.message) (\(self.code))" }
}
