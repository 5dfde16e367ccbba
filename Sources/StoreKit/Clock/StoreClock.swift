package import PushModel

/// The clock that leases and delays run on (rule 13): near to the wall clock, but it neither jumps nor goes back.
///
/// All processes of a host agree on it: it is the time since the machine started plus a shift that the store keeps. At a new
/// start of the machine it goes on from the wall clock or from where it was last seen, whichever is later.
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

    /// What is old is judged by: the wall clock, but not one that has jumped ahead.
    package var cautious: Timestamp { min(self.wall, Timestamp(milliseconds: self.now)) }

    /// The later of both clocks: what claims to be of later still was recorded while the wall clock was ahead.
    package var latest: Timestamp { max(self.wall, Timestamp(milliseconds: self.now)) }

    /// The wall clock's reading when this clock shows `due`, as far as can be told now.
    package func wall(at due: Int64) -> Timestamp {
        Timestamp(milliseconds: self.wall.milliseconds + due - self.now)
    }
}
