package import PushModel

/// What of a job is waited for.
package enum AwaitedEvent: Sendable {
    /// The outcome: nothing of the job changes any more.
    case outcome
    /// The hub's answer, whatever the push services say later.
    case answer

    /// Whether it has come.
    package func hasCome(to job: Job) -> Bool {
        switch self {
        case .outcome: job.state.isFinal
        case .answer: job.isAnswered
        }
    }
}
