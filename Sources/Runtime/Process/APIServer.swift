import Broker
import Foundation
import HTTPAPI
import Hummingbird
import HummingbirdCore
import HummingbirdHTTP2
import HummingbirdTLS
import Logging
import NIOCore
import NIOSSL
import PushModel
import ServiceLifecycle
import Store

/// The API behind a server: plain HTTP, or HTTPS with HTTP/1.1 and HTTP/2.
struct APIServer {
    let configuration: PushlineConfiguration
    let parts: PushlineProcess.Parts

    /// - Returns: What runs, dependencies first.
    /// - Throws: ``ConfigurationError`` where it may not or cannot serve.
    func services() async throws -> [any Service] {
        let api = API(
            configuration: self.limits,
            store: self.parts.store,
            broker: self.parts.broker,
            logger: self.parts.logger,
            metricsText: self.parts.metricsText
        )
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
        return api.services + [try self.application(api)]
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
        limits.isLoopback = self.isLoopback
        limits.releaseMemory = Bootstrap.releaseMemory
        limits.version = pushlineVersion
        return limits
    }

    private func application(_ api: API) throws -> any Service {
        let settings = self.configuration.api
        let logger = self.parts.logger
        let scheme = settings.certificateFile == nil ? "http" : "https"
        if scheme == "http", !self.isLoopback {
            logger.warning(
                """
                Plain HTTP is served off the loopback, and passwords travel readably: configure api.certificate_file and \
                api.key_file, or put a proxy with TLS before it
                """,
                metadata: ["api.host": "\(settings.host)"]
            )
        }
        var application = Application(
            responder: api.responder,
            server: try self.server(),
            configuration: ApplicationConfiguration(address: .hostname(settings.host, port: settings.port)),
            onServerRunning: { channel in
                logger.info(
                    "The API is served",
                    metadata: [
                        "http.scheme": "\(scheme)",
                        "http.address": "\(channel.localAddress?.text ?? "unknown")",
                    ]
                )
            },
            logger: logger.quiet
        )
        let broker = self.parts.broker
        application.beforeServerStarts { await Self.prepare(api, broker: broker, logger: logger) }
        return Listening(
            server: application,
            keys: "api.host, api.port",
            address: "\(settings.host):\(settings.port)"
        )
    }

    /// Binds the queue for events before the first request, where the broker can be reached soon (rules 16 and 19).
    private static func prepare(_ api: API, broker: any MessageBroker, logger: Logger) async {
        let end = ContinuousClock.now + .seconds(2)
        while ContinuousClock.now < end, !Task.isCancelled {
            if case .connected = await broker.status {
                do { return try await api.prepare() } catch {
                    logger.warning("Events cannot be heard yet", metadata: ["error": "\(error)"])
                    return
                }
            }
            // Cancelled = shutdown: the loop ends.
            try? await Task.sleep(for: .milliseconds(20))
        }
    }

    private func server() throws -> HTTPServerBuilder {
        let settings = self.configuration.api
        let idle = TimeAmount.nanoseconds(Int64(settings.requestTime.inSeconds * 1e9))
        let http1 = HTTP1Channel.Configuration(
            additionalChannelHandlers: [ParserProblems(headerSize: settings.headerSize), EarlyAnswers()],
            idleTimeout: idle,
            httpDecoderConfiguration: HTTP1Channel.Configuration.DecoderConfiguration(
                maxHeaderFieldSize: settings.headerSize,
                maxHeaderListSize: settings.headerSize,
                maxHeaderFieldCount: ParserProblems.headerCount
            )
        )
        guard let certificate = settings.certificateFile, let key = settings.keyFile else {
            return .http1(configuration: http1)
        }
        var tls = TLSConfiguration.makeServerConfiguration(
            certificateChain: try Self.readable("api.certificate_file", certificate) {
                try NIOSSLCertificate.fromPEMFile(certificate).map { .certificate($0) }
            },
            privateKey: try Self.readable("api.key_file", key) {
                .privateKey(try NIOSSLPrivateKey(file: key, format: .pem))
            }
        )
        tls.minimumTLSVersion = .tlsv12
        return try .http2Upgrade(
            tlsConfiguration: tls,
            configuration: HTTP2ChannelConfiguration(idleTimeout: settings.requestTime, streamConfiguration: http1)
        )
    }

    private static func readable<Value>(_ key: String, _ file: String, _ read: () throws -> Value) throws -> Value {
        do {
            return try read()
        } catch {
            throw ConfigurationError("\(key): \(file) cannot be read as PEM")
        }
    }

    private var isLoopback: Bool { Self.isLoopback(self.configuration.api.host) }

    /// Whether nobody beyond this host can reach the address.
    static func isLoopback(_ host: String) -> Bool {
        if host == "localhost" || host == "::1" { return true }
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
    }
}
