/// What one process does for all of the installation, in chunks: each is a short transaction, and what a crash leaves the next chunk
/// finds.
package protocol HousekeepingStore: Sendable {
    /// Takes on a role that one process at a time has: an economy, for nothing breaks when two have it.
    ///
    /// - Parameter role: The role.
    /// - Returns: What holds the role until it is let go of, or its process ends; nil while somebody else has the role, here or in
    ///   another process.
    /// - Throws: ``StoreError`` when nobody can tell.
    func lead(as role: LeaderRole) async throws -> (any Leadership)?

    /// Whether a message that could have been taken has been due that long: whoever leads the sweep takes none, or too few.
    ///
    /// Reads alone.
    func isSweepLate(by lateness: Duration) async throws -> Bool

    /// Does a chunk of a chore whose time has come.
    ///
    /// - Parameters:
    ///   - chore: What is done.
    ///   - limit: The most that is done of it.
    /// - Returns: How much was done.
    /// - Throws: ``StoreError``.
    func perform(_ chore: Chore, limit: Int) async throws -> Int

    /// Removes some of what is older than `age` by the wall clock.
    ///
    /// - Parameters:
    ///   - kind: What is removed.
    ///   - age: How old it must be; ``Retained`` says from when on.
    ///   - cursor: Where to begin; 0 for the first chunk.
    ///   - limit: The most rows.
    /// - Returns: How much it was, and where to go on.
    /// - Throws: ``StoreError``.
    func remove(_ kind: Retained, olderThan age: Duration, after cursor: Int64, limit: Int) async throws
        -> RetentionChunk
}

/// What one process at a time does for all.
package enum LeaderRole: String, Sendable, CaseIterable {
    /// Publishes what is due, and keeps house.
    case sweeper
}

/// A role that is held as long as this is there.
package protocol Leadership: AnyObject, Sendable {}

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

/// What is kept for a while.
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
    /// Messages that nobody could work on, from when they were kept.
    case deadLetters
}

/// What a chunk removed.
package struct RetentionChunk: Sendable, Equatable {
    /// Rows that are gone, of whichever table.
    package var removed: Int
    /// Where the next chunk begins; nil = nothing is left that is old enough.
    package var next: Int64?

    package init(removed: Int, next: Int64?) {
        self.removed = removed
        self.next = next
    }
}
