package import PushModel

/// How the store is.
package protocol StoreHealth: Sendable {
    /// The room of the store's files, and their last backup, as the host says: nothing is read of the store.
    var room: StoreRoom { get }

    /// How much waits, and what room there is; nearly free at any size, and shows that the store answers.
    func state() async throws -> StoreState

    /// How an app's work stands: one question for what a page shows that asks again and again.
    ///
    /// - Parameters:
    ///   - app: The app.
    ///   - mostDead: As far as dead letters are counted.
    /// - Returns: All of it.
    /// - Throws: ``StoreError``.
    func standing(of app: AppID, mostDead: Int) async throws -> AppStanding

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
