/// Chores that are due without a request.
package enum Chore: Sendable, Equatable {
    /// Queues scheduled jobs that are due by the wall clock, even after it was set (rule 13).
    case startScheduled
    /// Ends overdue jobs, and counts the devices of their batches that are at no worker (rule 13).
    ///
    /// Two leases later it closes the remaining batches; the result counts both.
    case expireJobs
    /// Takes dead handles from the list that outcomes leave, and prunes those registrations that still have the handle sent to
    /// and were last updated before the moment that counts (rule 9); counts the handles.
    case pruneRegistrations
    /// Ends overdue registrations, and forgets traces of earlier ended ones; the result counts the former.
    case expireRegistrations
}
