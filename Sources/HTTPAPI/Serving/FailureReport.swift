import HTTPTypes
import Logging
import NIOConcurrencyHelpers
import PushModel
import Store

/// Turns the errors of handlers into problems, and tells the operator of those that are the server's own.
struct FailureReport: Sendable {
    private let logger: Logger
    private let warned = NIOLockedValueBox<ContinuousClock.Instant?>(nil)
    private let warnedOfSends = NIOLockedValueBox<ContinuousClock.Instant?>(nil)

    init(logger: Logger) { self.logger = logger }

    /// - Parameters:
    ///   - error: The error.
    ///   - route: The template of the request's route.
    /// - Returns: The answer to the caller.
    func problem(of error: any Error, route: String) -> Problem {
        switch error {
        case let problem as Problem:
            return problem
        case let invalid as InvalidValue:
            return Problem.invalid([invalid])
        case let partly as PartlyDone:
            var problem = self.problem(of: partly.cause, route: route)
            problem.done = partly.done
            return problem
        case let fault as StoreError:
            let problem = Problem(fault)
            // A conflicting name or a forged cursor is the caller's error and not logged for the operator. A store
            // without writes fails every request.
            self.logger.log(
                level: problem.status.kind == .serverError && Self.mayWarn(self.warned) ? .warning : .debug,
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
            return Problem(.internalServerError, "internal error; see the server's log")
        }
    }

    /// Tells the operator of something in a send that does not go out: seldom, for its sender may do it each time.
    func warn(_ words: String, app: AppID, caller: String) {
        guard Self.mayWarn(self.warnedOfSends) else { return }
        self.logger.warning(
            "A send was accepted without a part of it",
            metadata: ["app": "\(app)", "caller": "\(caller)", "reason": "\(words)"]
        )
    }

    /// Once in five seconds.
    private static func mayWarn(_ warned: NIOLockedValueBox<ContinuousClock.Instant?>) -> Bool {
        warned.withLockedValue { warned in
            if let last = warned, last.duration(to: .now) < .seconds(5) { return false }
            warned = .now
            return true
        }
    }
}
