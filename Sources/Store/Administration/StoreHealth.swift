package import PushModel

/// How the store is.
package protocol StoreHealth: Sendable {
    /// The size of the backlog; nearly free at any size, and shows that the store answers.
    func backlog() async throws -> Backlog

    /// How the work in each queue stands; what it costs is bounded, however much there is.
    func queues() async throws -> [QueueBacklog]

    /// The backlog of an app, by queue.
    func load(of app: AppID) async throws -> [WorkQueue: QueueLoad]

    /// How much room the store takes, and how much is left.
    func space() async throws -> StoreSpace

    /// Checks that the counts of some jobs add up (rules 3 and 14).
    ///
    /// - Parameters:
    ///   - cursor: The first job; 0 for the beginning.
    ///   - limit: The most jobs.
    /// - Returns: The result, and the next cursor.
    /// - Throws: ``StoreError``.
    func audit(after cursor: Int64, limit: Int) async throws -> Audit
}
