/// Chores that one process does for the whole installation, in chunks: each is a short transaction, and a crash leaves
/// the rest to the next chunk.
package protocol HousekeepingStore: Sendable {
    /// Takes a role that one process at a time should have: to save work, because two holders do no harm.
    ///
    /// - Parameter role: The role.
    /// - Returns: The leadership, held until it is released or its process ends; nil while another part or process has
    ///   the role.
    /// - Throws: ``StoreError`` when the role cannot be determined.
    func lead(as role: LeaderRole) async throws -> (any Leadership)?

    /// Whether a message that could be taken has been due that long, because the sweep's leader takes none or too few.
    ///
    /// Only reads.
    func isSweepLate(by lateness: Duration) async throws -> Bool

    /// Runs a chunk of a chore.
    ///
    /// - Parameters:
    ///   - chore: The chore.
    ///   - limit: The most rows.
    /// - Returns: The number of rows.
    /// - Throws: ``StoreError``.
    func perform(_ chore: Chore, limit: Int) async throws -> Int

    /// Removes rows older than `age` by the wall clock.
    ///
    /// - Parameters:
    ///   - kind: The kind of rows.
    ///   - age: The least age; ``Retained`` defines its beginning.
    ///   - cursor: The first row; 0 for the first chunk.
    ///   - limit: The most rows.
    /// - Returns: The number of rows removed, and the next cursor.
    /// - Throws: ``StoreError``.
    func remove(_ kind: Retained, olderThan age: Duration, after cursor: Int64, limit: Int) async throws
        -> RetentionChunk
}

/// The roles that one process at a time has for all.
package enum LeaderRole: String, Sendable, CaseIterable {
    /// Publishes due messages, and runs the chores.
    case sweeper
}

/// A role that is held as long as this is there.
package protocol Leadership: AnyObject, Sendable {}

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

/// Data with a retention time.
package enum Retained: Sendable, CaseIterable {
    /// Single devices in the lists of final jobs, from when they were recorded; the job's counts stay.
    case devices
    /// Final jobs from their end, with all that belongs to them and their idempotency keys.
    ///
    /// Not as long as a key is younger than 24 hours, or a dead message of theirs is kept.
    case jobs
    /// Uploaded contents and rich notifications, from when they were made.
    ///
    /// Not a content that a notification still names, nor an app's default picture.
    case contents
    /// Registrations that are not live, from their end: that they were there is forgotten.
    case registrations
    /// Dead letters, from when they were stored.
    case deadLetters
}

/// The result of a chunk.
package struct RetentionChunk: Sendable, Equatable {
    /// Removed rows, of all tables.
    package var removed: Int
    /// Where the next chunk begins; nil = nothing is left that is old enough.
    package var next: Int64?

    package init(removed: Int, next: Int64?) {
        self.removed = removed
        self.next = next
    }
}
