import NIOCore
package import NIOSSL

/// Where an ``HTTP2Client`` connects to, and within which bounds.
package struct HTTP2Configuration: Sendable {
    /// The trusted certificates.
    package enum Trust: Sendable, Equatable {
        /// The system's roots.
        case system
        /// The certificates of a PEM file, instead.
        case file(String)
    }

    /// What we show to a peer that asks who we are.
    package struct Identity: Sendable {
        /// The certificate of the key comes first.
        let chain: [NIOSSLCertificate]
        let key: NIOSSLPrivateKey

        package init(chain: [NIOSSLCertificate], key: NIOSSLPrivateKey) {
            self.chain = chain
            self.key = key
        }
    }

    package var host: String
    package var port: Int
    package var trust: Trust = .system
    /// nil = no client certificate.
    package var identity: Identity?

    /// The most connections that are open at once and take requests.
    package var maximumConnections: Int = 4
    /// The most streams on one connection; the peer's own limit holds where it is lower.
    package var maximumStreams: Int = 1000
    /// The requests after which a connection is replaced: stream ids are not reused and end at 2^30 requests.
    package var maximumRequestsPerConnection: Int = 1 << 29

    /// From the first packet to the peer's SETTINGS.
    package var connectTimeout: Duration = .seconds(10)
    /// A connection without streams is closed after this time.
    package var idleTimeout: Duration = .seconds(600)
    /// The silence after which a PING tests a connection with open streams.
    package var pingAfter: Duration = .seconds(5)
    /// The same for a connection without streams.
    package var idlePingAfter: Duration = .seconds(60)
    /// How long that sign may take before the connection counts as lost.
    package var pingTimeout: Duration = .seconds(5)
    /// The time between two connection attempts, at least: peers take a storm of them for an attack.
    package var connectInterval: Duration = .milliseconds(50)
    /// The first wait after a failed connection; doubles with each, with jitter, up to ``maximumBackoff``.
    package var backoff: Duration = .milliseconds(100)
    package var maximumBackoff: Duration = .seconds(30)
    /// The failed connections in a row after which waiting requests are returned.
    package var connectAttempts: Int = 3

    /// The most bytes that are kept of an answer's body.
    package var maximumBodyBytes: Int = 16 * 1024
    /// The most bytes that are kept of an answer's interesting headers.
    package var maximumHeaderBytes: Int = 8 * 1024

    package init(host: String, port: Int, trust: Trust = .system) {
        self.host = host
        self.port = port
        self.trust = trust
    }

    /// The settings for TLS: only ALPN `h2`, TLS 1.2 or later, full verification.
    func tlsContext() throws -> NIOSSLContext {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.minimumTLSVersion = .tlsv12
        tls.applicationProtocols = ["h2"]
        if case .file(let path) = self.trust { tls.trustRoots = .file(path) }
        if let identity = self.identity {
            tls.certificateChain = identity.chain.map { .certificate($0) }
            tls.privateKey = .privateKey(identity.key)
        }
        return try NIOSSLContext(configuration: tls)
    }

    /// The alerts of a peer that does not take our certificate (RFC 8446, section 6.2), as BoringSSL names them.
    private static let refusals = [
        "ALERT_BAD_CERTIFICATE", "ALERT_UNSUPPORTED_CERTIFICATE", "ALERT_CERTIFICATE_REVOKED",
        "ALERT_CERTIFICATE_EXPIRED", "ALERT_CERTIFICATE_UNKNOWN", "ALERT_CERTIFICATE_REQUIRED", "ALERT_UNKNOWN_CA",
        "ALERT_ACCESS_DENIED",
    ]

    /// The alert by which the peer refused ``identity``, or nil if the connection ended for another reason.
    ///
    /// NIOSSL gives BoringSSL's errors in words only.
    ///
    /// - Parameter fault: Why the connection ended.
    /// - Returns: The alert's name.
    func refusal(in fault: String) -> String? {
        self.identity == nil ? nil : Self.refusals.first { fault.contains($0) }
    }

    /// The name for SNI, or nil if the host is an address.
    var sniName: String? {
        (try? SocketAddress(ipAddress: self.host, port: 0)) == nil ? self.host : nil
    }
}

extension TimeAmount {
    /// A duration of at most 292 years.
    init(rounding duration: Duration) {
        let (seconds, attoseconds) = duration.components
        self = .nanoseconds(min(seconds, 9_000_000_000) * 1_000_000_000 + attoseconds / 1_000_000_000)
    }
}
