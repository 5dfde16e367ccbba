import NIOConcurrencyHelpers
package import PushModel
import StoreKit

/// Clocks that stand still until a test moves them.
package final class TestTime: ClockSource {
    private struct State {
        var wall: Int64 = 1_800_000_000_000
        var sinceBoot: Int64 = 5_000_000
        var boot = "first"
    }
    private let state = NIOLockedValueBox(State())

    package init() {}

    /// The wall clock.
    package var wall: Timestamp { Timestamp(milliseconds: self.state.withLockedValue { $0.wall }) }
    /// Milliseconds since the machine started.
    package var sinceBoot: Int64 { self.state.withLockedValue { $0.sinceBoot } }
    /// Names this start of the machine.
    package var bootID: String { self.state.withLockedValue { $0.boot } }

    /// Time passes, by every clock.
    package func advance(_ duration: Duration) {
        self.state.withLockedValue {
            $0.wall += duration.milliseconds
            $0.sinceBoot += duration.milliseconds
        }
    }

    /// Someone sets the wall clock.
    package func jump(_ duration: Duration) { self.state.withLockedValue { $0.wall += duration.milliseconds } }

    /// The machine starts again.
    package func reboot(_ name: String) {
        self.state.withLockedValue {
            $0.boot = name
            $0.sinceBoot = 1000
        }
    }
}
