import Foundation
package import PushModel

/// The source of the store's clocks; tests have their own.
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
        // On other systems each process counts as a new start; that is for development only.
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
