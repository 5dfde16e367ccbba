public import Foundation

/// Talks to the HTTP API of a Pushline server.
///
/// An app on a phone signs in with a name and password and registers its device; a backend signs in with a key and sends:
///
/// ```swift
/// let client = PushlineClient(url: url, credentials: .key("plk_…"))
/// let job = try await client.send(PushNotification(to: .user("ann"), title: "Hello", body: "It works"))
/// let outcome = try await client.waitForOutcome(of: job.id)
/// ```
///
/// Every call ends by its ``deadline`` and throws ``PushlineError``; a cancelled task throws `CancellationError`.
public struct PushlineClient: Sendable {
    /// The caller's credentials.
    public enum Credentials: Sendable {
        /// An account of the app: its name and password.
        case account(name: String, password: String)
        /// The secret of a backend's key, `plk_…`.
        case key(String)
        /// A token of the app's own issuer (a JWT), for its user.
        case token(String)

        var header: String {
            switch self {
            case .account(let name, let password): "Basic " + Data("\(name):\(password)".utf8).base64EncodedString()
            case .key(let secret), .token(let secret): "Bearer \(secret)"
            }
        }
    }

    /// Where the server is, such as `https://push.example.com`.
    public let url: URL
    /// The app that the calls are about; nil = the server's default app.
    public let app: String?
    /// The longest time that one call may take.
    public let deadline: Duration
    private let credentials: Credentials?
    private let transport: any HTTPTransport

    /// A client of one app.
    ///
    /// - Parameters:
    ///   - url: The server's address, without `/api`.
    ///   - app: The app's name; nil = the server's default app.
    ///   - credentials: The caller's credentials.
    ///   - deadline: The longest time for one call.
    public init(url: URL, app: String? = nil, credentials: Credentials, deadline: Duration = .seconds(30)) {
        self.init(
            url: url,
            app: app,
            credentials: credentials,
            deadline: deadline,
            transport: URLSessionTransport.shared
        )
    }

    /// A client with another transport than Foundation's URL loading; without credentials it may ask only what is open to anybody.
    package init(url: URL, app: String?, credentials: Credentials?, deadline: Duration, transport: any HTTPTransport) {
        self.url = url
        self.app = app
        self.credentials = credentials
        self.deadline = deadline
        self.transport = transport
    }

    /// A call's method, path, query and body.
    struct Call {
        var method: String
        /// Below `/api/`, each part as it is: it is escaped here.
        var path: [String]
        var query: [(name: String, value: String?)] = []
        var headers: [String: String] = [:]
        var body: Data?
    }

    /// Makes a call and reads the JSON of its answer.
    func value<Value: Decodable>(_ call: Call) async throws -> Value {
        try self.read(try await self.answer(call), of: call)
    }

    /// Reads the JSON of a call's answer.
    func read<Value: Decodable>(_ answer: HTTPAnswer, of call: Call) throws -> Value {
        do {
            return try Coding.decoder().decode(Value.self, from: answer.body)
        } catch DecodingError.dataCorrupted(let context) where context.codingPath.isEmpty {
            throw PushlineError(
                .unexpectedAnswer,
                "\(self.place) answered \(answer.status) without JSON, and is not a Pushline API",
                isForeign: true
            )
        } catch {
            throw PushlineError(.unexpectedAnswer, "the server's answer to \(call.method) is not understood: \(error)")
        }
    }

    /// Makes a call; any answer but 2xx is an error.
    @discardableResult
    func answer(_ call: Call) async throws -> HTTPAnswer {
        let request = try self.request(call)
        let answer = try await self.answer(to: request)
        guard (200..<300).contains(answer.status) else { throw PushlineError(refusal: answer, of: self.place) }
        return answer
    }

    /// Scheme, host and port of the server, for messages: its path or query could hold a secret.
    package var place: String {
        "\(self.url.scheme ?? "")://\(self.url.host ?? "")\(self.url.port.map { ":\($0)" } ?? "")"
    }

    /// Whether calls are made as somebody.
    package var hasCredentials: Bool { self.credentials != nil }

    /// Asks for what is open to anybody beside the API proper, such as `/healthz`, and shows no credentials.
    ///
    /// - Parameter path: The path.
    /// - Returns: The answer, with any status.
    /// - Throws: ``PushlineError`` without one.
    package func answer(at path: String) async throws -> HTTPAnswer {
        try await self.answer(to: HTTPRequest(method: "GET", url: try self.address(path), headers: [:]))
    }

    private func answer(to request: HTTPRequest) async throws -> HTTPAnswer {
        try await self.withDeadline { try await self.transport.answer(to: request) }
    }

    func request(_ call: Call) throws -> HTTPRequest {
        let parts = (self.app.map { ["apps", $0] } ?? []) + call.path
        // URLs and proxies take them out of a path, and another resource would be meant.
        if let part = parts.first(where: { [".", ".."].contains($0) }) {
            throw PushlineError(
                .invalidRequest,
                "\"\(part)\" cannot be a name in a path: clients and proxies take it out"
            )
        }
        var path = "/api/" + parts.map(Self.escape).joined(separator: "/")
        let query = call.query.compactMap { name, value in value.map { "\(name)=\(Self.escape($0))" } }
        if !query.isEmpty { path += "?" + query.joined(separator: "&") }
        let url = try self.address(path)
        var headers = call.headers
        headers["Authorization"] = self.credentials?.header
        if headers["Accept"] == nil { headers["Accept"] = "application/json" }
        if call.body != nil, headers["Content-Type"] == nil { headers["Content-Type"] = "application/json" }
        return HTTPRequest(method: call.method, url: url, headers: headers, body: call.body)
    }

    /// Below the server's own address, which may have a path.
    private func address(_ path: String) throws -> URL {
        var text = self.url.absoluteString
        while text.hasSuffix("/") { text.removeLast() }
        guard let url = URL(string: text + path), url.scheme == "http" || url.scheme == "https", url.host != nil else {
            throw PushlineError(
                .invalidURL,
                "\(self.url) is not the address of a server: it must begin with http:// or https://"
            )
        }
        return url
    }

    /// Everything but RFC 3986's unreserved characters: `+` is a space in a query, and `/` would end a part of the path.
    static func escape(_ text: String) -> String {
        var escaped = ""
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                escaped.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                let digits = String(byte, radix: 16, uppercase: true)
                escaped += digits.count == 1 ? "%0\(digits)" : "%\(digits)"
            }
        }
        return escaped
    }

    private func withDeadline<Value: Sendable>(_ work: @escaping @Sendable @concurrent () async throws -> Value)
        async throws
        -> Value
    {
        let deadline = self.deadline
        return try await withThrowingTaskGroup(of: Value.self) { group in
            group.addTask(operation: work)
            group.addTask {
                try await Task.sleep(for: deadline)
                throw PushlineError(.timeout, "the server did not answer within \(deadline)")
            }
            defer { group.cancelAll() }
            guard let first = try await group.next() else { throw CancellationError() }
            return first
        }
    }
}
