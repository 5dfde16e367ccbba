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
