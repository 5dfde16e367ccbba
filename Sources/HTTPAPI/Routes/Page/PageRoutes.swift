import HTTPTypes
import Hummingbird
import PushModel
import WebServing

/// The app's page, at `/app/` for the default app and at `/app/NAME/` for another; open to anybody, for it knows nothing by itself.
struct PageRoutes: Sendable {
    var routes: [Route] {
        [
            Route(.get, "/app", access: .open, handler: self.folder),
            Route(.get, "/app/", access: .open, handler: self.index),
            Route(.get, "/app/config.json", access: .app, handler: self.configuration),
            Route(.get, "/app/{file}", access: .open, handler: self.file),
            Route(.get, "/app/{app}/", access: .open, handler: self.index),
            Route(.get, "/app/{app}/config.json", access: .app, handler: self.configuration),
            Route(.get, "/app/{app}/{file}", access: .open, handler: self.file),
        ]
    }

    /// Nothing but this server's own files, no markup that a script makes of text, no other page around it.
    ///
    /// `pushline` is the one policy of Trusted Types: it lets the page name its service worker.
    private static let contentSecurityPolicy = [
        "default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self' blob: data:",
        "connect-src 'self'",
        "manifest-src 'self'", "worker-src 'self'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
        "require-trusted-types-for 'script'", "trusted-types pushline",
    ].joined(separator: "; ")

    private static func headers(_ file: PageFiles.File) -> HTTPFields {
        [
            .contentSecurityPolicy: Self.contentSecurityPolicy,
            .referrerPolicy: "no-referrer",
            .openerPolicy: "same-origin",
            .resourcePolicy: "same-origin",
            .eTag: file.tag,
            .cacheControl: "no-cache",
        ]
    }

    private func folder(_ request: APIRequest) -> Response { Self.redirect(to: "app/") }

    private func index(_ request: APIRequest) throws -> Response {
        try Self.answer(request, with: PageFiles.index)
    }

    private func file(_ request: APIRequest) throws -> Response {
        let name = request.parameters["file"] ?? ""
        // The folder of an app, whose links need the slash.
        if PageFiles.all[name] == nil, request.parameters["app"] == nil, (try? AppID(name)) != nil {
            return Self.redirect(to: "\(name)/")
        }
        return try Self.answer(request, with: name)
    }

    private static func answer(_ request: APIRequest, with name: String) throws -> Response {
        let isNamed = request.parameters["app"].map { (try? AppID($0)) != nil } ?? true
        guard isNamed, let file = PageFiles.all[name] else { throw Problem.notFound("no such file") }
        var headers = Self.headers(file)
        if Self.isKnown(file.tag, to: request.head.headerFields) {
            return Response(status: .notModified, headers: headers)
        }
        headers[.contentType] = file.type
        return Response(status: .ok, headers: headers, body: ResponseBody(byteBuffer: file.content))
    }

    /// Whether the client has the file already (RFC 9110, 13.1.2).
    private static func isKnown(_ tag: String, to headers: HTTPFields) -> Bool {
        guard let tags = headers.text(of: .ifNoneMatch) else { return false }
        return tags.split(separator: ",").contains { part in
            let part = part.trimming()
            return part == "*" || (part.hasPrefix("W/") ? part.dropFirst(2) : part) == tag
        }
    }

    /// Leads to another path, relative to the request's: a proxy may have put something before it.
    private static func redirect(to path: String) -> Response {
        Response(status: .permanentRedirect, headers: [.location: path, .cacheControl: "no-cache"])
    }

    /// What the page must know before anybody signs in.
    private func configuration(_ request: APIRequest) throws -> Response {
        _ = try request.query.strict(known: [])
        let services = request.spec.services.filter(\.isInService)
        let key = request.spec.web?.publicKey
        var response = Response.json(
            .object([
                JSONValue.Member("app", .string(request.app.name)),
                JSONValue.Member("services", .array(services.map { .string($0.rawValue) })),
                JSONValue.Member("vapidPublicKey", key.map { .string($0) } ?? .null),
            ])
        )
        response.headers[.cacheControl] = "no-cache"
        return response
    }
}

extension HTTPField.Name {
    fileprivate static let referrerPolicy = HTTPField.Name.known("Referrer-Policy")
    fileprivate static let openerPolicy = HTTPField.Name.known("Cross-Origin-Opener-Policy")
}
