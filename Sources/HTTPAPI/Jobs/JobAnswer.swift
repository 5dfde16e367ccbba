import HTTPTypes
import Hummingbird
import Intake
import PushModel
import Store

/// A job at the end of its request's wait.
///
/// A reference, so that steps hand it on without copying the job.
final class JobAnswer: Sendable {
    /// As it is now.
    let job: Job
    let wait: JobWait

    init(_ job: Job, _ wait: JobWait) {
        self.job = job
        self.wait = wait
    }

    /// Whether what was waited for has come.
    var hasCome: Bool { self.wait.event.hasCome(to: self.job) }

    /// The value of `Preference-Applied`; nil = nothing was applied.
    var preferenceApplied: String? { self.wait.applied(isAnswered: self.hasCome) }

    /// Whether the caller has waited for what has come.
    var isAwaited: Bool { self.wait.isStated && self.hasCome }

    /// The answer of a route of our own with the job: 200 with its outcome, or 202 with the job as it is.
    ///
    /// - Parameters:
    ///   - isDone: Whether it is 200.
    ///   - prefix: The prefix of links.
    ///   - warnings: Members of a send that come to nothing.
    /// - Returns: The answer.
    func response(isDone: Bool, prefix: String, warnings: [InvalidValue] = []) -> Response {
        let text = JobText(job: self.job, prefix: prefix, warnings: warnings)
        var response = text.response(status: isDone ? .ok : .accepted)
        response.headers[.job] = text.id
        response.headers[.location] = text.location
        response.headers[.preferenceApplied] = self.wait.applied(isAnswered: isDone)
        return response
    }
}

extension JobIntake {
    /// Accepts a job, and waits for it.
    ///
    /// - Throws: `Refusal` when the idempotency key was used for another request; `StoreError`.
    func take(_ job: NewJob, _ wait: JobWait) async throws -> JobAnswer {
        JobAnswer(try await self.take(job, until: wait.event, within: wait.time), wait)
    }
}
