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
