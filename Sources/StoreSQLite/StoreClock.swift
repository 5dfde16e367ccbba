import Foundation
import GRDB
package import PushModel
import Store

/// Where the store reads its clocks; tests bring their own.
package protocol ClockSource: Sendable {
    /// The wall clock.
    var wall: Timestamp { get }
    /// Milliseconds since the machine started, sleep included; never jumps.
    var sinceBoot: Int64 { get }
    /// Names this start of the machine.
    var bootID: String { get }
}

/// The machine's clocks.
package struct SystemClock: ClockSource {
    package let bootID: String

    package init() throws {
        #if os(Linux)
        self.bootID = try String(contentsOfFile: "/proc/sys/kernel/random/boot_id", encoding: .utf8)
            .trimmingCharacters(in: .whitespacesAndNewlines)
        #else
        // Elsewhere each process counts as a start of its own; that is for development alone.
        self.bootID = UUID().uuidString
        #endif
    }

    package var wall: Timestamp { .now }

    package var sinceBoot: Int64 {
        var time = timespec()
        #if os(Linux)
        _ = unsafe clock_gettime(CLOCK_BOOTTIME, &time)
        #else
        _ = unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        #endif
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }
}

/// The clock that leases and delays run on (rule 13): near to the wall clock, but it neither jumps nor goes back.
///
/// All processes of a host agree on it: it is the time since the machine started plus a shift that the store keeps. At a new
/// start of the machine it goes on from the wall clock or from where it was last seen, whichever is later.
struct StoreClock: Sendable {
    let source: any ClockSource
    /// Milliseconds between the machine's start and the clock's zero.
    let shift: Int64

    /// Milliseconds.
    var now: Int64 { self.source.sinceBoot + self.shift }

    var wall: Timestamp { self.source.wall }

    /// What is old is judged by: the wall clock, but not one that has jumped ahead.
    var cautious: Timestamp { min(self.wall, Timestamp(milliseconds: self.now)) }

    /// The later of both clocks: what claims to be of later still was recorded while the wall clock was ahead.
    var latest: Timestamp { max(self.wall, Timestamp(milliseconds: self.now)) }

    /// The wall clock's reading when this clock shows `due`, as far as can be told now.
    func wall(at due: Int64) -> Timestamp {
        Timestamp(milliseconds: self.wall.milliseconds + due - self.now)
    }

    /// Finds the clock of this start of the machine, or sets it going; within a write transaction.
    static func anchor(_ source: any ClockSource, in database: Database) throws -> StoreClock {
        let kept = try database.first("SELECT boot, shift, seen FROM clock") {
            (boot: $0[0] as String, shift: $0[1] as Int64, seen: $0[2] as Int64)
        }
        if let kept, kept.boot == source.bootID { return StoreClock(source: source, shift: kept.shift) }
        let now = max(kept?.seen ?? 0, source.wall.milliseconds)
        let clock = StoreClock(source: source, shift: now - source.sinceBoot)
        try database.run(
            "INSERT OR REPLACE INTO clock(id, boot, shift, seen) VALUES (1, ?, ?, ?)",
            [source.bootID, clock.shift, now]
        )
        return clock
    }
}
