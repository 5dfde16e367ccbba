import HTTPTypes
import Hummingbird
import PushModel
import WebServing

/// Answers to pages of other origins in browsers (CORS, in the Fetch standard), where the app declares those origins.
///
/// Without credentials in the standard's sense: a page sends `Authorization` itself, and a session's cookie is refused (``PageOrigin``).
enum CrossOrigin {
    /// The methods of our routes; HEAD needs no leave.
    static let methods: [HTTPRequest.Method] = [.get, .post, .put, .patch, .delete]
    /// The headers of requests that a page may set, besides those that need no leave.
    static let requestHeaders: [HTTPField.Name] = [
        .authorization, .contentType, .idempotencyKey, .prefer, .traceParent, .traceState,
    ]
    /// The headers of answers that a page may read, besides those that need no leave.
    static let responseHeaders: [HTTPField.Name] = [
        .location, .retryAfter, .preferenceApplied, .job, .cursor, .requestID, .wwwAuthenticate, .allow, .acceptPost,
    ]

    /// The app whose declaration decides; nil for paths of no app.
    static func app(of path: String) -> AppID? {
        let parts = PercentCoding.parts(of: path[...], at: "/", maxSplits: 4)
        guard parts.count > 2, parts[0].isEmpty, parts[1].lowercased() == "api" else { return nil }
        guard parts.count > 3, parts[2].lowercased() == "apps" else { return .default }
        return PercentCoding.decode(parts[3], plusIsSpace: false).flatMap { try? AppID($0) }
    }

    /// The answer to a browser that asks before it sends (a preflight); nil for another request.
    ///
    /// It says what the API takes at all: what the path takes, the request itself is told.
    static func preflight(_ request: Request) -> Response? {
        guard request.method == .options, request.headers[.accessControlRequestMethod] != nil else { return nil }
        return Response(
            status: .noContent,
            headers: [
                .accessControlAllowMethods: Self.methods.map(\.rawValue).joined(separator: ", "),
                .accessControlAllowHeaders: Self.list(Self.requestHeaders),
                .accessControlMaxAge: "3600",
            ]
        )
    }

    /// Whether answers on the path may differ by origin, so that a cache must keep them apart.
    static func isDecided(on path: String) -> Bool { path.prefix(5).lowercased() == "/api/" }

    /// Refuses a password that a browser may have added to the request of a page that the app does not declare.
    ///
    /// A browser adds those that it has stored to what any page asks for. A request without `Sec-Fetch-Site` is of no browser, or
    /// of one on a connection in plain text.
    ///
    /// - Parameters:
    ///   - headers: The request's.
    ///   - spec: The app's declaration.
    /// - Throws: ``Problem`` 403.
    static func refuseForeignPage(_ headers: HTTPFields, spec: AppSpec) throws {
        guard ["cross-site", "same-site"].contains(headers.text(of: .fetchSite)) else { return }
        let origin = headers.text(of: .origin)
        guard spec.api.origins.contains(where: { $0.text == origin }) else {
            throw Problem.forbidden("a page of an origin that the app does not declare may not use a password")
        }
    }

    /// Lets the page read the answer.
    static func allow(_ origin: String, _ headers: inout HTTPFields) {
        headers[.accessControlAllowOrigin] = origin
        headers[.accessControlExposeHeaders] = Self.list(Self.responseHeaders)
    }

    private static func list(_ names: [HTTPField.Name]) -> String {
        names.map(\.rawName).joined(separator: ", ")
    }
}
