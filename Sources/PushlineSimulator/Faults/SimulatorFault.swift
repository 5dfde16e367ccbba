package import PushModel

/// Something that goes wrong on purpose, to requests that would have been accepted or to connections.
package struct SimulatorFault: Sendable, Equatable {
    /// The action instead of success.
    package enum Action: Sendable, Equatable {
        /// An answer by its reason (`Unregistered`, `UNAVAILABLE`, `channelthrottled` …) or its status, or both.
        ///
        /// A reason without status has the status that the service gives it; a status without reason has the service's
        /// usual reason for it. `timestamp` is in milliseconds and meant for APNs' 410; nil = now.
        case answer(reason: String? = nil, status: Int? = nil, timestamp: Int64? = nil, retryAfter: RetryAfter? = nil)
        /// RST_STREAM with INTERNAL_ERROR: the request may have been processed. WNS: the connection is cut.
        case reset
        /// RST_STREAM with REFUSED_STREAM: the request was not processed. WNS: the connection is cut.
        case refuse
        /// The connection is cut without a word.
        case close
        /// GOAWAY with `{"reason": …}` as debug data; this request counts as unprocessed, unless it is graceful.
        case goAway(reason: String = "Shutdown", graceful: Bool = false)
        /// Taken and never answered; it counts as not accepted.
        case silence
        /// Accepted, counted as that, and the answer is lost: RST_STREAM with INTERNAL_ERROR. WNS: the connection is cut.
        case swallow
        /// Answers with bytes that are not HTTP, and then nothing until the client closes the connection.
        case garbage
        /// Nothing but the fault's latency.
        case delay
        /// A new SETTINGS_MAX_CONCURRENT_STREAMS on the connection, then the usual answer.
        case settings(maxConcurrentStreams: Int)
        /// The token endpoint of FCM or WNS answers so.
        case tokenEndpoint(status: Int, error: String)
        /// New connections are accepted and stay silent for good, before TLS begins.
        case mute
        /// New connections are answered with plain text instead of TLS.
        case plain
        /// New connections are shown a certificate that has expired.
        case expiredCertificate
    }

    /// The two forms of `Retry-After` (RFC 9110, 10.2.3).
    package enum RetryAfter: Sendable, Equatable {
        case seconds(Int)
        /// An HTTP-date, this number of seconds after the answer.
        case date(seconds: Int)
    }

    /// nil = all that know the action.
    package var pns: PushService?
    /// A device token or channel URI, whole or its end; nil = all.
    ///
    /// Connections have none.
    package var token: String?
    /// The part of matching requests or connections that it hits, 0 to 1.
    package var share: Double
    /// How many requests or connections it hits before it is used up; nil = no end.
    package var count: Int?
    /// Milliseconds before the answer; those that hit connections have none.
    package var latency: Int
    package var action: Action

    package init(
        _ action: Action,
        pns: PushService? = nil,
        token: String? = nil,
        share: Double = 1,
        count: Int? = nil,
        latency: Int = 0
    ) {
        self.action = action
        self.pns = pns
        self.token = token
        self.share = share
        self.count = count
        self.latency = latency
    }
}
