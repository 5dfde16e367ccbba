import Crypto
import CryptoExtras
import Foundation
package import NIOSSL
import SwiftASN1
import X509

/// The keys and certificates of a simulator: its own authority, a server certificate, and the apps' private keys.
package struct KeyMaterial: Sendable {
    var authority: CertificateAuthority
    package var authorityPEM: String
    package var serverPEM: String
    /// The server certificate as it would be half a day after its end.
    var expiredPEM: String
    package var serverKeyPEM: String
    /// The key that signs APNs provider tokens.
    var apnsKey: P256.Signing.PrivateKey
    /// The service account's key.
    var serviceAccountKey: _RSA.Signing.PrivateKey
    /// The key by which push services of browsers know the app.
    var vapidKey: P256.Signing.PrivateKey
    /// When the certificates end.
    var end: Date

    /// Made once a process: an RSA key takes its time, and a test makes many simulators.
    private static let made = Result { try KeyMaterial() }

    /// New keys, or those that a simulator left in this folder, so that senders outlive its restart.
    package static func load(folder: String?) throws -> KeyMaterial {
        guard let folder else { return try Self.made.get() }
        let file = folder + "/keys.json"
        if let data = FileManager.default.contents(atPath: file) {
            let saved = try JSONDecoder().decode(Saved.self, from: data)
            if saved.end > Date.now.addingTimeInterval(86_400), let key = saved.authorityKey,
                let expired = saved.expired, let vapid = saved.vapidKey
            {
                return try KeyMaterial(saved, authorityKey: key, expired: expired, vapidKey: vapid)
            }
        }
        return try Self.made.get()
    }

    /// The form in which keys are kept.
    private struct Saved: Codable {
        var authority: String
        /// None in folders of earlier versions.
        var authorityKey: String?
        var server: String
        /// As ``authorityKey``.
        var expired: String?
        var serverKey: String
        var apnsKey: String
        var serviceAccountKey: String
        /// As ``authorityKey``.
        var vapidKey: String?
        var end: Date
    }

    private init(_ saved: Saved, authorityKey: String, expired: String, vapidKey: String) throws {
        self.authority = CertificateAuthority(key: try P256.Signing.PrivateKey(pemRepresentation: authorityKey))
        self.authorityPEM = saved.authority
        self.serverPEM = saved.server
        self.expiredPEM = expired
        self.serverKeyPEM = saved.serverKey
        self.apnsKey = try P256.Signing.PrivateKey(pemRepresentation: saved.apnsKey)
        self.serviceAccountKey = try _RSA.Signing.PrivateKey(pemRepresentation: saved.serviceAccountKey)
        self.vapidKey = try P256.Signing.PrivateKey(pemRepresentation: vapidKey)
        self.end = saved.end
    }

    /// The data that ``load(folder:)`` reads.
    func saved() throws -> Data {
        let saved = Saved(
            authority: self.authorityPEM,
            authorityKey: self.authority.key.pemRepresentation,
            server: self.serverPEM,
            expired: self.expiredPEM,
            serverKey: self.serverKeyPEM,
            apnsKey: self.apnsKey.pemRepresentation,
            serviceAccountKey: self.serviceAccountKey.pkcs8PEMRepresentation,
            vapidKey: self.vapidKey.pemRepresentation,
            end: self.end
        )
        return try JSONEncoder().encode(saved)
    }

    private init() throws {
        let authority = CertificateAuthority(key: P256.Signing.PrivateKey())
        let serverKey = P256.Signing.PrivateKey()
        let start = Date.now.addingTimeInterval(-86_400)
        let end = start.addingTimeInterval(365 * 86_400)
        func server(until end: Date) throws -> String {
            try authority.certify(
                DistinguishedName { CommonName("Pushline simulator") },
                serverKey.publicKey,
                until: end,
                Certificate.Extensions {
                    Critical(BasicConstraints.notCertificateAuthority)
                    Critical(KeyUsage(digitalSignature: true))
                    try ExtendedKeyUsage([.serverAuth])
                    SubjectAlternativeNames([
                        .dnsName("localhost"), .ipAddress(ASN1OctetString(contentBytes: [127, 0, 0, 1])),
                    ])
                }
            )
        }
        self.authority = authority
        self.authorityPEM = try authority.certificate(until: end)
        self.serverPEM = try server(until: end)
        self.expiredPEM = try server(until: start.addingTimeInterval(43_200))
        self.serverKeyPEM = serverKey.pemRepresentation
        self.end = end
        self.apnsKey = P256.Signing.PrivateKey()
        self.vapidKey = P256.Signing.PrivateKey()
        self.serviceAccountKey = try _RSA.Signing.PrivateKey(keySize: .bits2048)
    }

    /// TLS 1.2 or later with the server certificate or the expired one.
    ///
    /// - Parameters:
    ///   - protocols: Offers these.
    ///   - takesCertificates: Whether clients may show certificates of this authority.
    ///   - isExpired: Whether it is the expired one.
    /// - Returns: The settings.
    /// - Throws: The error of the TLS library.
    package func serverContext(protocols: [String], takesCertificates: Bool, isExpired: Bool = false) throws
        -> NIOSSLContext
    {
        let pem = isExpired ? self.expiredPEM : self.serverPEM
        let certificate = try NIOSSLCertificate(bytes: Array(pem.utf8), format: .pem)
        let key = try NIOSSLPrivateKey(bytes: Array(self.serverKeyPEM.utf8), format: .pem)
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: [.certificate(certificate)],
            privateKey: .privateKey(key)
        )
        configuration.minimumTLSVersion = .tlsv12
        configuration.applicationProtocols = protocols
        if takesCertificates {
            configuration.certificateVerification = .optionalVerification
            let authority = try NIOSSLCertificate(bytes: Array(self.authorityPEM.utf8), format: .pem)
            configuration.trustRoots = .certificates([authority])
        }
        return try NIOSSLContext(configuration: configuration)
    }
}
