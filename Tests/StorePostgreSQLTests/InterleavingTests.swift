import PushModel
import Store
import StoreContract
import StoreKit
import StoreSQL
import Testing
import Undisturbed

@testable import StorePostgreSQL

/// Changes of two stores that have both read before either writes: a row that both need is held until both wait for it.
@Suite(.enabled(if: TestServer.isThere), .undisturbed) struct InterleavingTests {
    private let stores: TwoStores

    init() throws { self.stores = try TwoStores() }

    private func add(_ name: String, _ role: Role) async throws -> UserName {
        let user = try UserName(name, .folded)
        let account = Account(
            app: .default,
            name: user,
            role: role,
            isDisabled: false,
            created: self.stores.fixture.time.wall
        )
        try await self.stores.first.apply(.account(.add(account, passwordHash: "old")))
        return user
    }

    /// Each has seen the other's operator stay.
    @Test func twoOperatorsDoNotEndEachOther() async throws {
        let (ann, bob) = (try await self.add("ann", .operator), try await self.add("bob", .operator))
        @Sendable func isLast(_ store: PostgreSQLStore, _ user: UserName) async throws -> Bool {
            do {
                try await store.apply(.account(.remove(account: user, app: .default)))
                return false
            } catch let error as StoreError where error.code == .lastOperator { return true }
        }
        let release = try self.stores.hold("app")
        async let one = isLast(self.stores.first, ann)
        async let other = isLast(self.stores.second, bob)
        try await release()
        #expect(try await one != other)
    }

    /// The old password was right when it was compared.
    @Test func aSessionDoesNotOutliveItsPassword() async throws {
        let ann = try await self.add("ann", .user)
        let session = NewSession(
            app: .default,
            user: ann,
            hash: [1],
            passwordHash: "old",
            lifetime: .seconds(3600),
            idle: .seconds(600),
            limit: 10
        )
        let release = try self.stores.hold("account")
        async let opened = self.stores.first.openSession(session)
        async let changed = self.stores.second.apply(
            .account(.update(AccountUpdate(passwordHash: "new"), account: ann, app: .default))
        )
        try await release()
        _ = try await opened
        #expect(try await changed)
        #expect(try await self.stores.first.session(hash: [1]) == nil)
    }

    /// Both have seen the last place of a quota.
    @Test func aQuotaHasOneLastPlace() async throws {
        _ = try await self.add("ann", .user)
        let content = StoredContent(owner: try UserName("ann", .folded), mediaType: "image/png", bytes: [1, 2, 3])
        var quota = AppSpec.Contents()
        quota.appBytes = ContentAcceptance.cost(of: content)
        let limits = quota
        let release = try self.stores.hold("app")
        async let one = self.stores.first.put(content, app: .default, quota: limits)
        async let other = self.stores.second.put(content, app: .default, quota: limits)
        try await release()
        let kept = try await [one, other].filter { if case .kept = $0 { true } else { false } }
        #expect(kept.count == 1)
    }

    /// The same of rich notifications, with a place for each of two and not for both.
    @Test func aQuotaOfNotificationsHasOneLastPlace() async throws {
        let (ann, bob) = (try UserName("ann", .folded), try UserName("bob", .folded))
        func job(_ id: Int32, by sender: UserName) -> NewJob {
            let send = SendRequest(to: .tags(.tag(PushModel.Tag(user: ann))), content: .message(.init(body: "b")))
            let notification = NewRichNotification(
                id: id,
                sender: sender,
                addressee: ann,
                message: "m",
                richType: "image",
                content: nil,
                isSecure: false,
                quota: .init(perApp: 2)
            )
            return NewJob(
                app: .default,
                user: sender,
                work: .send(send),
                lifetime: .seconds(3600),
                notification: notification
            )
        }
        _ = try await self.stores.first.accept([job(1, by: ann)])
        @Sendable func isKept(_ job: NewJob, by store: PostgreSQLStore) async throws -> Bool {
            do {
                _ = try await store.accept([job])
                return true
            } catch let error as StoreError where error.code == .quotaReached { return false }
        }
        let (two, three) = (job(2, by: ann), job(3, by: bob))
        let release = try self.stores.hold("app")
        async let one = isKept(two, by: self.stores.first)
        async let other = isKept(three, by: self.stores.second)
        try await release()
        #expect(try await one != other)
    }

    /// The account's name is compared as the declaration says that comes in between, or is renamed by it.
    @Test(arguments: [AppSpec.Users.folded, .exact]) func anAccountBesideADeclarationHasItsNameByThat(
        users: AppSpec.Users
    ) async throws {
        func spec(_ users: AppSpec.Users) -> AppSpec {
            var spec = AppSpec()
            spec.users = users
            return spec
        }
        let before: AppSpec.Users = users == .folded ? .exact : .folded
        try await self.stores.first.apply(.app(.default, spec(before)))
        let account = Account(
            app: .default,
            name: try UserName("Bob", before),
            role: .user,
            isDisabled: false,
            created: self.stores.fixture.time.wall
        )
        let release = try self.stores.hold("app")
        async let declared = self.stores.first.apply(.app(.default, spec(users)))
        async let added = self.stores.second.apply(.account(.add(account, passwordHash: "x")))
        try await release()
        #expect(try await declared)
        #expect(try await added)
        #expect(try await self.stores.first.account(UserName("Bob", users), app: .default) != nil)
        #expect(try await self.stores.first.accounts(AccountQuery(app: .default)).items.count == 1)
    }

    /// Both have found the same jobs.
    @Test func twoThatCleanRemoveEachRowOnce() async throws {
        try await self.stores.fixture.insert(1, message: nil)
        try await self.stores.fixture.run(
            "UPDATE job SET state = \(raw: "\(Job.State.completed.number)"), accepted = 1, expires = 2, ends = 2, finished = 1",
            "INSERT INTO outcome VALUES (1, 1, 0, 0, 0, 1, 0, 0, 0)"
        )
        let release = try self.stores.hold("job")
        let chore = Chore.remove(.jobs, olderThan: .seconds(60))
        async let one = self.stores.first.perform(chore, limit: 10)
        async let other = self.stores.second.perform(chore, limit: 10)
        try await release()
        #expect(try await one.rows + other.rows == 2)
        #expect(try await self.stores.fixture.number("SELECT count(*) FROM outcome") == 0)
        #expect(try await self.stores.fixture.number("SELECT count(*) FROM job") == 0)
    }
}
