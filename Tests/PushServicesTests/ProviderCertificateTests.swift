import Foundation
import PushModel
import PushServices
import PushlineSimulator
import Testing
import Undisturbed

/// Certificates in files as people have them: read, or refused in one line.
@Suite("Files of provider certificates", .serialized, .undisturbed)
struct ProviderCertificateTests {
    private let folder = FileManager.default.temporaryDirectory.appending(path: "certificates-\(UUID().uuidString)")

    init() throws { try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true) }

    private func file(_ content: Data?, _ name: String) throws -> String? {
        guard let content else { return nil }
        let path = self.folder.appending(path: name)
        try content.write(to: path, options: .atomic)
        return path.path
    }

    /// What the sender's maker says to these files; nil = it is content.
    private func fault(
        _ certificate: Data,
        key: Data? = nil,
        password: String? = nil,
        of senders: Senders
    ) throws -> String? {
        var app = senders
        app.spec.apns?.authentication = .certificate(
            .init(
                file: try #require(try self.file(certificate, "certificate")),
                privateKeyFile: try self.file(key, "key"),
                passwordFile: try self.file(password.map { Data($0.utf8) }, "password")
            )
        )
        do {
            _ = try app.sender(.apns)
            return nil
        } catch let error as SenderError {
            return error.message
        }
    }

    /// Files that are read.
    struct Readable: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var certificate: Data
        var key: String?
        var password: String?
    }

    @Test(
        "certificates are read from archives and from PEM",
        arguments: [
            Readable(testDescription: "AES", certificate: Archives.modern, password: "secret"),
            Readable(testDescription: "RC2, a line break", certificate: Archives.legacy, password: "secret\r\n"),
            Readable(testDescription: "not encrypted", certificate: Archives.unencrypted, password: "secret"),
            Readable(testDescription: "no password", certificate: Archives.withoutPassword),
            Readable(
                testDescription: "PEM with an encrypted key",
                certificate: Data((Archives.certificate + Archives.encryptedKey).utf8),
                password: "secret"
            ),
            Readable(
                testDescription: "PEM, the key before its certificate, which is not the first",
                certificate: Data((Archives.encryptedKey + Archives.otherCertificate + Archives.certificate).utf8),
                password: "secret"
            ),
            Readable(
                testDescription: "PEM with a key beside it",
                certificate: Data(Archives.certificate.utf8),
                key: Archives.encryptedKey,
                password: "secret"
            ),
        ]
    )
    func readable(test: Readable) async throws {
        try await Senders.with { senders in
            let key = test.key.map { Data($0.utf8) }
            let fault = try self.fault(test.certificate, key: key, password: test.password, of: senders)
            #expect(fault == nil)
        }
    }

    /// Files that are not, and what is said of them.
    struct Unreadable: Sendable, CustomTestStringConvertible {
        var words: String
        var certificate: Data
        var key: String?
        var password: String?
        var testDescription: String { self.words }
    }

    private static let refused = [
        Unreadable(words: "it has a password; name the file", certificate: Archives.modern),
        Unreadable(
            words: "the password in apns.certificate_password_file is wrong",
            certificate: Archives.legacy,
            password: "hush"
        ),
        Unreadable(
            words: "the password in apns.certificate_password_file is wrong",
            certificate: Archives.modern,
            password: "hush"
        ),
        Unreadable(
            words: "the password in apns.certificate_password_file is wrong",
            certificate: Archives.withoutPassword,
            password: "hush"
        ),
        Unreadable(words: "holds no password", certificate: Archives.modern, password: "\n"),
        Unreadable(words: "characters besides ASCII", certificate: Archives.modern, password: "hüsh"),
        // NIOSSL would end the process for these three.
        Unreadable(words: "holds no certificate; export", certificate: Archives.keyAlone, password: "secret"),
        Unreadable(words: "holds no private key; export", certificate: Archives.certificateAlone, password: "secret"),
        Unreadable(words: "belongs to no certificate", certificate: Archives.strangersCertificate, password: "secret"),
        Unreadable(
            words: "is neither a .p12 archive nor PEM",
            certificate: Archives.modern.prefix(700),
            password: "secret"
        ),
        Unreadable(words: "is neither a .p12 archive nor PEM", certificate: Data([0x30, 0x80])),
        Unreadable(
            words: "leave the setting out",
            certificate: Archives.modern,
            key: Archives.encryptedKey,
            password: "secret"
        ),
        Unreadable(words: "holds no private key; add it", certificate: Data(Archives.certificate.utf8)),
        Unreadable(
            words: "apns.private_key_file: ",
            certificate: Data(Archives.certificate.utf8),
            key: Archives.otherCertificate
        ),
        Unreadable(words: "holds no certificate", certificate: Data(Archives.encryptedKey.utf8), password: "secret"),
        Unreadable(
            words: "belongs to no certificate",
            certificate: Data(Archives.otherCertificate.utf8),
            key: Archives.encryptedKey,
            password: "secret"
        ),
        Unreadable(
            words: "cannot be read: it has a password",
            certificate: Data((Archives.certificate + Archives.encryptedKey).utf8)
        ),
        Unreadable(
            words: "cannot be read: the password",
            certificate: Data((Archives.certificate + Archives.encryptedKey).utf8),
            password: "hush"
        ),
        Unreadable(
            words: "cannot be read: it is damaged",
            certificate: Data(
                (Archives.certificate + "-----BEGIN PRIVATE KEY-----\naHVzaA==\n-----END PRIVATE KEY-----\n").utf8
            )
        ),
        Unreadable(words: "is empty", certificate: Data()),
    ]

    @Test("what is wrong with a file is said in a line that holds nothing of it", arguments: Self.refused)
    func unreadable(test: Unreadable) async throws {
        try await Senders.with { senders in
            let key = test.key.map { Data($0.utf8) }
            let said = try self.fault(test.certificate, key: key, password: test.password, of: senders)
            let words = try #require(said)
            #expect(words.hasPrefix("apns.") && words.contains(test.words), "\(words)")
            #expect(!words.contains("hush") && !words.contains("secret") && !words.contains("\n"))
        }
    }

    @Test("an archive that is damaged anywhere is refused or read, and ends nothing")
    func damaged() async throws {
        try await Senders.with { senders in
            for archive in [Archives.modern, Archives.legacy, Archives.unencrypted, Archives.strangersCertificate] {
                for place in stride(from: 0, to: archive.count, by: 19) {
                    var damaged = archive
                    damaged[place] ^= 0x41
                    _ = try self.fault(damaged, password: "secret", of: senders)
                }
            }
        }
    }

    @Test("files that are not there are named")
    func missing() async throws {
        try await Senders.with { senders in
            var app = senders
            let there = try #require(try self.file(Archives.modern, "there"))
            for (certificate, key, password) in [
                ("/nowhere.p12", nil, nil), (there, nil, "/nowhere.password"),
            ] as [(String, String?, String?)] {
                app.spec.apns?.authentication = .certificate(
                    .init(file: certificate, privateKeyFile: key, passwordFile: password)
                )
                let error = #expect(throws: SenderError.self) { try app.sender(.apns) }
                #expect(error?.code == .unreadableFile && error?.message.contains("/nowhere") == true)
            }
        }
    }
}
