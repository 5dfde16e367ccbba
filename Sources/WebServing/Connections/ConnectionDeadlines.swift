import Foundation
package import NIOCore
import Synchronization

/// Closes connections without requests, and those of clients that do not read, from accept on and for any protocol.
///
/// It stands before TLS and counts bytes; ``EarlyResponseHandler`` reports the requests, which have their own
/// deadlines. Each connection has one timer, which fires a few times per ``Limits/request``; a request costs neither a
/// timer nor a promise.
package final class ConnectionDeadlines: ChannelDuplexHandler {
    package typealias InboundIn = ByteBuffer
    package typealias InboundOut = ByteBuffer
    package typealias OutboundIn = IOData
    package typealias OutboundOut = IOData

    /// How long a connection may be without a request.
    package struct Limits: Sendable {
        /// From accept to the first byte; from the first byte of a handshake or request until its headers are there; and for a
        /// client to read ``WriteProgress/minimum`` bytes of an answer.
        package let request: TimeAmount
        /// From an answer to the first byte of the next request.
        package let idle: TimeAmount
        /// The time for a request that is already on its way when the close is announced.
        package let timeout: TimeAmount

        package init(request: TimeAmount, idle: TimeAmount, timeout: TimeAmount = .seconds(2)) {
            self.request = request
            self.idle = idle
            self.timeout = timeout
        }

        fileprivate var tick: TimeAmount { .nanoseconds(max(self.request.nanoseconds / 4, 1_000_000)) }
    }

    /// An event: makes room for others, where nothing is asked here.
    package struct MakeRoom: Sendable {
        /// Called if the connection stays because a request has arrived.
        let onStay: @Sendable () -> Void

        package init(onStay: @escaping @Sendable () -> Void) { self.onStay = onStay }
    }

    /// The order in which connections are closed when there are too many; read on any thread.
    package final class Rank: Sendable {
        private static let busy = UInt64.max
        private static let hasAsked: UInt64 = 1 << 63
        private let value: Atomic<UInt64>

        fileprivate init() { self.value = Atomic(NIODeadline.now().uptimeNanoseconds) }

        /// Connections that never sent a request come first, and of each kind the longest silent one; nil while a request is in progress.
        package var order: UInt64? {
            let value = self.value.load(ordering: .relaxed)
            return value == Self.busy ? nil : value
        }

        fileprivate func isBusy() { self.value.store(Self.busy, ordering: .relaxed) }

        fileprivate func isIdle(since: NIODeadline, hasAsked: Bool) {
            let time = since.uptimeNanoseconds & ~Self.hasAsked
            self.value.store(hasAsked ? time | Self.hasAsked : time, ordering: .relaxed)
        }
    }

    package let rank = Rank()
    private let limits: Limits
    private let admit: @Sendable (any Channel, Rank) -> Bool
    private let onEnd: @Sendable (_ reason: String) -> Void
    private var timer: Scheduled<Void>?

    private var requests = 0
    private var hasAsked = false
    /// Since when no request has been here.
    private var silentSince = NIODeadline.now()
    /// When the first byte after that came.
    private var begun: NIODeadline?
    /// Whether the close has been announced to the client.
    private var isTold = false
    private var written = 0
    private var progress: WriteProgress

    /// - Parameters:
    ///   - limits: The timeouts.
    ///   - admit: Admits or refuses the connection; called once its peer is known.
    ///   - onEnd: Receives the reason of the end: `silent` or `stalled`.
    package init(
        limits: Limits,
        admit: @escaping @Sendable (any Channel, Rank) -> Bool,
        onEnd: @escaping @Sendable (_ reason: String) -> Void
    ) {
        self.limits = limits
        self.admit = admit
        self.onEnd = onEnd
        self.progress = WriteProgress(limit: limits.request)
    }

    package func handlerAdded(context: ChannelHandlerContext) { self.schedule(context) }

    package func handlerRemoved(context: ChannelHandlerContext) { self.timer?.cancel() }

    package func channelActive(context: ChannelHandlerContext) {
        context.fireChannelActive()
        if !self.admit(context.channel, self.rank) { context.close(promise: nil) }
    }

    package func channelInactive(context: ChannelHandlerContext) {
        self.timer?.cancel()
        context.fireChannelInactive()
    }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if self.requests == 0, self.begun == nil { self.begun = .now() }
        context.fireChannelRead(data)
    }

    package func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        self.written += self.unwrapOutboundIn(data).readableBytes
        context.write(data, promise: promise)
    }

    package func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard let event = event as? MakeRoom else { return context.fireUserInboundEventTriggered(event) }
        if self.requests == 0 { context.close(promise: nil) } else { event.onStay() }
    }

    // MARK: Requests, on the connection's loop

    /// A request's headers are there.
    func requestBegan() {
        self.requests += 1
        self.hasAsked = true
        if self.requests == 1 { self.rank.isBusy() }
    }

    /// As many requests are answered, or given up by their client.
    func requestsEnded(_ count: Int = 1) {
        self.requests -= count
        if self.requests == 0 { self.becameSilent(.now()) }
    }

    private func becameSilent(_ now: NIODeadline) {
        self.silentSince = now
        self.begun = nil
        self.rank.isIdle(since: now, hasAsked: self.hasAsked)
    }

    // MARK: Time

    private func schedule(_ context: ChannelHandlerContext) {
        self.timer = context.eventLoop.assumeIsolated().scheduleTask(in: self.limits.tick) {
            self.look(context)
            if context.channel.isActive { self.schedule(context) }
        }
    }

    private func look(_ context: ChannelHandlerContext) {
        let now = NIODeadline.now()
        // Nothing is known of a channel that has just closed.
        let waiting = (try? context.channel.syncOptions?.getOption(.bufferedWritableBytes)) ?? 0
        if self.progress.isStalled(now, left: self.written - waiting, waiting: waiting) {
            self.onEnd("stalled")
            // Discards the system's send buffer too, to free its memory.
            _ = (context.channel as? any SocketOptionProvider)?.setSoLinger(linger(l_onoff: 1, l_linger: 0))
            return context.close(promise: nil)
        }
        guard self.requests == 0 else { return }
        // The client is still reading.
        if waiting > 0 { return self.becameSilent(now) }
        guard now >= self.deadline else { return }
        if self.isTold || !self.hasAsked {
            if !self.hasAsked { self.onEnd("silent") }
            return context.close(promise: nil)
        }
        self.isTold = true
        self.becameSilent(now)
        // HTTP/1.1: the next request is the last. HTTP/2: GOAWAY.
        context.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
    }

    private var deadline: NIODeadline {
        if self.isTold { return self.silentSince + self.limits.timeout }
        let silent = self.silentSince + (self.hasAsked ? self.limits.idle : self.limits.request)
        guard let begun = self.begun else { return silent }
        return max(silent, begun + self.limits.request)
    }
}
