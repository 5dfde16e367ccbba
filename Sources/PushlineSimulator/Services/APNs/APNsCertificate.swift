import Crypto
package import Foundation
import NIOSSL
import SwiftASN1
import X509

/// A provider certificate: the topics that may be pushed to, and the services that take it.
package struct APNsCertificate: Sendable, Equatable {
    package var topics: [String]
    package var isForDevelopment = true
    package var isForProduction = true

    package init(topics: [String]) { self.topics = topics }

    /// Reads a certificate; a foreign one has no topics.
    init(_ certificate: NIOSSLCertificate) throws {
        let extensions = try Certificate(derEncoded: certificate.toDERBytes()).extensions
        self.topics = try extensions[oid: .topics].map { try Self.topics($0.value) } ?? []
        self.isForDevelopment = extensions[oid: .development] != nil
        self.isForProduction = extensions[oid: .production] != nil
    }

    /// The extensions of Apple's that say so.
    func extensions() throws -> [Certificate.Extension] {
        var extensions = [Certificate.Extension(oid: .topics, critical: false, value: try Self.value(self.topics)[...])]
        // The value is NULL.
        if self.isForDevelopment { extensions.append(.init(oid: .development, critical: false, value: [5, 0])) }
        if self.isForProduction { extensions.append(.init(oid: .production, critical: false, value: [5, 0])) }
        return extensions
    }

    /// A sequence of topics, each followed by a sequence of its kinds.
    private static func topics(_ value: ArraySlice<UInt8>) throws -> [String] {
        try DER.sequence(DER.parse(value), identifier: .sequence) { nodes in
            var topics: [String] = []
            while let node = nodes.next() {
                topics.append(String(try ASN1UTF8String(derEncoded: node)))
                _ = nodes.next()
            }
            return topics
        }
    }

    private static func value(_ topics: [String]) throws -> [UInt8] {
        var serializer = DER.Serializer()
        try serializer.appendConstructedNode(identifier: .sequence) { list in
            for topic in topics {
                try list.serialize(ASN1UTF8String(topic))
                try list.appendConstructedNode(identifier: .sequence) { kinds in
                    try kinds.serialize(ASN1UTF8String(topic.split(separator: ".").last.map(String.init) ?? topic))
                }
            }
        }
        return serializer.serializedBytes
    }
}

extension ASN1ObjectIdentifier {
    fileprivate static let development: Self = [1, 2, 840, 113635, 100, 6, 3, 1]
    fileprivate static let production: Self = [1, 2, 840, 113635, 100, 6, 3, 2]
    fileprivate static let topics: Self = [1, 2, 840, 113635, 100, 6, 3, 6]
}

extension SimulatorCredentials {
    /// A provider certificate for the app and its private key, PEM: in place of the `.p8` file.
    package var apnsCertificateFile: String { self.folder + "/apns-certificate.pem" }

    /// What Apple certifies for the app.
    package var apnsCertificate: APNsCertificate {
        APNsCertificate(topics: [self.topic, self.topic + ".voip", self.topic + ".complication"])
    }

    /// Certifies a new key, as Apple's developer account does.
    ///
    /// - Parameters:
    ///   - certificate: Topics and services; nil = the app's.
    ///   - end: When the certificate ends; nil = in a year, less a day.
    /// - Returns: The certificate and its private key, each PEM.
    /// - Throws: The error of the cryptographic library.
    package func issue(
        _ certificate: APNsCertificate? = nil,
        until end: Date? = nil
    ) throws -> (certificate: String, privateKey: String) {
        let key = P256.Signing.PrivateKey()
        let extensions = try (certificate ?? self.apnsCertificate).extensions()
        let pem = try self.keys.authority.certify(
            DistinguishedName { CommonName("Apple Push Services: \(self.topic)") },
            key.publicKey,
            until: end ?? self.keys.end,
            Certificate.Extensions {
                Critical(BasicConstraints.notCertificateAuthority)
                Critical(KeyUsage(digitalSignature: true))
                try ExtendedKeyUsage([.clientAuth])
                for one in extensions { one }
            }
        )
        return (pem, key.pemRepresentation)
    }
}
