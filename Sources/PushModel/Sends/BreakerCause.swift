/// The reason that all of an app's messages to a push service wait, as shown in its jobs.
package enum BreakerCause: String, Sendable, CaseIterable {
    /// The service answers with its own failure, or not at all.
    case service
    /// It refuses the app's credentials, or there are none that work.
    case credentials
    /// It calls nearly all tokens bad: they are of another environment or app, perhaps, or the service errs; registrations must not be
    /// pruned for it.
    case tokens

    /// The beginning of a job's reason.
    private var beginning: String {
        switch self {
        case .service: "the push service fails: "
        case .credentials: "the app's credentials do not work there: "
        case .tokens: "the push service rejects nearly all tokens; no registration is removed: "
        }
    }

    /// The text for jobs and the log.
    package func reason(_ detail: String) -> String { self.beginning + detail }

    /// The cause in a job's reason; nil for any other reason.
    package init?(reason: String) {
        guard let found = Self.allCases.first(where: { reason.hasPrefix($0.beginning) }) else { return nil }
        self = found
    }
}
