import HTTPTypes
import Hummingbird
import PushModel
import WebServing

/// A page, at `/FOLDER/` for the default app and at `/FOLDER/NAME/` for another; open to anybody, for it knows nothing by itself.
struct PageRoutes: Sendable {
    /// `app` or `console`.
    private let folder: String
    private let files: PageFiles
    /// What the page must know before anybody signs in, beside the app's name and services.
    private let configuration: @Sendable (AppSpec) -> [JSONValue.Member]

    /// The app's page.
    static let app = PageRoutes(folder: "app", files: .app) { spec in
        [JSONValue.Member("vapidPublicKey", spec.web.map { JSONValue.string($0.publicKey) } ?? .null)]
    }

    /// The console.
    ///
    /// - Parameter version: This Pushline's.
    /// - Returns: The routes.
    static func console(version: String) -> PageRoutes {
        PageRoutes(folder: "console", files: .console) { _ in [JSONValue.Member("version", .string(version))] }
    }

    private init(
        folder: String,
        files: PageFiles,
        configuration: @escaping @Sendable (AppSpec) -> [JSONValue.Member]
    ) {
        self.folder = folder
        self.files = files
        self.configuration = configuration
    }

    var routes: [Route] {
        let path = "/\(self.folder)"
        return [
            Route(.get, path, access: .open, handler: self.find),
            Route(.get, "\(path)/", access: .open, handler: self.index),
            Route(.get, "\(path)/config.json", access: .app, handler: self.configure),
            Route(.get, "\(path)/{file}", access: .open, handler: self.file),
            Route(.get, "\(path)/{app}/", access: .open, handler: self.index),
            Route(.get, "\(path)/{app}/config.json", access: .app, handler: self.configure),
            Route(.get, "\(path)/{app}/{file}", access: .open, handler: self.file),
        ]
    }

    private func find(_ request: APIRequest) -> Response { Self.redirect(to: "\(self.folder)/") }

    private func index(_ request: APIRequest) throws -> Response {
        try self.answer(request, with: PageFiles.index)
    }

    private func file(_ request: APIRequest) throws -> Response {
        let name = request.parameters["file"] ?? ""
        // The folder of an app, whose links need the slash.
        if self.files.all[name] == nil, request.parameters["app"] == nil, (try? AppID(name)) != nil {
            return Self.redirect(to: "\(name)/")
        }
        return try self.answer(request, with: name)
    }

    private func answer(_ request: APIRequest, with name: String) throws -> Response {
        let isNamed = request.parameters["app"].map { (try? AppID($0)) != nil } ?? true
        guard isNamed else { throw Problem.notFound("no such file") }
        return try self.files.answer(request, with: name)
    }

    /// Leads to another path, relative to the request's: a proxy may have put something before it.
    private static func redirect(to path: String) -> Response {
        Response(status: .permanentRedirect, headers: [.location: path, .cacheControl: "no-cache"])
    }

    private func configure(_ request: APIRequest) throws -> Response {
        _ = try request.query.strict(known: [])
        let services = request.spec.services.filter(\.isInService)
        var response = Response.json(
            .object(
                [
                    JSONValue.Member("app", .string(request.app.name)),
                    JSONValue.Member("services", .array(services.map { .string($0.rawValue) })),
                ] + self.configuration(request.spec)
            )
        )
        response.headers[.cacheControl] = "no-cache"
        return response
    }
}
