import HummingbirdCore
import HummingbirdHTTP2
import Installation
import Logging
import NIOConcurrencyHelpers
import NIOCore
import NIOSSL
import PushServices
import ServiceLifecycle
import Settings

/// HTTPS with the certificate of two files: once they are replaced, new connections get the new one.
final class ServedCertificate: ServerChildChannel, Service {
    typealias Value = HTTP2UpgradeChannel.Value

    private struct State {
        var channel: HTTP2UpgradeChannel
        var files: [CredentialFile]
        /// The fault of the present files, while the previous ones are served.
        var fault: ConfigurationError?
    }

    /// The section of the configuration that names the files.
    private let section: String
    private let certificateFile: String
    private let keyFile: String
    private let make: @Sendable (TLSConfiguration) throws -> HTTP2UpgradeChannel
    private let interval: Duration
    private let watch: CredentialWatch
    private let logger: Logger
    private let state: NIOLockedValueBox<State>

    /// - Parameters:
    ///   - section: The section of the configuration that names the files.
    ///   - certificateFile: The certificate chain, in PEM.
    ///   - keyFile: The private key, in PEM.
    ///   - interval: The time between checks of the files.
    ///   - logger: Logs replacements and approaching expiry.
    ///   - make: Makes the TLS channel for a configuration.
    /// - Throws: ``ConfigurationError`` if the files are invalid.
    init(
        section: String = "api",
        certificateFile: String,
        keyFile: String,
        interval: Duration = .seconds(2),
        logger: Logger,
        make: @escaping @Sendable (TLSConfiguration) throws -> HTTP2UpgradeChannel
    ) throws {
        self.section = section
        self.certificateFile = certificateFile
        self.keyFile = keyFile
        self.interval = interval
        self.logger = logger
        self.watch = CredentialWatch(logger: logger)
        self.make = make
        let (channel, files) = try Self.load(section, certificateFile, keyFile, make)
        self.state = NIOLockedValueBox(State(channel: channel, files: files))
    }

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        self.state.withLockedValue { $0.channel }.setup(channel: channel, logger: logger)
    }

    func handle(value: Value, logger: Logger) async {
        await self.state.withLockedValue { $0.channel }.handle(value: value, logger: logger)
    }

    func run() async throws {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                self.look()
                // Cancelled = shutdown: the loop ends.
                try? await Task.sleep(for: self.interval)
            }
        }
    }

    /// The certificate, if it ends soon.
    var nearEnds: [CredentialWatch.Ending] { self.watch.near }

    private func look() {
        let setting = "\(self.section).certificate_file"
        if let end = CredentialExpiry.ofCertificates(setting: setting, path: self.certificateFile, isChain: true) {
            self.watch.check(end, of: nil)
        }
        let hasChanged = self.state.withLockedValue { state in
            state.files.indices.contains { state.files[$0].hasChanged() }
        }
        guard hasChanged else { return }
        do {
            let (channel, files) = try Self.load(self.section, self.certificateFile, self.keyFile, self.make)
            self.state.withLockedValue { $0 = State(channel: channel, files: files) }
            self.logger.notice("The certificate changed; new connections use the new one")
        } catch {
            // One file after the other: the pair fits at the next look.
            let fault =
                (error as? ConfigurationError)
                ?? ConfigurationError("\(self.section).key_file: TLS cannot be set up with it")
            let isNew = self.state.withLockedValue { state in
                defer { state.fault = fault }
                return state.fault != fault
            }
            guard isNew else { return }
            self.logger.warning(
                "Loading the new certificate failed; the old one stays in use",
                metadata: ["error": "\(fault)"]
            )
        }
    }

    private static func load(
        _ section: String,
        _ certificateFile: String,
        _ keyFile: String,
        _ make: (TLSConfiguration) throws -> HTTP2UpgradeChannel
    ) throws -> (HTTP2UpgradeChannel, [CredentialFile]) {
        let (certificate, chain) = try Self.read("\(section).certificate_file", certificateFile) {
            try NIOSSLCertificate.fromPEMBytes($0)
        }
        let (key, privateKey) = try Self.read("\(section).key_file", keyFile) {
            try NIOSSLPrivateKey(bytes: $0, format: .pem)
        }
        var tls = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain.map { .certificate($0) },
            privateKey: .privateKey(privateKey)
        )
        tls.minimumTLSVersion = .tlsv12
        do {
            return (try make(tls), [certificate, key])
        } catch {
            throw ConfigurationError(
                "\(section).key_file: \(keyFile) is not the key of the certificate in \(certificateFile)"
            )
        }
    }

    private static func read<Value>(
        _ setting: String,
        _ path: String,
        _ parse: ([UInt8]) throws -> Value
    ) throws -> (CredentialFile, Value) {
        do {
            let (file, content) = try CredentialFile.read(path, setting: setting)
            return (file, try parse(content))
        } catch {
            throw ConfigurationError("\(setting): \(path) cannot be read as PEM")
        }
    }
}
