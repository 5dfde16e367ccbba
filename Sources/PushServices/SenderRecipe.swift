import AsyncHTTPClient
import HTTP2Engine
import Logging
import NIOCore
import NIOSSL
import PushModel

/// What a sender is made from: the part of an app's declaration that concerns one push service.
enum SenderRecipe: Sendable, Equatable {
    case apns(AppSpec.APNs)
    case fcm(AppSpec.FCM)
    case wns(AppSpec.WNS)

    init(pns: PNS, spec: AppSpec) throws(SenderError) {
        let recipe: SenderRecipe? =
            switch pns {
            case .apns: spec.apns.map(SenderRecipe.apns)
            case .fcm: spec.fcm.map(SenderRecipe.fcm)
            case .wns: spec.wns.map(SenderRecipe.wns)
            case .mpns: throw SenderError(.retired, "mpns was switched off in 2018 and takes nothing any more")
            }
        guard let recipe else {
            throw SenderError(.notConfigured, "the app declares no \(pns.rawValue): add it to its file and apply that")
        }
        self = recipe
    }

    /// Reads the files and makes the sender; opens no connection.
    func make(
        settings: SenderSettings,
        eventLoopGroup: any EventLoopGroup,
        logger: Logger
    ) throws(SenderError) -> (sender: any PushSender, files: [CredentialFile]) {
        let parts = SenderParts(settings: settings, eventLoopGroup: eventLoopGroup, logger: logger)
        switch self {
        case .apns(let spec): return try parts.makeAPNs(spec)
        case .fcm(let spec): return try parts.makeFCM(spec)
        case .wns(let spec): return try parts.makeWNS(spec)
        }
    }
}

/// What all senders are made with.
private struct SenderParts {
    let settings: SenderSettings
    let eventLoopGroup: any EventLoopGroup
    let logger: Logger

    func makeAPNs(_ spec: AppSpec.APNs) throws(SenderError) -> (any PushSender, [CredentialFile]) {
        let (keyFile, pem) = try CredentialFile.read(spec.keyFile, setting: "apns.key_file")
        let token = try APNsProviderToken(pem: pem, keyID: spec.keyID, teamID: spec.teamID)
        guard !spec.topic.isEmpty, spec.topic.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw SenderError(.invalid, "apns.topic: the app's bundle id, without spaces")
        }
        let endpoint = try Endpoint(spec.endpoint, setting: "apns.endpoint")
        let trust = try self.trust(spec.trustFile, setting: "apns.trust_file")
        let metrics = SenderMetrics(pns: .apns)
        let sender = APNsSender(
            client: try self.engine(endpoint, trust?.path, streams: 1000, setting: "apns.trust_file", metrics),
            token: token,
            authority: endpoint.authority,
            topic: spec.topic,
            requestTimeout: self.settings.requestTimeout,
            metrics: metrics
        )
        return (sender, [keyFile] + [trust].compactMap { $0 })
    }

    func makeFCM(_ spec: AppSpec.FCM) throws(SenderError) -> (any PushSender, [CredentialFile]) {
        let (file, json) = try CredentialFile.read(spec.serviceAccountFile, setting: "fcm.service_account_file")
        let account = try ServiceAccount(json: json)
        let endpoint = try Endpoint(spec.endpoint, setting: "fcm.endpoint")
        let trust = try self.trust(spec.trustFile, setting: "fcm.trust_file")
        let metrics = SenderMetrics(pns: .fcm)
        let sender = FCMSender(
            client: try self.engine(
                endpoint,
                trust?.path,
                streams: FCMSender.maximumStreams,
                setting: "fcm.trust_file",
                metrics
            ),
            tokenClient: self.httpClient(trust?.path),
            account: account,
            authority: endpoint.authority,
            requestTimeout: self.settings.requestTimeout,
            metrics: metrics
        )
        return (sender, [file] + [trust].compactMap { $0 })
    }

    func makeWNS(_ spec: AppSpec.WNS) throws(SenderError) -> (any PushSender, [CredentialFile]) {
        let (file, content) = try CredentialFile.read(spec.clientSecretFile, setting: "wns.client_secret_file")
        // Editors end a file with a line break; no secret has one.
        let secret = String(decoding: content, as: UTF8.self).filter { !$0.isNewline }
        guard !secret.isEmpty, !spec.clientID.isEmpty else {
            throw SenderError(.invalid, "wns: client_id and the secret in \(spec.clientSecretFile) must not be empty")
        }
        guard spec.tokenURL.hasPrefix("https://") else {
            throw SenderError(.invalid, "wns.token_url: not an https address")
        }
        let trust = try self.trust(spec.trustFile, setting: "wns.trust_file")
        let sender = WNSSender(
            spec: spec,
            secret: secret,
            client: self.httpClient(trust?.path),
            settings: self.settings,
            metrics: SenderMetrics(pns: .wns)
        )
        return (sender, [file] + [trust].compactMap { $0 })
    }

    private func trust(_ path: String?, setting: String) throws(SenderError) -> CredentialFile? {
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

    private func engine(
        _ endpoint: Endpoint,
        _ trustFile: String?,
        streams: Int,
        setting: String,
        _ metrics: SenderMetrics
    ) throws(SenderError) -> HTTP2Client {
        var configuration = HTTP2Configuration(host: endpoint.host, port: endpoint.port)
        if let trustFile { configuration.trust = .file(trustFile) }
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
                timed: { metrics.answered(after: $0) }
            )
        } catch {
            throw SenderError(.invalid, "\(setting): TLS cannot be set up with it: \(error)")
        }
    }

    /// For token services and WNS: HTTP/1.1, no redirects, few connections.
    private func httpClient(_ trustFile: String?) -> HTTPClient {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.minimumTLSVersion = .tlsv12
        if let trustFile { tls.trustRoots = .file(trustFile) }
        var configuration = HTTPClient.Configuration(tlsConfiguration: tls)
        configuration.redirectConfiguration = .disallow
        configuration.httpVersion = .http1Only
        configuration.timeout.connect = .milliseconds(self.settings.connectTimeout.milliseconds)
        configuration.connectionPool.idleTimeout = .seconds(60)
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = self.settings.wnsConnections
        // A host that cannot be reached is told at once; when to try again is the caller's policy.
        configuration.connectionPool.retryConnectionEstablishment = false
        return HTTPClient(eventLoopGroupProvider: .shared(self.eventLoopGroup), configuration: configuration)
    }
}
