/// What falls due without anybody asking for it.
package enum Chore: Sendable, Equatable {
    /// Queues scheduled jobs whose time has come by the wall clock, however that clock was set since (rule 13).
    case startScheduled
    /// Ends jobs whose time is over, and counts the devices of their batches that are at no worker (rule 13).
    ///
    /// Closes what is still open two leases later; counts both.
    case expireJobs
    /// Takes dead handles from the list that outcomes leave, and prunes those registrations that still have the handle sent to
    /// and were last updated before the moment that counts (rule 9); counts the handles.
    case pruneRegistrations
    /// Ends registrations whose time is over, and forgets what is remembered of those that have ended; counts the former.
    case expireRegistrations
}
