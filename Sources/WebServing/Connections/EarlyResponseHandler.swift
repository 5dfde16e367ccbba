import HTTPTypes
package import NIOCore
package import NIOHTTPTypes
import NIOHTTPTypesHTTP1

/// Closes connections after an answer: to a request not read to its end, to one that no other can follow, and while the
/// server drains; and asks for a body, where the client waits to be asked.
///
/// A client refused early (413, 401, 408) could go on sending its body, and Hummingbird would read it for ever. After a
/// whole request our side is closed at once, so that a client that reads to the end need not wait. All of it is closed after a moment,
/// and later for a client that still sends, because a reset would discard the answer. Over HTTP/2 it ends the stream.
///
/// A client of HTTP/1.0 keeps its connection where it asks for it and the length of the answer is known: it knows no chunks, and the end
/// of the connection is the end of any other answer.
///
/// `Upgrade` and `CONNECT` are ignored and answered normally. NIO's parser takes the following bytes for another
/// protocol: further requests would get no answer, and all bytes would stay in memory. So such a request is the last of
/// its connection, and nothing after it is read.
///
/// While the server drains (`ChannelShouldQuiesceEvent`) the next answer has `Connection: close`. An idle connection is
/// closed after a delay: a request already on its way would otherwise get neither an answer nor a reason.
package final class EarlyResponseHandler: ChannelDuplexHandler, RemovableChannelHandler {
    package typealias InboundIn = HTTPRequestPart
    package typealias InboundOut = HTTPRequestPart
    package typealias OutboundIn = HTTPResponsePart
    package typealias OutboundOut = HTTPResponsePart

    /// An outgoing event, and the error that ends an overdue body.
    struct BodyOverdue: Error {}

    /// An outgoing event: asks for the body of the request that is answered next, where its client waits for that.
    struct BodyWanted {}

    private let timeout: TimeAmount
    private let longest: TimeAmount
    /// Receives the requests; nil in a foreign server.
    private var deadlines: ConnectionDeadlines?
    private var isStream = false
    /// Knows which requests are of HTTP/1.0; nil over HTTP/2.
    private var http1: HTTP1Head?
    /// The numbers of such requests that are not answered.
    private var old: Set<Int> = []
    /// The number of the request whose client waits to be asked for its body.
    private var waiting: Int?
    /// Of the requests below, those that ``deadlines`` has heard of and not of their end.
    private var open = 0
    /// Requests begun and answers completed: a client may send requests before earlier ones are answered (pipelining).
    private var requests = 0
    private var answers = 0
    private var isReading = false
    /// When the last piece of a body came that is read after its answer.
    private var lastRead = NIODeadline.distantPast
    /// The numbers of the `HEAD` requests that are not answered.
    private var heads: Set<Int> = []
    /// The answer under way ends with its headers, though they speak of chunks.
    private var hasNoEnd = false
    private var isDraining = false
    /// No request can follow the one that came last.
    private var isLast = false
    /// The parser takes the following bytes for another protocol: nothing after the request is read.
    private var isForeign = false
    private var isDeaf = false
    /// The last answer, with `Connection: close`, is written or about to be.
    private var isEnding = false
    /// A request came after the last answer: the client knows that it is not taken.
    private var isIgnoring = false

    /// - Parameters:
    ///   - timeout: How long the client may take to read the answer, and an idle connection to send its last request.
    ///   - longest: How long a client that is still sending may take to read the answer.
    package init(timeout: TimeAmount = .seconds(2), longest: TimeAmount = .seconds(30)) {
        self.timeout = timeout
        self.longest = longest
    }

    package func handlerAdded(context: ChannelHandlerContext) {
        self.isStream = context.channel.parent?.parent != nil
        let connection = self.isStream ? context.channel.parent : context.channel
        self.deadlines = try? connection?.pipeline.syncOperations.handler(type: ConnectionDeadlines.self)
        if !self.isStream { self.standBeforeConversion(context) }
    }

    private func standBeforeConversion(_ context: ChannelHandlerContext) {
        let pipeline = context.pipeline.syncOperations
        // None in tests of this handler alone.
        guard let codec = try? pipeline.handler(type: HTTP1ToHTTPServerCodec.self) else { return }
        let head = HTTP1Head()
        do { try pipeline.addHandler(head, position: .before(codec)) } catch {
            return context.fireErrorCaught(error)
        }
        self.http1 = head
    }

    package func channelInactive(context: ChannelHandlerContext) {
        self.ended(self.open)
        context.fireChannelInactive()
    }

    package func handlerRemoved(context: ChannelHandlerContext) { self.ended(self.open) }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch self.unwrapInboundIn(data) {
        case .head(let head):
            if self.isEnding { self.isIgnoring = true }
            if self.isIgnoring { return }
            self.requests += 1
            self.open += 1
            self.deadlines?.requestBegan()
            self.isReading = true
            if head.method == .head { self.heads.insert(self.requests) }
            self.waiting = Expectation(head.headerFields) == .goAhead ? self.requests : nil
            if self.http1?.isOld == true { self.old.insert(self.requests) }
            guard !self.isStream else { break }
            if head.changesProtocol { self.isForeign = true }
            if head.asksToClose || head.changesProtocol { self.isLast = true }
        case .body:
            self.waiting = nil
            if self.isEnding { self.lastRead = .now() }
            // Bytes behind the last answer are discarded.
            if self.isIgnoring || self.isEnding { return }
        case .end:
            if self.isIgnoring { return }
            self.waiting = nil
            self.isReading = false
            self.isDeaf = self.isForeign
        }
        context.fireChannelRead(data)
    }

    package func read(context: ChannelHandlerContext) {
        if !self.isDeaf { context.read() }
    }

    package func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        // Hummingbird would close an idle connection at once, and a busy one without a word.
        guard event is ChannelShouldQuiesceEvent else { return context.fireUserInboundEventTriggered(event) }
        guard !self.isDraining else { return }
        self.isDraining = true
        self.closeWhenIdle(context)
    }

    package func triggerUserOutboundEvent(
        context: ChannelHandlerContext,
        event: Any,
        promise: EventLoopPromise<Void>?
    ) {
        switch event {
        case is BodyOverdue:
            // A complete body needs no error, nor does that of a later request.
            if self.isReading, self.requests == self.answers + 1 { context.fireErrorCaught(BodyOverdue()) }
        case is BodyWanted: self.askForBody(context)
        default: return context.triggerUserOutboundEvent(event, promise: promise)
        }
        promise?.succeed()
    }

    private func askForBody(_ context: ChannelHandlerContext) {
        guard self.waiting == self.answers + 1 else { return }
        self.waiting = nil
        context.writeAndFlush(self.wrapOutboundOut(.head(HTTPResponse(status: .continue))), promise: nil)
    }

    package func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch self.unwrapOutboundIn(data) {
        case .head(var head) where head.status.kind != .informational:
            self.waiting = nil
            // A chunked answer has no length, and NIO would write its end after headers that stand alone.
            let isHead = self.heads.remove(self.answers + 1) != nil
            let hasLength = head.headerFields[.contentLength] != nil
            self.hasNoEnd = isHead && !self.isStream && !hasLength
            let isOld = self.old.remove(self.answers + 1) != nil
            self.http1?.answersOld = isOld
            self.isEnding = self.isLastAnswer || isOld && !(hasLength || isHead || head.status.hasNoBody)
            // HTTP/2 has no such header: its streams are channels of a connection.
            if self.isEnding, !self.isStream {
                head.headerFields[.connection] = "close"
            } else if isOld {
                head.headerFields[.connection] = "keep-alive"
            }
            context.write(self.wrapOutboundOut(.head(head)), promise: promise)
        case .end:
            self.answers += 1
            if self.open > 0 { self.ended(1) }
            guard self.isEnding || self.isDraining else { return self.writeEnd(context, data, promise) }
            let written = promise ?? context.eventLoop.makePromise()
            self.writeEnd(context, data, written)
            context.flush()
            let isEnding = self.isEnding
            // A long answer to a slow client is not cut off: time counts from when it has left.
            written.futureResult.assumeIsolated().whenComplete { _ in
                guard isEnding else { return self.closeWhenIdle(context) }
                // Some clients stop sending when we have closed, and do not look at the answer.
                if !self.isStream, !self.isReading { context.close(mode: .output, promise: nil) }
                self.closeWhenRead(context, until: .now() + self.longest)
            }
        default: context.write(data, promise: promise)
        }
    }

    private var isLastAnswer: Bool {
        (self.isReading || self.isDraining || self.isLast) && self.requests == self.answers + 1
    }

    private func ended(_ count: Int) {
        self.open -= count
        if count > 0 { self.deadlines?.requestsEnded(count) }
    }

    private func writeEnd(_ context: ChannelHandlerContext, _ data: NIOAny, _ promise: EventLoopPromise<Void>?) {
        guard self.hasNoEnd else { return context.write(data, promise: promise) }
        // Nothing of it is written; it completes with the writes before it.
        context.write(self.wrapOutboundOut(.body(ByteBuffer())), promise: promise)
    }

    /// Closes when the client has had the time to read the answer, and is not sending.
    private func closeWhenRead(_ context: ChannelHandlerContext, until end: NIODeadline) {
        context.eventLoop.assumeIsolated().scheduleTask(in: self.timeout) {
            let now = NIODeadline.now()
            if self.isReading, now < end, now - self.lastRead < self.timeout {
                return self.closeWhenRead(context, until: end)
            }
            context.channel.close(promise: nil)
        }
    }

    private func closeWhenIdle(_ context: ChannelHandlerContext) {
        context.eventLoop.assumeIsolated().scheduleTask(in: self.timeout) {
            // More answers than requests: the last answered malformed bytes.
            guard self.requests <= self.answers else { return }
            context.channel.close(promise: nil)
        }
    }
}

extension HTTPResponse.Status {
    /// Whether its answers end with their headers.
    fileprivate var hasNoBody: Bool { self == .noContent || self == .notModified }
}

extension HTTPRequest {
    /// Whether the parser takes the following bytes for another protocol, or might.
    fileprivate var changesProtocol: Bool { self.method == .connect || self.headerFields[.upgrade] != nil }

    /// Whether the client wants no other answer on the connection.
    fileprivate var asksToClose: Bool {
        guard let connection = self.headerFields[.connection] else { return false }
        return connection.lowercased().split(separator: ",").contains { $0.drop { $0 == " " }.hasPrefix("close") }
    }
}
