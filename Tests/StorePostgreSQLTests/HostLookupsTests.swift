import Foundation
import NIOConcurrencyHelpers
import Testing
import Undisturbed

@testable import StorePostgreSQL

/// Whoever asks for the addresses of a name has a deadline, and the question goes on.
@Suite(.undisturbed) struct NameLookupsTests {
    @Test func aNameIsAskedForOnceByAllWhoWait() throws {
        let (asked, isOpen) = (NIOLockedValueBox(0), NIOLockedValueBox(false))
        let lookups = HostLookups { _ in
            asked.withLockedValue { $0 += 1 }
            while !isOpen.withLockedValue({ $0 }) { Thread.sleep(forTimeInterval: 0.01) }
            return ["192.0.2.1"]
        }
        let start = ContinuousClock.now
        for _ in 0..<3 { #expect(lookups.addresses(of: "db", until: .now + .milliseconds(50)).isEmpty) }
        #expect(ContinuousClock.now - start < .seconds(5))
        isOpen.withLockedValue { $0 = true }
        #expect(lookups.addresses(of: "db", until: .now + .seconds(30)) == ["192.0.2.1"])
        #expect(asked.withLockedValue { $0 } == 1)
    }

    @Test func theSystemKnowsThisHost() {
        let system = HostLookups.system
        #expect(system.addresses(of: "127.0.0.1", until: .now + .seconds(30)) == ["127.0.0.1"])
        #expect(system.addresses(of: "nothing.invalid", until: .now + .seconds(30)).isEmpty)
    }
}
