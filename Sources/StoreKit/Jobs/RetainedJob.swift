import PushModel

/// Which rows of a list in the order of recording are old enough to go.
package struct RetentionAge: Sendable {
    /// What was recorded until then, in milliseconds.
    package let before: Int64
    private let latest: Int64

    package init(olderThan age: Duration, by clock: StoreClock) {
        self.before = clock.cautious.milliseconds - age.milliseconds
        self.latest = clock.latest.milliseconds
    }

    /// Whether the list is gone through beyond a row: a time in the future comes from a wrong clock, and blocks no others.
    package func passes(_ time: Int64) -> Bool { time <= self.before || time > self.latest }
}

/// What decides whether a job may go, with all that belongs to it.
package struct RetainedJob {
    /// The lifetime of an idempotency key (rule 17).
    package static let keyLife = Duration.seconds(86_400)

    private let finished: Int64?
    /// When it was accepted by the store's clock: a wall clock that was behind then, as at the start of a machine that keeps no time,
    /// made it no older.
    package let began: Int64
    private let key: Int64?
    private let hasDeadLetter: Bool

    /// - Parameters:
    ///   - finished: When it came to its end; nil = it has not.
    ///   - accepted: When it was accepted, by the wall clock.
    ///   - expires: The end of its lifetime, by the wall clock.
    ///   - ends: The same by the store's clock; nil if it never started.
    ///   - key: When its idempotency key was stored, if it has one.
    ///   - hasDeadLetter: Whether a dead letter of it is kept.
    package init(finished: Int64?, accepted: Int64, expires: Int64, ends: Int64?, key: Int64?, hasDeadLetter: Bool) {
        self.finished = finished
        self.began = ends.map { $0 - (expires - accepted) } ?? accepted
        self.key = key
        self.hasDeadLetter = hasDeadLetter
    }

    /// - Parameters:
    ///   - before: The end until which jobs go.
    ///   - now: The clock for ages.
    /// - Returns: Whether it is final, old enough, and not referred to any more.
    package func mayGo(before: Int64, now: Int64) -> Bool {
        guard let finished = self.finished, finished <= before, self.began <= before, !self.hasDeadLetter else {
            return false
        }
        return self.key.map { max($0, self.began) <= now - Self.keyLife.milliseconds } ?? true
    }
}
