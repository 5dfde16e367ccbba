import NIOCore
import NIOHTTP1

/// Serves one HTTP/1.1 connection: one request at a time, as WNS wants it.
final class HTTP1ServerHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let responder: any Responder
    private let memory = ConnectionMemory()
    private var request: InboundRequest?
    private var keepAlive = true
    private var isAnswering = false

    private static let absurdBody = 1 << 24

    init(responder: any Responder) {
        self.responder = responder
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch Self.unwrapInboundIn(data) {
        case .head(let head):
            guard !self.isAnswering else {
                // Pipelining, which WNS forbids.
                context.close(promise: nil)
                return
            }
            self.keepAlive = head.isKeepAlive
            self.request = InboundRequest(
                method: head.method.rawValue,
                path: head.uri,
                fields: head.headers.map { .init(name: $0.name.lowercased(), value: $0.value) },
                body: ByteBuffer(),
                bodySize: 0
            )
        case .body(let bytes):
            guard var request = self.request else { return }
            self.request = nil
            request.bodySize += bytes.readableBytes
            guard request.bodySize <= Self.absurdBody else {
                context.close(promise: nil)
                return
            }
            let capacity = InboundRequest.maximumBody - request.body.readableBytes
            if let kept = bytes.getSlice(at: bytes.readerIndex, length: min(capacity, bytes.readableBytes)) {
                request.body.writeImmutableBuffer(kept)
            }
            self.request = request
        case .end:
            guard let request = self.request else { return }
            self.request = nil
            self.isAnswering = true
            self.react(to: request, context: context)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    private func react(to request: InboundRequest, context: ChannelHandlerContext) {
        let reaction = self.responder.respond(to: request, on: self.memory)
        guard let delay = reaction.delay else {
            self.perform(reaction, context: context)
            return
        }
        context.eventLoop.assumeIsolated().scheduleTask(in: delay) {
            self.perform(reaction, context: context)
        }
    }

    private func perform(_ reaction: Reaction, context: ChannelHandlerContext) {
        switch reaction.kind {
        case .answer(let answer):
            self.write(answer, close: !self.keepAlive || reaction.goAwayAfter != nil, context: context)
        case .reset, .refuse, .close, .goAway:
            context.close(promise: nil)
        case .silence:
            break
        case .garbage:
            self.writeGarbage(context: context)
        }
    }

    private func writeGarbage(context: ChannelHandlerContext) {
        let bytes = NIOAny(ByteBuffer(string: Reaction.garbage))
        do {
            // From below the HTTP handlers, so that only TLS processes the bytes.
            try context.pipeline.syncOperations.context(handlerType: HTTPResponseEncoder.self)
                .writeAndFlush(bytes, promise: nil)
        } catch {
            context.close(promise: nil)
        }
    }

    private func write(_ answer: Answer, close: Bool, context: ChannelHandlerContext) {
        var headers = HTTPHeaders(answer.fields.map { ($0.name, $0.value) })
        headers.add(name: "content-length", value: String(answer.body.utf8.count))
        if close { headers.add(name: "connection", value: "close") }
        let head = HTTPResponseHead(version: .http1_1, status: .init(statusCode: answer.status), headers: headers)
        context.write(Self.wrapOutboundOut(.head(head)), promise: nil)
        if !answer.body.isEmpty {
            let body = context.channel.allocator.buffer(string: answer.body)
            context.write(Self.wrapOutboundOut(.body(.byteBuffer(body))), promise: nil)
        }
        let written = close ? context.eventLoop.makePromise(of: Void.self) : nil
        context.writeAndFlush(Self.wrapOutboundOut(.end(nil)), promise: written)
        self.isAnswering = false
        // Not before: what the socket had not taken yet would be dropped.
        written?.futureResult.assumeIsolated().whenComplete { _ in context.close(promise: nil) }
    }
}
