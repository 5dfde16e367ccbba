/// The roles that one process at a time has for all.
package enum LeaderRole: String, Sendable, CaseIterable {
    /// Publishes due messages, and runs the chores.
    case sweeper
}

/// A role that is held as long as this is there.
package protocol Leadership: AnyObject, Sendable {
    /// Whether it is held still: where others may take it from a process that is not heard of, it ends by itself.
    var isHeld: Bool { get }
}
