import HTTPTypes
package import NIOCore
package import NIOHTTPTypes

/// Ends the connection of a request that was answered before it was read to its end.
///
/// A client that is refused early (413, 401, 408) could go on sending its body for ever, and Hummingbird would read it. It
/// gets a moment to read the answer, for closing at once may take that from it. Over HTTP/2 the stream is ended so.
package final class EarlyAnswers: ChannelDuplexHandler, RemovableChannelHandler {
    package typealias InboundIn = HTTPRequestPart
    package typealias InboundOut = HTTPRequestPart
    package typealias OutboundIn = HTTPResponsePart
    package typealias OutboundOut = HTTPResponsePart

    private let patience: TimeAmount
    /// Requests that began to come in, and answers that are out: requests may come before the one before is answered.
    private var requests = 0
    private var answers = 0
    private var isReading = false
    private var isEnding = false

    /// - Parameter patience: How long the client may take to read the answer.
    package init(patience: TimeAmount = .seconds(2)) { self.patience = patience }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch self.unwrapInboundIn(data) {
        case .head:
            self.requests += 1
            self.isReading = true
        case .body: break
        case .end: self.isReading = false
        }
        context.fireChannelRead(data)
    }

    package func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch self.unwrapOutboundIn(data) {
        case .head(var head) where head.status.kind != .informational:
            self.isEnding = self.isReading && self.requests == self.answers + 1
            // HTTP/2, whose streams are the channels of a connection, knows no such header.
            if self.isEnding, context.channel.parent?.parent == nil { head.headerFields[.connection] = "close" }
            context.write(self.wrapOutboundOut(.head(head)), promise: promise)
        case .end:
            self.answers += 1
            context.write(data, promise: promise)
            guard self.isEnding else { return }
            context.flush()
            let channel = context.channel
            context.eventLoop.scheduleTask(in: self.patience) { channel.close(promise: nil) }
        default: context.write(data, promise: promise)
        }
    }
}
