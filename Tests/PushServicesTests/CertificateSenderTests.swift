import Foundation
import NIOSSL
import PushModel
import PushServices
import PushlineSimulator
import Testing
import Undisturbed

/// APNs with a provider certificate in place of tokens, at the simulator.
@Suite("APNs with a certificate", .serialized, .undisturbed)
struct CertificateSenderTests {
    /// Senders whose app declares the simulator's certificate.
    private func with(
        _ configuration: SimulatorConfiguration = SimulatorConfiguration(),
        _ body: (Senders, String) async throws -> Void
    ) async throws {
        try await Senders.with(configuration, { $0.fileCheckInterval = .zero }) { senders in
            var senders = senders
            let file = try senders.simulator.credentials.apnsCertificateFile
            senders.spec.apns?.authentication = .certificate(.init(file: file))
            try await body(senders, file)
        }
    }

    private func put(_ issued: (certificate: String, privateKey: String), in file: String) throws {
        let text = issued.certificate + "\n" + issued.privateKey
        try Data(text.utf8).write(to: URL(filePath: file), options: .atomic)
    }

    /// The result once connections have had their say: a refusal can get lost where the peer closes at once.
    private func refusal(_ senders: Senders) async throws -> DeviceResult? {
        for _ in 1...10 {
            let result = try await senders.sender(.apns).send(senders.batch(.apns, 1, time: .seconds(5))).first
            switch result {
            case .retry(_, .sender, false, _, nil)?, .unsent?: continue
            default: return result
            }
        }
        return nil
    }

    @Test("devices are reached without a token, with the topic, over a full connection at once")
    func accepted() async throws {
        try await self.with(SimulatorConfiguration(apnsInitialStreams: 0)) { senders, _ in
            let results = try await senders.sender(.apns).send(senders.batch(.apns, 300))
            #expect(results == Array(repeating: .accepted, count: 300))
            let headers = try #require(senders.simulator.received().last?.headers)
            #expect(headers["authorization"] == nil)
            #expect(try headers["apns-topic"] == senders.simulator.credentials.apnsTopic)
        }
    }

    @Test("a .p12 serves as well")
    func archive() async throws {
        try await self.with { senders, file in
            let (certificate, key) = try senders.simulator.credentials.issue()
            let bundle = NIOSSLPKCS12Bundle(
                certificateChain: try NIOSSLCertificate.fromPEMBytes(Array(certificate.utf8)),
                privateKey: try NIOSSLPrivateKey(bytes: Array(key.utf8), format: .pem)
            )
            try Data(try bundle.serialize(passphrase: "secret".utf8)).write(to: URL(filePath: file), options: .atomic)
            try Data("secret\n".utf8).write(to: URL(filePath: file + ".password"))
            var app = senders
            app.spec.apns?.authentication = .certificate(.init(file: file, passwordFile: file + ".password"))
            #expect(try await app.sender(.apns).send(senders.batch(.apns, 3)) == [.accepted, .accepted, .accepted])
        }
    }

    @Test("a renewed file is used by a new sender, while the old one's batches end")
    func renewed() async throws {
        try await self.with { senders, file in
            let credentials = try senders.simulator.credentials
            let first = try senders.sender(.apns)
            #expect(try await first.send(senders.batch(.apns, 1)) == [.accepted])
            let end = Timestamp(milliseconds: Timestamp.now.seconds * 1000 + 20 * 86_400_000)
            try self.put(try credentials.issue(until: Date(timeIntervalSince1970: Double(end.seconds))), in: file)
            let second = try senders.sender(.apns)
            #expect(second as AnyObject !== first as AnyObject)
            #expect(try await second.send(senders.batch(.apns, 1)) == [.accepted])
            #expect(try await first.send(senders.batch(.apns, 1)) == [.accepted])
            let ends = try senders.registry.ends(app: .default, pns: .apns, spec: senders.spec)
            let told = try #require(ends.last)
            #expect(told.setting == "apns.certificate_file" && told.end == end && told.isNear())

            // Half of it, and another's key: what works goes on.
            try Data("-----BEGIN CERTIFICATE-----\n".utf8).write(to: URL(filePath: file), options: .atomic)
            #expect(try senders.sender(.apns) as AnyObject === second as AnyObject)
            try self.put((try credentials.issue().certificate, try credentials.issue().privateKey), in: file)
            #expect(try senders.sender(.apns) as AnyObject === second as AnyObject)
        }
    }

    @Test("a certificate that has ended makes no sender")
    func ended() async throws {
        try await self.with { senders, file in
            try self.put(try senders.simulator.credentials.issue(until: .now - 3 * 86_400), in: file)
            let error = #expect(throws: SenderError.self) { try senders.sender(.apns) }
            #expect(error?.message.contains("ended on ") == true, "\(String(describing: error))")
        }
    }

    @Test("a certificate that the service does not take is a refused credential, not a fault of the network")
    func refusedInTheHandshake() async throws {
        try await self.with { senders, file in
            // Valid for the sender, and of another authority.
            try Data((Archives.certificate + Archives.encryptedKey).utf8).write(
                to: URL(filePath: file),
                options: .atomic
            )
            try Data("secret".utf8).write(to: URL(filePath: file + ".password"))
            var app = senders
            app.spec.apns?.authentication = .certificate(.init(file: file, passwordFile: file + ".password"))
            let result = try await self.refusal(app)
            guard case .misconfigured(let reason, nil, nil)? = result else {
                Issue.record("\(String(describing: result))")
                return
            }
            #expect(reason.hasPrefix("the client certificate is refused: ALERT_"), "\(reason)")
        }
    }

    @Test("a certificate of another service or app is answered as Apple does")
    func refusedByAnswer() async throws {
        let bundle = "com.example.pushline"
        var development = APNsCertificate(topics: [bundle])
        development.isForProduction = false
        for (certificate, status, reason) in [
            (development, 403, "BadCertificateEnvironment"), (APNsCertificate(topics: []), 403, "BadCertificate"),
            (APNsCertificate(topics: ["com.example.other"]), 400, "TopicDisallowed"),
        ] {
            try await self.with { senders, file in
                try self.put(try senders.simulator.credentials.issue(certificate), in: file)
                let results = try await senders.sender(.apns).send(senders.batch(.apns, 1))
                #expect(results == [.misconfigured(reason: reason, status: status)])
            }
        }
        try await self.with(SimulatorConfiguration(sandbox: true)) { senders, file in
            try self.put(try senders.simulator.credentials.issue(development), in: file)
            #expect(try await senders.sender(.apns).send(senders.batch(.apns, 1)) == [.accepted])
        }
    }
}
