/// How the time until a batch's deadline is divided: sending, and waiting for answers.
struct SendWindow: Sendable {
    let sendBy: ContinuousClock.Instant
    let requestTimeout: Duration

    /// Kept back so that answers are classed and returned before the deadline.
    private static let margin = Duration.milliseconds(200)
    /// With less than this, nothing is begun.
    private static let shortest = Duration.milliseconds(100)

    /// - Returns: nil when too little time is left to begin.
    init?(deadline: ContinuousClock.Instant, requestTimeout: Duration, now: ContinuousClock.Instant = .now) {
        let left = deadline - now - SendWindow.margin
        guard left >= SendWindow.shortest else { return nil }
        self.requestTimeout = min(requestTimeout, left / 2)
        self.sendBy = now + left - self.requestTimeout
    }
}
