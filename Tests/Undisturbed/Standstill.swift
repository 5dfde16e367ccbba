import Foundation
import Synchronization

/// How long this machine, or this process, has stood: what no code took, and no deadline can allow for.
enum Standstill {
    /// How late a thread that only sleeps may be.
    private static let shortest = Duration.milliseconds(50)

    private struct State {
        var seen = ContinuousClock.now
        var stood = Duration.zero
    }

    private static let state = Mutex(State())

    /// Looks often, so that what lies between two looks is the machine's doing.
    private static let watch: Void = Thread.detachNewThread {
        while true {
            Thread.sleep(forTimeInterval: 0.01)
            Self.look()
        }
    }

    /// All of it since this was first asked for.
    static var total: Duration {
        self.watch
        return self.look()
    }

    @discardableResult private static func look() -> Duration {
        self.state.withLock { state in
            let now = ContinuousClock.now
            if now - state.seen > self.shortest { state.stood += now - state.seen }
            state.seen = now
            return state.stood
        }
    }
}
