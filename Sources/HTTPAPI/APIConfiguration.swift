package import Intake
package import Settings
package import WebServing

/// What the API is run with: its settings, and beside them what no operator sets.
package struct APIConfiguration: Sendable {
    /// The limits of the server.
    package var serving: ServingLimits
    /// How jobs are accepted.
    package var intake: IntakeLimits
    /// Imports and exports under way at a time; more are answered 503.
    package var bulkRequests = 4
    /// Those who watch jobs at a time, some kilobytes each; more are answered 503.
    package var jobWatchers = 2000
    /// The longest that `Prefer: wait=N` is honoured.
    package var maximumWait = Duration.seconds(60)
    /// The longest time for counting an audience; after it the answer is a lower bound.
    package var countTime = Duration.seconds(5)
    /// For how long a change of an app, an account or a key may go unseen.
    package var directoryLifetime = Duration.seconds(2)
    /// Whether the server listens only on a loopback address.
    ///
    /// The demonstration scheme works nowhere else.
    package var isLoopback = true
    /// Shown by `/healthz`.
    package var version = "0"
    /// The process's own id among the reports of processes.
    package var processID = ""

    /// The limits and habits that an operator may set.
    package var settings: APISettings {
        get { self.serving.settings }
        set { self.serving.settings = newValue }
    }

    package init(_ serving: ServingLimits = ServingLimits(), intake: IntakeLimits = IntakeLimits()) {
        self.serving = serving
        self.intake = intake
    }
}
