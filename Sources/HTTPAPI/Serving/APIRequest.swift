import Crypto
import HTTPTypes
import Hummingbird
import NIOCore
import PushModel
import Store
import WebServing

/// A request after routing, authentication and reading: all that a handler needs, handed on without copying it.
final class APIRequest: Sendable {
    let head: HTTPRequest
    /// As it came, without the query.
    let path: String
    let rawQuery: String
    let template: String
    /// Whether its route is one that existing apps know.
    let isClassic: Bool
    let parameters: [String: String]
    let query: QueryParameters
    let body: [UInt8]
    /// Whether the body holds a permit of ``LargeBodies``.
    let isLarge: Bool
    /// The body as it comes, where the route reads none of it beforehand.
    let stream: RequestBody
    let app: AppID
    let spec: AppSpec
    /// nil on routes that admit anybody.
    let identity: Caller?
    /// Who asks where no caller is known; nil on other routes.
    let client: IPAddress?
    /// The other end of the connection.
    let connection: SocketAddress?
    /// By what way an act comes that it asks for.
    let via: ActVia

    init(
        _ request: Request,
        match: RouteTable.Match,
        body: BodyReader.Body,
        app: AppID,
        spec: AppSpec,
        identity: Caller?,
        client: IPAddress? = nil,
        connection: SocketAddress? = nil,
        via: ActVia = .api
    ) {
        self.head = request.head
        self.path = request.uri.path
        self.rawQuery = request.uri.query ?? ""
        self.template = match.template
        self.isClassic = match.route.isClassic
        self.parameters = match.parameters
        self.query = QueryParameters(request.uri.query)
        self.body = body.bytes
        self.isLarge = body.permit != nil
        self.stream = body.stream
        self.app = app
        self.spec = spec
        self.identity = identity
        self.client = client
        self.connection = connection
        self.via = via
    }

    /// - Throws: ``Problem`` 401 on a route that admits anybody.
    var caller: Caller {
        get throws {
            guard let identity else { throw Problem(.unauthorized, "authentication required") }
            return identity
        }
    }

    /// `/api/` or `/api/apps/NAME/`: the prefix of links in the answer.
    var prefix: String {
        self.template.hasPrefix(Route.appPrefix) ? "/api/apps/\(self.app.name)/" : Route.apiPrefix
    }

    var preference: Preference { Preference(self.head.headerFields[values: HTTPField.Name.prefer]) }

    /// The body as JSON, on a modern route.
    ///
    /// - Throws: ``Problem``: 415 for another media type, 400 for malformed JSON.
    func json() throws -> JSONValue {
        if let essence = self.mediaType {
            guard essence == Self.json || (essence.hasPrefix("application/") && essence.hasSuffix("+json"))
            else {
                throw Problem(
                    .unsupportedMediaType,
                    "the body must be application/json",
                    headers: [HTTPField.Name.acceptPost: "application/json"]
                )
            }
        }
        return try self.anyJSON()
    }

    private static let json = "application/json"

    /// The body's media type without parameters, in lower case.
    private var mediaType: String? {
        guard let text = self.head.headerFields.text(of: .contentType) else { return nil }
        // The usual spelling.
        if text == Self.json { return text }
        return text.prefix { $0 != ";" }.trimming().lowercased()
    }

    /// The body as JSON, whatever its declared media type: existing apps need not be exact.
    func anyJSON() throws -> JSONValue {
        do { return try JSONReader.read(self.body) } catch { throw Problem.invalid(error) }
    }

    /// Checks that the media type is lines of JSON, or absent.
    ///
    /// - Throws: ``Problem`` 415.
    func requireLines() throws {
        guard let essence = self.mediaType else { return }
        guard ["application/x-ndjson", "application/ndjson", "application/jsonl"].contains(essence) else {
            throw Problem(
                .unsupportedMediaType,
                "the body must be application/x-ndjson: one JSON object a line",
                headers: [HTTPField.Name.acceptPost: "application/x-ndjson"]
            )
        }
    }

    /// The identity of this request and its repeats (rule 17); nil without an `Idempotency-Key`.
    func idempotency(route: String) throws -> NewJob.Idempotency? {
        guard let key = try self.idempotencyKey else { return nil }
        return try .init(caller: self.caller.description, route: route, key: key, hash: self.hash(of: self.body))
    }

    /// The key under which the caller may repeat the request, if there is one.
    var idempotencyKey: String? {
        get throws {
            guard let key = self.head.headerFields.text(of: .idempotencyKey) else { return nil }
            guard (1...255).contains(key.utf8.count), key.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
                throw Problem.invalid("Idempotency-Key", "must have 1 to 255 visible ASCII characters")
            }
            return key
        }
    }

    /// SHA-256 over path, query and these bytes of the body.
    func hash(of body: [UInt8]) -> [UInt8] {
        var hash = SHA256()
        for part in [Array(self.path.utf8), Array(self.rawQuery.utf8), body] {
            hash.update(data: Array("\(part.count):".utf8))
            hash.update(data: part)
        }
        return Array(hash.finalize())
    }
}
