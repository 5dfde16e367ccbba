import StoreKit
import Testing

/// Rate limits, without a store.
@Suite struct GCRATests {
    @Test(arguments: [1, 3, 10, 333, 1000, 100_000, 1_000_000], [7, 300])
    func theLimiterAdmitsItsRate(rate: Int, lateness: Int64) {
        let start: Int64 = 1_800_000_000_000 * 1_000_000
        var bucket = GCRA(rate: rate, tat: start, now: start)
        var now = start
        var count = 0
        var greatest = 0
        while now < start + 20_000_000_000 {
            let devices = bucket.devices(at: now, isUrgent: false)
            if devices > 0 {
                bucket.take(devices, at: now)
                count += devices
                greatest = max(greatest, devices)
            } else {
                #expect(bucket.wait(at: now, isUrgent: false) > 0)
            }
            // A send worker that looks again a little late, or was held up by a busy machine.
            now += bucket.wait(at: now, isUrgent: false) + lateness * 1_000_000
        }
        #expect(count <= rate * 20 + 1)
        #expect(Double(count) >= Double(rate * 20) * 0.95 - 1)
        #expect(greatest <= max(1, rate / 5, rate * Int(lateness + 101) / 1000 + 1))
        // After a rest nothing bursts.
        #expect(bucket.devices(at: now + 60_000_000_000, isUrgent: false) <= max(1, rate / 5))
    }

    @Test func aFasterRateIsNotDelayedByASlowerRatesDebt() {
        let now: Int64 = 1_800_000_000_000 * 1_000_000
        var slow = GCRA(rate: 1, tat: now, now: now)
        slow.take(1000, at: now)
        #expect(slow.wait(at: now, isUrgent: false) >= 999_000_000_000)
        let fast = GCRA(rate: 100_000, tat: slow.tat, now: now)
        #expect(fast.wait(at: now, isUrgent: false) <= 1_000_000_000)
    }
}
