import HTTPTypes
import Hummingbird
import PushModel
import Store

/// Changes of registrations as jobs, and what their results mean over HTTP.
struct RegisterJobs: Sendable {
    let context: RouteContext

    /// - Parameters:
    ///   - work: The change.
    ///   - user: Who changes a registration of theirs; nil = the app's backend or an operator changes anybody's.
    ///   - request: Who asks, and how long they wait.
    /// - Returns: What came of it in time.
    /// - Throws: `StoreError` when it could not be accepted.
    func take(_ work: RegisterRequest, user: UserName?, request: APIRequest) async throws -> JobIntake.Answer {
        let configuration = self.context.configuration
        let job = NewJob(
            app: request.app,
            user: user,
            key: try request.caller.key,
            priority: .high,
            work: .register(work),
            lifetime: configuration.jobLifetime
        )
        let wait = request.preference.limit(most: configuration.maximumWait) ?? configuration.classicWait
        return try await self.context.intake.take(job, wait: wait)
    }

    /// The answer to the caller.
    ///
    /// - Parameters:
    ///   - answer: What came of the job.
    ///   - request: What the caller prefers.
    ///   - success: The answer for a result that is a success on this route; nil for any other.
    /// - Returns: That answer, or 202 to a caller who understands it.
    /// - Throws: ``Problem``: 404, 410 and 400 as the hub has it; 503 when it has not answered yet, for then the registration
    ///   is not yet true. It goes on in the background, and repeating it is harmless.
    func response(
        to answer: JobIntake.Answer,
        request: APIRequest,
        success: (RegisterResult) async throws -> Response?
    ) async throws -> Response {
        let preference = request.preference
        let id = answer.job.id.description
        if let result = answer.job.result {
            if var response = try await success(result) {
                response.headers[.job] = id
                response.headers[.preferenceApplied] = preference.applied(
                    answered: true,
                    most: self.context.configuration.maximumWait
                )
                return response
            }
            throw Self.problem(result, job: id)
        }
        guard !answer.isAnswered, preference.isStated else {
            throw Problem(
                .serviceUnavailable,
                "the hub has not answered in time; the change continues, and repeating it is safe",
                headers: [.retryAfter: "5", .job: id]
            )
        }
        var headers: HTTPFields = [.job: id, .location: "\(request.prefix)jobs/\(id)"]
        headers[.preferenceApplied] = preference.applied(
            answered: false,
            most: self.context.configuration.maximumWait
        )
        return Response(status: .accepted, headers: headers)
    }

    private static func problem(_ result: RegisterResult, job: String) -> Problem {
        switch result {
        case .gone: Problem(.gone, "the registration was deleted; ask for a new id", headers: [.job: job])
        case .notFound: Problem(.notFound, "no such registration", headers: [.job: job])
        case .refused(let reason):
            Problem(.badRequest, "the hub refused the registration: \(reason)", headers: [.job: job])
        case .issued, .done, .superseded:
            Problem(.internalServerError, "the hub's answer does not fit the request", headers: [.job: job])
        }
    }
}
