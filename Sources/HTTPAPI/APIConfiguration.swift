package import PushModel

/// The API's part of the configuration.
package struct APIConfiguration: Sendable {
    /// The most bytes of a request's body, but for sends and uploads.
    package var maximumBodySize = 1 << 20
    /// The most bytes of a send, as a body or a line of many: 20,000 users with the longest names take 2.3 MB.
    package var maximumSendSize = 8 << 20
    /// The most bytes of an uploaded content.
    package var maximumContentSize = 5 << 20
    /// The longest time for a body, and the longest lag of a longer upload behind its rate.
    package var requestTime = Duration.seconds(30)
    /// The least average rate of a body beyond ``maximumBodySize``, in bytes a second.
    package var largeBodyRate = 64 << 10
    /// The least average rate of an import, an upload of sends or an export, in bytes a second.
    package var lineRate = 1 << 10
    /// The longest that an import or export may take.
    package var bulkTime = Duration.seconds(3600)
    /// Imports and exports under way at a time; more are answered 503.
    package var bulkRequests = 4
    /// Those who watch jobs at a time, some kilobytes each; more are answered 503.
    package var jobWatchers = 2000
    /// Requests worked on at a time, bodies read at a time, and requests let in at a time; more are answered 503.
    package var requestsInFlight = 1024
    /// Requests a second and account, unless the app has its own limit; nil = no limit.
    package var requestsPerSecond: Int?
    /// How long the classic routes wait for the hub's answer.
    package var classicWait = Duration.seconds(10)
    /// Whether the app's page is served, at `/app/`.
    package var servesPage = false
    /// For how long a session lasts at most.
    package var sessionLifetime = Duration.seconds(30 * 86_400)
    /// For how long a session lasts without use.
    package var sessionIdle = Duration.seconds(7 * 86_400)
    /// The longest that `Prefer: wait=N` is honoured.
    package var maximumWait = Duration.seconds(60)
    /// How long a request may go on waiting for its job once the process drains.
    package var drainWait = Duration.seconds(15)
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
    /// The proxies whose `X-Forwarded-For` is trusted.
    package var trustedProxies = TrustedProxies.none
    /// Whether the server listens only on a loopback address.
    ///
    /// The demonstration scheme works nowhere else.
    package var isLoopback = true
    /// Gives the system back the memory that an import took, after it.
    package var releaseMemory: @Sendable () -> Void = {}
    /// Shown by `/healthz`.
    package var version = "0"

    package init() {}
}
