import DequeModule
package import Logging
package import NIOCore
import NIOPosix
import NIOSSL

/// Sends batches of requests to one origin, over a few long-lived HTTP/2 connections.
///
/// Connections are opened when there is work for them. All of a client's work happens on one event loop, which a batch enters with
/// one hop and leaves with one.
package final class HTTP2Client: @unchecked Sendable {
    // Sendable: constants are Sendable themselves, variables are used only on `eventLoop`.
    let configuration: HTTP2Configuration
    let logger: Logger
    private let eventLoop: any EventLoop
    private let tls: NIOSSLContext
    private let connectionsChanged: @Sendable (Int) -> Void
    /// Receives the durations of some answers.
    let timed: @Sendable (Duration) -> Void
    /// Told of each request or connection that stops.
    let stopped: @Sendable (HTTP2Stop) -> Void

    private var connections: [HTTP2Connection] = []
    private var waiting: Deque<HTTP2Run> = []
    private var liveRuns = 0
    private var backoff: ConnectBackoff
    /// Why the last connection failed.
    private var fault = ""
    private var isPumping = false
    /// Its buffers serve all requests.
    private var head = HTTP2RequestHead()
    private var tick: (task: Scheduled<Void>, isSlow: Bool)?
    /// Whether the last check was late and left deadlines alone.
    private var wasLate = false
    private var isClosing = false
    private var closeWaiters: [CheckedContinuation<Void, Never>] = []
    private var closeEnd: Scheduled<Void>?

    /// - Parameters:
    ///   - configuration: Where to connect to, and the bounds.
    ///   - eventLoopGroup: One of its loops is taken.
    ///   - logger: For debug messages about connections.
    ///   - connectionsChanged: Told the number of connections whenever it changes, on the event loop.
    ///   - timed: Told how long a connection's first answer took, and then one of 64, on the event loop.
    ///   - stopped: Told of each request that came to its deadline, and each connection that was not ready by its own, on the event
    ///     loop.
    /// - Throws: `NIOSSLError` when the trust file cannot be read.
    package init(
        configuration: HTTP2Configuration,
        eventLoopGroup: any EventLoopGroup,
        logger: Logger,
        connectionsChanged: @escaping @Sendable (Int) -> Void = { _ in },
        timed: @escaping @Sendable (Duration) -> Void = { _ in },
        stopped: @escaping @Sendable (HTTP2Stop) -> Void = { _ in }
    ) throws {
        self.configuration = configuration
        self.eventLoop = eventLoopGroup.next()
        self.logger = logger
        self.connectionsChanged = connectionsChanged
        self.timed = timed
        self.stopped = stopped
        self.tls = try configuration.tlsContext()
        self.backoff = ConnectBackoff(configuration)
    }

    /// Sends the requests of a batch and waits until each has an outcome.
    ///
    /// Cancelling the task withdraws unsent requests.
    ///
    /// - Parameter batch: The requests.
    /// - Returns: One outcome a request, in order; no later than `sendBy` and the request timeout together (and some 100 ms).
    package func send(_ batch: HTTP2Exchange) async -> [HTTP2Outcome] {
        guard batch.count > 0 else { return [] }
        let cancellation = RunCancellation()
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                self.eventLoop.execute {
                    let run = HTTP2Run(batch, now: .now()) { continuation.resume(returning: $0) }
                    cancellation.run = run
                    self.enqueue(run, isCancelled: cancellation.isCancelled)
                }
            }
        } onCancel: {
            self.eventLoop.execute {
                cancellation.isCancelled = true
                if let run = cancellation.run { self.withdraw(run, .stopped) }
            }
        }
    }

    /// Lets running batches end until a deadline, then closes all connections; batches that come later are not processed.
    package func close(by deadline: ContinuousClock.Instant = .now + .seconds(60)) async {
        await withCheckedContinuation { continuation in
            self.eventLoop.execute {
                self.isClosing = true
                self.closeWaiters.append(continuation)
                self.closeEnd?.cancel()
                let left = TimeAmount(rounding: max(.zero, ContinuousClock.now.duration(to: deadline)))
                self.closeEnd = self.eventLoop.scheduleTask(in: left) { self.endRuns() }
                self.finishClosing()
            }
        }
    }

    /// Ends the batches that are still running, with their connections.
    private func endRuns() {
        for run in self.waiting { self.withdraw(run, .closed) }
        for connection in self.connections { connection.fail("the client is closed") }
    }

    /// Makes later requests use new connections; those that are older close after their last stream.
    ///
    /// - Parameter time: Those opened later stay: they are new to whom asks, and others have asked for them.
    package func renewConnections(openedBefore time: NIODeadline) async {
        await withCheckedContinuation { continuation in
            self.eventLoop.execute {
                for connection in self.connections where connection.opened < time { connection.drain() }
                continuation.resume()
            }
        }
    }

    // MARK: Runs

    private func enqueue(_ run: HTTP2Run, isCancelled: Bool) {
        self.liveRuns += 1
        if self.isClosing { return self.withdraw(run, .closed) }
        if isCancelled || run.batch.isStopped() { return self.withdraw(run, .stopped) }
        self.wait(run)
        self.pump()
        self.scheduleTick()
    }

    private func wait(_ run: HTTP2Run) {
        guard !run.isWaiting else { return }
        run.isWaiting = true
        self.waiting.append(run)
    }

    private func withdraw(_ run: HTTP2Run, _ reason: HTTP2Outcome.NotProcessed) {
        if run.withdraw(reason) { self.runEnded() }
    }

    /// Why requests were not sent in time: the service could not be reached all the while, or there were too many.
    private var outOfTime: HTTP2Outcome.NotProcessed {
        let isReached = self.backoff.failures == 0 || self.connections.contains { $0.state != .connecting }
        return isReached ? .outOfTime : self.unreachable(self.fault)
    }

    private func unreachable(_ fault: String) -> HTTP2Outcome.NotProcessed {
        self.configuration.refusal(in: fault).map { .identityRefused($0) } ?? .noConnection(fault)
    }

    /// A request has its outcome.
    func finished(_ run: HTTP2Run, _ index: Int, _ outcome: HTTP2Outcome) {
        if run.finish(index, outcome) { self.runEnded() }
    }

    /// Handles a request that the peer did not process: it is sent again, or returned.
    func refused(_ run: HTTP2Run, _ index: Int, reason: String) {
        if let outcome = run.refuse(index, reason: reason) {
            self.finished(run, index, outcome)
        } else {
            self.wait(run)
        }
    }

    private func runEnded() {
        self.liveRuns -= 1
        // Deferred, because the last answer arrives from within the session, which must not be called then.
        if self.isClosing { self.eventLoop.execute { self.finishClosing() } }
    }

    /// The next request to send; runs take turns.
    private func next(now: NIODeadline) -> (run: HTTP2Run, index: Int)? {
        while let run = self.waiting.first {
            if run.taken.isMultiple(of: HTTP2Client.slice), run.taken > 0 {
                if run.batch.isStopped() {
                    self.withdraw(run, .stopped)
                } else if now >= run.sendBy {
                    self.withdraw(run, self.outOfTime)
                }
                self.waiting.removeFirst()
                self.waiting.append(run)
            }
            guard let front = self.waiting.first else { return nil }
            if let index = front.take() {
                front.taken += 1
                return (front, index)
            }
            front.isWaiting = false
            self.waiting.removeFirst()
        }
        return nil
    }

    /// A look that is later than this comes after a pause of the whole loop.
    private static let lateness = TimeAmount.milliseconds(200)

    /// The requests that a run sends before another gets its turn, and before it is checked for a stop.
    private static let slice = 64

    /// Hands out requests as long as connections take them, and opens a connection where that would help.
    func pump() {
        guard !self.isPumping else { return }
        self.isPumping = true
        defer { self.isPumping = false }
        let now = NIODeadline.now()
        var head = self.head
        self.head = HTTP2RequestHead()
        defer { self.head = head }
        for connection in self.connections {
            var capacity = connection.capacity
            guard capacity > 0 else { continue }
            while capacity > 0, let (run, index) = self.next(now: now) {
                switch connection.submit(run, index, &head, now: now) {
                case nil: capacity -= 1
                case .invalid: self.finished(run, index, .notProcessed(.invalid))
                case .elsewhere(let reason):
                    self.refused(run, index, reason: reason)
                    capacity = 0
                }
            }
            connection.flush()
        }
        self.connectIfNeeded(now: now)
    }

    // MARK: Connections

    private func connectIfNeeded(now: NIODeadline) {
        self.waiting.removeAll { run in
            run.isWaiting = run.hasWork
            return !run.hasWork
        }
        guard !self.waiting.isEmpty, self.backoff.allows(now) else { return }
        let usable = self.connections.filter { $0.state == .ready }
        // One at a time, and another only when all before it have shown that they work and have no room.
        guard usable.count < self.configuration.maximumConnections,
            self.connections.count < 2 * self.configuration.maximumConnections,
            !self.connections.contains(where: { $0.state == .connecting }),
            usable.allSatisfy({ $0.answered > 0 && $0.capacity == 0 })
        else { return }
        self.backoff.attempted(now)
        self.connect(now: now)
    }

    private func connect(now: NIODeadline) {
        let connection = HTTP2Connection(client: self, now: now)
        self.connections.append(connection)
        self.connectionsChanged(self.connections.count)
        let tls = self.tls
        let name = self.configuration.sniName
        ClientBootstrap(group: self.eventLoop)
            .connectTimeout(TimeAmount(rounding: self.configuration.connectTimeout))
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let handler = try NIOSSLClientHandler(context: tls, serverHostname: name)
                    try channel.pipeline.syncOperations.addHandlers([handler, connection])
                }
            }
            .connect(host: self.configuration.host, port: self.configuration.port)
            .whenComplete { result in
                switch result {
                case .failure(let error): connection.fail("\(error)", at: .now())
                // It took too long, and was abandoned in the meantime.
                case .success(let channel): if connection.state == .closed { channel.close(promise: nil) }
                }
            }
    }

    func becameReady(_ connection: HTTP2Connection) {
        self.logger.debug("connection is ready", metadata: ["connections": "\(self.connections.count)"])
    }

    /// A connection is closed; its requests already have their outcomes.
    func closed(_ connection: HTTP2Connection, reason: String, wasReady: Bool) {
        self.connections.removeAll { $0 === connection }
        self.connectionsChanged(self.connections.count)
        self.logger.debug("connection closed", metadata: ["reason": "\(reason)"])
        let now = NIODeadline.now()
        if connection.answered > 0 {
            self.backoff.succeeded()
        } else if !wasReady || connection.submitted > 0 {
            self.backoff.failed(now)
            self.fault = reason
            let others = self.connections.contains { $0.state == .ready }
            if !others, self.backoff.failures >= self.configuration.connectAttempts {
                for run in self.waiting { self.withdraw(run, self.unreachable(reason)) }
            }
        }
        if self.isClosing { self.finishClosing() } else { self.eventLoop.execute { self.pump() } }
    }

    private func finishClosing() {
        guard self.liveRuns == 0 else { return }
        for connection in self.connections { connection.shutDown("the client is closed") }
        guard self.connections.isEmpty else { return }
        self.tick?.task.cancel()
        self.tick = nil
        self.closeEnd?.cancel()
        self.closeEnd = nil
        let waiters = self.closeWaiters
        self.closeWaiters = []
        for waiter in waiters { waiter.resume() }
    }

    // MARK: Time

    /// Looks at deadlines often while there is work, seldom while connections are merely open, and else not at all.
    private func scheduleTick() {
        let isSlow = self.liveRuns == 0
        if isSlow, self.connections.isEmpty { return }
        if let tick = self.tick {
            guard tick.isSlow, !isSlow else { return }
            tick.task.cancel()
        }
        let due = NIODeadline.now() + (isSlow ? .seconds(5) : .milliseconds(50))
        let task = self.eventLoop.scheduleTask(deadline: due) {
            self.tick = nil
            self.look(due: due)
            self.scheduleTick()
        }
        self.tick = (task, isSlow)
    }

    private func look(due: NIODeadline) {
        let now = NIODeadline.now()
        for run in self.waiting {
            if run.batch.isStopped() {
                self.withdraw(run, .stopped)
            } else if now >= run.sendBy {
                self.withdraw(run, self.outOfTime)
            }
        }
        // A process that was held up may find answers waiting: they are read before anybody is given up.
        if now - due < HTTP2Client.lateness || self.wasLate {
            self.wasLate = false
            for connection in self.connections { connection.check(now: now) }
        } else {
            self.wasLate = true
        }
        self.pump()
    }
}

/// Cancels the run of a task.
///
/// Sendable, because it is used only on the client's event loop.
private final class RunCancellation: @unchecked Sendable {
    var run: HTTP2Run?
    var isCancelled = false
}
