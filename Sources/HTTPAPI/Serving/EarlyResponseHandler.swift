import HTTPTypes
package import NIOCore
package import NIOHTTPTypes

/// Ends connections with an answer: after a request that was answered before it was read to its end, after one that cannot be
/// followed by another, and while the server drains.
///
/// A client that is refused early (413, 401, 408) could go on sending its body for ever, and Hummingbird would read it. It
/// gets a moment to read the answer, for closing at once may take that from it; whoever is still sending gets longer, for a
/// reset would take the answer too. Over HTTP/2 the stream is ended so.
///
/// `Upgrade` and `CONNECT` are answered as if they were not there. NIO's parser takes what follows them for another protocol: no
/// request behind them would be answered, and all bytes would be kept. So they are the last, and nothing is read after them.
///
/// While the server drains (`ChannelShouldQuiesceEvent`) the next answer says `Connection: close`. A connection that is idle is
/// closed only after a while: a request that is on its way already would see no answer, and nothing that says why.
package final class EarlyResponseHandler: ChannelDuplexHandler, RemovableChannelHandler {
    package typealias InboundIn = HTTPRequestPart
    package typealias InboundOut = HTTPRequestPart
    package typealias OutboundIn = HTTPResponsePart
    package typealias OutboundOut = HTTPResponsePart

    /// An event on its way out, and the error that a body ends with which did not come in time.
    struct BodyOverdue: Error {}

    private let timeout: TimeAmount
    private let longest: TimeAmount
    /// Hears of requests; there is none where the server is not ours.
    private var deadlines: ConnectionDeadlines?
    private var isStream = false
    /// Of the requests below, those that ``deadlines`` has heard of and not of their end.
    private var open = 0
    /// Requests that began to come in, and answers that are out: requests may come before the one before is answered.
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
    /// What follows it is no HTTP to the parser; from its end on nothing is read.
    private var isForeign = false
    private var isDeaf = false
    /// The last answer is out or on its way: it has told the client to close.
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
            guard !self.isStream else { break }
            if head.changesProtocol { self.isForeign = true }
            if head.asksToClose || head.changesProtocol { self.isLast = true }
        case .body:
            if self.isEnding { self.lastRead = .now() }
            // What comes behind the answer is nobody's to keep.
            if self.isIgnoring || self.isEnding { return }
        case .end:
            if self.isIgnoring { return }
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
        guard event is BodyOverdue else { return context.triggerUserOutboundEvent(event, promise: promise) }
        // A body that has come whole meanwhile is left alone, and so is that of a request after it.
        if self.isReading, self.requests == self.answers + 1 { context.fireErrorCaught(BodyOverdue()) }
        promise?.succeed()
    }

    package func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch self.unwrapOutboundIn(data) {
        case .head(var head) where head.status.kind != .informational:
            self.isEnding = self.isLastAnswer
            // An answer of chunks has no length, and NIO would write their end behind headers that stand alone.
            let isHead = self.heads.remove(self.answers + 1) != nil
            self.hasNoEnd = isHead && !self.isStream && head.headerFields[.contentLength] == nil
            // HTTP/2, whose streams are the channels of a connection, knows no such header.
            if self.isEnding, !self.isStream { head.headerFields[.connection] = "close" }
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
        // Nothing of it is on the wire; it is done when what stands before it is.
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
            // More answers than requests: the last was to what is no HTTP.
            guard self.requests <= self.answers else { return }
            context.channel.close(promise: nil)
        }
    }
}

extension HTTPRequest {
    /// Whether the parser takes what follows for another protocol, or might.
    fileprivate var changesProtocol: Bool { self.method == .connect || self.headerFields[.upgrade] != nil }

    /// Whether the client wants no other answer on the connection.
    fileprivate var asksToClose: Bool {
        guard let connection = self.headerFields[.connection] else { return false }
        return connection.lowercased().split(separator: ",").contains { $0.drop { $0 == " " }.hasPrefix("close") }
    }
}
