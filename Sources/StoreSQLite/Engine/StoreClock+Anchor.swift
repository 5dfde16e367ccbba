import PushModel
import StoreKit

extension StoreClock {
    /// Finds the clock of this start of the machine, or sets it going; within a write transaction.
    static func anchor(_ source: any ClockSource, in database: Database) throws -> StoreClock {
        let kept = try database.first("SELECT boot, shift, seen FROM clock") {
            (boot: $0["boot"] as String, shift: $0["shift"] as Int64, seen: $0["seen"] as Int64)
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
