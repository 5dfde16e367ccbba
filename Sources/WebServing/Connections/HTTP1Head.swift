import NIOCore
import NIOHTTP1

/// Knows what requests of HTTP/1 are before their version is lost, and refuses those that do not say whom they mean.
///
/// It stands before the conversion to parts without a version, where ``EarlyResponseHandler`` puts it. A request of HTTP/1.0 is put
/// into the words of HTTP/1.1: it closes the connection unless it asks to keep it, and waits for no leave to send its body.
final class HTTP1Head: ChannelDuplexHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    /// An event before the error of a parser: what is wrong with a request that the parser itself takes.
    struct Refused {
        let detail: String
    }

    /// The request that came last is of HTTP/1.0.
    private(set) var isOld = false
    /// The next answer is to a request of HTTP/1.0, and has no chunks.
    var answersOld = false
    /// Nothing is read after a request that was refused.
    private var isRefused = false

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if self.isRefused { return }
        guard case .head(var head) = self.unwrapInboundIn(data) else { return context.fireChannelRead(data) }
        self.isOld = (head.version.major, head.version.minor) < (1, 1)
        guard Self.hasHost(head.headers["host"], isOld: self.isOld) else {
            self.isRefused = true
            context.fireUserInboundEventTriggered(Refused(detail: Self.wrongHost))
            return context.fireErrorCaught(HTTPParserError.unknown)
        }
        guard self.isOld else { return context.fireChannelRead(data) }
        if !Self.keepsAlive(head.headers) { head.headers.replaceOrAdd(name: "connection", value: "close") }
        if Expectation(head.headers[canonicalForm: "expect"]) == .goAhead { head.headers.remove(name: "expect") }
        context.fireChannelRead(self.wrapInboundOut(.head(head)))
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // What the parser thinks of the bytes behind a refused request is of no interest.
        if self.isRefused, error is HTTPParserError { return }
        context.fireErrorCaught(error)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard self.answersOld, case .head(var head) = self.unwrapOutboundIn(data) else {
            return context.write(data, promise: promise)
        }
        // The encoder frames by it: chunks, or the end of the connection.
        head.version = .http1_0
        context.write(self.wrapOutboundOut(.head(head)), promise: promise)
    }

    private static let wrongHost =
        "a request of HTTP/1.1 has one header Host, with a name or an address and perhaps a port"

    /// One host, where one must be; an empty one is of a target without an authority (RFC 9112, 3.2).
    private static func hasHost(_ values: [String], isOld: Bool) -> Bool {
        guard let host = values.first else { return isOld }
        return values.count == 1 && host.utf8.allSatisfy(Self.mayBeInHost)
    }

    private static func mayBeInHost(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: Self.marks.contains(byte)
        }
    }

    /// Of names, addresses in brackets and ports (RFC 3986, 3.2.2).
    private static let marks = Array("-._~!$&'()*+,;=%:[]".utf8)

    /// A body in chunks is none of HTTP/1.0, and nothing after it can be trusted to be a request.
    private static func keepsAlive(_ headers: HTTPHeaders) -> Bool {
        let options = headers[canonicalForm: "connection"].map { $0.lowercased() }
        return options.contains("keep-alive") && !options.contains("close")
            && !headers.contains(name: "transfer-encoding")
    }
}
