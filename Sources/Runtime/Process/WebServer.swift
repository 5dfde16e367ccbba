import Broker
import Foundation
import Hummingbird
import HummingbirdCore
import HummingbirdHTTP2
import HummingbirdTLS
import Installation
import Intake
import Logging
import NIOCore
import PushModel
import ServiceLifecycle
import Settings
import WebServing

/// A responder behind a server: plain HTTP, or HTTPS with HTTP/1.1 and HTTP/2, with the API's limits of connections.
struct WebServer {
    let configuration: PushlineConfiguration
    /// The section of the configuration that has host, port and certificate.
    let section: String
    /// What the names of its keys for host and port begin with.
    var prefix = ""
    let host: String
    let port: Int
    let certificateFile: String?
    let keyFile: String?
    /// Logged when it serves.
    let message: Logger.Message
    /// Is told until when the certificate is good.
    let reporter: ProcessReporter
    /// Called with its port when it serves.
    let onServing: @Sendable (Int?) -> Void
    let logger: Logger
    /// The form of its refusals of malformed HTTP.
    var refusal: HTTPParserErrorHandler.Refusal = HTTPParserErrorHandler.problem

    /// - Returns: The services, dependencies first.
    /// - Throws: ``ConfigurationError`` if the certificate cannot be served.
    func services<Responder: HTTPResponder>(_ responder: Responder) throws -> [any Service]
    where Responder.Context: InitializableFromSource<ApplicationRequestContextSource> {
        let scheme = self.certificateFile == nil ? "http" : "https"
        if scheme == "http", !IPAddress.isLoopback(host: self.host) {
            self.logger.warning(
                """
                Plain HTTP is served to other machines, and passwords and keys travel unencrypted: configure certificate_file \
                and key_file, or put a proxy with TLS before it
                """,
                metadata: ["setting": "\(self.section).\(self.prefix)host", "server.address": "\(self.host)"]
            )
        }
        let respond = HTTPListener<HTTP1Channel>.answer(with: responder, logger: self.logger.quiet)
        let http1 = self.http1
        guard let certificate = self.certificateFile, let key = self.keyFile else {
            return [self.listener(HTTP1Channel(responder: respond, configuration: http1), scheme: scheme)]
        }
        let served = try ServedCertificate(
            section: self.section,
            certificateFile: certificate,
            keyFile: key,
            logger: self.logger
        ) { tls in
            try HTTP2UpgradeChannel(
                tlsConfiguration: tls,
                configuration: HTTP2ChannelConfiguration(streamConfiguration: http1),
                responder: respond
            )
        }
        self.reporter.tell { $0.endings.append { served.nearEnds } }
        return [served, self.listener(served, scheme: scheme)]
    }

    private func listener(_ child: some ServerChildChannel, scheme: String) -> any Service {
        let (logger, message, onServing) = (self.logger, self.message, self.onServing)
        return HTTPListener(
            child: child,
            host: self.host,
            ports: [self.port],
            keys: "\(self.section).\(self.prefix)host, \(self.section).\(self.prefix)port",
            claim: Composition.store(self.configuration).portClaim,
            limits: self.connections,
            logger: logger.quiet,
            onServing: { address in
                logger.info(
                    message,
                    metadata: address.metadata.merging(["url.scheme": "\(scheme)"]) { $1 }
                )
                onServing(address?.port)
            }
        )
    }

    private var requestTime: TimeAmount { .nanoseconds(Int64(self.configuration.api.requestTime.inSeconds * 1e9)) }

    private var connections: ConnectionLimits {
        let settings = self.configuration.api
        let connections = DescriptorLimit.current?.connections(settings.connections) ?? settings.connections
        if connections < settings.connections {
            self.logger.warning(
                "The limit of open files is too low for api.connections: raise the hard limit (LimitNOFILE), or lower the setting",
                metadata: ["connections": "\(settings.connections)", "instead": "\(connections)"]
            )
        }
        let time = self.requestTime
        return ConnectionLimits(
            deadlines: ConnectionDeadlines.Limits(request: time, idle: time + .nanoseconds(time.nanoseconds / 4)),
            connections: connections,
            perPeer: settings.connectionsPerPeer,
            proxies: settings.trustedProxies
        )
    }

    /// Without Hummingbird's idle timeout: it would also cut off a client that is still reading a response.
    private var http1: HTTP1Channel.Configuration {
        let (settings, time) = (self.configuration.api, self.requestTime)
        return HTTP1Channel.Configuration(
            additionalChannelHandlers: [
                StreamDeadlines(limit: time),
                HTTPParserErrorHandler(headerSize: settings.headerSize, refusal: self.refusal),
                EarlyResponseHandler(longest: time),
            ],
            httpDecoderConfiguration: HTTP1Channel.Configuration.DecoderConfiguration(
                maxHeaderFieldSize: settings.headerSize,
                maxHeaderListSize: settings.headerSize,
                maxHeaderFieldCount: HTTPParserErrorHandler.headerCount
            )
        )
    }
}

extension PortClaim: PortSharing {}

extension ServingLimits {
    /// Of a process.
    init(_ configuration: PushlineConfiguration) {
        self.init(configuration.api)
        self.releaseMemory = Bootstrap.releaseMemory
        self.accessLog = configuration.log.access
    }
}

extension IntakeLimits {
    /// Of a process.
    init(_ configuration: PushlineConfiguration) {
        self.init()
        self.drainWait = configuration.process.drainTime / 2
    }
}
