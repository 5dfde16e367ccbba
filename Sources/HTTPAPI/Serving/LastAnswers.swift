import HTTPTypes
package import NIOCore
package import NIOHTTPTypes

/// Ends connections with an answer: after a request that was answered before it was read to its end, and while the server drains.
///
/// A client that is refused early (413, 401, 408) could go on sending its body for ever, and Hummingbird would read it. It
/// gets a moment to read the answer, for closing at once may take that from it. Over HTTP/2 the stream is ended so.
///
/// While the server drains (`ChannelShouldQuiesceEvent`) the next answer says `Connection: close`. A connection that is idle is
/// closed only after a while: a request that is on its way already would see no answer, and nothing that says why.
package final class LastAnswers: ChannelDuplexHandler, RemovableChannelHandler {
    package typealias InboundIn = HTTPRequestPart
    package typealias InboundOut = HTTPRequestPart
    package typealias OutboundIn = HTTPResponsePart
    package typealias OutboundOut = HTTPResponsePart

    /// An event on its way out, and the error that a body ends with which did not come in time.
    struct BodyOverdue: Error {}

    private let patience: TimeAmount
    /// Requests that began to come in, and answers that are out: requests may come before the one before is answered.
    private var requests = 0
    private var answers = 0
    private var isReading = false
    private var isDraining = false
    /// The last answer is out or on its way: it has told the client to close.
    private var isEnding = false
    /// A request came after the last answer: the client knows that it is not taken.
    private var isIgnoring = false

    /// - Parameter patience: How long the client may take to read the answer, and an idle connection to send its last request.
    package init(patience: TimeAmount = .seconds(2)) { self.patience = patience }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch self.unwrapInboundIn(data) {
        case .head:
            if self.isEnding { self.isIgnoring = true }
            if self.isIgnoring { return }
            self.requests += 1
            self.isReading = true
        // What comes behind the answer is nobody's to keep.
        case .body: if self.isIgnoring || self.isEnding { return }
        case .end:
            if self.isIgnoring { return }
            self.isReading = false
        }
        context.fireChannelRead(data)
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
            self.isEnding = (self.isReading || self.isDraining) && self.requests == self.answers + 1
            // HTTP/2, whose streams are the channels of a connection, knows no such header.
            if self.isEnding, context.channel.parent?.parent == nil { head.headerFields[.connection] = "close" }
            context.write(self.wrapOutboundOut(.head(head)), promise: promise)
        case .end:
            self.answers += 1
            guard self.isEnding || self.isDraining else { return context.write(data, promise: promise) }
            let written = promise ?? context.eventLoop.makePromise()
            context.writeAndFlush(data, promise: written)
            let channel = context.channel
            let (patience, isEnding) = (self.patience, self.isEnding)
            // A long answer to a slow client is not cut off: time counts from when it has left.
            written.futureResult.assumeIsolated().whenComplete { _ in
                guard isEnding else { return self.closeWhenIdle(context) }
                channel.eventLoop.scheduleTask(in: patience) { channel.close(promise: nil) }
            }
        default: context.write(data, promise: promise)
        }
    }

    private func closeWhenIdle(_ context: ChannelHandlerContext) {
        context.eventLoop.assumeIsolated().scheduleTask(in: self.patience) {
            guard self.requests == self.answers else { return }
            context.channel.close(promise: nil)
        }
    }
}
