import PushModel
import Store
import Testing

/// What any store must do with the declarations of apps.
@Suite(.everyAdministration) struct AppContract {
    private let fixture: any AdministrationFixture
    private var store: any AppAdministration { self.fixture.administration }

    init() throws { self.fixture = try StoreFixtures.makeAdministration() }

    @Test func applyingAnUnchangedAppDoesNothing() async throws {
        var spec = AppSpec()
        #expect(try await self.store.app(.default) == nil)
        #expect(try await self.store.apply(.app(.default, spec)))
        #expect(try await !self.store.apply(.app(.default, spec)))
        spec.recording = .all
        #expect(try await self.store.apply(.app(.default, spec)))
        #expect(try await self.store.app(.default) == spec)
        #expect(try await self.store.apps() == [.default: spec])
    }

    private func add(_ name: String, _ users: AppSpec.Users) async throws {
        let account = Account(
            app: .default,
            name: try UserName(name, users),
            role: .user,
            isDisabled: false,
            created: self.fixture.time.wall
        )
        try await self.store.apply(.account(.put(account, passwordHash: "of \(name)")))
    }

    private func hash(of name: String, _ users: AppSpec.Users) async throws -> String? {
        try await self.store.account(UserName(name, users), app: .default)?.passwordHash
    }

    @Test func anAccountThatDiffersOnlyByLetterCaseIsRefused() async throws {
        try await self.add("Ann", .folded)
        try await self.add("Ann", .folded)
        #expect(try await self.hash(of: "aNN", .folded) == "of Ann")
        #expect(
            try await self.store.accounts(AccountQuery(app: .default, limit: 100)).items.map(\.account.name.name) == [
                "Ann"
            ]
        )
        let error = await #expect(throws: StoreError.self) { try await self.add("ann", .folded) }
        #expect(error?.code == .conflict)
        #expect(try await self.hash(of: "ann", .folded) == "of Ann")
        #expect(
            try await self.store.apply(
                .account(.update(AccountUpdate(isDisabled: true), account: UserName("ANN", .folded), app: .default))
            )
        )
        #expect(
            try await self.store.accounts(AccountQuery(app: .default, limit: 100)).items.map(\.account.isDisabled) == [
                true
            ]
        )
    }

    @Test func accountsAdoptTheAppsComparisonWhileNothingElseIsStored() async throws {
        #expect(try await self.store.apply(.app(.default, AppSpec { $0.users = .folded })))
        try await self.add("Ann", .folded)
        #expect(try await self.store.apply(.app(.default, AppSpec { $0.users = .exact })))
        #expect(try await self.hash(of: "Ann", .exact) == "of Ann")
        #expect(try await self.hash(of: "ann", .exact) == nil)
        try await self.add("ann", .exact)
        let error = await #expect(throws: StoreError.self) {
            try await self.store.apply(.app(.default, AppSpec { $0.users = .folded }))
        }
        #expect(error?.code == .conflict)
        #expect(error?.message.contains("differ only in letter case") == true)
        #expect(try await self.store.app(.default)?.users == .exact)
        #expect(try await self.hash(of: "Ann", .exact) == "of Ann")
    }

    @Test func ofTwoDeclarationsAtATimeOneIsTheLast() async throws {
        let other = try self.fixture.anotherAdministration()
        for _ in 0..<20 {
            async let first = self.store.apply(.app(.default, AppSpec { $0.recording = .all }))
            async let second = other.apply(.app(.default, AppSpec()))
            _ = try await (first, second)
            #expect([AppSpec { $0.recording = .all }, AppSpec()].contains(try await self.store.app(.default)))
        }
    }
}
