import PushModel
import Store
import StoreContract
import StoreKit
import StoreSQL
import Testing
import Undisturbed

@testable import StorePostgreSQL

/// Registrations and audiences in PostgreSQL, where its own statements and types are in question.
@Suite(.enabled(if: TestServer.isThere), .undisturbed) struct RegistrationTests {
    private let fixture: StoreAdministration
    private var store: PostgreSQLStore { self.fixture.engine }

    init() throws { self.fixture = try StoreAdministration(StoreOptions()) }

    private func tag(_ name: String) throws -> PushModel.Tag { try PushModel.Tag(name, .folded) }

    private func bring(_ rows: [ImportedRegistration], sequence: Int64? = nil) async throws -> [ImportResult] {
        try await self.store.importRegistrations(rows, app: .default, sequence: sequence, lifetime: nil).results
    }

    /// Devices 1 to count, with the tags "two", "three" … where their number is a multiple.
    private func register(_ count: Int) async throws {
        let names = [(2, "two"), (3, "three"), (5, "five"), (7, "seven")]
        let rows = try (1...count).map { number in
            ImportedRegistration(
                pns: .apns,
                handle: Handle(stored: "handle \(number)"),
                user: try UserName("user\(number)", .folded),
                tags: try names.filter { number.isMultiple(of: $0.0) }.map { try self.tag($0.1) }
            )
        }
        #expect(try await self.bring(rows).allSatisfy { $0 == .created })
    }

    private func all(_ expression: TagExpression, through: Int64 = 1_000_000, limit: Int = 1000) async throws
        -> [Int64]
    {
        var query = AudienceQuery(.expression(expression), app: .default, pns: .apns, through: through, limit: limit)
        var rows: [Int64] = []
        while query.after < query.through {
            let page = try await self.store.audience(query)
            #expect(page.rows.count <= limit)
            for (index, row) in page.rows.enumerated() {
                #expect(page.handles.handle(at: index).text == "handle \(row)")
            }
            rows += page.rows
            query.after = page.scannedThrough
        }
        return rows
    }

    /// A plan that was kept since the tables were empty would walk all that an import has brought, with each chunk.
    @Test func eachChunkOfAnImportIsPlannedAnew() async throws {
        let chunks: Int64 = 8
        for chunk in 0..<chunks {
            let rows = (0..<2048).map {
                ImportedRegistration(pns: .apns, handle: Handle(stored: "handle \(chunk) \($0)"), user: nil, tags: [])
            }
            #expect(try await self.bring(rows).allSatisfy { $0 == .created })
        }
        // A connection tells the statistics what it has done a second later at the earliest, and when it has done something again.
        let watch = try TestServer.owner()
        let text = """
            SELECT idx_scan AS searches FROM pg_stat_all_indexes
            WHERE schemaname = '\(self.fixture.schema)' AND indexrelname = 'registration_digest'
            """
        var (searches, left): (Int64, Int) = (0, 150)
        while searches < chunks, left > 0 {
            try await Task.sleep(for: .milliseconds(200))
            async let one = self.store.rows("SELECT 1 AS one")
            async let two = self.store.rows("SELECT 1 AS one")
            async let three = self.store.rows("SELECT 1 AS one")
            _ = try await (one, two, three)
            let answers = try watch.exchange([PostgreSQLStatement(text)], until: .now + .seconds(30))
            (searches, left) = (try answers[0].rows.first?["searches"] ?? 0, left - 1)
        }
        #expect(searches >= chunks)
    }

    @Test(arguments: [7, 1000]) func anExpressionSelectsItsDevices(limit: Int) async throws {
        try await self.register(3000)
        func rows(_ isIn: (Int64) -> Bool) -> [Int64] { (1...3000).filter(isIn) }
        let last: Int64 = limit == 7 ? 300 : 3000
        let expressions: [(String, [Int64])] = [
            ("two", rows { $0 % 2 == 0 }), ("!two", rows { $0 % 2 != 0 }), ("nobodys", []),
            ("two && three && !five", rows { $0 % 6 == 0 && $0 % 5 != 0 }), ("two && username:user60", [60]),
            ("three || five", rows { $0 % 3 == 0 || $0 % 5 == 0 }),
        ]
        for (text, expected) in expressions {
            let expression = try TagExpression(parsing: text, .folded)
            let found = try await self.all(expression, through: last, limit: limit)
            #expect(found == expected.filter { $0 <= last })
            let query = AudienceQuery(.expression(expression), app: .default, pns: .apns)
            #expect(try await self.store.count(query).count == expected.count)
        }
    }

    /// More tags than are looked for in windows.
    @Test func anAudienceOfManyUsersIsFound() async throws {
        try await self.register(500)
        let users = try (1...500).filter { $0 % 4 == 0 }.map { Tag(user: try UserName("user\($0)", .folded)) }
        let expression = TagExpression.any((users + [try self.tag("seven")]).map { .tag($0) })
        let expected = (1...500).filter { $0 % 4 == 0 || $0 % 7 == 0 }.map(Int64.init)
        #expect(try await self.all(expression) == expected)
        #expect(try await self.all(expression, limit: 10) == expected)
        let query = AudienceQuery(.expression(expression), app: .default, pns: .apns, rows: [1, 4, 7, 9])
        #expect(try await self.store.audience(query).rows == [4, 7])
    }

    @Test func devicesKeepTheirCredentials() async throws {
        let names = [CredentialName.default, try CredentialName("one"), try CredentialName("two")]
        let rows = (0..<9).map { number in
            ImportedRegistration(
                pns: .apns,
                handle: Handle(stored: "handle \(number + 1)"),
                credential: names[number % 3]
            )
        }
        _ = try await self.bring(rows)
        let everybody = try TagExpression(parsing: "!nobodys", .folded)
        let page = try await self.store.audience(AudienceQuery(.expression(everybody), app: .default, pns: .apns))
        #expect(page.rows.count == 9)
        for index in page.rows.indices { #expect(page.credentials[index] == names[index % 3]) }
        let uses = try await self.store.credentialUses(app: .default)
        #expect(uses.map(\.credential.name) == ["one", "two"] && uses.map(\.devices) == [3, 3])
    }

    /// A chunk has some thousand rows, of which some are known; those that come twice are written in their order.
    @Test func aLargeImportIsRepeated() async throws {
        let rows = try (0..<5000).map { number in
            ImportedRegistration(
                id: number.isMultiple(of: 2) ? RegistrationID("id-\(number)") : nil,
                pns: .apns,
                handle: Handle(stored: "\"h\\\(number)"),
                user: try UserName("user\(number % 100)", .folded),
                tags: [try self.tag("all"), try self.tag("t\(number % 7)")]
            )
        }
        #expect(try await self.bring(rows).allSatisfy { $0 == .created })
        #expect(try await self.bring(rows.reversed()).allSatisfy { $0 == .updated })
        var twice = Array(rows.prefix(3000))
        twice[10].tags = [try self.tag("other")]
        twice += [rows[10]]
        #expect(try await self.bring(twice).allSatisfy { $0 == .updated })
        let count = { (name: String) in
            let query = AudienceQuery(.expression(.tag(try self.tag(name))), app: .default, pns: .apns)
            return try await self.store.count(query).count
        }
        #expect(try await count("all") == 5000)
        #expect(try await count("other") == 0)
        #expect(try await self.fixture.number("SELECT count(*) FROM registration") == 5000)
        let id = try #require(RegistrationID("id-4998"))
        let handle = try await self.store.registration(id, app: .default)?.handle
        #expect(handle?.text == "\"h\\4998")
    }

    /// PostgreSQL keeps no U+0000, and what push services say may have one.
    @Test func aReasonWithANullCharacterIsKept() async throws {
        try await self.fixture.register("aa")
        let row = try #require(try await self.store.registrations(RegistrationQuery(app: .default)).items.first)
        try await self.fixture.run(
            """
            INSERT INTO dead_handle("row", handle, credential, before, reason)
            VALUES (\(row.row), 'aa', 0, \(self.fixture.time.wall.milliseconds + 1), \("Un\0registered"))
            """
        )
        #expect(try await self.store.pruneRegistrations(limit: 10) == 1)
        let pruned = try await self.store.registration(row.id, app: .default)
        #expect(pruned?.state == .pruned && pruned?.ended?.reason == "Un\u{FFFD}registered")
    }

    /// A change of what stands in no index is written in place, and costs no index anything.
    @Test func aRenewalTouchesNoIndex() async throws {
        let owner = try TestServer.owner(self.fixture.schema)
        let indexes = try owner.exchange(
            [
                PostgreSQLStatement(
                    """
                    SELECT CAST(indexrelid::regclass AS text) AS name FROM pg_index JOIN pg_attribute ON attrelid = indrelid
                    WHERE indrelid = 'registration'::regclass AND attname IN ('version', 'updated', 'user_shown', 'written', 'tags')
                        AND (attnum = ANY(indkey) OR pg_get_indexdef(indexrelid) ~ ('\\m' || attname || '\\M'))
                    """
                )
            ],
            until: .now + .seconds(30)
        )[0].rows
        #expect(try indexes.map { try $0["name"] as String } == [])
    }
}
