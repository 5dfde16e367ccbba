/// What whoever runs an installation does with the store itself.
package protocol StoreUpkeep: Sendable {
    /// Writes a copy of the whole store as it is at one moment, while it is in use.
    ///
    /// - Parameter path: A file that is not there; it is made for its owner alone, and appears when it is whole.
    /// - Throws: ``StoreError``: a conflict when the file is there.
    func backUp(to path: String) async throws

    /// Reads the whole file, and says what is wrong with it.
    ///
    /// - Returns: A line for each fault, at most a hundred; empty = none.
    /// - Throws: ``StoreError``.
    func checkFile() async throws -> [String]

    /// Checks that the counts of some jobs add up (rules 3 and 14).
    ///
    /// - Parameters:
    ///   - cursor: Where to begin; 0 for the first.
    ///   - limit: How many jobs are looked at.
    /// - Returns: What was seen, and where to go on.
    /// - Throws: ``StoreError``.
    func audit(after cursor: Int64, limit: Int) async throws -> Audit
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
