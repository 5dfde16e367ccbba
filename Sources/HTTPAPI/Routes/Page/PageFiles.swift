import CResources
import Crypto
import HTTPTypes
import Hummingbird
import NIOCore
import PushModel
import WebServing

/// The files of a page, which are part of the program.
struct PageFiles: Sendable {
    struct File: Sendable {
        /// Its media type.
        let type: String
        let content: ByteBuffer
        /// Its strong entity tag (RFC 9110, 8.8.3), in quotes.
        let tag: String
        /// The same in gzip, with a tag of its own; nil where that is not smaller.
        let compressed: (content: ByteBuffer, tag: String)?

        fileprivate init(type: String, bytes: [UInt8]) {
            self.type = type
            self.content = ByteBuffer(bytes: bytes)
            self.tag = Self.tag(of: bytes)
            let gzip = Gzip.compress(bytes)
            self.compressed = gzip.count < bytes.count ? (ByteBuffer(bytes: gzip), Self.tag(of: gzip)) : nil
        }

        private static func tag(of bytes: [UInt8]) -> String {
            "\"\(Base64URL.encode(Array(SHA256.hash(data: bytes).prefix(16))))\""
        }
    }

    /// The page itself: what the folder's path stands for.
    static let index = "index.html"

    /// The app's page.
    static let app = PageFiles(isConsole: false)
    static let console = PageFiles(isConsole: true)

    /// By name.
    let all: [String: File]

    private init(isConsole: Bool) {
        var files: [String: File] = [:]
        for index in 0..<(isConsole ? console_file_count() : page_file_count()) {
            let file = unsafe isConsole ? console_file_at(index) : page_file_at(index)
            let bytes = unsafe Array(UnsafeBufferPointer(start: file.file.bytes, count: file.file.count))
            unsafe files[String(cString: file.name)] = File(type: String(cString: file.type), bytes: bytes)
        }
        self.all = files
    }

    /// Answers with a file, smaller where the client takes it so, or says that the client has it.
    ///
    /// - Throws: ``Problem`` 404 where there is no such file.
    func answer(_ request: APIRequest, with name: String) throws -> Response {
        guard let file = self.all[name] else { throw Problem.notFound("no such file") }
        let asked = request.head.headerFields
        let compressed = Self.takesGzip(asked) ? file.compressed : nil
        let tag = compressed?.tag ?? file.tag
        var headers = Self.headers
        headers[.eTag] = tag
        headers[.vary] = HTTPField.Name.acceptEncoding.rawName
        if Self.isKnown(tag, to: asked) { return Response(status: .notModified, headers: headers) }
        headers[.contentType] = file.type
        if compressed != nil { headers[.contentEncoding] = "gzip" }
        let content = compressed?.content ?? file.content
        return Response(status: .ok, headers: headers, body: ResponseBody(byteBuffer: content))
    }

    /// Nothing but this server's own files, no markup that a script makes of text, no other page around it.
    ///
    /// `pushline` is the one policy of Trusted Types: it lets the app's page name its service worker.
    private static let contentSecurityPolicy = [
        "default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self' blob: data:",
        "connect-src 'self'",
        "manifest-src 'self'", "worker-src 'self'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
        "require-trusted-types-for 'script'", "trusted-types pushline",
    ].joined(separator: "; ")

    private static let headers: HTTPFields = [
        .contentSecurityPolicy: Self.contentSecurityPolicy,
        .referrerPolicy: "no-referrer",
        .openerPolicy: "same-origin",
        .resourcePolicy: "same-origin",
        .cacheControl: "no-cache",
    ]

    /// Whether the client has the file already (RFC 9110, 13.1.2).
    private static func isKnown(_ tag: String, to headers: HTTPFields) -> Bool {
        guard let tags = headers.text(of: .ifNoneMatch) else { return false }
        return tags.split(separator: ",").contains { part in
            let part = part.trimming()
            return part == "*" || (part.hasPrefix("W/") ? part.dropFirst(2) : part) == tag
        }
    }

    /// Whether the client takes gzip, as browsers say it; whoever gives it a weight gets the file as it is.
    private static func takesGzip(_ headers: HTTPFields) -> Bool {
        let codings = headers.text(of: .acceptEncoding)?.split(separator: ",") ?? []
        return codings.contains { $0.trimming().lowercased() == "gzip" }
    }
}

extension HTTPField.Name {
    fileprivate static let referrerPolicy = HTTPField.Name.known("Referrer-Policy")
    fileprivate static let openerPolicy = HTTPField.Name.known("Cross-Origin-Opener-Policy")
}
