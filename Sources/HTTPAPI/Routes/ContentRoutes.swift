import HTTPTypes
import Hummingbird
import NIOCore
import PushModel
import Store

/// Uploaded content for rich notifications.
struct ContentRoutes: Sendable {
    let context: RouteContext

    var routes: [Route] {
        [
            Route(.post, "/api/contents", body: .upload, handler: self.upload),
            Route(.get, "/api/contents/{id}", handler: self.download),
        ]
    }

    private func upload(_ request: APIRequest) async throws -> Response {
        let caller = try request.caller
        _ = try request.query.strict(known: [])
        guard !request.body.isEmpty else {
            throw Problem.invalid([InvalidValue("the body is the content; it is empty")])
        }
        let content = StoredContent(
            owner: caller.user,
            mediaType: try Self.mediaType(request.head.headerFields[.contentType]),
            bytes: request.body
        )
        let id = try await self.context.store.put(content, app: request.app)
        var response = Response.json(
            .members([
                "id": .string(id), "mediaType": .string(content.mediaType), "size": .integer(content.bytes.count),
            ]),
            status: .created
        )
        response.headers[.location] = "\(request.prefix)contents/\(id)"
        return response
    }

    /// For who uploaded it, for operators, and for the addressee of a notification that names it.
    private func download(_ request: APIRequest) async throws -> Response {
        let caller = try request.caller
        _ = try request.query.strict(known: [])
        guard let id = request.parameters["id"], (1...128).contains(id.utf8.count), !id.utf8.contains(0),
            let content = try await self.context.store.content(id, app: request.app),
            try await self.mayRead(content, id: id, caller: caller)
        else { throw Problem.notFound("no such content") }
        return Self.response(content)
    }

    private func mayRead(_ content: StoredContent, id: String, caller: Caller) async throws -> Bool {
        if caller.role == .operator { return true }
        guard let user = caller.user else { return false }
        if content.owner == user { return true }
        return try await self.context.store.names(id, in: user, app: caller.app)
    }

    /// Content is handed out as what it was said to be, and as nothing that a browser would run.
    static func response(_ content: StoredContent) -> Response {
        Response(
            status: .ok,
            headers: [
                .contentType: content.mediaType, .cacheControl: "private, no-store",
                .contentSecurityPolicy: "sandbox; default-src 'none'",
            ],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: content.bytes))
        )
    }

    private static func mediaType(_ header: String?) throws -> String {
        guard let header else { return "application/octet-stream" }
        let essence = header.prefix { $0 != ";" }.trimming()
        let halves = essence.split(separator: "/", omittingEmptySubsequences: false)
        let isToken = halves.allSatisfy { half in
            !half.isEmpty
                && half.utf8.allSatisfy { (0x21...0x7E).contains($0) && !"\"(),/:;<=>?@[\\]{}".utf8.contains($0) }
        }
        guard halves.count == 2, isToken, header.utf8.count <= 200,
            header.utf8.allSatisfy({ (0x20...0x7E).contains($0) })
        else { throw Problem.invalid("Content-Type", "must be a media type such as image/png") }
        return header
    }
}
