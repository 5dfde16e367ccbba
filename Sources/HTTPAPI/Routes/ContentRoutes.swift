import HTTPTypes
import Hummingbird
import NIOCore
import PushModel
import Settings
import Store
import WebServing

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
            throw Problem.invalid([InvalidValue("the body is empty; it must be the content")])
        }
        let content = StoredContent(
            owner: caller.user,
            key: caller.key,
            mediaType: try Self.mediaType(request.head.headerFields[.contentType]),
            bytes: request.body
        )
        let quota = request.spec.contents
        let answer = try await self.context.store.put(content, app: request.app, quota: quota)
        guard case .kept(let id) = answer else { throw Self.refusal(answer, of: content, quota: quota) }
        var response = Response.json(
            .members([
                "id": .string(id), "mediaType": .string(content.mediaType), "size": .integer(content.bytes.count),
            ]),
            status: .created
        )
        response.headers[.location] = "\(request.prefix)contents/\(id)"
        return response
    }

    /// For the uploader, operators, and the addressee of a notification with this content.
    private func download(_ request: APIRequest) async throws -> Response {
        let caller = try request.caller
        _ = try request.query.strict(known: [])
        guard let id = request.parameters["id"], (1...128).contains(id.utf8.count), !id.utf8.contains(0),
            let content = try await Self.readable(id, by: caller, within: self.context)
        else { throw Problem.notFound("no such content") }
        return try Self.response(content, for: caller, within: self.context)
    }

    /// The reason of a refused upload, and the remedy.
    private static func refusal(
        _ answer: ContentAcceptance,
        of content: StoredContent,
        quota: AppSpec.Contents
    ) -> Problem {
        let size = ContentAcceptance.cost(of: content)
        let mend = "contents expire (retention.contents), or an operator can raise"
        func detail(_ whose: String, _ used: Int, _ most: Int, _ key: String) -> String {
            "\(whose) has \(used) bytes of uploaded contents; \(size) more would exceed its quota of \(most): \(mend) "
                + "contents.\(key) of the app"
        }
        switch answer {
        case .accountIsFull(let used):
            let text = detail("this account or key", used, quota.accountBytes, "account_bytes")
            return Problem(.insufficientStorage, text, type: "quota-reached")
        case .appIsFull(let used):
            return Problem(
                .insufficientStorage,
                detail("the app", used, quota.appBytes, "app_bytes"),
                type: "quota-reached"
            )
        case .kept, .diskIsNearlyFull:
            return Problem(
                .insufficientStorage,
                "the server's disk is nearly full, and the rest is reserved for sends (store.reserve): uploads are refused "
                    + "until an operator frees space",
                type: "storage-reserve"
            )
        }
    }

    private func mayRead(_ content: StoredContent, id: String, caller: Caller) async throws -> Bool {
        if caller.seesAll { return true }
        guard let user = caller.user else { return content.key == caller.key }
        if content.owner == user { return true }
        return try await self.context.store.names(id, in: user, app: caller.app)
    }

    /// The content that a rich notification is to open; nil if there is none that the caller may read.
    ///
    /// A notification makes its addressee a reader, so whoever knows an id alone may not name it.
    static func readable(_ id: String, by caller: Caller, within context: RouteContext) async throws -> StoredContent? {
        guard let content = try await context.store.content(id, app: caller.app) else { return nil }
        return try await ContentRoutes(context: context).mayRead(content, id: id, caller: caller) ? content : nil
    }

    /// Serves content with its declared media type, and never as a type that a browser would execute.
    ///
    /// It holds its permit until the last piece is written, so that slow readers cannot use up memory.
    ///
    /// - Throws: ``Problem`` 503 when the caller's share of that memory is used up.
    static func response(
        _ content: StoredContent,
        for caller: Caller,
        within context: RouteContext
    ) throws -> Response {
        let bytes = content.bytes
        let isLarge = bytes.count > context.configuration.settings.bodySize
        let permit = isLarge ? try context.large.permit(bytes.count, for: caller) : nil
        return Response(
            status: .ok,
            headers: [
                .contentType: content.mediaType, .cacheControl: "private, no-store",
                .contentSecurityPolicy: "sandbox; default-src 'none'", .resourcePolicy: "same-origin",
            ],
            body: ResponseBody(contentLength: bytes.count) { writer in
                for start in stride(from: 0, to: bytes.count, by: Self.piece) {
                    let end = min(start + Self.piece, bytes.count)
                    try await writer.write(ByteBuffer(bytes: bytes[start..<end]))
                }
                withExtendedLifetime(permit) {}
                try await writer.finish(nil)
            }
        )
    }

    /// Bytes that are written at a time.
    private static let piece = 64 << 10

    /// What may be uploaded: pictures, sound, films and texts that a browser shows without running anything, and plain bytes.
    private static let mediaTypes = [
        "image/png", "image/jpeg", "image/gif", "image/webp", "image/avif", "image/heic", "image/heif", "audio/mpeg",
        "audio/mp4", "audio/aac", "audio/ogg", "audio/wav", "audio/webm", "video/mp4", "video/quicktime", "video/webm",
        "video/ogg", "text/plain", "application/json", "application/pdf", "application/octet-stream",
    ]

    /// The type as it is kept and served: without parameters, but for the one charset that a text may have.
    private static func mediaType(_ header: String?) throws -> String {
        guard let header else { return "application/octet-stream" }
        let parts = header.split(separator: ";", omittingEmptySubsequences: false).map { $0.trimming().lowercased() }
        let isUTF8 = parts.dropFirst().allSatisfy { parameter in
            let pair = parameter.split(separator: "=", maxSplits: 1)
            return pair.first?.trimming() != "charset"
                || ["utf-8", "\"utf-8\"", "us-ascii"].contains(pair.last?.trimming())
        }
        guard let type = Self.mediaTypes.first(where: { $0 == parts[0] }), isUTF8 else {
            let known = Self.mediaTypes.joined(separator: ", ")
            throw Problem(
                .unsupportedMediaType,
                "Content-Type: an upload is one of \(known), and text is UTF-8",
                errors: [InvalidValue(member: "Content-Type", "must be one of \(known), and text UTF-8")],
                headers: [.acceptPost: known]
            )
        }
        return type == "text/plain" ? "\(type); charset=utf-8" : type
    }
}
