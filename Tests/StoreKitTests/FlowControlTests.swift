import PushModel
import Store
import StoreKit
import Testing

/// What may be published now, by what is in flight and by rate limits (rule 12).
@Suite struct FlowControlTests {
    private static let now: Int64 = 1_800_000_000_000
    private let flow = FlowControl(now: Self.now, window: InFlightWindow(devices: 4000, messages: 10, jobMessages: 3))

    private func limits(_ rates: [String: Int]) throws -> RateLimits {
        let tat = Self.now * 1_000_000
        return RateLimits(
            try rates.map { (credential: try CredentialName($0.key), rate: $0.value, tat: tat - 60_000_000_000) },
            now: Self.now
        )
    }

    private func credit(
        _ kind: CreditKind,
        messages: Int = 0,
        devices: Int = 0,
        limits: RateLimits = RateLimits()
    ) -> Credit {
        self.flow.credit(
            for: kind,
            .normal,
            at: ServiceLoad(messages: messages, devices: devices, limits: limits)
        )
    }

    @Test func eachKindFillsItsShareOfTheWindowInWholeBatches() {
        #expect(self.credit(.page).devices == 4000)
        #expect(self.credit(.page, devices: 3001).devices == 0)
        #expect(self.credit(.page, devices: 3000).devices == 1000)
        // A quarter more is left for first pages, a batch at a time.
        #expect(self.credit(.first, devices: 4000).devices == 1000)
        #expect(self.credit(.first).devices == 1000)
        #expect(self.credit(.first, devices: 4001).devices == 0)
        #expect(self.credit(.retry, devices: 7000).devices == 1000)
        #expect(self.credit(.retry, devices: 8000).devices == 0)
    }

    @Test func theNumberOfMessagesIsAWindowToo() {
        #expect(self.credit(.page, messages: 9).devices == 4000)
        #expect(self.credit(.page, messages: 10).devices == 0)
        #expect(self.credit(.first, messages: 12).devices == 1000)
        #expect(self.credit(.first, messages: 13).devices == 0)
    }

    @Test func aPausedServiceHasNoCredit() {
        #expect(self.flow.credit(for: .retry, .high, at: ServiceLoad(isPaused: true)) == Credit(devices: 0))
    }

    @Test func aRateLimitGivesABurstThenAWait() throws {
        let limits = try self.limits(["default": 1000])
        #expect(self.credit(.page, limits: limits).devices == 200)
        #expect(self.credit(.page, limits: limits).limits.isEmpty)
        // At most two seconds' worth is in flight.
        #expect(self.credit(.page, devices: 1900, limits: limits).devices == 100)
        var devices = DeviceCount()
        devices.add(200, [:])
        let spent = try #require(limits.spend(devices, .page, .normal)?[.default])
        let after = RateLimits([(credential: .default, rate: 1000, tat: spent)], now: Self.now)
        #expect(self.credit(.page, limits: after).devices == 0)
        #expect(try #require(self.credit(.page, limits: after).wait) > .zero)
        // Small sends pass a campaign that has left nothing, and retries go in any case.
        #expect(self.credit(.first, limits: after).devices == 200)
        #expect(after.spend(devices, .page, .normal) == nil)
        #expect(after.spend(devices, .retry, .normal) != nil)
    }

    @Test func aCredentialWithoutALimitUsesWhatTheWindowLeaves() throws {
        let watch = try CredentialName("watch")
        let limits = try self.limits(["default": 0, "watch": 1000])
        let credit = self.credit(.page, limits: limits)
        #expect(credit.devices == 4000)
        #expect(credit.limits == [watch: CredentialCredit(devices: 200)])
        var devices = DeviceCount()
        devices.add(10, [watch: 3])
        #expect(limits.spend(devices, .page, .normal)?.keys.map(\.name) == ["watch"])
    }

    @Test func aRetryWaitsWhereItsCredentialIsUsedUp() throws {
        let watch = try CredentialName("watch")
        let used = RateLimits(
            [
                (credential: .default, rate: 1000, tat: Self.now * 1_000_000 - 60_000_000_000),
                (credential: watch, rate: 10, tat: (Self.now + 5000) * 1_000_000),
            ],
            now: Self.now
        )
        var ofWatch = DeviceCount()
        ofWatch.add(2, [watch: 1])
        var others = DeviceCount()
        others.add(2, [:])
        #expect(try #require(used.wait(ofRetry: ofWatch, .normal)) > .seconds(4))
        #expect(used.wait(ofRetry: others, .normal) == nil)
        // With a single credential it goes, and what is too much is waited for later.
        let only = RateLimits([(credential: .default, rate: 10, tat: (Self.now + 5000) * 1_000_000)], now: Self.now)
        #expect(only.wait(ofRetry: others, .normal) == nil)
    }

    @Test func newMessagesOfJobsLeaveRoomForThoseThatWait() {
        var window = JobWindow(InFlightWindow(jobMessages: 3))
        var reads = 0
        let states = (0..<3).map { _ in
            window.begin(in: .send) { _, most in
                reads += 1
                #expect(most == 3)
                return JobLoad(inFlight: 1, waiting: 1)
            }
        }
        #expect(states == [.ready, .deferred, .deferred])
        #expect(reads == 1)
        // Each queue has a window of its own.
        #expect(window.begin(in: .register) { _, _ in JobLoad(inFlight: 0, waiting: 0) } == .ready)
    }
}
