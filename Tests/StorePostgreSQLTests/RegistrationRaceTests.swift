import PushModel
import Store
import StoreContract
import StoreKit
import StoreSQL
import Testing
import Undisturbed

@testable import StorePostgreSQL

/// Changes of registrations by two stores on one database, stopped between what they read and what they write.
@Suite(.enabled(if: TestServer.isThere), .undisturbed) struct RegistrationRaceTests {
    private let stores: TwoStores
    private let handle = Handle(stored: "aa")

    init() throws { self.stores = try TwoStores() }

    private func gate(_ tables: String) throws -> Gate {
        try Gate("LOCK TABLE \(tables) IN SHARE MODE", schema: self.stores.fixture.schema, name: self.stores.name)
    }

    private func upsert(_ id: String, tags: [String] = []) throws -> RegisterRequest {
        let tags = try tags.map { try PushModel.Tag($0, .folded) }
        return .upsert(try #require(RegistrationID(id)), .init(pns: .apns, handle: self.handle, tags: tags))
    }

    private func job(_ sequence: Int64, _ user: String? = nil) throws -> RegisterJob {
        RegisterJob(app: .default, user: try user.map { try UserName($0, .folded) }, sequence: sequence)
    }

    private func registrations(_ state: Registration.State?) async throws -> [Registration] {
        try await self.stores.first.registrations(RegistrationQuery(app: .default, state: state)).items
    }

    /// Both have seen that nobody has the handle.
    @Test func aHandleHasOneLiveRegistration() async throws {
        _ = try await self.stores.first.number(of: .default)
        let gate = try self.gate("registration")
        let (earlier, later) = (try self.upsert("earlier"), try self.upsert("later"))
        let (ann, bob) = (try self.job(10, "ann"), try self.job(20, "bob"))
        async let one = self.stores.first.register(earlier, of: ann)
        async let other = self.stores.second.register(later, of: bob)
        try await gate.wait(for: 2)
        try gate.open()
        #expect(try await [one, other] == [.done, .done])
        #expect(try await self.registrations(.live).map(\.id.text) == ["later"])
        #expect(try await self.registrations(.replaced).map(\.id.text) == ["earlier"])
    }

    /// An import locks no device: the unique index is what tells it.
    @Test func anImportDoesNotGiveAHandleAwayTwice() async throws {
        let begun = try await self.stores.first.beginImport()
        _ = try await self.stores.second.number(of: .default)
        let gate = try self.gate("registration")
        let row = ImportedRegistration(id: RegistrationID("imported"), pns: .apns, handle: self.handle)
        let (request, job) = (try self.upsert("registered"), try self.job(begun + 1))
        async let imported = self.stores.first.importRegistrations([row], app: .default, sequence: begun, lifetime: nil)
        async let registered = self.stores.second.register(request, of: job)
        try await gate.wait(for: 2)
        try gate.open()
        #expect(try await registered == .done)
        let result = try await imported.results[0]
        #expect([.created, .superseded].contains(result))
        #expect(try await self.registrations(.live).map(\.id.text) == ["registered"])
    }

    /// The id has no row yet that either could hold.
    @Test(arguments: [false, true]) func aLaterDeletionOfAnUnknownIDStands(deletionIsFirst: Bool) async throws {
        _ = try await self.stores.first.number(of: .default)
        let gate = try self.gate("registration, tombstone")
        let (creation, deletion) = (try self.upsert("it"), RegisterRequest.delete(try #require(RegistrationID("it"))))
        let (earlier, later) = (try self.job(10, "ann"), try self.job(20, "ann"))
        let store = self.stores.first
        let other = self.stores.second
        async let one = deletionIsFirst ? store.register(deletion, of: later) : store.register(creation, of: earlier)
        try await gate.wait(for: 1)
        async let two = deletionIsFirst ? other.register(creation, of: earlier) : other.register(deletion, of: later)
        try await gate.wait(for: 2)
        try gate.open()
        #expect(try await [one, two] == (deletionIsFirst ? [.notFound, .superseded] : [.done, .done]))
        #expect(try await self.registrations(.live).isEmpty)
    }

    /// What was committed behind the removal's slice would stay for ever.
    @Test(arguments: [false, true]) func aRemovalFindsWhatIsUnderWay(removalIsFirst: Bool) async throws {
        let (ann, request) = (try UserName("ann", .folded), try self.upsert("hers"))
        let (first, second) = (self.stores.first, self.stores.second)
        func new(_ request: RegisterRequest, by user: UserName?) -> NewJob {
            NewJob(app: .default, user: user, work: .register(request), lifetime: NewJob.removalLifetime)
        }
        guard case .accepted(let earlier)? = try await first.accept([new(request, by: ann)]).answers.first else {
            throw Unexpected("the change is not accepted")
        }
        let removal = new(.removeUser(ann, withAccount: false), by: nil)
        _ = try await second.number(of: .default)
        // What the first alone waits for; the second waits for the first.
        let gate = try self.gate(removalIsFirst ? "removed_user" : "registration")
        @Sendable func register() async throws -> RegisterResult? { try await first.register(earlier) }
        @Sendable func remove() async throws -> RegisterResult? {
            _ = try await second.accept([removal])
            return nil
        }
        async let one = removalIsFirst ? remove() : register()
        try await gate.wait(for: 1)
        async let two = removalIsFirst ? register() : remove()
        try await gate.wait(for: 2)
        try gate.open()
        let results = try await [one, two]
        #expect(results == (removalIsFirst ? [nil, .refused(UserTraces.refusal)] : [.done, nil]))
        try await self.finish(removal)
        #expect(try await self.registrations(nil).isEmpty)
    }

    private func finish(_ removal: NewJob) async throws {
        let begun = try #require(try await self.stores.first.job(removal.id, app: .default))
        var result: RegisterResult?
        while result == nil { result = try await self.stores.second.register(begun) }
        #expect(result == .done)
    }

    /// No lock of an import's names a user: the removal waits for all of it.
    @Test(arguments: [false, true]) func aRemovalFindsWhatIsBeingImported(removalIsFirst: Bool) async throws {
        let (ann, first, second) = (try UserName("ann", .folded), self.stores.first, self.stores.second)
        func new(_ request: RegisterRequest) -> NewJob {
            NewJob(app: .default, work: .register(request), lifetime: NewJob.removalLifetime)
        }
        // The row of an app that has nothing yet would be held too, and would keep them apart.
        _ = try await second.accept([new(.delete(.random()))])
        let begun = try await first.beginImport()
        let earlier = ImportedRegistration(id: RegistrationID("earlier"), pns: .apns, handle: self.handle)
        _ = try await first.importRegistrations([earlier], app: .default, sequence: begun, lifetime: nil)
        let hers = ImportedRegistration(pns: .apns, handle: Handle(stored: "bb"), user: ann)
        let removal = new(.removeUser(ann, withAccount: false))
        // What the first alone waits for; the second waits for the first.
        let gate = try self.gate(removalIsFirst ? "removed_user" : "registration")
        @Sendable func importHers() async throws -> ImportResult? {
            try await first.importRegistrations([hers], app: .default, sequence: begun, lifetime: nil).results.first
        }
        @Sendable func remove() async throws -> ImportResult? {
            _ = try await second.accept([removal])
            return nil
        }
        async let one = removalIsFirst ? remove() : importHers()
        try await gate.wait(for: 1)
        async let other = removalIsFirst ? importHers() : remove()
        try await gate.wait(for: 2)
        try gate.open()
        #expect(try await [one, other] == (removalIsFirst ? [nil, .superseded] : [.created, nil]))
        try await self.finish(removal)
        #expect(try await self.registrations(nil).map(\.id.text) == ["earlier"])
    }

    /// Both use a tag for the first time, and it has one number.
    @Test func aNewTagHasOneNumber() async throws {
        _ = try await self.stores.first.number(of: .default)
        let gate = try self.gate("tag_name")
        let (one, other) = (try self.upsert("one", tags: ["new"]), try self.upsert("other", tags: ["new"]))
        let (ann, bob) = (try self.job(10, "ann"), try self.job(20, "bob"))
        async let first = self.stores.first.register(one, of: ann)
        async let second = self.stores.second.register(other, of: bob)
        try await gate.wait(for: 2)
        try gate.open()
        #expect(try await [first, second] == [.done, .done])
        #expect(try await self.stores.fixture.number("SELECT count(*) FROM tag_name") == 1)
        let tag = try PushModel.Tag("new", .folded)
        let audience = AudienceQuery(.expression(.tag(tag)), app: .default, pns: .apns)
        #expect(try await self.stores.second.audience(audience).rows.count == 1)
    }
}
