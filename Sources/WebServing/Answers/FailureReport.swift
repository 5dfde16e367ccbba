import HTTPTypes
import Logging
import PushModel
import Store

/// Turns the errors of handlers into problems, and tells the operator of those that are the server's own.
struct FailureReport: Sendable {
    private let logger: Logger
    private let warnings = Seldom()

    init(logger: Logger) { self.logger = logger }

    /// - Parameters:
    ///   - error: The error.
    ///   - route: The template of the request's route.
    ///   - isRepeatable: Whether a repeat of the request does no harm.
    /// - Returns: The answer to the caller.
    func problem(of error: any Error, route: String, isRepeatable: Bool) -> Problem {
        switch error {
        case let problem as Problem:
            return problem
        case let invalid as InvalidValue:
            return Problem.invalid([invalid])
        case let refusal as Refusal:
            return Problem(refusal)
        case let partly as PartlyDone:
            var problem = self.problem(of: partly.cause, route: route, isRepeatable: isRepeatable)
            problem.done = partly.done
            return problem
        case let fault as StoreError:
            let problem = Problem(fault, isRepeatable: isRepeatable)
            // A conflicting name or a forged cursor is the caller's error and not logged for the operator. A store
            // without writes fails every request.
            self.logger.log(
                level: problem.status.kind == .serverError && self.warnings.mayHappen() ? .warning : .debug,
                "The store failed a request",
                metadata: ["http.route": "\(route)", "error": "\(fault)"]
            )
            return problem
        case is CancellationError:
            return Problem.later(.serviceUnavailable, "the server is shutting down", seconds: 1)
        default:
            self.logger.error(
                "A request failed",
                metadata: ["http.route": "\(route)", "error.type": "\(type(of: error))"]
            )
            return .internalError
        }
    }
}
