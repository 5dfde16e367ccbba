import PushModel
import Store
import StoreContract
import StoreKit
import StoreSQL
import Testing
import Undisturbed

@testable import StorePostgreSQL

/// Contents and rich notifications, whose quotas are compared with what is added up.
@Suite(.enabled(if: TestServer.isThere), .undisturbed) struct ContentTests {
    private let fixture: StoreAdministration
    private var store: PostgreSQLStore { self.fixture.engine }

    init() throws { self.fixture = try StoreAdministration(StoreOptions()) }

    private func content(_ owner: String, _ bytes: [UInt8], type: String = "image/png") throws -> StoredContent {
        StoredContent(owner: try UserName(owner, .folded), mediaType: type, bytes: bytes)
    }

    @Test func contentsAreKeptAsTheyCame() async throws {
        let content = try self.content("ann", [0, 1, 255], type: "image/\0png")
        guard case .kept(let id) = try await self.store.put(content, app: .default, quota: .init()) else {
            Issue.record("it was not kept")
            return
        }
        let kept = try #require(try await self.store.content(id, app: .default))
        #expect(kept.bytes == content.bytes && kept.owner == content.owner)
        #expect(kept.mediaType == "image/\u{FFFD}png")
        #expect(try await self.store.content(id, app: AppID("other")) == nil)
    }

    /// Two contents at a time do not both have the last place.
    @Test func aQuotaHoldsForTwoAtATime() async throws {
        let other = try #require(try self.fixture.anotherAdministration() as? PostgreSQLStore)
        for round in 0..<10 {
            let app = try AppID("app\(round)")
            var quota = AppSpec.Contents()
            let cost = ContentAcceptance.cost(of: try self.content("ann", [1, 2, 3]))
            quota.appBytes = 2 * cost
            let (ann, bob) = (try self.content("ann", [1, 2, 3]), try self.content("bob", [4, 5, 6]))
            let limits = quota
            _ = try await self.store.put(ann, app: app, quota: limits)
            async let first = self.store.put(ann, app: app, quota: limits)
            async let second = other.put(bob, app: app, quota: limits)
            let kept = try await [first, second].filter { if case .kept = $0 { true } else { false } }
            #expect(kept.count == 1)
        }
    }
}
