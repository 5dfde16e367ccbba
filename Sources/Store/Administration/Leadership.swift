/// What one process at a time does for all.
package enum LeaderRole: String, Sendable, CaseIterable {
    /// Publishes what is due, and keeps house.
    case sweeper
}

/// A role that is held as long as this is there.
package protocol Leadership: AnyObject, Sendable {}
