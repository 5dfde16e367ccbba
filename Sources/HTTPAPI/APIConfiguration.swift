package import Settings

/// What the API is run with: its settings, and beside them what no operator sets.
package struct APIConfiguration: Sendable {
    /// The limits and habits that an operator may set.
    package var settings: APISettings
    /// How long a request may go on waiting for its job once the process drains.
    package var drainWait: Duration
    /// The least average rate of a body beyond `body_size`, in bytes a second.
    package var largeBodyRate = 64 << 10
    /// The least average rate of an import, an upload of sends or an export, in bytes a second.
    package var lineRate = 1 << 10
    /// The longest that an import or export may take.
    package var bulkTime = Duration.seconds(3600)
    /// Imports and exports under way at a time; more are answered 503.
    package var bulkRequests = 4
    /// Those who watch jobs at a time, some kilobytes each; more are answered 503.
    package var jobWatchers = 2000
    /// The longest that `Prefer: wait=N` is honoured.
    package var maximumWait = Duration.seconds(60)
    /// The longest time for counting an audience; after it the answer is a lower bound.
    package var countTime = Duration.seconds(5)
    /// The lifetime of a job whose sender gives none.
    package var jobLifetime = Duration.seconds(86_400)
    /// How long a request of the hub's wire waits for its commit to begin: official clients give up after 5 s.
    package var commitWait = Duration.seconds(4)
    /// How long publishing a job may take before it is left to the sweeper.
    package var publishTime = Duration.seconds(5)
    /// For how long a change of an app, an account or a key may go unseen.
    package var directoryLifetime = Duration.seconds(2)
    /// Whether the server listens only on a loopback address.
    ///
    /// The demonstration scheme works nowhere else.
    package var isLoopback = true
    /// Gives the system back the memory that an import took, after it.
    package var releaseMemory: @Sendable () -> Void = {}
    /// Whether each request is a line of the log, at whatever level that is.
    package var accessLog = false
    /// Shown by `/healthz`.
    package var version = "0"

    /// - Parameters:
    ///   - settings: The API's section of the configuration.
    ///   - process: That of every process.
    package init(_ settings: APISettings = APISettings(), process: ProcessSettings = ProcessSettings()) {
        self.settings = settings
        self.drainWait = process.drainTime / 2
    }
}
