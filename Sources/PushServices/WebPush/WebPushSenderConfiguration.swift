import AsyncHTTPClient
import NIOCore
import NIOSSL
import PushModel

extension AppSpec.WebPush: SenderConfiguration {
    func makeSender(_ parts: SenderParts) throws(SenderError) -> (sender: any PushSender, files: [CredentialFile]) {
        let (file, pem) = try CredentialFile.read(self.privateKeyFile, setting: "web.private_key_file")
        let tokens = try VAPIDTokens(pem: pem, publicKey: self.publicKey, subject: self.subject)
        let hosts: WebPushHosts
        do { hosts = try WebPushHosts(self.endpointHosts) } catch {
            throw SenderError(.invalid, "web.endpoint_hosts: \(error.reason)")
        }
        let trust = try parts.trust(self.trustFile, setting: "web.trust_file")
        let path = trust?.path
        let clients = PinnedClients(HostAddresses(declared: self.privateNetworks.compactMap { IPNetwork($0) })) {
            parts.pinnedClient(host: $0, address: $1, trustFile: path)
        }
        let sender = WebPushSender(
            tokens: tokens,
            hosts: hosts,
            clients: clients,
            requestTimeout: parts.settings.requestTimeout,
            metrics: SenderMetrics(pns: .web)
        )
        return (sender, [file] + [trust].compactMap { $0 })
    }

    var ends: [CredentialExpiry] { self.trustEnds }
}

extension SenderParts {
    /// HTTP/2 or HTTP/1.1, no redirects, and one host at one address.
    fileprivate func pinnedClient(host: String, address: String, trustFile: String?) -> HTTPClient {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.minimumTLSVersion = .tlsv12
        if let trustFile { tls.trustRoots = .file(trustFile) }
        var configuration = HTTPClient.Configuration(tlsConfiguration: tls)
        configuration.redirectConfiguration = .disallow
        configuration.timeout.connect = .milliseconds(self.settings.connectTimeout.milliseconds)
        configuration.connectionPool.idleTimeout = .seconds(60)
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = self.settings.wnsConnections
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.dnsOverride = [host: address]
        return HTTPClient(eventLoopGroupProvider: .shared(self.eventLoopGroup), configuration: configuration)
    }
}
