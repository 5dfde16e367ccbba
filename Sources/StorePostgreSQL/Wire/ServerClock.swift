import PushModel
import Store
import StoreKit
import StoreSQL

/// The store's clock where several hosts have it: as the server's clock is when a process begins, and then by the clock of its host since
/// that was started, which never jumps.
///
/// So the wall clocks of the hosts do not matter, and they err by what their clocks drift. It is never behind what a process has written,
/// for the server may be another one, and its clock behind that of the one before.
enum ServerClock {
    /// How far behind others a process may be before an operator hears of it.
    static let tolerance: Int64 = 5000

    static func make(
        _ source: any ClockSource,
        _ wire: Wire,
        until deadline: ContinuousClock.Instant
    ) throws -> StoreClock {
        let question = """
            SELECT greatest(CAST(extract(epoch FROM clock_timestamp()) * 1000 AS bigint), (SELECT max(seen) FROM writer)) AS now
            """
        let asked = source.sinceBoot
        let answer = try wire.exchange([PostgreSQLStatement(question)], until: deadline)
        guard let now: Int64 = try answer[0].rows.first?["now"] else {
            throw StoreError(.corrupt, "the server does not say what time it is")
        }
        return StoreClock(source: source, shift: now - (asked + source.sinceBoot) / 2)
    }
}
