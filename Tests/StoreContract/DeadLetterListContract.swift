import PushModel
import Store
import Testing

/// What any store must do with dead letters that stand for no work: keep, list and discard them.
@Suite(.everyAdministration) struct DeadLetterListContract {
    private let fixture: any AdministrationFixture
    private var store: any DeadLetterStore { self.fixture.deadLetters }

    init() throws { self.fixture = try StoreFixtures.makeAdministration() }

    private func declare(_ app: AppID) async throws {
        _ = try await self.fixture.administration.apply(.app(app, AppSpec()))
    }

    private func die(_ messageID: String, app: AppID?, body: [UInt8] = [1, 2]) async throws {
        try await self.store.deadLetter(
            IncomingDeadLetter(
                queue: "pushline.x",
                type: "deliver",
                messageID: messageID,
                app: app,
                reason: "r",
                body: body
            )
        )
    }

    @Test(arguments: ["nonsense", "", "+7", "007", "4711", "0190f5fe-0000-7000-8000-000000000000"])
    func unknownDeadLettersAreListedAndDiscarded(name: String) async throws {
        try await self.declare(.default)
        try await self.die(name, app: .default)
        let list = try await self.store.deadLetters(DeadLetterQuery(app: .default, limit: 1))
        let letter = try #require(list.items.first)
        #expect(letter.messageID == name && letter.size == 2)
        let blockedReason = try #require(letter.blockedReason)
        #expect(try await self.store.replay(deadLetter: letter.id, app: .default) == .refused(blockedReason))
        // What cannot be read may hold whole handles.
        #expect(try await self.store.deadLetter(letter.id, app: .default)?.body == [])
        #expect(try await self.store.discard(deadLetter: letter.id, app: .default)?.id == letter.id)
        #expect(try await self.store.discard(deadLetter: letter.id, app: .default) == nil)
        #expect(try await self.store.deadLetter(letter.id, app: .default) == nil)
    }

    /// It may be any app's, so no app's operator sees it.
    @Test func whatNamesNoDeclaredAppIsNoAppsAndKeepsNoHandle() async throws {
        let handle = "a-whole-handle-of-somebody-who-is-elsewhere"
        try await self.die("nonsense", app: nil, body: Array(handle.utf8))
        #expect(try await self.store.deadLetters(DeadLetterQuery(app: .default, limit: 1)).items.isEmpty)
        #expect(try await self.store.deadLetter(1, app: .default) == nil)
        #expect(try await self.store.replay(deadLetter: 1, app: .default) == nil)
        #expect(try await self.store.discard(deadLetter: 1, app: .default) == nil)
        let letter = try #require(
            try await self.store.deadLetters(DeadLetterQuery(app: nil, number: 1, limit: 1)).items.first
        )
        #expect(letter.app == nil && letter.size == handle.utf8.count && letter.body == [])
        #expect(try await self.store.discard(deadLetter: letter.id, app: nil)?.id == letter.id)
        #expect(try await self.store.deadLetters(DeadLetterQuery(app: nil, limit: 1)).items.isEmpty)
    }

    @Test func eachAppHasItsOwnInPiecesTheNewestFirst() async throws {
        let shop = try AppID("shop")
        for app in [AppID.default, shop] { try await self.declare(app) }
        for (name, app) in [("a", shop), ("b", .default), ("c", shop), ("d", shop), ("c", shop)] {
            try await self.die(name, app: app)
        }
        let first = try await self.store.deadLetters(DeadLetterQuery(app: shop, limit: 2))
        #expect(first.items.map(\.messageID) == ["d", "c"])
        let rest = try await self.store.deadLetters(DeadLetterQuery(app: shop, cursor: first.cursor, limit: 2))
        #expect(rest.items.map(\.messageID) == ["a"] && rest.cursor == nil)
        // A number is an app's own, and is not used again.
        #expect((first.items + rest.items).map(\.id) == [3, 2, 1])
        _ = try await self.store.discard(deadLetter: 3, app: shop)
        try await self.die("e", app: shop)
        #expect(try await self.store.deadLetters(DeadLetterQuery(app: shop, limit: 9)).items.map(\.id) == [4, 2, 1])
        #expect(try await self.store.deadLetters(DeadLetterQuery(app: .default, limit: 9)).items.map(\.id) == [1])
    }
}
