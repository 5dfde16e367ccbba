package import NIOCore
package import NIOHTTPTypes

/// Resets an HTTP/2 stream whose client does not read its response.
///
/// While the stream's flow-control window is zero no byte waits at the connection, so ``ConnectionDeadlines`` sees nothing. Not for HTTP/1.1.
package final class StreamDeadlines: ChannelDuplexHandler, RemovableChannelHandler {
    package typealias InboundIn = HTTPRequestPart
    package typealias InboundOut = HTTPRequestPart
    package typealias OutboundIn = HTTPResponsePart
    package typealias OutboundOut = HTTPResponsePart

    /// Long bodies leave in pieces of this many bytes, so that their progress is seen.
    private static let piece = 16 * 1024

    private let limit: TimeAmount
    private var progress: WriteProgress
    private var written = 0
    private var left = 0
    private var timer: Scheduled<Void>?

    /// - Parameter limit: How long a client may take for ``WriteProgress/minimum`` bytes.
    package init(limit: TimeAmount) {
        self.limit = limit
        self.progress = WriteProgress(limit: limit)
    }

    package func handlerAdded(context: ChannelHandlerContext) {
        guard context.channel.parent?.parent == nil else { return }
        context.pipeline.syncOperations.removeHandler(self, promise: nil)
    }

    package func handlerRemoved(context: ChannelHandlerContext) { self.timer?.cancel() }

    package func channelInactive(context: ChannelHandlerContext) {
        self.timer?.cancel()
        context.fireChannelInactive()
    }

    package func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard case .body(var body) = self.unwrapOutboundIn(data), body.readableBytes > 0 else {
            return context.write(data, promise: promise)
        }
        self.written += body.readableBytes
        while let piece = body.readSlice(length: min(Self.piece, body.readableBytes)), piece.readableBytes > 0 {
            let isLast = body.readableBytes == 0
            let done = (isLast ? promise : nil) ?? context.eventLoop.makePromise()
            // Where it fails the stream is closed, and so is the timer.
            done.futureResult.assumeIsolated().whenSuccess { self.left += piece.readableBytes }
            context.write(self.wrapOutboundOut(.body(piece)), promise: done)
        }
        if self.timer == nil { self.schedule(context) }
    }

    private func schedule(_ context: ChannelHandlerContext) {
        let tick = TimeAmount.nanoseconds(max(self.limit.nanoseconds / 4, 1_000_000))
        self.timer = context.eventLoop.assumeIsolated().scheduleTask(in: tick) {
            self.timer = nil
            let waiting = self.written - self.left
            if self.progress.isStalled(.now(), left: self.left, waiting: waiting) {
                return context.close(promise: nil)
            }
            if waiting > 0 { self.schedule(context) }
        }
    }
}
