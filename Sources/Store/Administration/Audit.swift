/// The result of checking some jobs.
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
