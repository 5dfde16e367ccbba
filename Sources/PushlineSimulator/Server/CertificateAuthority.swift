import Crypto
import Foundation
import SwiftASN1
import X509

/// The authority that signs a simulator's certificates.
struct CertificateAuthority: Sendable {
    let key: P256.Signing.PrivateKey

    private static let name = Result { try DistinguishedName { CommonName("Pushline simulator authority") } }

    /// The authority's own certificate, PEM.
    func certificate(until end: Date) throws -> String {
        try self.certify(
            Self.name.get(),
            self.key.publicKey,
            until: end,
            Certificate.Extensions {
                Critical(BasicConstraints.isCertificateAuthority(maxPathLength: 0))
                Critical(KeyUsage(keyCertSign: true, cRLSign: true))
            }
        )
    }

    /// Signs a certificate that has begun a day ago, or a day before its end.
    ///
    /// - Parameters:
    ///   - subject: Whose it is.
    ///   - key: The subject's key.
    ///   - end: When it ends.
    ///   - extensions: What else it says.
    /// - Returns: The certificate, PEM.
    /// - Throws: The error of the cryptographic library.
    func certify(
        _ subject: DistinguishedName,
        _ key: P256.Signing.PublicKey,
        until end: Date,
        _ extensions: Certificate.Extensions
    ) throws -> String {
        try Certificate(
            version: .v3,
            serialNumber: Certificate.SerialNumber(),
            publicKey: Certificate.PublicKey(key),
            notValidBefore: min(.now, end).addingTimeInterval(-86_400),
            notValidAfter: end,
            issuer: Self.name.get(),
            subject: subject,
            extensions: extensions,
            issuerPrivateKey: Certificate.PrivateKey(self.key)
        ).serializeAsPEM().pemString
    }
}
