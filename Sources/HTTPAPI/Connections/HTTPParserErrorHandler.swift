import HTTPTypes
package import NIOCore
import NIOHTTP1
package import NIOHTTPTypes
import PushModel

/// Gives the server's answer to malformed HTTP the same body as every refusal.
///
/// Hummingbird answers such a connection 400 without a body and closes it; no request reaches ``APIResponder``.
package final class HTTPParserErrorHandler: ChannelDuplexHandler, RemovableChannelHandler {
    package typealias InboundIn = HTTPRequestPart
    package typealias InboundOut = HTTPRequestPart
    package typealias OutboundIn = HTTPResponsePart
    package typealias OutboundOut = HTTPResponsePart

    private let headerSize: Int
    private var fault: HTTPParserError?

    /// - Parameter headerSize: The most bytes of a request line and headers, for the words.
    package init(headerSize: Int) { self.headerSize = headerSize }

    package func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if let fault = error as? HTTPParserError { self.fault = fault }
        context.fireErrorCaught(error)
    }

    package func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        // The answer to an earlier request may come first: ours are known by their id.
        guard let fault = self.fault, case .head(let head) = self.unwrapOutboundIn(data),
            head.status == .badRequest, head.headerFields[.requestID] == nil
        else { return context.write(data, promise: promise) }
        self.fault = nil
        let problem = self.problem(fault)
        let body = problem.json.bytes
        let answer = HTTPResponse(
            status: problem.status,
            headerFields: [
                .connection: "close", .contentType: Problem.mediaType, .contentLength: String(body.count),
                .contentTypeOptions: "nosniff",
            ]
        )
        context.write(self.wrapOutboundOut(.head(answer)), promise: nil)
        context.write(self.wrapOutboundOut(.body(ByteBuffer(bytes: body))), promise: promise)
    }

    private func problem(_ fault: HTTPParserError) -> Problem {
        switch fault {
        case .headerOverflow:
            // 431 would fit too, but not every client and proxy knows it.
            Self.malformed(
                "the request line and the headers have at most \(self.headerSize) bytes, and there are at most "
                    + "\(Self.headerCount) headers"
            )
        case .invalidMethod: Self.malformed("unknown HTTP method")
        case .invalidURL: Self.malformed("the request target must be a path")
        case .invalidVersion: Self.malformed("the version is not HTTP/1.1")
        case .invalidHeaderToken, .invalidCharactersUsed: Self.malformed("a header contains invalid characters")
        case .invalidContentLength, .unexpectedContentLength:
            Self.malformed("Content-Length and Transfer-Encoding contradict each other")
        case .invalidChunkSize: Self.malformed("a chunk size is not a number")
        default: Self.malformed("this is not HTTP/1.1")
        }
    }

    private static func malformed(_ detail: String) -> Problem {
        Problem(.badRequest, detail, type: "malformed-request")
    }

    /// The most headers of a request.
    package static let headerCount = 100
}
