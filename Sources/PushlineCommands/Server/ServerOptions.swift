import ArgumentParser
import Foundation
import PushModel
import PushlineClient
import Settings

/// The server and the credentials.
struct ServerOptions: ParsableArguments {
    /// The API of this host, where its configuration says nothing else.
    static let defaultURL = "http://\(APISettings().host):\(APISettings().port)"

    @Option(help: "URL of the server. Default: PUSHLINE_URL, else \(Self.defaultURL).")
    var url: String?

    @OptionGroup var access: AccessOptions

    @Option(help: "The app. Default: PUSHLINE_APP, else the server's default app.")
    var app: String?

    @Option(help: ArgumentHelp("The longest to wait for an answer.", valueName: "seconds"))
    var timeout = 30

    @Option(help: "How to print.")
    var format = OutputFormat.text

    func validate() throws {
        guard (1...3600).contains(self.timeout) else { throw ValidationError("--timeout must be from 1 to 3600.") }
    }

    /// A client of the server.
    ///
    /// - Parameter environment: Says what no option does.
    /// - Returns: The client.
    /// - Throws: ``CommandFailure`` where an option or variable is missing or wrong.
    func client(environment: [String: String] = ProcessInfo.processInfo.environment) throws -> PushlineClient {
        try self.access.client(of: self.url, app: self.app, timeout: self.timeout, environment: environment)
    }

    /// Does something with a job, and says what to try where the server knows none of that id.
    func withJob<Value>(_ id: String, _ work: (PushlineClient) async throws -> Value) async throws -> Value {
        guard JobID(id) != nil else {
            throw CommandFailure.failed(
                "\(Console.safe(id)) is not a whole job id, which has 36 characters: pushline jobs shows them"
            )
        }
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

    /// Writes JSON if that is wanted, else lines.
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
        } while cursor != nil && items.count < limit
        return Array(items.prefix(limit))
    }
}
