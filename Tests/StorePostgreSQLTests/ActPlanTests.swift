import PushModel
import Store
import StoreContract
import StoreKit
import StoreSQL
import Testing
import Undisturbed

@testable import StorePostgreSQL

/// How lists of acts are read: by indexes, and no further than their page, also where another app has nearly all.
@Suite(.enabled(if: TestServer.isThere), .undisturbed) struct ActPlanTests {
    private let fixture: StoreAdministration
    private let store: RecordingStore

    init() throws {
        self.fixture = try StoreAdministration(StoreOptions())
        self.store = RecordingStore(self.fixture.engine)
    }

    private func act(_ app: AppID?, _ kind: ActKind, by author: String) -> ActEntry {
        .new(NewAct(app: app, by: author, via: .api, origin: "::1", kind: kind), .done)
    }

    @Test(arguments: [false, true]) func aListIsReadNoFurtherThanItsPage(isFull: Bool) async throws {
        let other = try AppID("other")
        for app in [AppID.default, other] { try await self.fixture.engine.apply(.app(app, AppSpec())) }
        if isFull { try await self.fixture.fillActs() }
        for _ in 0..<3 { _ = try await self.fixture.engine.record(self.act(other, .queuePause, by: "key:shop")) }
        let queries = [AppID.default, other, nil].flatMap { app in
            [
                ActQuery(app: app, limit: 10), ActQuery(app: app, by: ["key:shop"], limit: 10),
                ActQuery(app: app, by: ["account:shop", "key:shop", "host:shop"], limit: 10),
                ActQuery(app: app, kind: .jobCancel, job: .init(id: .make(), finished: .now), limit: 10),
                ActQuery(app: app, kind: .queuePause, limit: 10), ActQuery(app: app, state: .begun, limit: 10),
                ActQuery(app: app, by: ["key:shop"], kind: .keyAdd, since: .now, limit: 10),
            ]
        }
        for query in queries {
            _ = try await self.store.acts(query)
            for statement in self.store.recorded().reads {
                let plan = try await self.fixture.run(explaining: statement)
                let words = "\(query): \(statement.text)\n\(plan)"
                #expect(try #require(plan.walked) <= 5_001, "\(words)")
                // Of a table that has nearly nothing the server may sort it.
                guard isFull else { continue }
                #expect(plan.walks(besides: ["app"]).isEmpty && !"\(plan)".contains("Sort"), "\(words)")
            }
        }
    }
}

extension RecordingStore: ActStore {}
