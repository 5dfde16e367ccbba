import Intake
import PushModel
import Store

/// Sends as jobs.
struct SendJobs: Sendable {
    let context: RouteContext

    /// Accepts a send.
    ///
    /// - Parameters:
    ///   - send: The send.
    ///   - request: The request, with the caller.
    ///   - route: The route's name for `Idempotency-Key`.
    /// - Returns: The job, and whether what the request waits for has come in time.
    /// - Throws: `Refusal` for what the app's hub cannot take, ``Problem``; `StoreError` when it could not be accepted.
    func take(_ send: NewSend, request: APIRequest, idempotentAs route: String) async throws -> JobAnswer {
        let job = try self.context.intake.job(
            of: send,
            from: request.caller,
            spec: request.spec,
            idempotency: request.idempotency(route: route)
        )
        let wait = JobWait(request, for: job.work, startsAt: job.startsAt, self.context.configuration)
        return try await self.context.intake.take(job, wait)
    }
}
