import PushModel
import StoreKit
import Testing

/// What may be forgotten, and when.
@Suite struct RetentionRuleTests {
    private static let day: Int64 = 86_400_000

    /// A job that was accepted at 0, lives for an hour and ended after a minute.
    private func job(
        finished: Int64? = 60_000,
        accepted: Int64 = 0,
        ends: Int64? = 3_600_000,
        key: Int64? = nil,
        hasDeadLetter: Bool = false
    ) -> RetainedJob {
        RetainedJob(
            finished: finished,
            accepted: accepted,
            expires: accepted + 3_600_000,
            ends: ends,
            key: key,
            hasDeadLetter: hasDeadLetter
        )
    }

    @Test func aFinalJobGoesWhenItIsOldEnough() {
        #expect(self.job().mayGo(before: 60_000, now: Self.day))
        #expect(!self.job().mayGo(before: 59_999, now: Self.day))
        #expect(!self.job(finished: nil).mayGo(before: Self.day, now: Self.day))
        #expect(!self.job(hasDeadLetter: true).mayGo(before: Self.day, now: Self.day))
    }

    /// A key lasts a day, however short jobs are kept.
    @Test func aJobStaysAsLongAsItsKey() {
        #expect(!self.job(key: 0).mayGo(before: Self.day, now: Self.day - 1))
        #expect(self.job(key: 0).mayGo(before: Self.day, now: Self.day))
    }

    /// At the start of a machine that keeps no time the wall clock is years behind: what was accepted then is not older for it.
    @Test func aWallClockThatWasBehindMakesAJobNoOlder() {
        let now = 20_000 * Self.day
        let job = self.job(finished: 60_000, accepted: 0, ends: now + 3_600_000, key: 0)
        #expect(!job.mayGo(before: now - 1, now: now + Self.day))
        #expect(!job.mayGo(before: now, now: now + Self.day - 1))
        #expect(job.mayGo(before: now, now: now + Self.day))
        // One that never started has no end by that clock.
        #expect(self.job(ends: nil).mayGo(before: 60_000, now: Self.day))
    }

    /// A time in the future comes from a wrong clock, and blocks no others.
    @Test func aListIsGoneThroughBeyondTimesInTheFuture() {
        struct Clock: ClockSource {
            var bootID: String { "boot" }
            var sinceBoot: Int64 { 10_000 }
            var wall: Timestamp { Timestamp(milliseconds: 9_000) }
        }
        let age = RetentionAge(olderThan: .seconds(4), by: StoreClock(source: Clock(), shift: 0))
        #expect(age.before == 5_000)
        #expect(age.passes(5_000))
        #expect(!age.passes(5_001))
        #expect(!age.passes(10_000))
        #expect(age.passes(10_001))
    }

    @Test func aReleasedHandleIsKnownByItsDeviceAndPurpose() throws {
        let handle = Handle(stored: "aa")
        let native = ReleasedHandle(handle, RegistrationSlot(.apns))
        #expect(native == ReleasedHandle(Handle(stored: "aa"), RegistrationSlot(.apns)))
        #expect(native.digest.count == 16)
        #expect(native != ReleasedHandle(Handle(stored: "ab"), RegistrationSlot(.apns)))
        #expect(native != ReleasedHandle(handle, RegistrationSlot(.apns, template: "news")))
    }
}
