import HTTPTypes
import Hummingbird
import Intake
import PushModel
import Settings
import Store
import WebServing

/// Changes of registrations and channels as jobs, and their results as HTTP answers.
struct RegisterJobs: Sendable {
    let context: RouteContext

    /// - Parameters:
    ///   - work: The change.
    ///   - user: Who changes a registration of theirs; nil = the app's backend or an operator changes anybody's.
    ///   - request: Who asks, and how long they wait.
    ///   - route: The route's name for `Idempotency-Key`; nil = the route ignores the header, for a repeat is harmless.
    /// - Returns: What came of it in time.
    /// - Throws: ``Problem``, `Refusal` for a user whom the app's hub cannot know; `StoreError` when it could not be accepted.
    func take(
        _ work: RegisterRequest,
        user: UserName?,
        request: APIRequest,
        idempotentAs route: String? = nil
    ) async throws -> JobAnswer {
        let job = try self.context.intake.job(
            of: work,
            user: user,
            from: request.caller,
            spec: request.spec,
            lifetime: work.isQuestion ? self.patience(request) : nil,
            idempotency: route.flatMap { try request.idempotency(route: $0) }
        )
        return try await self.context.intake.take(job, JobWait(request, for: job.work, self.context.configuration))
    }

    /// How long anybody may ask for the answer to a question.
    private func patience(_ request: APIRequest) -> Duration {
        let configuration = self.context.configuration
        // Who states a preference may be answered with the job, and look at it later.
        return request.preference.isStated ? configuration.maximumWait : configuration.settings.classicWait
    }

    /// The answer to the caller.
    ///
    /// - Parameters:
    ///   - answer: The result of the job.
    ///   - request: The request, with the caller's preferences.
    ///   - refusal: The status for what the hub refuses.
    ///   - isRepeatable: Whether a repeat of the request does no harm; otherwise a caller without a result always gets 202 with the job.
    ///   - late: The error for a caller whose result did not come in time.
    ///   - success: The answer for a result that is a success on this route; nil for any other result.
    /// - Returns: The answer, or 202 for a caller that accepts one.
    /// - Throws: ``Problem``: 404, 410 and `refusal` for the hub's refusals; 503 without an answer of the hub, because the
    ///   registration is not in force yet, and where nobody knows whether it is. A job without a result continues in the background.
    func response(
        to answer: JobAnswer,
        request: APIRequest,
        refusal: HTTPResponse.Status = .badRequest,
        isRepeatable: Bool = true,
        late: String = JobIntake.late,
        success: (RegisterResult) async throws -> Response?
    ) async throws -> Response {
        let id = answer.job.id.description
        if let result = answer.job.result {
            if var response = try await success(result) {
                response.headers[.job] = id
                response.headers[.preferenceApplied] = answer.preferenceApplied
                return response
            }
            throw Self.problem(result, refusal: refusal, isRepeatable: isRepeatable, job: id)
        }
        guard !isRepeatable || !answer.hasCome && answer.wait.allowsAccepted else {
            throw Problem(
                .serviceUnavailable,
                late,
                headers: [.retryAfter: "5", .job: id]
            )
        }
        var headers: HTTPFields = [.job: id, .location: "\(request.prefix)jobs/\(id)"]
        headers[.preferenceApplied] = answer.wait.applied(isAnswered: false)
        return Response(status: .accepted, headers: headers)
    }

    private static func problem(
        _ result: RegisterResult,
        refusal: HTTPResponse.Status,
        isRepeatable: Bool,
        job: String
    ) -> Problem {
        var problem =
            switch result {
            case .gone: Problem(.gone, JobIntake.deleted)
            case .notFound: Problem(.notFound, "no such registration")
            case .refused(let reason): Problem(refusal, "the hub refused the registration: \(reason)")
            case .unknown(let reason): Problem.unknownChange(reason, isRepeatable: isRepeatable)
            case .issued, .done, .superseded, .channels:
                Problem(.internalServerError, "the hub's answer does not fit the request")
            }
        problem.headers[.job] = job
        return problem
    }
}
