import Broker
import Foundation
import HTTPAPI
import Hummingbird
import HummingbirdCore
import HummingbirdHTTP2
import HummingbirdTLS
import Installation
import Logging
import NIOCore
import PushModel
import ServiceLifecycle
import Store

/// The API behind a server: plain HTTP, or HTTPS with HTTP/1.1 and HTTP/2.
struct APIServer {
    let configuration: PushlineConfiguration
    let parts: PushlineProcess.Parts

    /// - Returns: The services, dependencies first.
    /// - Throws: ``ConfigurationError`` if the API cannot or must not be served.
    func services() async throws -> [any Service] {
        let api = API(
            configuration: self.limits,
            store: self.parts.store,
            broker: self.parts.broker,
            logger: self.parts.logger,
            metricsText: self.parts.metricsText
        )
        if try await self.parts.store.apps().isEmpty {
            self.parts.logger.warning(
                "The store has no apps: pushline apps apply FILE",
                metadata: ConfiguredStore(self.configuration).metadata
            )
        }
        if !self.isLoopback {
            let apps = try await api.appsInDemonstration()
            guard apps.isEmpty else {
                throw ConfigurationError(
                    "api.host: \(self.configuration.api.host) is no loopback address, and the demonstration scheme of "
                        + "app \(apps.map(\.name).joined(separator: ", ")) lets anybody in: serve on 127.0.0.1, or "
                        + "declare authentication: accounts"
                )
            }
        }
        return api.services + (try self.servers(api))
    }

    private var limits: APIConfiguration {
        let settings = self.configuration.api
        var limits = APIConfiguration()
        limits.maximumBodySize = settings.bodySize
        limits.maximumSendSize = settings.sendSize
        limits.maximumContentSize = settings.contentSize
        limits.requestTime = settings.requestTime
        limits.requestsInFlight = settings.inFlight
        limits.requestsPerSecond = settings.requestsPerSecond
        limits.classicWait = settings.classicWait
        limits.trustedProxies = settings.trustedProxies
        limits.drainWait = self.configuration.drainTime / 2
        limits.isLoopback = self.isLoopback
        limits.releaseMemory = Bootstrap.releaseMemory
        limits.version = pushlineVersion
        return limits
    }

    private func servers(_ api: API) throws -> [any Service] {
        let settings = self.configuration.api
        let logger = self.parts.logger
        let scheme = settings.certificateFile == nil ? "http" : "https"
        if scheme == "http", !self.isLoopback {
            logger.warning(
                """
                Plain HTTP is served to other machines, and passwords travel unencrypted: configure api.certificate_file and \
                api.key_file, or put a proxy with TLS before it
                """,
                metadata: ["api.host": "\(settings.host)"]
            )
        }
        let respond = HTTPListener<HTTP1Channel>.answer(with: api.responder, logger: logger.quiet)
        guard let certificate = settings.certificateFile, let key = settings.keyFile else {
            return [self.listener(HTTP1Channel(responder: respond, configuration: self.http1), api, scheme: scheme)]
        }
        let http1 = self.http1
        let served = try ServedCertificate(certificateFile: certificate, keyFile: key, logger: logger) { tls in
            try HTTP2UpgradeChannel(
                tlsConfiguration: tls,
                configuration: HTTP2ChannelConfiguration(streamConfiguration: http1),
                responder: respond
            )
        }
        return [served, self.listener(served, api, scheme: scheme)]
    }

    private func listener(_ child: some ServerChildChannel, _ api: API, scheme: String) -> any Service {
        let (broker, logger) = (self.parts.broker, self.parts.logger)
        return HTTPListener(
            child: child,
            host: self.configuration.api.host,
            ports: [self.configuration.api.port],
            keys: "api.host, api.port",
            claim: ConfiguredStore(self.configuration).portClaim,
            limits: self.connections,
            logger: logger.quiet,
            prepare: { await Self.prepare(api, broker: broker, logger: logger) },
            onServing: { address in
                logger.info(
                    "The API is served",
                    metadata: ["http.scheme": "\(scheme)", "http.address": "\(address?.text ?? "unknown")"]
                )
            }
        )
    }

    /// Binds the queue for events before the first request, where the broker can be reached soon (rules 16 and 19).
    private static func prepare(_ api: API, broker: any MessageBroker, logger: Logger) async {
        let end = ContinuousClock.now + .seconds(2)
        while ContinuousClock.now < end, !Task.isCancelled {
            if case .connected = await broker.status {
                do { return try await api.prepare() } catch {
                    logger.warning(
                        "Subscribing to job events failed; waiting requests poll the store",
                        metadata: ["error": "\(error)"]
                    )
                    return
                }
            }
            // Cancelled = shutdown: the loop ends.
            try? await Task.sleep(for: .milliseconds(20))
        }
    }

    private var requestTime: TimeAmount { .nanoseconds(Int64(self.configuration.api.requestTime.inSeconds * 1e9)) }

    private var connections: ConnectionLimits {
        let settings = self.configuration.api
        let connections = DescriptorLimit.current?.connections(settings.connections) ?? settings.connections
        if connections < settings.connections {
            self.parts.logger.warning(
                "The limit of open files is too low for api.connections: raise the hard limit (LimitNOFILE), or lower the setting",
                metadata: ["api.connections": "\(settings.connections)", "instead": "\(connections)"]
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
                StreamDeadlines(limit: time), HTTPParserErrorHandler(headerSize: settings.headerSize),
                EarlyResponseHandler(longest: time),
            ],
            httpDecoderConfiguration: HTTP1Channel.Configuration.DecoderConfiguration(
                maxHeaderFieldSize: settings.headerSize,
                maxHeaderListSize: settings.headerSize,
                maxHeaderFieldCount: HTTPParserErrorHandler.headerCount
            )
        )
    }

    private var isLoopback: Bool { Self.isLoopback(self.configuration.api.host) }

    /// Whether the address is reachable only from this host.
    static func isLoopback(_ host: String) -> Bool {
        if host == "localhost" || host == "::1" { return true }
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
    }
}
