import HTTPTypes
import Hummingbird
import PushModel
import WebServing

/// A path, a method and their handler.
struct Route: Sendable {
    /// The callers a route admits.
    enum Access: Sendable {
        /// Anybody, and no app is looked up.
        case open
        /// Anybody, of an app that is declared.
        case app
        /// An authenticated caller of the app.
        case caller
    }

    let method: HTTPRequest.Method
    /// The path, such as `/api/jobs/{id}`.
    ///
    /// Templates that begin with `/api/` exist for each app as `/api/apps/{app}/…` too.
    let template: String
    let access: Access
    let body: BodyKind
    /// Whether existing apps know it.
    ///
    /// Then its path is found in any letter case and with a slash at its end, and it waits for the hub's answer only.
    let isClassic: Bool
    /// Whether an `Idempotency-Key` makes a repeat the same request.
    let takesKey: Bool
    /// Why an app whose hub is over a wire has no such route; nil = it has.
    let embeddedOnly: String?
    /// Whether viewers may ask for it: it changes nothing, and gives no handles.
    let isForViewers: Bool
    let handler: @Sendable (APIRequest) async throws -> Response

    init(
        _ method: HTTPRequest.Method,
        _ template: String,
        access: Access = .caller,
        body: BodyKind = .none,
        isClassic: Bool = false,
        takesKey: Bool = false,
        embeddedOnly: String? = nil,
        isForViewers: Bool? = nil,
        handler: @escaping @Sendable (APIRequest) async throws -> Response
    ) {
        self.method = method
        self.template = template
        self.access = access
        self.body = body
        self.isClassic = isClassic
        self.takesKey = takesKey
        self.embeddedOnly = embeddedOnly
        self.isForViewers = isForViewers ?? (method == .get)
        self.handler = handler
    }

    static let apiPrefix = "/api/"
    static let appPrefix = "/api/apps/{app}/"

    /// The template of the same route for any app, or nil if the route belongs to none.
    var appTemplate: String? {
        self.template.hasPrefix(Self.apiPrefix)
            ? Self.appPrefix + self.template.dropFirst(Self.apiPrefix.count)
            : nil
    }
}

/// Finds the route for a path and method: of those that fit the one with the fewest parameters, and of these the first.
///
/// Only where none does, a tolerant one is looked for in other letter cases.
struct RouteTable: Sendable {
    /// The route of a request.
    struct Match: Sendable {
        let route: Route
        /// The matched template, for metrics and logs instead of the path.
        let template: String
        let parameters: [String: String]
    }

    private struct Entry: Sendable {
        let template: String
        let segments: [Substring]
        var routes: [HTTPRequest.Method: Route]

        var isClassic: Bool { self.routes.values.contains { $0.isClassic } }
        var parameterCount: Int { self.segments.count { $0.hasPrefix("{") } }

        /// - Parameters:
        ///   - path: The path's segments.
        ///   - ignoringCase: Whether literal segments match in any letter case.
        /// - Returns: The parameters; nil for another path.
        func parameters(_ path: [Substring], ignoringCase: Bool = false) -> [String: String]? {
            guard path.count == self.segments.count else { return nil }
            var parameters: [String: String] = [:]
            for (segment, part) in zip(self.segments, path) {
                if segment.hasPrefix("{") {
                    guard !part.isEmpty, let value = PercentCoding.decode(part, plusIsSpace: false) else {
                        return nil
                    }
                    parameters[String(segment.dropFirst().dropLast())] = value
                } else if segment != part, !ignoringCase || segment != part.lowercased() {
                    return nil
                }
            }
            return parameters
        }

        func match(_ method: HTTPRequest.Method, parameters: [String: String]) throws -> Match {
            guard let route = self.routes[method == .head ? .get : method] else {
                var allowed = self.routes.keys.map(\.rawValue)
                if self.routes[.get] != nil { allowed.append(HTTPRequest.Method.head.rawValue) }
                throw Problem(
                    .methodNotAllowed,
                    "this path takes \(allowed.sorted().joined(separator: ", "))",
                    headers: [.allow: allowed.sorted().joined(separator: ", ")]
                )
            }
            return Match(route: route, template: self.template, parameters: parameters)
        }
    }

    private var entries: [Entry] = []
    private var tolerant: [Entry] = []
    /// Which of them has no parameters, by its path.
    private var literals: [String: Int] = [:]

    init(_ routes: [Route]) {
        for route in routes {
            for template in [route.template, route.appTemplate].compactMap({ $0 }) {
                if let index = self.entries.firstIndex(where: { $0.template == template }) {
                    self.entries[index].routes[route.method] = route
                } else {
                    let segments = template.split(separator: "/", omittingEmptySubsequences: false)
                    self.entries.append(Entry(template: template, segments: segments, routes: [route.method: route]))
                }
            }
        }
        // The one with fewer parameters comes first: `/api/apps/{app}/dead/groups` is no `{id}`.
        let sorted = self.entries.enumerated().sorted {
            ($0.element.parameterCount, $0.offset) < ($1.element.parameterCount, $1.offset)
        }
        self.entries = sorted.map(\.element)
        for (index, entry) in self.entries.enumerated() where entry.parameterCount == 0 {
            self.literals[entry.template] = index
        }
        self.tolerant = self.entries.filter(\.isClassic)
    }

    /// Every template with its methods, for the test that holds the OpenAPI document to it.
    var methods: [String: Set<HTTPRequest.Method>] {
        Dictionary(uniqueKeysWithValues: self.entries.map { ($0.template, Set($0.routes.keys)) })
    }

    /// - Throws: ``Problem``: 404 for an unknown path, 405 with `Allow` for another method.
    func match(_ method: HTTPRequest.Method, path: String) throws -> Match {
        // Most paths have no parameters, and are found without splitting.
        if let index = self.literals[path] { return try self.entries[index].match(method, parameters: [:]) }
        var parts = PercentCoding.parts(of: path[...], at: "/")
        for entry in self.entries {
            if let parameters = entry.parameters(parts) { return try entry.match(method, parameters: parameters) }
        }
        if parts.last?.isEmpty == true { parts.removeLast() }
        for entry in self.tolerant {
            if let parameters = entry.parameters(parts, ignoringCase: true) {
                return try entry.match(method, parameters: parameters)
            }
        }
        throw Problem.notFound("no such path; GET /openapi.yaml lists them")
    }
}
