import Crypto
import CryptoExtras
import Foundation
import NIOSSL
import SwiftASN1
import X509

/// The keys and certificates of a simulator: its own authority, a server certificate, and the apps' private keys.
struct KeyMaterial: Sendable {
    var authorityPEM: String
    var serverPEM: String
    var serverKeyPEM: String
    /// The key that signs APNs provider tokens.
    var apnsKey: P256.Signing.PrivateKey
    /// The service account's key.
    var serviceAccountKey: _RSA.Signing.PrivateKey

    /// Made once a process: an RSA key takes its time, and a test makes many simulators.
    private static let made = Result { try KeyMaterial() }

    static func shared() throws -> KeyMaterial {
        try Self.made.get()
    }

    private init() throws {
        let authorityKey = P256.Signing.PrivateKey()
        let serverKey = P256.Signing.PrivateKey()
        let authorityName = try DistinguishedName { CommonName("Pushline simulator authority") }
        let start = Date.now.addingTimeInterval(-86_400)
        let end = start.addingTimeInterval(365 * 86_400)
        let authority = try Certificate(
            version: .v3,
            serialNumber: Certificate.SerialNumber(),
            publicKey: Certificate.PublicKey(authorityKey.publicKey),
            notValidBefore: start,
            notValidAfter: end,
            issuer: authorityName,
            subject: authorityName,
            extensions: try Certificate.Extensions {
                Critical(BasicConstraints.isCertificateAuthority(maxPathLength: 0))
                Critical(KeyUsage(keyCertSign: true, cRLSign: true))
            },
            issuerPrivateKey: Certificate.PrivateKey(authorityKey)
        )
        let server = try Certificate(
            version: .v3,
            serialNumber: Certificate.SerialNumber(),
            publicKey: Certificate.PublicKey(serverKey.publicKey),
            notValidBefore: start,
            notValidAfter: end,
            issuer: authorityName,
            subject: try DistinguishedName { CommonName("Pushline simulator") },
            extensions: try Certificate.Extensions {
                Critical(BasicConstraints.notCertificateAuthority)
                Critical(KeyUsage(digitalSignature: true))
                try ExtendedKeyUsage([.serverAuth])
                SubjectAlternativeNames([
                    .dnsName("localhost"), .ipAddress(ASN1OctetString(contentBytes: [127, 0, 0, 1])),
                ])
            },
            issuerPrivateKey: Certificate.PrivateKey(authorityKey)
        )
        self.authorityPEM = try authority.serializeAsPEM().pemString
        self.serverPEM = try server.serializeAsPEM().pemString
        self.serverKeyPEM = serverKey.pemRepresentation
        self.apnsKey = P256.Signing.PrivateKey()
        self.serviceAccountKey = try _RSA.Signing.PrivateKey(keySize: .bits2048)
    }

    /// TLS 1.2 or later with the server certificate, offering these protocols.
    func serverContext(protocols: [String]) throws -> NIOSSLContext {
        let certificate = try NIOSSLCertificate(bytes: Array(self.serverPEM.utf8), format: .pem)
        let key = try NIOSSLPrivateKey(bytes: Array(self.serverKeyPEM.utf8), format: .pem)
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: [.certificate(certificate)],
            privateKey: .privateKey(key)
        )
        configuration.minimumTLSVersion = .tlsv12
        configuration.applicationProtocols = protocols
        return try NIOSSLContext(configuration: configuration)
    }
}
