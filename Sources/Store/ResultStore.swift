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

/// A failure of the store.
package struct StoreError: Error, Sendable, CustomStringConvertible {
    /// The kind of fault.
    package struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Base: String { case unavailable, backlogFull, quotaReached, conflict, corrupt, invalidCursor }
        private let base: Base

        /// It cannot commit now: locked, full, read-only.
        ///
        /// Trying later may help.
        package static let unavailable = Code(base: .unavailable)
        /// The backlog of unfinished jobs is full.
        package static let backlogFull = Code(base: .backlogFull)
        /// A quota of an account or app is reached; the message names it.
        package static let quotaReached = Code(base: .quotaReached)
        /// Something of that name exists.
        package static let conflict = Code(base: .conflict)
        /// A row is malformed.
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
