import HTTPTypes
import Hummingbird
import PushModel

/// Answers to pages of other origins in browsers (CORS, in the Fetch standard), where the app declares those origins.
///
/// Without credentials in the standard's sense: a page sends `Authorization` itself, and cookies mean nothing here.
enum CrossOrigin {
    /// The methods of our routes; HEAD needs no leave.
    static let methods: [HTTPRequest.Method] = [.get, .post, .put, .patch, .delete]
    /// The headers of requests that a page may set, besides those that need no leave.
    static let requestHeaders: [HTTPField.Name] = [.authorization, .contentType, .idempotencyKey, .prefer]
    /// The headers of answers that a page may read, besides those that need no leave.
    static let responseHeaders: [HTTPField.Name] = [
        .location, .retryAfter, .preferenceApplied, .job, .cursor, .requestID, .wwwAuthenticate, .allow, .acceptPost,
    ]

    /// The app whose declaration decides; nil for paths of no app.
    static func app(of path: String) -> AppID? {
        let parts = path.split(separator: "/", maxSplits: 4, omittingEmptySubsequences: false)
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

    /// Lets the page read the answer.
    static func allow(_ origin: String, _ headers: inout HTTPFields) {
        headers[.accessControlAllowOrigin] = origin
        headers[.accessControlExposeHeaders] = Self.list(Self.responseHeaders)
    }

    private static func list(_ names: [HTTPField.Name]) -> String {
        names.map(\.rawName).joined(separator: ", ")
    }
}
