import NIOCore
import PushModel

/// A request from any listener, independent of the HTTP version.
struct InboundRequest {
    /// One header line; the name is in lower case.
    struct Field {
        var name: String
        var value: String
    }

    var method: String
    /// Path and query, as on the request line.
    var path: String
    /// Without the pseudo-headers of HTTP/2.
    var fields: [Field]
    /// At most ``maximumBody`` bytes of it.
    var body: ByteBuffer
    /// The size of the body as sent.
    var bodySize: Int

    /// More of a body is counted, not kept: no push service takes half as much.
    static let maximumBody = 65_536

    /// The first value under this lower-case name.
    subscript(name: String) -> String? {
        for field in self.fields where field.name == name {
            return field.value
        }
        return nil
    }

    /// What APNs knows a push by; one to a channel has it under another name.
    var notificationID: String? { self["apns-id"] ?? self["apns-request-id"] }

    var bodyText: String {
        String(buffer: self.body)
    }

    /// The path without its query.
    var pathOnly: Substring {
        self.path.prefix { $0 != "?" }
    }

    /// The decoded pairs of the query.
    var query: [(name: String, value: String)] {
        guard let mark = self.path.firstIndex(of: "?") else { return [] }
        return FormCoding.decode(self.path[self.path.index(after: mark)...])
    }
}

/// A complete HTTP answer.
struct Answer: Equatable {
    var status: Int
    var fields: [Field] = []
    var body: String = ""

    struct Field: Equatable {
        var name: String
        var value: String
    }

    mutating func add(_ name: String, _ value: String) {
        self.fields.append(Field(name: name, value: value))
    }

    static func json(_ status: Int, _ body: String) -> Answer {
        Answer(status: status, fields: [Field(name: "content-type", value: "application/json")], body: body)
    }
}

/// A listener's reaction to a request.
struct Reaction {
    enum Kind {
        case answer(Answer)
        /// RST_STREAM with INTERNAL_ERROR; on HTTP/1.1 the connection is cut.
        case reset
        /// RST_STREAM with REFUSED_STREAM, which means "not processed"; on HTTP/1.1 the connection is closed.
        case refuse
        /// The connection is cut without a word.
        case close
        /// GOAWAY that leaves this request unprocessed, then the end of the connection.
        case goAway(debug: String)
        /// Never answered.
        case silence
        /// ``garbage`` instead of an answer, and nothing after it.
        case garbage
    }

    /// A greeting of SMTP, which is neither HTTP/1.1 nor, as a frame of three million bytes, HTTP/2.
    static let garbage = "220 mail.example.com ESMTP ready\r\n"

    var kind: Kind
    var delay: TimeAmount?
    /// A new SETTINGS_MAX_CONCURRENT_STREAMS, sent before the answer.
    var maxConcurrentStreams: Int?
    /// Answers, then sends GOAWAY with this debug data and lets open streams finish.
    var goAwayAfter: String?

    init(_ kind: Kind, delay: TimeAmount? = nil) {
        self.kind = kind
        self.delay = delay
    }
}

/// The state of a connection between its requests; used only on its event loop.
final class ConnectionMemory {
    /// The provider certificate of the handshake; nil = the client has shown none.
    let certificate: APNsCertificate?
    /// The valid provider tokens of late, with their `iat`.
    var providerTokens: [(token: String, issued: Double)] = []
    /// When another token than the one before came.
    var tokenChanges: [Double] = []
    /// The provider token in use.
    var current: String?
    /// Whether a valid provider token has come, which opens the streams.
    var isTrusted = false
    /// The last payload found good, so that a campaign's equal payloads are parsed once.
    var lastGoodBody: ByteBuffer?

    init(certificate: APNsCertificate? = nil) { self.certificate = certificate }
}

/// Answers requests; one for each listener.
protocol Responder: Sendable {
    func respond(to request: InboundRequest, on connection: ConnectionMemory) -> Reaction
}

/// `application/x-www-form-urlencoded`, as used in bodies and queries.
enum FormCoding {
    /// Decodes a query; malformed escapes are kept as text.
    static func decode(_ text: Substring) -> [(name: String, value: String)] {
        text.split(separator: "&").map { pair in
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return (Self.unescape(parts[0]), parts.count > 1 ? Self.unescape(parts[1]) : "")
        }
    }

    private static func unescape(_ text: Substring) -> String {
        PercentCoding.decode(text, plusIsSpace: true) ?? String(text)
    }

    static func isAlphanumeric(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
            || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
    }
}
