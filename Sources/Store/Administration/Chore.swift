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
    /// Removes rows that are older than this by the wall clock, of all tables; ``Retained`` defines when the age begins.
    ///
    /// `after`: the ``ChoreChunk/next`` of the chunk before; 0 for the first one.
    case remove(Retained, olderThan: Duration, after: Int64 = 0)
}

/// The result of a chunk of a chore.
package struct ChoreChunk: Sendable, Equatable {
    /// How many rows it was done for.
    package var rows: Int
    /// Where a removal's next chunk begins; nil = nothing is left that is old enough, and of any other chore.
    package var next: Int64?

    package init(rows: Int, next: Int64? = nil) {
        self.rows = rows
        self.next = next
    }
}
