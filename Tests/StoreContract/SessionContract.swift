import PushModel
import Store
import Testing

/// What any store must do with sessions.
@Suite(.everyAdministration) struct SessionContract {
    private let fixture: any AdministrationFixture
    private var store: any AppAdministration { self.fixture.administration }
    private var time: TestTime { self.fixture.time }

    init() throws { self.fixture = try StoreFixtures.makeAdministration() }

    private func user(_ name: String) throws -> UserName { try UserName(name, .folded) }

    private func add(_ name: String, password: String = "hash", app: AppID = .default) async throws {
        let account = Account(
            app: app,
            name: try self.user(name),
            role: .user,
            isDisabled: false,
            created: self.time.wall
        )
        try await self.store.apply(.account(.put(account, passwordHash: password)))
    }

    /// Opens a session whose secret has that hash.
    private func open(
        _ hash: UInt8,
        of name: String = "Ann",
        password: String? = "hash",
        app: AppID = .default,
        lifetime: Duration = .seconds(1000),
        idle: Duration = .seconds(100),
        limit: Int = 3
    ) async throws -> Session? {
        try await self.store.openSession(
            NewSession(
                app: app,
                user: try self.user(name),
                hash: [hash],
                passwordHash: password,
                lifetime: lifetime,
                idle: idle,
                limit: limit
            )
        )
    }

    private func isOpen(_ hash: UInt8) async throws -> Bool { try await self.store.session(hash: [hash]) != nil }

    @Test func aSessionIsKnownToEveryProcess() async throws {
        try await self.add("Ann")
        let opened = try #require(try await self.open(1))
        let found = try #require(try await self.fixture.anotherAdministration().session(hash: [1]))
        #expect(found == opened)
        #expect(found.user.name == "Ann" && found.app == .default && !found.isDemonstration)
        #expect(found.expires.milliseconds == self.time.wall.milliseconds + 1_000_000)
        #expect(found.left == .seconds(100))
        #expect(try await !self.isOpen(2))
    }

    @Test func itEndsWithoutUseAndAtTheLatestByTheStoresClock() async throws {
        try await self.add("Ann")
        _ = try await self.open(1)
        self.time.jump(.seconds(-100_000))
        self.time.advance(.seconds(99))
        #expect(try await self.isOpen(1))
        try await self.store.apply(.session(.renew(hash: [1], idle: .seconds(100))))
        self.time.advance(.seconds(99))
        #expect(try await self.store.session(hash: [1])?.left == .seconds(1))
        self.time.advance(.seconds(1))
        #expect(try await !self.isOpen(1))
        // Nobody wakes it up again.
        try await self.store.apply(.session(.renew(hash: [1], idle: .seconds(100))))
        #expect(try await !self.isOpen(1))
        _ = try await self.open(2)
        for _ in 0..<11 {
            self.time.advance(.seconds(90))
            try await self.store.apply(.session(.renew(hash: [2], idle: .seconds(100))))
        }
        #expect(try await self.store.session(hash: [2])?.left == .seconds(10))
        self.time.advance(.seconds(10))
        #expect(try await !self.isOpen(2))
    }

    @Test func theOldestOfAUserGoBeyondTheLimit() async throws {
        try await self.add("Ann")
        try await self.add("Bob")
        _ = try await self.open(100, of: "Bob")
        for hash in UInt8(1)...5 { _ = try await self.open(hash) }
        for hash in UInt8(1)...2 { #expect(try await !self.isOpen(hash)) }
        for hash in [UInt8(3), 4, 5, 100] { #expect(try await self.isOpen(hash)) }
    }

    /// Its row stays for a while when it has ended.
    @Test func aSecretIsOneSessionsWhetherThatHasEndedOrNot() async throws {
        try await self.add("Ann")
        _ = try await self.open(1)
        for _ in 0..<2 {
            let error = await #expect(throws: StoreError.self) { try await self.open(1) }
            #expect(error?.code == .conflict)
            self.time.advance(.seconds(100))
        }
        #expect(try await !self.isOpen(1))
        _ = try await self.open(2)
        #expect(try await self.isOpen(2))
    }

    /// A password may be changed between its check and the session.
    @Test func anotherPasswordLetsNobodyIn() async throws {
        try await self.add("Ann", password: "new")
        #expect(try await self.open(1, password: "hash") == nil)
        #expect(try await self.open(1, of: "nobody", password: "hash") == nil)
        #expect(try await !self.isOpen(1))
        let user = try self.user("ann")
        try await self.store.apply(.account(.update(AccountUpdate(isDisabled: true), account: user, app: .default)))
        #expect(try await self.open(1, password: "new") == nil)
    }

    @Test func aChangedAccountsSessionsEnd() async throws {
        let (ann, shop) = (try self.user("ann"), try AppID("shop"))
        try await self.add("Bob")
        try await self.add("ann", app: shop)
        _ = try await self.open(100, of: "Bob")
        _ = try await self.open(101, of: "ann", app: shop)
        let changes: [AccountChange] = [
            .update(AccountUpdate(passwordHash: "other"), account: ann, app: .default),
            .update(AccountUpdate(isDisabled: true), account: ann, app: .default),
            .remove(account: ann, app: .default),
        ]
        for (index, change) in changes.enumerated() {
            let hash = UInt8(index)
            try await self.add("ann")
            _ = try await self.open(hash, of: "ann")
            try await self.store.apply(.account(.update(AccountUpdate(role: .sender), account: ann, app: .default)))
            #expect(try await self.isOpen(hash))
            try await self.store.apply(.account(change))
            #expect(try await !self.isOpen(hash), "\(change)")
        }
        try await self.add("ann")
        _ = try await self.open(50, of: "ann")
        try await self.add("ann", password: "again")
        #expect(try await !self.isOpen(50))
        for hash in [UInt8(100), 101] { #expect(try await self.isOpen(hash)) }
    }

    @Test func aSessionEndsOnceAndForItsAppAlone() async throws {
        try await self.add("Ann")
        _ = try await self.open(1)
        #expect(try await !self.store.apply(.session(.end(hash: [1], app: AppID("shop")))))
        #expect(try await self.isOpen(1))
        #expect(try await self.store.apply(.session(.end(hash: [1], app: .default))))
        #expect(try await !self.store.apply(.session(.end(hash: [1], app: .default))))
        #expect(try await !self.isOpen(1))
    }

    /// Both may find the other's work undone; where the password comes second, it finds the session.
    @Test func aSessionDoesNotOutliveAPasswordThatChangesMeanwhile() async throws {
        let other = try self.fixture.anotherAdministration()
        let user = try self.user("ann")
        for round in UInt8(1)...20 {
            try await self.add("ann")
            let change = AccountChange.update(AccountUpdate(passwordHash: "new"), account: user, app: .default)
            async let opened = self.open(round, of: "ann")
            async let changed = other.apply(.account(change))
            #expect(try await changed)
            _ = try await opened
            #expect(try await !self.isOpen(round))
        }
    }
}
