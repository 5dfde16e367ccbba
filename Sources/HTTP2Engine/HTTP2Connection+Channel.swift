import NIOCore
import NIOTLS

/// The session's place in the channel: behind TLS, bytes in and bytes out.
extension HTTP2Connection: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// The output gathered before a write: a few TLS records.
    private static let outputSize = 64 * 1024

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted(let negotiated)? = event as? TLSUserEvent {
            if negotiated == "h2" { self.begin() } else { self.fail("the peer does not speak HTTP/2") }
        }
        context.fireUserInboundEventTriggered(event)
    }

    private func begin() {
        do throws(HTTP2SessionFault) {
            self.session = try HTTP2Session(
                delegate: self,
                maximumHeaderBytes: self.client.configuration.maximumHeaderBytes
            )
        } catch {
            return self.fail("HTTP/2: \(error.message)")
        }
        self.flush()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        self.lastRead = .now()
        let buffer = self.unwrapInboundIn(data)
        self.withSession { session throws(HTTP2SessionFault) in
            var fault: HTTP2SessionFault?
            unsafe buffer.withUnsafeReadableBytes { bytes in
                do throws(HTTP2SessionFault) { try unsafe session.receive(bytes) } catch { fault = error }
            }
            if let fault { throw fault }
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        self.client.pump()
        // Window updates and acknowledgements, and the last frames of a draining connection.
        self.flush()
        if self.state == .draining, self.active == 0 { self.shutDown(self.drained) }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable { self.client.pump() }
        context.fireChannelWritabilityChanged()
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.fail("the peer closed the connection")
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        self.fail("\(error)")
    }

    /// Writes all pending output of the session, in one write.
    func flush() {
        guard self.state != .closed, let context = self.context, let session = self.session else { return }
        var output: ByteBuffer?
        do throws(HTTP2SessionFault) {
            while let bytes = unsafe try session.nextOutput() {
                if output == nil { output = context.channel.allocator.buffer(capacity: HTTP2Connection.outputSize) }
                unsafe output?.writeBytes(bytes)
            }
        } catch {
            return self.fail("HTTP/2: \(error.message)")
        }
        if let output { context.writeAndFlush(self.wrapOutboundOut(output), promise: nil) }
        if session.isOver {
            self.fail(self.goodbye ?? (self.goAway == nil ? "the peer breaks HTTP/2" : "the session is over"))
        }
    }
}
