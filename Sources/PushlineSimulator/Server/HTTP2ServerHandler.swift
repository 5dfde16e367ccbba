import NIOCore
import NIOHPACK
import NIOHTTP2

/// Serves one HTTP/2 connection frame by frame, because faults need RST_STREAM, GOAWAY and SETTINGS at will.
final class HTTP2ServerHandler: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame
    typealias OutboundOut = HTTP2Frame

    private struct Stream {
        var request: InboundRequest
        var uncredited = 0
        var isComplete = false
    }

    private let responder: any Responder
    private let memory: ConnectionMemory
    private var streams: [HTTP2StreamID: Stream] = [:]
    private var highestStream = HTTP2StreamID.rootStream
    private var highestAnswered = HTTP2StreamID.rootStream
    private var uncredited = 0
    private var mustFlush = false
    /// Set by GOAWAY: the connection ends when its streams have.
    private var isEnding = false
    /// Set by the garbage action: later events are ignored.
    private var isMute = false

    /// A body beyond this is not worth waiting for.
    private static let absurdBody = 1 << 20
    private static let streamCredit = 32_768
    private static let connectionWindow = 1 << 24

    init(responder: any Responder, memory: ConnectionMemory) {
        self.responder = responder
        self.memory = memory
    }

    func handlerAdded(context: ChannelHandlerContext) {
        let more = Self.connectionWindow - 65_535
        self.write(.windowUpdate(windowSizeIncrement: more), on: .rootStream, context: context)
        context.flush()
        self.mustFlush = false
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !self.isMute else { return }
        let frame = Self.unwrapInboundIn(data)
        switch frame.payload {
        case .headers(let headers):
            self.begin(frame.streamID, headers, context: context)
        case .data(let data):
            self.receive(data, on: frame.streamID, context: context)
        case .rstStream:
            self.streams[frame.streamID] = nil
            self.closeIfEnded(context: context)
        default:
            break
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        self.flushIfNeeded(context: context)
        context.fireChannelReadComplete()
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.streams = [:]
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // After garbage the client has to close the connection.
        guard !self.isMute else { return }
        if error is NIOHTTP2Errors.MaxStreamsViolation {
            self.writeGoAway(last: self.highestStream, debug: "exceeded_max_concurrent_streams", context: context)
        }
        context.flush()
        // Closed a moment later, so that the GOAWAY is out and read before the end.
        context.eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(100)) {
            context.close(promise: nil)
        }
    }

    private func begin(_ id: HTTP2StreamID, _ frame: HTTP2Frame.FramePayload.Headers, context: ChannelHandlerContext) {
        if self.streams[id] != nil {
            // Trailers: nothing in them matters here.
            if frame.endStream { self.complete(id, context: context) }
            return
        }
        self.highestStream = max(self.highestStream, id)
        var request = InboundRequest(method: "", path: "", fields: [], body: ByteBuffer(), bodySize: 0)
        request.fields.reserveCapacity(frame.headers.count)
        for (name, value, _) in frame.headers {
            switch name {
            case ":method": request.method = value
            case ":path": request.path = value
            case ":scheme", ":authority": break
            default: request.fields.append(.init(name: name, value: value))
            }
        }
        self.streams[id] = Stream(request: request)
        if frame.endStream { self.complete(id, context: context) }
    }

    private func receive(
        _ frame: HTTP2Frame.FramePayload.Data,
        on id: HTTP2StreamID,
        context: ChannelHandlerContext
    ) {
        guard case .byteBuffer(let bytes) = frame.data else { return }
        let size = bytes.readableBytes + (frame.paddingBytes.map { $0 + 1 } ?? 0)
        self.uncredited += size
        if self.uncredited > Self.connectionWindow / 2 {
            self.write(.windowUpdate(windowSizeIncrement: self.uncredited), on: .rootStream, context: context)
            self.uncredited = 0
        }
        guard var stream = self.streams.removeValue(forKey: id) else { return }
        stream.request.bodySize += bytes.readableBytes
        if stream.request.bodySize > Self.absurdBody {
            self.write(.rstStream(.enhanceYourCalm), on: id, context: context)
            return
        }
        let capacity = InboundRequest.maximumBody - stream.request.body.readableBytes
        if let kept = bytes.getSlice(at: bytes.readerIndex, length: min(capacity, bytes.readableBytes)) {
            stream.request.body.writeImmutableBuffer(kept)
        }
        stream.uncredited += size
        if stream.uncredited > Self.streamCredit, !frame.endStream {
            self.write(.windowUpdate(windowSizeIncrement: stream.uncredited), on: id, context: context)
            stream.uncredited = 0
        }
        self.streams[id] = stream
        if frame.endStream { self.complete(id, context: context) }
    }

    private func complete(_ id: HTTP2StreamID, context: ChannelHandlerContext) {
        guard let stream = self.streams[id], !stream.isComplete else { return }
        self.streams[id]?.isComplete = true
        let reaction = self.responder.respond(to: stream.request, on: self.memory)
        self.streams[id]?.request.body = ByteBuffer()
        guard let delay = reaction.delay else {
            self.perform(reaction, on: id, context: context)
            return
        }
        context.eventLoop.assumeIsolated().scheduleTask(in: delay) {
            // The stream is gone: the client reset it, or the connection has ended.
            guard self.streams[id] != nil, !self.isMute else { return }
            self.perform(reaction, on: id, context: context)
            self.flushIfNeeded(context: context)
        }
    }

    private func perform(_ reaction: Reaction, on id: HTTP2StreamID, context: ChannelHandlerContext) {
        if let limit = reaction.maxConcurrentStreams {
            let setting = HTTP2Setting(parameter: .maxConcurrentStreams, value: limit)
            self.write(.settings(.settings([setting])), on: .rootStream, context: context)
        }
        switch reaction.kind {
        case .answer(let answer):
            self.write(answer, on: id, context: context)
        case .reset:
            self.end(id, .internalError, context: context)
        case .refuse:
            self.end(id, .refusedStream, context: context)
        case .close:
            context.close(promise: nil)
        case .goAway(let debug):
            self.goAway(before: id, debug: debug, context: context)
        case .silence:
            break
        case .garbage:
            self.writeGarbage(context: context)
        }
        if let debug = reaction.goAwayAfter {
            self.writeGoAway(last: self.highestStream, debug: debug, context: context)
            self.endConnection(context: context)
        }
        self.closeIfEnded(context: context)
    }

    private func write(_ answer: Answer, on id: HTTP2StreamID, context: ChannelHandlerContext) {
        var headers = HPACKHeaders()
        headers.reserveCapacity(answer.fields.count + 1)
        headers.add(name: ":status", value: answer.status == 200 ? "200" : String(answer.status))
        for field in answer.fields {
            headers.add(name: field.name, value: field.value)
        }
        let isEmpty = answer.body.isEmpty
        self.write(.headers(.init(headers: headers, endStream: isEmpty)), on: id, context: context)
        if !isEmpty {
            let body = context.channel.allocator.buffer(string: answer.body)
            self.write(.data(.init(data: .byteBuffer(body), endStream: true)), on: id, context: context)
        }
        self.streams[id] = nil
        self.highestAnswered = max(self.highestAnswered, id)
    }

    private func writeGarbage(context: ChannelHandlerContext) {
        self.isMute = true
        self.streams = [:]
        context.flush()
        let bytes = NIOAny(ByteBuffer(string: Reaction.garbage))
        do {
            // From below the HTTP/2 handler, so that only TLS processes the bytes.
            try context.pipeline.syncOperations.context(handlerType: NIOHTTP2Handler.self)
                .writeAndFlush(bytes, promise: nil)
        } catch {
            context.close(promise: nil)
        }
    }

    private func end(_ id: HTTP2StreamID, _ code: HTTP2ErrorCode, context: ChannelHandlerContext) {
        self.write(.rstStream(code), on: id, context: context)
        self.streams[id] = nil
    }

    /// Leaves this stream and all above it unprocessed, and lets those below finish.
    private func goAway(before id: HTTP2StreamID, debug: String, context: ChannelHandlerContext) {
        if id < self.highestAnswered {
            // GOAWAY cannot reject it, because a later stream was answered: a refusal means the same.
            self.end(id, .refusedStream, context: context)
        }
        let previous = HTTP2StreamID(max(0, Int(id) - 2))
        let last = max(previous, self.highestAnswered)
        self.streams = self.streams.filter { $0.key <= last }
        self.writeGoAway(last: last, debug: debug, context: context)
        self.endConnection(context: context)
    }

    private func writeGoAway(last: HTTP2StreamID, debug: String, context: ChannelHandlerContext) {
        let data = debug.isEmpty ? nil : ByteBuffer(string: debug)
        self.write(
            .goAway(lastStreamID: last, errorCode: .noError, opaqueData: data),
            on: .rootStream,
            context: context
        )
    }

    /// Closes when the last stream has been answered, or after five seconds.
    private func endConnection(context: ChannelHandlerContext) {
        self.isEnding = true
        context.eventLoop.assumeIsolated().scheduleTask(in: .seconds(5)) {
            context.close(promise: nil)
        }
    }

    private func closeIfEnded(context: ChannelHandlerContext) {
        guard self.isEnding, self.streams.isEmpty else { return }
        self.isEnding = false
        context.flush()
        context.close(promise: nil)
    }

    private func write(
        _ payload: HTTP2Frame.FramePayload,
        on id: HTTP2StreamID,
        context: ChannelHandlerContext
    ) {
        self.mustFlush = true
        context.write(Self.wrapOutboundOut(HTTP2Frame(streamID: id, payload: payload)), promise: nil)
    }

    private func flushIfNeeded(context: ChannelHandlerContext) {
        guard self.mustFlush else { return }
        self.mustFlush = false
        context.flush()
    }
}
