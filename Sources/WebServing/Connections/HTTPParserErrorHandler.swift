import HTTPTypes
package import NIOCore
import NIOHTTP1
package import NIOHTTPTypes
import PushModel

/// Gives the server's answer to malformed HTTP the same body as every refusal.
///
/// Hummingbird answers such a connection 400 without a body and closes it; no request reaches a front.
package final class HTTPParserErrorHandler: ChannelDuplexHandler, RemovableChannelHandler {
    package typealias InboundIn = HTTPRequestPart
    package typealias InboundOut = HTTPRequestPart
    package typealias OutboundIn = HTTPResponsePart
    package typealias OutboundOut = HTTPResponsePart

    /// The body of a refusal of 400, and its media type.
    package typealias Refusal = @Sendable (_ detail: String) -> (type: String, body: [UInt8])

    private let headerSize: Int
    private let refusal: Refusal
    private var fault: String?
    /// What is wrong where the parser itself found no fault.
    private var reason: String?

    /// - Parameters:
    ///   - headerSize: The most bytes of a request line and headers, for the words.
    ///   - refusal: Puts the words into the form of the server's refusals; the API's by default.
    package init(headerSize: Int, refusal: @escaping Refusal = HTTPParserErrorHandler.problem) {
        self.headerSize = headerSize
        self.refusal = refusal
    }

    package func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard let event = event as? HTTP1Head.Refused else { return context.fireUserInboundEventTriggered(event) }
        self.reason = event.detail
    }

    package func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if let fault = error as? HTTPParserError { self.fault = self.reason ?? self.words(for: fault) }
        context.fireErrorCaught(error)
    }

    package func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        // The answer to an earlier request may come first: ours are known by their id.
        guard let fault = self.fault, case .head(let head) = self.unwrapOutboundIn(data),
            head.status == .badRequest, head.headerFields[.requestID] == nil
        else { return context.write(data, promise: promise) }
        self.fault = nil
        let (type, body) = self.refusal(fault)
        let answer = HTTPResponse(
            status: .badRequest,
            headerFields: [
                .connection: "close", .contentType: type, .contentLength: String(body.count),
                .contentTypeOptions: "nosniff",
            ]
        )
        context.write(self.wrapOutboundOut(.head(answer)), promise: nil)
        context.write(self.wrapOutboundOut(.body(ByteBuffer(bytes: body))), promise: promise)
    }

    private func words(for fault: HTTPParserError) -> String {
        switch fault {
        case .headerOverflow:
            // 431 would fit too, but not every client and proxy knows it.
            "the request line and the headers have at most \(self.headerSize) bytes, and there are at most "
                + "\(Self.headerCount) headers"
        case .invalidMethod: "unknown HTTP method"
        case .invalidURL: "the request target must be a path"
        case .invalidVersion: "the version is not HTTP/1.1"
        case .invalidHeaderToken, .invalidCharactersUsed: "a header contains invalid characters"
        case .invalidContentLength, .unexpectedContentLength:
            "Content-Length and Transfer-Encoding contradict each other"
        case .invalidChunkSize: "a chunk size is not a number"
        default: "this is not HTTP/1.1"
        }
    }

    /// The form of the API's refusals.
    package static func problem(_ detail: String) -> (type: String, body: [UInt8]) {
        (Problem.mediaType, Problem(.badRequest, detail, type: "malformed-request").json.bytes)
    }

    /// The most headers of a request.
    package static let headerCount = 100
}
