import Broker
import NIOConcurrencyHelpers

#if canImport(Darwin)
import Darwin
#else
import Glibc
#endif

/// How a connection's thread stands, as others see it, and the means to wake it.
final class ConnectionLink: Sendable {
    enum State: Equatable {
        /// The first attempt, or the first after a loss, is not over.
        case connecting
        case connected
        case blocked(String)
        /// The last attempt failed.
        case down(BrokerError)
        case closed
    }

    private struct Shared {
        var state = State.connecting
        /// The descriptor to shut down when the thread hangs in a call.
        var descriptor: Int32?
        var busySince: ContinuousClock.Instant?
        var isWoken = false
    }

    let wakeup = Wakeup()
    private let shared = NIOLockedValueBox(Shared())

    var state: State { self.shared.withLockedValue { $0.state } }

    /// Sets the state, unless the connection was closed for good.
    func set(_ state: State) {
        self.shared.withLockedValue { shared in
            if shared.state != .closed { shared.state = state }
        }
    }

    func opened(_ descriptor: Int32) {
        self.shared.withLockedValue { $0.descriptor = descriptor }
    }

    /// To be called before the descriptor is closed: its number may be another's afterwards.
    func closing() {
        self.shared.withLockedValue { $0.descriptor = nil }
    }

    /// Wakes the thread; many calls before it wakes cost one system call.
    func wake() {
        let isFirst = self.shared.withLockedValue { shared in
            defer { shared.isWoken = true }
            return !shared.isWoken
        }
        if isFirst { self.wakeup.call() }
    }

    /// Begins a turn of the thread, which sees all earlier requests.
    func beginTurn() {
        let now = ContinuousClock.now
        self.shared.withLockedValue { shared in
            shared.isWoken = false
            shared.busySince = now
        }
    }

    /// The thread is about to wait.
    func endTurn() {
        self.shared.withLockedValue { $0.busySince = nil }
    }

    /// Cuts the connection when its thread has been in one call for longer than `limit`, which nothing else can end.
    func interrupt(ifBusyFor limit: Duration) {
        let now = ContinuousClock.now
        self.shared.withLockedValue { shared in
            guard let since = shared.busySince, now - since > limit, let descriptor = shared.descriptor else { return }
            // Under the lock: the thread cannot close it in between.
            _ = shutdown(descriptor, Int32(SHUT_RDWR))
        }
    }
}
