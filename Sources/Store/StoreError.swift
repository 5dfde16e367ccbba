/// A failure of the store.
package struct StoreError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The kind of fault.
    package struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Base: String {
            case unavailable, unknown, overdue, backlogFull, quotaReached, conflict, lastOperator, corrupt,
                invalidCursor
        }
        private let base: Base

        /// It cannot commit now: locked, full, read-only.
        ///
        /// Trying later may help.
        package static let unavailable = Code(base: .unavailable)
        /// A change was on its way when its answer was lost: it may be committed or not.
        ///
        /// Nothing is claimed of it. A caller repeats what may be done twice, or has a key by which it is known.
        package static let unknown = Code(base: .unknown)
        /// Nothing was written before the caller's time was over (``CommitDeadline``).
        package static let overdue = Code(base: .overdue)
        /// The backlog of unfinished jobs is full.
        package static let backlogFull = Code(base: .backlogFull)
        /// A quota of an account or app is reached; the message names it.
        package static let quotaReached = Code(base: .quotaReached)
        /// Something of that name exists.
        package static let conflict = Code(base: .conflict)
        /// The app would be left without an operator, neither an account that is enabled nor a key that works.
        package static let lastOperator = Code(base: .lastOperator)
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

    /// Whether it is the store's fault and not the step's, which is made again: what workers do is fenced, and may be repeated.
    package var mayPass: Bool { [.unavailable, .unknown].contains(self.code) }

    /// The error of a request whose ``CommitDeadline`` is over.
    package static let overdue = StoreError(.overdue, "the request has left the queue of writes")
}
