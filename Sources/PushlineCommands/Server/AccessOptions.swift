import ArgumentParser
import Foundation
import NIOSSL
import PushModel
import PushlineClient

/// How a server is asked: with which key, and whose certificates are trusted.
struct AccessOptions: ParsableArguments {
    @Option(help: "The API key. Better set PUSHLINE_KEY: other users of this host can see --key.")
    var key: String?

    @Option(
        help: ArgumentHelp(
            "Trust the authorities in this PEM file, in place of this machine's; PUSHLINE_CA_FILE unless given.",
            valueName: "file"
        ),
        completion: .file()
    )
    var caFile: String?

    /// A client of a server.
    ///
    /// - Parameters:
    ///   - url: The server, where an option names it.
    ///   - app: The app, likewise.
    ///   - timeout: The longest to wait for an answer, in seconds.
    ///   - environment: Says what no option does.
    ///   - needsKey: Whether there must be a key.
    /// - Returns: The client.
    /// - Throws: ``CommandFailure`` where an option or variable is missing or wrong.
    func client(
        of url: String?,
        app: String?,
        timeout: Int,
        environment: [String: String] = ProcessInfo.processInfo.environment,
        needsKey: Bool = true
    ) throws -> PushlineClient {
        func given(_ option: String?, _ variable: String) -> String? {
            [option, environment[variable]].compactMap { $0 }.first { !$0.isEmpty }
        }
        let address = given(url, "PUSHLINE_URL") ?? ServerOptions.defaultURL
        guard let url = URL(string: address), url.scheme == "http" || url.scheme == "https" else {
            throw CommandFailure.usage(
                "--url or PUSHLINE_URL must begin with http:// or https://, such as \(ServerOptions.defaultURL)"
            )
        }
        let key = given(self.key, "PUSHLINE_KEY")
        guard key != nil || !needsKey else {
            throw CommandFailure.usage(
                "no key: set PUSHLINE_KEY or give --key; on the server's host, pushline keys create NAME --role sender makes one, for operators --role operator"
            )
        }
        if key != nil, let host = Self.plainHost(url) {
            Console.note(
                "pushline: warning: the key goes to \(Console.safe(host)) without encryption, so anyone on the way can read it; "
                    + "use https://"
            )
        }
        let file = given(self.caFile, "PUSHLINE_CA_FILE")
        let name = self.caFile == nil ? "PUSHLINE_CA_FILE" : "--ca-file"
        return PushlineClient(
            url: url,
            app: given(app, "PUSHLINE_APP"),
            credentials: key.map { .key($0) },
            deadline: .seconds(timeout),
            transport: ServerTransport(authorities: try file.map { try Self.authorities($0, option: name) })
        )
    }

    /// The host that a key would be sent to in plain text; nil if it goes by TLS, or stays on this machine.
    static func plainHost(_ url: URL) -> String? {
        guard url.scheme == "http", let host = url.host?.lowercased() else { return nil }
        let address = String(host.trimmingPrefix("[").prefix { $0 != "]" })
        return host.hasSuffix(".localhost") || IPAddress.isLoopback(host: address) ? nil : host
    }

    private static func authorities(_ path: String, option: String) throws -> [NIOSSLCertificate] {
        let content = try InputFile.open(path, option: option).readToEnd() ?? Data()
        guard let found = try? NIOSSLCertificate.fromPEMBytes(Array(content)), !found.isEmpty else {
            throw CommandFailure.usage("\(option): \(path) has no certificate in PEM (-----BEGIN CERTIFICATE-----)")
        }
        return found
    }
}
