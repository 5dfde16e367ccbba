/// Everything that the store keeps: the truth of which messages are only hints (rule 1).
///
/// Every method that changes something returns after the change is durable. Writes that come together are committed together
/// (rule 8). Methods throw ``StoreError``.
public typealias ResultStore = AccountStore & AppStore & ContentStore & DeadStore & JobStore & OutcomeSink & PlanStore
    & RegistrationStore & StoreHealth

/// Whether the store can be worked with.
public protocol StoreHealth: Sendable {
    /// Reads something; for `/readyz` and `doctor`.
    func check() async throws
}

/// A piece of a list, in the list's order.
public struct Page<Element: Sendable>: Sendable {
    public let items: [Element]
    /// Give this to get the next piece; nil at the end.
    public let cursor: String?

    public init(items: [Element], cursor: String?) {
        self.items = items
        self.cursor = cursor
    }
}

/// What went wrong in the store.
public struct StoreError: Error, Sendable, CustomStringConvertible {
    /// The kind of fault.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Base: String { case unavailable, backlogFull, conflict, corrupt, invalidCursor }
        private let base: Base

        /// It cannot commit now: locked, full, read-only. Trying later may help.
        public static let unavailable = Code(base: .unavailable)
        /// So much is accepted and unfinished that no more is taken.
        public static let backlogFull = Code(base: .backlogFull)
        /// Something of that name exists.
        public static let conflict = Code(base: .conflict)
        /// What was read makes no sense.
        public static let corrupt = Code(base: .corrupt)
        /// The cursor is not one of ours.
        public static let invalidCursor = Code(base: .invalidCursor)

        public var description: String { self.base.rawValue }
    }

    public let code: Code
    /// For the log; never holds values of rows.
    public let message: String

    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    public var description: String { "\(self.message) (\(self.code))" }
}
