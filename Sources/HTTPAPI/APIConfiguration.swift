package import PushModel

/// What the process's configuration says of the API.
package struct APIConfiguration: Sendable {
    /// The most bytes of a request's body, but for sends and uploads.
    package var maximumBodySize = 1 << 20
    /// The most bytes of a send, as a body or a line of many: 20,000 users with the longest names take 2.3 MB.
    package var maximumSendSize = 4 << 20
    /// The most bytes of an uploaded content.
    package var maximumContentSize = 5 << 20
    /// How long a client may take to send a body, and how far one that goes on for longer may fall behind its rate.
    package var requestTime = Duration.seconds(30)
    /// Bytes a second that a body beyond ``maximumBodySize`` must bring on the average.
    package var largeBodyRate = 64 << 10
    /// Bytes a second that the lines of an import or of many sends must bring on the average, and that an export must be read with.
    package var lineRate = 1 << 10
    /// The longest that an import or export may take.
    package var bulkTime = Duration.seconds(3600)
    /// Imports and exports under way at a time; more are answered 503.
    package var bulkRequests = 4
    /// Requests worked on at a time, bodies read at a time, and requests let in at a time; more are answered 503.
    package var requestsInFlight = 1024
    /// Requests a second and account, where the app does not say; nil = no limit.
    package var requestsPerSecond: Int?
    /// How long the classic routes wait for the hub's answer.
    package var classicWait = Duration.seconds(10)
    /// The longest that `Prefer: wait=N` is honoured.
    package var maximumWait = Duration.seconds(60)
    /// How long a request may go on waiting for the hub's answer once the process drains.
    package var drainWait = Duration.seconds(15)
    /// How long an audience is counted before the answer says that there are more.
    package var countTime = Duration.seconds(5)
    /// How long a job lives unless its sender says.
    package var jobLifetime = Duration.seconds(86_400)
    /// How long publishing a job may take before it is left to the sweeper.
    package var publishTime = Duration.seconds(5)
    /// For how long a change of an app, an account or a key may go unseen.
    package var directoryLifetime = Duration.seconds(2)
    /// The proxies whose word is taken for who a client is.
    package var trustedProxies = TrustedProxies.none
    /// Whether the server listens on a loopback address alone: the demonstration scheme works nowhere else.
    package var isLoopback = true
    /// Gives the system back the memory that an import took, after it.
    package var releaseMemory: @Sendable () -> Void = {}
    /// Shown by `/healthz`.
    package var version = "0"

    package init() {}
}
