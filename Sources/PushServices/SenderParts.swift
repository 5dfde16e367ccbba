import AsyncHTTPClient
import HTTP2Engine
import Logging
import NIOCore
import NIOSSL
import OutgoingHTTP
import PushModel

/// The common parts of all senders.
struct SenderParts {
    let settings: SenderSettings
    let eventLoopGroup: any EventLoopGroup
    let logger: Logger

    func trust(_ path: String?, setting: String) throws(SenderError) -> CredentialFile? {
        guard let path else { return nil }
        let (file, content) = try CredentialFile.read(path, setting: setting)
        do {
            guard try !NIOSSLCertificate.fromPEMBytes(content).isEmpty else {
                throw SenderError(.invalid, "\(setting): \(path) holds no certificate")
            }
        } catch {
            throw SenderError(.invalid, "\(setting): \(path) holds no certificates in PEM")
        }
        return file
    }

    func engine(
        _ endpoint: Endpoint,
        _ trustFile: String?,
        streams: Int,
        identity: HTTP2Configuration.Identity? = nil,
        setting: String,
        _ metrics: SenderMetrics,
        _ peer: Peer.Kind
    ) throws(SenderError) -> HTTP2Client {
        let (peer, host) = (self.peer(peer), endpoint.host)
        var configuration = HTTP2Configuration(host: endpoint.host, port: endpoint.port)
        if let trustFile { configuration.trust = .file(trustFile) }
        configuration.identity = identity
        configuration.maximumConnections = self.settings.connections
        configuration.maximumStreams = streams
        configuration.connectTimeout = self.settings.connectTimeout
        configuration.idleTimeout = self.settings.idleTimeout
        do {
            return try HTTP2Client(
                configuration: configuration,
                eventLoopGroup: self.eventLoopGroup,
                logger: self.logger,
                connectionsChanged: { metrics.connectionsChanged($0) },
                timed: { metrics.answered(after: $0) },
                stopped: { peer.stopped(at: host, Peer.Stage($0)) }
            )
        } catch {
            throw SenderError(.invalid, "\(setting): TLS cannot be set up with it: \(error)")
        }
    }

    /// For token services, WNS and Web Push: HTTP/1.1, no redirects, few connections.
    ///
    /// - Parameters:
    ///   - trustFile: Certificates to trust instead of the system's.
    ///   - addresses: The address of each host that is not to be looked up.
    /// - Returns: The client.
    func httpClient(_ trustFile: String?, addresses: [String: String] = [:]) -> OutgoingClient {
        var configuration = HTTPClient.Configuration.outgoing(trustFile: trustFile)
        configuration.dnsOverride = addresses
        configuration.timeout.connect = .milliseconds(self.settings.connectTimeout.milliseconds)
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = self.settings.http1Connections
        let group = self.eventLoopGroup
        return OutgoingClient { [configuration] in
            HTTPClient(eventLoopGroupProvider: .shared(group), configuration: configuration)
        }
    }

    /// Where it is noted what stops at a kind of server.
    func peer(_ kind: Peer.Kind) -> Peer { Peer(kind, logger: self.logger) }
}

extension Peer.Stage {
    fileprivate init(_ stop: HTTP2Stop) {
        self =
            switch stop {
            case .connect: .connect
            case .head: .head
            case .body: .body
            }
    }
}
