/// How the store is.
package protocol StoreHealth: Sendable {
    /// How much waits; costs next to nothing, however much there is, and shows that the store answers.
    func backlog() async throws -> Backlog

    /// Checks that the counts of some jobs add up (rules 3 and 14).
    ///
    /// - Parameters:
    ///   - cursor: Where to begin; 0 for the first.
    ///   - limit: How many jobs are looked at.
    /// - Returns: What was seen, and where to go on.
    /// - Throws: ``StoreError``.
    func audit(after cursor: Int64, limit: Int) async throws -> Audit
}

/// What waits, of all apps.
package struct Backlog: Sendable, Equatable {
    /// Jobs that are accepted and not final.
    package let jobs: Int
    /// Dead messages that wait for somebody, counted up to ``mostDead``.
    package let dead: Int

    /// Whoever has so many need not know how many more.
    package static let mostDead = 10_000

    package init(jobs: Int, dead: Int) {
        self.jobs = jobs
        self.dead = dead
    }
}

/// What came of checking some jobs.
package struct Audit: Sendable {
    /// How many were looked at.
    package var jobs: Int
    /// A line for each that does not hold.
    package var faults: [String]
    /// Where to go on; nil at the end.
    package var next: Int64?

    package init(jobs: Int, faults: [String], next: Int64?) {
        self.jobs = jobs
        self.faults = faults
        self.next = next
    }
}
