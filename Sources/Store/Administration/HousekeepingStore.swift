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
    /// - Returns: The number of rows, and where a removal goes on.
    /// - Throws: ``StoreError``.
    @discardableResult
    func perform(_ chore: Chore, limit: Int) async throws -> ChoreChunk
}
