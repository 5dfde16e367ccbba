import HTTPTypes
import Hummingbird
import NIOCore
import PushModel
import Store
import WebServing

/// Registrations in bulk, in and out, for operators: handles are given in full.
struct BulkRoutes: Sendable {
    let context: RouteContext
    private let permits: FairPermits

    init(context: RouteContext) {
        self.context = context
        self.permits = FairPermits(context.configuration.bulkRequests)
    }

    var routes: [Route] {
        [
            Route(
                .post,
                "/api/registrations/import",
                body: .stream,
                embeddedOnly: Self.reason,
                handler: self.importRegistrations
            ),
            Route(
                .get,
                "/api/registrations/export",
                embeddedOnly: Self.reason,
                isForViewers: false,
                handler: self.export
            ),
        ]
    }

    private static let reason = "import and export them there, with the hub's own import and export jobs"

    private func importRegistrations(_ request: APIRequest) async throws -> Response {
        try request.caller.requireOperator()
        _ = try request.query.strict(known: [])
        try request.requireLines()
        let permit = try self.permit(for: request)
        defer { withExtendedLifetime(permit) {} }
        defer { self.context.configuration.serving.releaseMemory() }
        let importer = RegistrationImporter(
            store: self.context.store,
            limits: self.context.configuration.serving,
            app: request.app,
            spec: request.spec
        )
        let report = try await self.context.longAct(.devicesImport, request) {
            try await importer.take(request.stream)
        } result: {
            "\($0.lines) lines"
        }
        return .json(report.text)
    }

    private func export(_ request: APIRequest) async throws -> Response {
        try request.caller.requireOperator()
        let list = try ListQuery(request, filters: ["user", "tag", "service"], maximum: Self.maximumPiece)
        let query = RegistrationQuery(
            app: request.app,
            user: try list.user("user"),
            tag: try list.tag("tag"),
            pns: try list.service,
            state: .live,
            cursor: try list.cursor,
            limit: Self.page
        )
        let permit = try self.permit(for: request)
        // Before the first handle is out; the pieces behind it belong to it.
        if query.cursor == nil {
            let act = try self.context.newAct(.devicesExport, user: query.user, request)
            try await self.context.store.record(.new(act, .done))
        }
        let export = RegistrationExport(store: self.context.store, query: query, permit: permit)
        var headers: HTTPFields = [.contentType: "application/x-ndjson", .cacheControl: "no-store"]
        guard list["limit"] == nil else {
            let piece = try await export.piece(try list.limit)
            headers[.cursor] = piece.cursor
            return Response(status: .ok, headers: headers, body: ResponseBody(byteBuffer: piece.lines))
        }
        // The first page comes before the status, so that a store that cannot be read is a refusal.
        let first = try await export.first()
        let limits = self.context.configuration.serving
        let body = ResponseBody { writer in
            let timeout = ProgressTimeout(limits)
            // Only the child task writes, and it has ended when `run` returns.
            nonisolated(unsafe) var writing = writer
            try await timeout.run {
                var page = first
                while true {
                    let lines = page.lines
                    try await timeout.waiting({ lines.readableBytes }) { try await unsafe writing.write(lines) }
                    guard let cursor = page.cursor else { return }
                    page = try await export.page(after: cursor)
                }
            }
            try await writer.finish(nil)
        }
        return Response(status: .ok, headers: headers, body: body)
    }

    /// Registrations read at a time.
    private static let page = 1000
    /// The most of them in an answer that is asked for by the piece.
    private static let maximumPiece = 10_000

    private func permit(for request: APIRequest) throws -> FairPermits.Permit {
        guard let permit = self.permits.permit(for: try request.caller) else {
            throw Problem.later(.serviceUnavailable, "too many imports and exports are in progress", seconds: 5)
        }
        return permit
    }
}

/// Reads live registrations page by page, as lines.
struct RegistrationExport: Sendable {
    struct Piece: Sendable {
        var lines: ByteBuffer
        /// Where the next one begins; nil at the end.
        var cursor: String?
    }

    let store: any RegistrationStore
    let query: RegistrationQuery
    /// Taken until the last byte is written.
    let permit: FairPermits.Permit

    func first() async throws -> Piece { try await self.page(self.query) }

    func page(after cursor: String) async throws -> Piece {
        var query = self.query
        query.cursor = cursor
        return try await self.page(query)
    }

    /// The next `limit` registrations.
    func piece(_ limit: Int) async throws -> Piece {
        var query = self.query
        var piece = Piece(lines: ByteBuffer(), cursor: query.cursor)
        var left = limit
        repeat {
            query.limit = min(self.query.limit, left)
            query.cursor = piece.cursor
            var page = try await self.page(query)
            piece.lines.writeBuffer(&page.lines)
            piece.cursor = page.cursor
            left -= query.limit
        } while left > 0 && piece.cursor != nil
        return piece
    }

    private func page(_ query: RegistrationQuery) async throws -> Piece {
        let page = try await self.store.registrations(query)
        let now = Timestamp.now
        var lines = ByteBuffer()
        for registration in page.items {
            // An expired registration stays live until the sweep, and an import would refuse it.
            if let expires = registration.expires, expires <= now { continue }
            if let line = ImportLine.text(registration) { lines.writeBytes(line) }
        }
        return Piece(lines: lines, cursor: page.cursor)
    }
}
