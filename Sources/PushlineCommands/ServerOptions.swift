import ArgumentParser
import Foundation
import PushlineClient

/// Which server to ask, and who asks.
struct ServerOptions: ParsableArguments {
    static let defaultURL = "http://127.0.0.1:8080"

    @Option(help: "Where the server is; PUSHLINE_URL unless given, else \(Self.defaultURL).")
    var url: String?

    @Option(help: "The key to use; PUSHLINE_KEY unless given, which other users of this host cannot see.")
    var key: String?

    @Option(help: "The app; PUSHLINE_APP unless given, else the server's default app.")
    var app: String?

    @Flag(help: "Answer with JSON.")
    var json = false

    func client(environment: [String: String] = ProcessInfo.processInfo.environment) throws -> PushlineClient {
        func given(_ option: String?, _ variable: String) -> String? {
            [option, environment[variable]].compactMap { $0 }.first { !$0.isEmpty }
        }
        let address = given(self.url, "PUSHLINE_URL") ?? Self.defaultURL
        guard let url = URL(string: address), url.scheme == "http" || url.scheme == "https" else {
            throw CommandFailure.usage(
                "--url or PUSHLINE_URL must begin with http:// or https://, such as \(Self.defaultURL)"
            )
        }
        guard let key = given(self.key, "PUSHLINE_KEY") else {
            throw CommandFailure.usage(
                "no key: set PUSHLINE_KEY or give --key; on the server's host, pushline keys create NAME --role operator makes one"
            )
        }
        return PushlineClient(url: url, app: given(self.app, "PUSHLINE_APP"), credentials: .key(key))
    }

    /// Writes JSON where that is wanted, else lines.
    func show(_ value: some Encodable, lines: () -> [String]) throws {
        if self.json { return Console.print(try JSONOutput.encoded(value)) }
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
