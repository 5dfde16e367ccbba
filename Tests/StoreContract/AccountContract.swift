import PushModel
import Store
import Testing

/// What any store must do with accounts and keys.
@Suite(.everyAdministration) struct AccountContract {
    private let fixture: any AdministrationFixture
    private var store: any AppAdministration { self.fixture.administration }
    private var time: TestTime { self.fixture.time }

    init() throws { self.fixture = try StoreFixtures.makeAdministration() }

    private func add(_ name: String, _ role: Role, app: AppID = .default) async throws -> UserName {
        let user = try UserName(name, .folded)
        let account = Account(app: app, name: user, role: role, isDisabled: false, created: self.time.wall)
        try await self.store.apply(.account(.add(account, passwordHash: "h")))
        return user
    }

    private func key(_ name: String, _ role: Role) -> APIKey {
        APIKey(app: .default, name: name, role: role, created: self.time.wall, revoked: nil)
    }

    @Test func accountsAndKeysBelongToTheirApp() async throws {
        let other = try AppID("other")
        let ann = Account(
            app: .default,
            name: try UserName("ann", .folded),
            role: .user,
            isDisabled: false,
            created: self.time.wall
        )
        try await self.store.apply(.account(.put(ann, passwordHash: "h1")))
        #expect(try await self.store.account(ann.name, app: .default)?.account == ann)
        #expect(try await self.store.account(ann.name, app: other) == nil)
        #expect(
            try await self.store.apply(
                .account(.update(AccountUpdate(isDisabled: true), account: ann.name, app: .default))
            )
        )
        #expect(try await self.store.account(ann.name, app: .default)?.account.isDisabled == true)
        #expect(
            try await !self.store.apply(
                .account(.update(AccountUpdate(isDisabled: true), account: ann.name, app: other))
            )
        )
        try await self.store.apply(.account(.put(ann, passwordHash: "h2")))
        let again = try #require(try await self.store.account(ann.name, app: .default))
        #expect(again.passwordHash == "h2")
        #expect(!again.account.isDisabled)
        let key = APIKey(app: .default, name: "backend", role: .sender, created: self.time.wall, revoked: nil)
        try await self.store.apply(.key(.add(key, hash: [1, 2])))
        let error = await #expect(throws: StoreError.self) { try await self.store.apply(.key(.add(key, hash: [3]))) }
        #expect(error?.code == .conflict)
        #expect(try await self.store.keys(.hash([1, 2])).first == key)
        #expect(try await self.store.apply(.key(.revoke(named: "backend", app: .default))))
        #expect(try await !self.store.apply(.key(.revoke(named: "backend", app: .default))))
        #expect(try await self.store.keys(.hash([1, 2])).first?.revoked == self.time.wall)
        #expect(try await self.store.keys(.app(other)).isEmpty)
        #expect(try await self.store.accounts(AccountQuery(app: .default, limit: 100)).items.count == 1)
    }

    @Test func accountsAreListedInTheirOrderPageByPage() async throws {
        for name in ["c", "a", "b"] { _ = try await self.add(name, .user) }
        _ = try await self.add("z", .user, app: AppID("other"))
        let first = try await self.store.accounts(AccountQuery(app: .default, limit: 2))
        #expect(first.items.map(\.account.name.name) == ["c", "a"])
        let cursor = try #require(first.cursor)
        let next = AccountQuery(app: .default, cursor: cursor, limit: 2)
        let second = try await self.fixture.anotherAdministration().accounts(next)
        #expect(second.items.map(\.account.name.name) == ["b"] && second.cursor == nil)
    }

    /// What ends an operator.
    private static func ends(of user: UserName, app: AppID = .default) -> [AccountChange] {
        [
            .update(AccountUpdate(role: .sender), account: user, app: app),
            .update(AccountUpdate(isDisabled: true), account: user, app: app), .remove(account: user, app: app),
        ]
    }

    private func isRefused(_ change: AccountChange) async -> Bool {
        let error = await #expect(throws: StoreError.self) { try await self.store.apply(.account(change)) }
        return error?.code == .lastOperator
    }

    @Test func anAppThatHasAnOperatorKeepsOne() async throws {
        let (root, user) = (try await self.add("root", .operator), try await self.add("user", .user))
        for change in Self.ends(of: root) { #expect(await self.isRefused(change), "\(change)") }
        #expect(try await self.store.account(root, app: .default)?.account.role == .operator)
        let password = AccountUpdate(role: .operator, passwordHash: "other", isDisabled: false)
        #expect(try await self.store.apply(.account(.update(password, account: root, app: .default))))
        // A key is one too, while it works; one that is not an operator is not.
        try await self.store.apply(.key(.add(self.key("sender", .sender), hash: [1])))
        try await self.store.apply(.key(.add(self.key("backend", .operator), hash: [2])))
        let disable = AccountUpdate(isDisabled: true)
        #expect(try await self.store.apply(.account(.update(disable, account: root, app: .default))))
        #expect(
            try await self.store.apply(
                .account(.update(AccountUpdate(isDisabled: false), account: root, app: .default))
            )
        )
        try await self.store.apply(.key(.revoke(named: "backend", app: .default)))
        for change in Self.ends(of: root) { #expect(await self.isRefused(change), "\(change)") }
        // Whoever is not the last one may go.
        #expect(try await self.store.apply(.account(.remove(account: user, app: .default))))
        _ = try await self.add("second", .operator)
        #expect(try await self.store.apply(.account(.remove(account: root, app: .default))))
        #expect(try await !self.store.apply(.account(.remove(account: root, app: .default))))
    }

    /// Each sees the other stay.
    @Test func twoOperatorsDoNotEndEachOtherAtATime() async throws {
        let other = try self.fixture.anotherAdministration()
        func isLast(_ store: any AppAdministration, _ change: AccountChange) async throws -> Bool {
            do {
                try await store.apply(.account(change))
                return false
            } catch let error as StoreError where error.code == .lastOperator { return true }
        }
        for round in 0..<20 {
            let app = try AppID("app\(round)")
            let (ann, bob) = (
                try await self.add("ann", .operator, app: app), try await self.add("bob", .operator, app: app)
            )
            async let first = isLast(self.store, Self.ends(of: ann, app: app)[round % 3])
            async let second = isLast(other, Self.ends(of: bob, app: app)[(round + round / 3) % 3])
            #expect(try await first != second)
        }
    }

    @Test func oneOfTwoAdditionsAtATimeIsInConflict() async throws {
        let other = try self.fixture.anotherAdministration()
        func isTaken(_ store: any AppAdministration, _ change: AdministrationChange) async throws -> Bool {
            do {
                try await store.apply(change)
                return false
            } catch let error as StoreError where error.code == .conflict { return true }
        }
        for round in UInt8(0)..<20 {
            let key = self.key("k\(round)", .sender)
            async let first = isTaken(self.store, .key(.add(key, hash: [round, 1])))
            async let second = isTaken(other, .key(.add(key, hash: [round, 2])))
            #expect(try await first != second)
        }
        #expect(try await self.store.keys(.app(.default)).count == 20)
    }
}
