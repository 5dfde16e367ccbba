import Broker
import Logging
import PushModel
import PushServices
import Testing

@testable import Pipeline

/// Which credentials a worker says are refused, and since when.
struct RefusedCredentialsTests {
    private let breakers = Breakers(
        Breaker.Configuration(),
        logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    )

    private func record(
        _ results: [DeviceResult],
        at pns: PushService = .apns,
        _ credential: CredentialName = .default
    ) {
        let key = Breakers.Key(app: .default, pns: pns, credential: credential)
        _ = self.breakers.record(SendStatistics(results, of: pns, credential), as: .free, key)
    }

    private func refused(_ reason: String) -> DeviceResult {
        .misconfigured(reason: reason, status: 403, detail: "of the account acme")
    }

    /// One device is enough, far below what opens a breaker; what the service says of the account is not told.
    @Test func fromTheFirstRefusalUntilItIsTaken() throws {
        let watch = try CredentialName("watch")
        let before = Timestamp.now
        self.record([self.refused("InvalidProviderToken")], watch)
        self.record([.accepted])
        let first = try #require(self.breakers.refused.first)
        #expect(self.breakers.refused.count == 1 && self.breakers.open.isEmpty)
        #expect(first.app == .default && first.service == "apns" && first.credential == "watch")
        #expect(first.reason == "InvalidProviderToken" && first.since >= before && first.since <= .now)
        // Another word, and the same moment.
        self.record([self.refused("ExpiredProviderToken")], watch)
        #expect(self.breakers.refused.map(\.reason) == ["ExpiredProviderToken"])
        #expect(self.breakers.refused.map(\.since) == [first.since])
        // No answer says nothing; that the token is bad says that the credential is good.
        self.record([.unanswered(reason: "no answer in time")], watch)
        #expect(self.breakers.refused.count == 1)
        self.record([.dead(before: .now, reason: "BadDeviceToken", status: 400)], watch)
        #expect(self.breakers.refused.isEmpty)
    }

    @Test func oneThatIsDeclaredNoMoreIsNotRefused() throws {
        let (watch, old) = (try CredentialName("watch"), try CredentialName("old"))
        self.breakers.declare([.default, old, watch], of: .default, .apns)
        for name in [watch, old] { self.record([self.refused("InvalidProviderToken")], name) }
        self.record([self.refused("invalid_grant")], at: .fcm)
        self.breakers.declare([.default, watch], of: .default, .apns)
        #expect(self.breakers.refused.map(\.credential) == ["watch", nil])
        self.breakers.declare([.default], of: .default, .apns)
        #expect(self.breakers.refused.map(\.service) == ["fcm"])
    }

    /// A device that chose its address may have it refuse anything; a token service is the operator's choice.
    @Test func anAddressThatADeviceChoseProvesNothing() {
        self.record([self.refused("status 401")], at: .wns)
        #expect(self.breakers.refused.isEmpty)
        self.record(Array(repeating: self.refused("status 401"), count: 100), at: .wns)
        #expect(self.breakers.refused.map(\.reason) == ["status 401"] && self.breakers.open.count == 1)
        self.record([.misconfigured(reason: "token service: invalid_client", status: nil)], at: .web)
        #expect(self.breakers.refused.map(\.service) == ["web", "wns"])
    }
}
