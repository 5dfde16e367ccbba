/// How the store is.
package protocol StoreHealth: Sendable {
    /// How much waits; costs next to nothing, however much there is, and shows that the store answers.
    func backlog() async throws -> Backlog

    /// How the work in each queue stands; what it costs is bounded, however much there is.
    func queues() async throws -> [QueueBacklog]

    /// How much room the store takes, and how much is left.
    func space() async throws -> StoreSpace

    /// Checks that the counts of some jobs add up (rules 3 and 14).
    ///
    /// - Parameters:
    ///   - cursor: Where to begin; 0 for the first.
    ///   - limit: How many jobs are looked at.
    /// - Returns: What was seen, and where to go on.
    /// - Throws: ``StoreError``.
    func audit(after cursor: Int64, limit: Int) async throws -> Audit
}
