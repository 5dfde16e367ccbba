import NIOConcurrencyHelpers
import PushModel

/// The send jobs that this process is at.
final class JobsInWork: Sendable {
    private let jobs = NIOLockedValueBox<Set<JobID>>([])

    /// - Returns: false when the process is at that job already.
    func begin(_ job: JobID) -> Bool { self.jobs.withLockedValue { $0.insert(job).inserted } }

    func end(_ job: JobID) { self.jobs.withLockedValue { _ = $0.remove(job) } }
}
