package import PushModel

/// The clock of leases and delays (rule 13): close to the wall clock, without jumps.
///
/// All processes of a host agree on it: it is the time since the machine started plus a shift kept in the store. After
/// a reboot it continues from the wall clock or from its last reading, whichever is later.
package struct StoreClock: Sendable {
    /// The clocks that it runs on.
    package let source: any ClockSource
    /// Milliseconds between the machine's start and the clock's zero.
    package let shift: Int64

    /// - Parameters:
    ///   - source: The clocks that it runs on.
    ///   - shift: Milliseconds between the machine's start and the clock's zero.
    package init(source: any ClockSource, shift: Int64) {
        self.source = source
        self.shift = shift
    }

    /// Milliseconds.
    package var now: Int64 { self.source.sinceBoot + self.shift }

    /// The wall clock's reading.
    package var wall: Timestamp { self.source.wall }

    /// The clock for ages: the wall clock, unless it has jumped ahead.
    package var cautious: Timestamp { min(self.wall, Timestamp(milliseconds: self.now)) }

    /// The later of both clocks: later times were recorded while the wall clock was ahead.
    package var latest: Timestamp { max(self.wall, Timestamp(milliseconds: self.now)) }

    /// The estimated reading of the wall clock when this clock shows `due`.
    package func wall(at due: Int64) -> Timestamp {
        self.wall.advanced(by: .milliseconds(due.clampedSubtracting(self.now)))
    }
}
