import ArgumentParser
import Foundation
import NIOSSL
import PushModel
import PushlineClient
import Settings

/// The server and the credentials.
struct ServerOptions: ParsableArguments {
    /// The API of this host, where its configuration says nothing else.
    static let defaultURL = "http://\(APISettings().host):\(APISettings().port)"

    @Option(help: "URL of the server. Default: PUSHLINE_URL, else \(Self.defaultURL).")
    var url: String?

    @Option(help: "The API key. Better set PUSHLINE_KEY: other users of this host can see --key.")
    var key: String?

    @Option(help: "The app. Default: PUSHLINE_APP, else the server's default app.")
    var app: String?

    @Option(
        help: ArgumentHelp(
            "Trust the authorities in this PEM file, in place of this machine's; PUSHLINE_CA_FILE unless given.",
            valueName: "file"
        ),
        completion: .file()
    )
    var caFile: String?

    @Option(help: ArgumentHelp("The longest to wait for an answer.", valueName: "seconds"))
    var timeout = 30

    @Option(help: "How to print.")
    var format = OutputFormat.text

    func validate() throws {
        guard (1...3600).contains(self.timeout) else { throw ValidationError("--timeout must be from 1 to 3600.") }
    }

    /// A client of the server.
    ///
    /// - Parameters:
    ///   - environment: Says what no option does.
    ///   - needsKey: Whether there must be a key.
    /// - Returns: The client.
    /// - Throws: ``CommandFailure`` where an option or variable is missing or wrong.
    func client(
        environment: [String: String] = ProcessInfo.processInfo.environment,
        needsKey: Bool = true
    ) throws -> PushlineClient {
        func given(_ option: String?, _ variable: String) -> String? {
            [option, environment[variable]].compactMap { $0 }.first { !$0.isEmpty }
        }
        let address = given(self.url, "PUSHLINE_URL") ?? Self.defaultURL
        guard let url = URL(string: address), url.scheme == "http" || url.scheme == "https" else {
            throw CommandFailure.usage(
                "--url or PUSHLINE_URL must begin with http:// or https://, such as \(Self.defaultURL)"
            )
        }
        let key = given(self.key, "PUSHLINE_KEY")
        guard key != nil || !needsKey else {
            throw CommandFailure.usage(
                "no key: set PUSHLINE_KEY or give --key; on the server's host, pushline keys create NAME --role operator makes one"
            )
        }
        if key != nil, let host = Self.plainHost(url) {
            Console.note(
                "pushline: warning: the key goes to \(Console.safe(host)) without encryption, for whoever is on the way to read; "
                    + "use https://"
            )
        }
        let file = given(self.caFile, "PUSHLINE_CA_FILE")
        let name = self.caFile == nil ? "PUSHLINE_CA_FILE" : "--ca-file"
        return PushlineClient(
            url: url,
            app: given(self.app, "PUSHLINE_APP"),
            credentials: key.map { .key($0) },
            deadline: .seconds(self.timeout),
            transport: ServerTransport(authorities: try file.map { try Self.authorities($0, option: name) })
        )
    }

    /// The host that a key would be sent to in plain text; nil where it goes by TLS, or stays on this machine.
    static func plainHost(_ url: URL) -> String? {
        guard url.scheme == "http", let host = url.host?.lowercased() else { return nil }
        let isLoopback =
            host == "localhost" || host.hasSuffix(".localhost")
            || IPAddress(host.trimmingPrefix("[").prefix { $0 != "]" })?.isLoopback == true
        return isLoopback ? nil : host
    }

    /// Does something with a job, and says what to try where the server knows none of that id.
    func withJob<Value>(_ id: String, _ work: (PushlineClient) async throws -> Value) async throws -> Value {
        let client = try self.client()
        do {
            return try await work(client)
        } catch let error as PushlineError where error.code == .notFound && !error.isForeign {
            throw CommandFailure.failed(
                "the app \(client.app ?? AppID.default.name) has no job \(Console.safe(id)) that this key may see; "
                    + "for another app's give --app and a key of that app"
            )
        }
    }

    private static func authorities(_ path: String, option: String) throws -> [NIOSSLCertificate] {
        let content = try InputFile.open(path, option: option).readToEnd() ?? Data()
        guard let found = try? NIOSSLCertificate.fromPEMBytes(Array(content)), !found.isEmpty else {
            throw CommandFailure.usage("\(option): \(path) has no certificate in PEM (-----BEGIN CERTIFICATE-----)")
        }
        return found
    }

    /// Writes JSON where that is wanted, else lines.
    func show(_ value: some Encodable, lines: () -> [String]) throws {
        if self.format == .json { return Console.print(try JSONOutput.encoded(value)) }
        for line in lines() { Console.print(line) }
    }
}

/// Reads a list piece by piece until there are enough.
enum Pages {
    static func collect<Item: Sendable & Codable>(
        _ limit: Int,
        _ next: (_ limit: Int, _ cursor: String?) async throws -> Page<Item>
    ) async throws -> [Item] {
        var items: [Item] = []
        var cursor: String?
        repeat {
            let page = try await next(min(1000, limit - items.count), cursor)
            items += page.items
            cursor = page.cursor
            if page.items.isEmpty { break }
        } while cursor != nil && items.count < limit
        return Array(items.prefix(limit))
    }
}
