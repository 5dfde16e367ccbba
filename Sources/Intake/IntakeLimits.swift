/// How long the steps of accepting may take, and what becomes of a job whose sender does not say.
package struct IntakeLimits: Sendable {
    /// How long a request may go on waiting for its job once the process drains.
    package var drainWait = Duration.seconds(15)
    /// The lifetime of a job whose sender gives none.
    package var jobLifetime = Duration.seconds(86_400)
    /// How long publishing a job may take before it is left to the sweeper.
    package var publishTime = Duration.seconds(5)

    package init() {}
}
