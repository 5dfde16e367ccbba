import PushModel
import Store
import StoreContract
import StoreKit
import StoreSQL
import Testing
import Undisturbed

@testable import StorePostgreSQL

/// How the statements of registrations and audiences are run: by an index, and no further than they need, on tables that are empty and on
/// full ones.
@Suite(.enabled(if: TestServer.isThere), .undisturbed) struct RegistrationPlanTests {
    private static let devices = 20_000

    private let fixture: StoreAdministration
    private var store: PostgreSQLStore { self.fixture.engine }

    init() throws { self.fixture = try StoreAdministration(StoreOptions()) }

    /// One tag that all have, among so many that a tag has a few rows in the mean, as the server reckons.
    private func fill() async throws {
        let rows = try (0..<Self.devices).map { number in
            ImportedRegistration(
                pns: .apns,
                handle: Handle(stored: "handle \(number)"),
                user: try UserName("user\(number / 2)", .folded),
                tags: try [PushModel.Tag("all", .folded), PushModel.Tag("t\(number % 2_000)", .folded)]
            )
        }
        _ = try await self.store.importRegistrations(rows, app: .default, sequence: nil, lifetime: nil)
        let analysis = PostgreSQLStatement("ANALYZE registration, tagged, tag_name")
        _ = try TestServer.owner(self.fixture.schema).exchange([analysis], until: .now + .seconds(60))
    }

    /// Both halves of a transaction.
    private func statements<Value>(of transaction: SQLTransaction<Value>) async throws -> [SQLStatement] {
        transaction.reads + (try transaction.decide(await self.store.rows(transaction.reads)).writes)
    }

    /// The pages of audiences.
    private func pages(limit: Int) throws -> [SQLStatement] {
        var query = AudienceQuery(.expression(.everyone), app: .default, pns: .apns, limit: limit)
        query.after = 100
        let tags = [StoredTag.number(1), .user(ExactText("user7"), app: 1)]
        return tags.map { DeviceList.reading(PostgreSQLStore.devices(of: $0, query)) }
            + tags.map { TagRange($0, slot: query.slot).sixteenth(from: 100) }
            + tags.map { TagRange($0, slot: query.slot).among([101, 150, 9_000, 19_000], isDense: false) }
            + tags.map { TagRange($0, slot: query.slot).among([101, 102, 104], isDense: true) }
            + [TagRange(liveOf: 1, slot: query.slot).rows(after: 100, through: .max, limit: limit)]
    }

    /// A row that is there and a new one.
    private func chunk(of table: RegistrationTable, sequence: Int64) throws -> ImportChunkRows {
        let tags = [try PushModel.Tag("all", .folded)]
        let row = ImportedRegistration(pns: .apns, handle: Handle(stored: "handle 6"), tags: tags)
        let new = ImportedRegistration(pns: .apns, handle: Handle(stored: "new"), tags: tags)
        return ImportChunkRows([row, new], app: (.default, 1), of: table, sequence: sequence, self.store)
    }

    private func changes() async throws -> [SQLStatement] {
        let table = try await self.store.table(of: .default)
        let tags = [try PushModel.Tag("all", .folded)]
        let upsert = RegisterRequest.Upsert(pns: .apns, handle: Handle(stored: "handle 5"), tags: tags)
        let job = RegisterJob(app: .default, user: try UserName("user7", .folded), sequence: .max - 1, most: 10)
        _ = try await self.store.register(.upsert(.random(), upsert), of: job)
        var later = job
        later.sequence = .max
        let chunk = try self.chunk(of: table, sequence: .max)
        return try await self.statements(of: table.register(.upsert(.random(), upsert), of: later))
            + self.statements(of: chunk.transaction) + chunk.single(0).reads
    }

    @Test(arguments: [false, true]) func eachGoesByAnIndex(isFull: Bool) async throws {
        if isFull { try await self.fill() }
        let statements = try self.pages(limit: 10) + (try await self.changes())
        #expect(statements.count > 25)
        for statement in statements {
            let plan = try await self.fixture.plan(statement)
            #expect(plan.walks().isEmpty, "\(statement.text)\n\(plan)")
        }
    }

    /// However many have the tag.
    @Test func aPageReadsItsDevicesAlone() async throws {
        try await self.fill()
        for statement in try self.pages(limit: 10) {
            let plan = try await self.fixture.run(explaining: statement)
            #expect(try #require(plan.walked) <= 16, "\(statement.text)\n\(plan)")
        }
    }

    /// However many changes of others came behind its beginning.
    @Test func aChunkOfAnImportReadsItsRowsAlone() async throws {
        try await self.fill()
        let numbers = "FROM generate_series(1, 20000) AS number"
        let later: [PostgreSQLStatement] = [
            "INSERT INTO released_handle SELECT 1, 1, int8send(number), number, number \(numbers)",
            "INSERT INTO tombstone SELECT 1, 'id' || number, '', number, number \(numbers)",
            "INSERT INTO removed_user SELECT 1, number, number, number \(numbers)",
            "ANALYZE released_handle, tombstone, removed_user",
        ].map { PostgreSQLStatement($0) }
        _ = try TestServer.owner(self.fixture.schema).exchange(later, until: .now + .seconds(60))
        let chunk = try self.chunk(of: await self.store.table(of: .default), sequence: 0)
        for statement in chunk.transaction.reads {
            let plan = try await self.fixture.run(explaining: statement)
            #expect(try #require(plan.walked) <= 16, "\(statement.text)\n\(plan)")
        }
    }
}
