package import PushModel

/// How the store is.
package protocol StoreHealth: Sendable {
    /// How much waits, and what room there is; nearly free at any size, and shows that the store answers.
    func state() async throws -> StoreState

    /// How the work in each queue stands, of one app, or of all (nil); of all, what it costs is bounded, however much there is.
    func queues(of app: AppID?) async throws -> [WorkQueue: QueueLoad]

    /// Checks that the counts of some jobs add up (rules 3 and 14).
    ///
    /// - Parameters:
    ///   - cursor: The first job; 0 for the beginning.
    ///   - limit: The most jobs.
    /// - Returns: The result, and the next cursor.
    /// - Throws: ``StoreError``.
    func audit(after cursor: Int64, limit: Int) async throws -> Audit
}
