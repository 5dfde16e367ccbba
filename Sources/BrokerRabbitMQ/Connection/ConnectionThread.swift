import Broker
import Foundation
import Logging
import Metrics
import PushlineMetrics

/// The work on a connection.
///
/// Everything happens on the connection's thread.
protocol ConnectionWork {
    /// Prepares a new connection.
    mutating func begin(_ connection: AMQPConnection) throws(BrokerError)

    /// Does all work that is possible without waiting.
    mutating func turn(_ connection: AMQPConnection) throws(BrokerError) -> TurnOutcome

    /// The connection is lost, or could not be had; an attempt follows soon only after a loss.
    mutating func lost(_ error: BrokerError, isAttemptFollowing: Bool)

    /// Somebody called while there is no connection.
    mutating func callWithoutConnection()

    /// The broker object was shut down.
    mutating func end()
}

/// The result of a turn: the events to wait for.
struct TurnOutcome {
    /// There is more to do already.
    var isUnfinished = false
    /// Something waits for room in the socket's buffer.
    var waitsForSocket = false
    /// When there is something to do though nothing happens until then.
    var due: ContinuousClock.Instant?
}

/// Runs a connection on its own thread, never on the pool of async code: the library's calls block, and only one thread
/// may use a connection.
struct ConnectionThread: Sendable {
    let role: String
    let configuration: RabbitMQConfiguration
    let link: ConnectionLink
    let logger: Logger

    /// Runs until the link is closed.
    func run(_ makeWork: @escaping @Sendable () -> any ConnectionWork) async {
        await withCheckedContinuation { (finished: CheckedContinuation<Void, Never>) in
            let thread = Thread {
                var work = makeWork()
                self.keepConnected(&work)
                work.end()
                finished.resume()
            }
            thread.name = "broker-\(self.role)"
            thread.stackSize = FrameSize.stackForDecoding
            thread.start()
        }
    }

    private func keepConnected(_ work: inout any ConnectionWork) {
        var backoff = Backoff(self.configuration.backoff)
        var round = AddressRound(count: self.configuration.addresses.count)
        var generator = SystemRandomNumberGenerator()
        var wasAway = false
        while self.link.state != .closed {
            let address = self.configuration.addresses[round.index]
            var wasConnected = false
            let isNextAtOnce: Bool
            do throws(BrokerError) {
                try self.connectAndServe(address, &work, &wasConnected, wasAway: wasAway)
                return
            } catch {
                guard self.link.state != .closed else { return }
                if wasConnected { round.connected() }
                isNextAtOnce = round.failed()
                let isAttemptFollowing = wasConnected || isNextAtOnce
                self.report(error, at: address, wasConnected: wasConnected)
                self.link.set(isAttemptFollowing ? .connecting : .down(error))
                work.lost(error, isAttemptFollowing: isAttemptFollowing)
            }
            wasAway = true
            if wasConnected { backoff.reset() }
            if !isNextAtOnce { self.pause(backoff.next(using: &generator), &work) }
        }
    }

    private func connectAndServe(
        _ address: RabbitMQConfiguration.Address,
        _ work: inout any ConnectionWork,
        _ wasConnected: inout Bool,
        wasAway: Bool
    ) throws(BrokerError) {
        let connection = try AMQPConnection(self.configuration, at: address, role: self.role)
        self.link.opened(connection.descriptor)
        defer { self.link.closing() }
        try work.begin(connection)
        wasConnected = true
        self.link.set(.connected)
        // A loss that was logged gets a log entry when the connection is back.
        self.logger.log(
            level: wasAway ? .notice : .debug,
            "Connected to the broker",
            metadata: ["broker.role": "\(self.role)", "broker.address": "\(address)"]
        )

        // The library looks after heartbeats only while it is called.
        let longestWait = min(self.configuration.heartbeat / 2, .seconds(30))
        var hadAlarm = false
        while true {
            self.link.beginTurn()
            if self.link.state == .closed {
                connection.close()
                return
            }
            let outcome = try work.turn(connection)
            self.link.endTurn()
            hadAlarm = self.reportAlarm(hadAlarm)
            let wait = outcome.due.map { max(.zero, min(longestWait, $0 - .now)) } ?? longestWait
            self.link.wakeup.wait(
                for: connection.descriptor,
                writing: outcome.waitsForSocket,
                timeout: outcome.isUnfinished ? .zero : wait
            )
        }
    }

    /// Logs once that the broker has an alarm, and once that it has ended.
    ///
    /// - Returns: Whether it has one.
    private func reportAlarm(_ hadAlarm: Bool) -> Bool {
        guard case .blocked(let reason) = self.link.state else {
            if hadAlarm { self.logger.notice("The broker accepts messages again") }
            return false
        }
        if !hadAlarm {
            self.logger.warning(
                "The broker has a resource alarm and blocks publishing; work waits in the store",
                metadata: ["broker.alarm": "\(reason)"]
            )
        }
        return true
    }

    /// Waits for the time, or until the link is closed.
    private func pause(_ duration: Duration, _ work: inout any ConnectionWork) {
        let end = ContinuousClock.now + duration
        while self.link.state != .closed {
            let rest = end - .now
            guard rest > .zero else { return }
            self.link.beginTurn()
            work.callWithoutConnection()
            self.link.endTurn()
            if self.link.state == .closed { return }
            self.link.wakeup.wait(for: nil, writing: false, timeout: rest)
        }
    }

    private func report(_ error: BrokerError, at address: RabbitMQConfiguration.Address, wasConnected: Bool) {
        MetricDescription.brokerConnectionsFailed.counter([.connection: self.role]).increment()
        let metadata: Logger.Metadata = [
            "broker.role": "\(self.role)", "broker.address": "\(address)", "error": "\(error)",
        ]
        if wasConnected {
            // The only one who sees it, and an operator wants to know.
            self.logger.warning("The connection to the broker is lost", metadata: metadata)
        } else {
            self.logger.debug("The broker cannot be reached", metadata: metadata)
        }
    }
}
