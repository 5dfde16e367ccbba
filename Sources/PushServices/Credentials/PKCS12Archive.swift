import Crypto
import NIOSSL
import SwiftASN1
import X509

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A PKCS#12 archive (`.p12`; RFC 7292), whose private key and certificates are read one by one.
///
/// NIOSSL ends the process for an archive without a key, or without the key's certificate: key stores write such ones where only one of
/// both was selected. So the key is taken out here, and BoringSSL gets the rest beside a pair of our own that fits.
struct PKCS12Archive {
    enum Fault: Error, Equatable {
        case noArchive
        case noKey
        case manyKeys
    }

    /// Each a `ContentInfo`; without the private key.
    private let safes: [ArraySlice<UInt8>]
    private let key: PEMDocument

    /// Takes an archive apart; nothing is decrypted.
    ///
    /// - Throws: ``Fault``.
    init(_ content: [UInt8]) throws(Fault) {
        let found: (safes: [ArraySlice<UInt8>], keys: [PEMDocument])
        do { found = try Self.parts(of: content) } catch { throw .noArchive }
        guard let key = found.keys.first else { throw .noKey }
        guard found.keys.count == 1 else { throw .manyKeys }
        self.safes = found.safes
        self.key = key
    }

    /// - Parameter password: ASCII.
    /// - Returns: The private key.
    /// - Throws: The fault of a wrong password or an unknown form.
    func privateKey(password: [UInt8]) throws -> NIOSSLPrivateKey {
        try NIOSSLPrivateKey(bytes: Array(self.key.pemString.utf8), format: .pem) { $0(password) }
    }

    /// - Parameter password: ASCII.
    /// - Returns: All certificates, in any order.
    /// - Throws: The fault of a wrong password or an unknown form.
    func certificates(password: [UInt8]) throws -> [NIOSSLCertificate] {
        let pair = try Self.pair().serialize(passphrase: password)
        let safes = try Element.list(in: Self.authenticatedSafe(of: pair)).map(\.encoded) + self.safes
        let archive = try Self.archive(of: safes, password: password)
        // The certificate of the archive's key comes first, and that is the pair's.
        return Array(try NIOSSLPKCS12Bundle(buffer: archive, passphrase: password).certificateChain.dropFirst())
    }

    // MARK: Reading

    /// A `ContentInfo` or a `SafeBag`: a value, and what it is.
    private struct Element {
        let kind: ASN1ObjectIdentifier
        let value: ASN1Node
        let encoded: ArraySlice<UInt8>

        init(_ node: ASN1Node) throws {
            self.encoded = node.encodedBytes
            (self.kind, self.value) = try BER.sequence(node, identifier: .sequence) { nodes in
                let kind = try ASN1ObjectIdentifier(berEncoded: &nodes)
                let value = try BER.explicitlyTagged(&nodes, tagNumber: 0, tagClass: .contextSpecific) { $0 }
                // A bag's attributes.
                while nodes.next() != nil {}
                return (kind, value)
            }
        }

        /// The elements that an OCTET STRING holds.
        static func list(in string: ASN1Node) throws -> [Element] {
            try BER.sequence(BER.parse(ASN1OctetString(berEncoded: string).bytes), identifier: .sequence) { nodes in
                var elements: [Element] = []
                while let node = nodes.next() { elements.append(try Element(node)) }
                return elements
            }
        }
    }

    private static func authenticatedSafe(of archive: [UInt8]) throws -> ASN1Node {
        try BER.sequence(BER.parse(archive), identifier: .sequence) { nodes in
            // The version stands before, the MAC after it.
            _ = nodes.next()
            guard let node = nodes.next() else { throw Fault.noArchive }
            while nodes.next() != nil {}
            return try Element(node).value
        }
    }

    private static func parts(of archive: [UInt8]) throws -> (safes: [ArraySlice<UInt8>], keys: [PEMDocument]) {
        var safes: [ArraySlice<UInt8>] = []
        var keys: [PEMDocument] = []
        for safe in try Element.list(in: Self.authenticatedSafe(of: archive)) {
            // Private keys are encrypted one by one, and certificates as a whole.
            guard safe.kind == .data else {
                safes.append(safe.encoded)
                continue
            }
            var others: [ArraySlice<UInt8>] = []
            for bag in try Element.list(in: safe.value) {
                switch bag.kind {
                case .keyBag: keys.append(PEMDocument(type: "PRIVATE KEY", derBytes: Array(bag.value.encodedBytes)))
                case .shroudedKeyBag:
                    keys.append(PEMDocument(type: "ENCRYPTED PRIVATE KEY", derBytes: Array(bag.value.encodedBytes)))
                default: others.append(bag.encoded)
                }
            }
            safes.append(try Self.written { try $0.appendData(Self.sequence(of: others)) }[...])
        }
        return (safes, keys)
    }

    // MARK: Writing

    /// A key with its certificate, for BoringSSL alone.
    private static func pair() throws -> NIOSSLPKCS12Bundle {
        let key = P256.Signing.PrivateKey()
        let name = try DistinguishedName { CommonName("Pushline") }
        let certificate = try Certificate(
            version: .v3,
            serialNumber: Certificate.SerialNumber(),
            publicKey: Certificate.PublicKey(key.publicKey),
            notValidBefore: .now,
            notValidAfter: .now,
            issuer: name,
            subject: name,
            extensions: Certificate.Extensions(),
            issuerPrivateKey: Certificate.PrivateKey(key)
        )
        let written = try Self.written { try $0.serialize(certificate) }
        return NIOSSLPKCS12Bundle(
            certificateChain: [try NIOSSLCertificate(bytes: written, format: .der)],
            privateKey: try NIOSSLPrivateKey(bytes: Array(key.derRepresentation), format: .der)
        )
    }

    private static func archive(of safes: [ArraySlice<UInt8>], password: [UInt8]) throws -> [UInt8] {
        let content = try Self.sequence(of: safes)
        let salt = [UInt8](repeating: 0, count: 8)
        let mac = HMAC<SHA256>.authenticationCode(for: content, using: Self.macKey(password, salt))
        return try Self.written { archive in
            try archive.appendConstructedNode(identifier: .sequence) { archive in
                try archive.serialize(3)
                try archive.appendData(content)
                try archive.appendConstructedNode(identifier: .sequence) { data in
                    try data.appendConstructedNode(identifier: .sequence) { digest in
                        try digest.appendConstructedNode(identifier: .sequence) {
                            try $0.serialize(ASN1ObjectIdentifier.sha256)
                        }
                        try digest.serialize(ASN1OctetString(contentBytes: Array(mac)[...]))
                    }
                    try data.serialize(ASN1OctetString(contentBytes: salt[...]))
                }
            }
        }
    }

    /// The key of a MAC with one iteration (RFC 7292, appendix B.2): the hash of blocks of 64 bytes.
    private static func macKey(_ password: [UInt8], _ salt: [UInt8]) -> SymmetricKey {
        // UTF-16 with its terminator.
        let secret = (password + [0]).flatMap { byte -> [UInt8] in [0, byte] }
        func blocks(_ bytes: [UInt8]) -> [UInt8] {
            (0..<(bytes.count + 63) / 64 * 64).map { bytes[$0 % bytes.count] }
        }
        return SymmetricKey(data: SHA256.hash(data: blocks([3]) + blocks(salt) + blocks(secret)))
    }

    private static func sequence(of elements: [ArraySlice<UInt8>]) throws -> [UInt8] {
        try Self.written { sequence in
            sequence.appendConstructedNode(identifier: .sequence) { sequence in
                for element in elements { sequence.serializeRawBytes(element) }
            }
        }
    }

    private static func written(_ write: (inout DER.Serializer) throws -> Void) throws -> [UInt8] {
        var serializer = DER.Serializer()
        try write(&serializer)
        return serializer.serializedBytes
    }
}

extension DER.Serializer {
    /// Appends a `ContentInfo` of the kind `data`.
    fileprivate mutating func appendData(_ content: [UInt8]) throws {
        try self.appendConstructedNode(identifier: .sequence) { info in
            try info.serialize(ASN1ObjectIdentifier.data)
            try info.serialize(explicitlyTaggedWithTagNumber: 0, tagClass: .contextSpecific) { value in
                try value.serialize(ASN1OctetString(contentBytes: content[...]))
            }
        }
    }
}

extension ASN1ObjectIdentifier {
    /// PKCS#7 `data`.
    fileprivate static let data: Self = [1, 2, 840, 113549, 1, 7, 1]
    fileprivate static let keyBag: Self = [1, 2, 840, 113549, 1, 12, 10, 1, 1]
    fileprivate static let shroudedKeyBag: Self = [1, 2, 840, 113549, 1, 12, 10, 1, 2]
    fileprivate static let sha256: Self = [2, 16, 840, 1, 101, 3, 4, 2, 1]
}
