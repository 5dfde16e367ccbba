import HTTP2Engine
import NIOSSL
import PushModel

/// A provider certificate and its private key, read from the files that an app names.
struct ProviderCertificate {
    /// The certificate of the key, then the others of the file.
    private let chain: [NIOSSLCertificate]
    private let key: NIOSSLPrivateKey
    /// All files that it was read from.
    let files: [CredentialFile]
    let expiry: CredentialExpiry
    private let path: String

    private static let setting = "apns.certificate_file"
    private static let keySetting = "apns.private_key_file"
    private static let passwordSetting = "apns.certificate_password_file"

    /// Reads the files; a certificate that has ended is as good as any here.
    ///
    /// - Parameter declared: The files.
    /// - Throws: ``SenderError`` that names the wrong file, without its content.
    init(_ declared: AppSpec.APNs.Certificate) throws(SenderError) {
        let (file, content) = try CredentialFile.read(declared.file, setting: Self.setting)
        var files = [file]
        var password: [UInt8]?
        if let path = declared.passwordFile {
            let (file, text) = try CredentialFile.read(path, setting: Self.passwordSetting)
            files.append(file)
            password = try Self.password(text, path)
        }
        let (certificates, key): ([NIOSSLCertificate], NIOSSLPrivateKey)
        if Self.isPEM(content) {
            var keySource = PEMSource(setting: Self.setting, path: declared.file, content: content)
            if let path = declared.privateKeyFile {
                let (file, content) = try CredentialFile.read(path, setting: Self.keySetting)
                files.append(file)
                keySource = PEMSource(setting: Self.keySetting, path: path, content: content)
            }
            certificates = try Self.certificates(content, declared.file)
            key = try Self.privateKey(keySource, password: password)
        } else {
            guard declared.privateKeyFile == nil else {
                throw SenderError(
                    .invalid,
                    "\(Self.keySetting): \(declared.file) is not PEM, and a .p12 holds its key: leave the setting out"
                )
            }
            (certificates, key) = try Self.archive(content, declared.file, password: password)
        }
        guard let leaf = certificates.firstIndex(where: { Self.fits(key, $0) }) else {
            let path = declared.privateKeyFile ?? declared.file
            throw SenderError(
                .invalid,
                "\(Self.setting): the private key in \(path) belongs to no certificate in \(declared.file); "
                    + "use the key of the certificate's request"
            )
        }
        var chain = certificates
        chain.insert(chain.remove(at: leaf), at: 0)
        self.chain = chain
        self.key = key
        self.files = files
        self.path = declared.file
        let end = Timestamp(milliseconds: Int64(chain[0].notValidAfter) * 1000)
        self.expiry = CredentialExpiry(setting: Self.setting, end: end)
    }

    var identity: HTTP2Configuration.Identity { HTTP2Configuration.Identity(chain: self.chain, key: self.key) }

    /// Shows it in the handshakes of another client.
    func show(in tls: inout TLSConfiguration) {
        tls.certificateChain = self.chain.map { .certificate($0) }
        tls.privateKey = .privateKey(self.key)
    }

    /// - Throws: ``SenderError`` once the certificate has ended: APNs refuses each connection then.
    func checkEnd() throws(SenderError) {
        guard self.expiry.days() < 0 else { return }
        throw SenderError(
            .invalid,
            "\(Self.setting): the certificate in \(self.path) \(self.expiry.words()): put a renewed one there"
        )
    }

    private static func password(_ content: [UInt8], _ path: String) throws(SenderError) -> [UInt8] {
        // Editors end a file with a line break; no password has one.
        let password = content.filter { $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "\r") }
        guard !password.isEmpty else {
            throw SenderError(
                .invalid,
                "\(Self.passwordSetting): \(path) holds no password; leave the setting out for none"
            )
        }
        // NIOSSL ends the process on any other byte.
        guard password.allSatisfy({ $0 < 0x80 }) else {
            throw SenderError(
                .invalid,
                "\(Self.passwordSetting): the password in \(path) has characters besides ASCII; "
                    + "export the certificate with another password"
            )
        }
        return password
    }

    private struct PEMSource {
        let setting: String
        let path: String
        let content: [UInt8]
    }

    private static func isPEM(_ content: [UInt8]) -> Bool {
        String(decoding: content, as: UTF8.self).contains("-----BEGIN ")
    }

    private static func certificates(_ pem: [UInt8], _ path: String) throws(SenderError) -> [NIOSSLCertificate] {
        guard let found = try? NIOSSLCertificate.fromPEMBytes(pem), !found.isEmpty else {
            throw SenderError(.invalid, "\(Self.setting): \(path) holds no certificate that can be read")
        }
        return found
    }

    private static func privateKey(
        _ source: PEMSource,
        password: [UInt8]?
    ) throws(SenderError) -> NIOSSLPrivateKey {
        let text = String(decoding: source.content, as: UTF8.self)
        guard text.contains("PRIVATE KEY-----") else {
            throw SenderError(
                .invalid,
                "\(source.setting): \(source.path) holds no private key; add it, or name its file (\(Self.keySetting))"
            )
        }
        do {
            return try NIOSSLPrivateKey(bytes: source.content, format: .pem) { $0(password ?? []) }
        } catch {
            let advice = text.contains("ENCRYPTED") ? Self.advice(password) : "it is damaged"
            throw SenderError(
                .invalid,
                "\(source.setting): the private key in \(source.path) cannot be read: \(advice)"
            )
        }
    }

    private static func archive(
        _ content: [UInt8],
        _ path: String,
        password: [UInt8]?
    ) throws(SenderError) -> ([NIOSSLCertificate], NIOSSLPrivateKey) {
        let fault: String
        do {
            let archive = try PKCS12Archive(content)
            let key = try archive.privateKey(password: password ?? [])
            let certificates = try archive.certificates(password: password ?? [])
            if !certificates.isEmpty { return (certificates, key) }
            fault = "holds no certificate; export certificate and key together"
        } catch PKCS12Archive.Fault.noArchive {
            fault = "is neither a .p12 archive nor PEM"
        } catch PKCS12Archive.Fault.noKey {
            fault = "holds no private key; export certificate and key together"
        } catch PKCS12Archive.Fault.manyKeys {
            fault = "holds several private keys; export one certificate with its key"
        } catch {
            fault = "cannot be opened: \(Self.advice(password))"
        }
        throw SenderError(.invalid, "\(Self.setting): \(path) \(fault)")
    }

    private static func advice(_ password: [UInt8]?) -> String {
        password == nil
            ? "it has a password; name the file that holds it (\(Self.passwordSetting))"
            : "the password in \(Self.passwordSetting) is wrong, or the file is damaged"
    }

    /// Whether the key is that of the certificate; BoringSSL compares them where TLS is set up with both.
    private static func fits(_ key: NIOSSLPrivateKey, _ certificate: NIOSSLCertificate) -> Bool {
        let pair = TLSConfiguration.makeServerConfiguration(
            certificateChain: [.certificate(certificate)],
            privateKey: .privateKey(key)
        )
        return (try? NIOSSLContext(configuration: pair)) != nil
    }
}
