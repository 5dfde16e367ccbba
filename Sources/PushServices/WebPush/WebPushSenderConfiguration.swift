import OutgoingHTTP
import PushModel

extension AppSpec.WebPush: SenderConfiguration {
    func makeSender(_ parts: SenderParts) throws(SenderError) -> (sender: any PushSender, files: [CredentialFile]) {
        let (file, pem) = try CredentialFile.read(self.privateKeyFile, setting: "web.private_key_file")
        let tokens = try VAPIDTokens(pem: pem, publicKey: self.publicKey, subject: self.subject)
        let hosts: WebPushHosts
        do { hosts = try WebPushHosts(self.endpointHosts) } catch {
            throw SenderError(.invalid, "web.endpoint_hosts: \(error.reason)")
        }
        let connectTo: ConnectTo
        do { connectTo = try ConnectTo(self.connectTo) } catch {
            throw SenderError(.invalid, "web.connect_to: \(error.reason)")
        }
        let trust = try parts.trust(self.trustFile, setting: "web.trust_file")
        let path = trust?.path
        let addresses = HostAddresses(declared: self.privateNetworks.compactMap { IPNetwork($0) }) {
            if let place = connectTo[$0] { return [place.address] }
            return await NameLookups.system.addresses(of: $0, by: $1)
        }
        let clients = PinnedClients(addresses) { parts.httpClient(path, addresses: [$0: $1]) }
        let sender = WebPushSender(
            tokens: tokens,
            hosts: hosts,
            connectTo: connectTo,
            clients: clients,
            requestTimeout: parts.settings.requestTimeout,
            peer: parts.peer(.web),
            metrics: SenderMetrics(pns: .web)
        )
        return (sender, [file] + [trust].compactMap { $0 })
    }

    /// Browsers' services know the key from subscriptions alone.
    var probe: CredentialProbe? { nil }

    static func advice(on reason: String, status: Int?) -> String? { WebPushAnswers.advice(on: reason, status: status) }

    var ends: [CredentialExpiry] { self.trustEnds }
}
