import Foundation
import GRDB
import PushModel
import SeededRandom
import Store
import StoreContract
import StoreKit
import Testing

@testable import StoreSQL
@testable import StoreSQLite

/// Audiences of many users and tags, against the same told from the registrations one after the other.
@Suite struct ManyTagsTests {
    /// A registration as the test remembers it.
    private struct Known {
        let row: Int64
        let handle: String
        let pns: PushService
        let user: String
    }

    private static func store(maximumCost: Int? = nil) throws -> TemporaryStore {
        var limits = AudienceReadLimits()
        if let maximumCost { limits.maximumCost = maximumCost }
        return try TemporaryStore(limits: limits)
    }

    /// Users `u0`, `u1` … with no device to four each, over two services and apps, in any order; some gone.
    private static func populate(
        _ store: SQLiteStore,
        users: Int,
        _ random: inout SeededGenerator
    ) async throws -> [Known] {
        var owners: [Int] = []
        for user in 0..<users { owners += Array(repeating: user, count: Int.random(in: 0...4, using: &random)) }
        owners.shuffle(using: &random)
        var rows: [ImportedRegistration] = []
        for (number, owner) in owners.enumerated() {
            rows.append(
                ImportedRegistration(
                    id: RegistrationID("r\(number)"),
                    pns: Bool.random(using: &random) ? .apns : .fcm,
                    handle: Handle(stored: "h\(number)"),
                    user: try UserName("u\(owner)", .folded),
                    tags: try ["all", "v\(number % 3)", "t\(owner)"].map { try Tag($0, .folded) }
                )
            )
        }
        for start in stride(from: 0, to: rows.count, by: 400) {
            let group = Array(rows[start..<min(rows.count, start + 400)])
            _ = try await store.importRegistrations(group, app: .default, sequence: 1, lifetime: nil)
            // The same users of another app.
            _ = try await store.importRegistrations(
                Array(group.prefix(50)),
                app: AppID("other"),
                sequence: 1,
                lifetime: nil
            )
        }
        var known: [Known] = []
        for (number, row) in rows.enumerated() {
            let id = try #require(row.id)
            if number % 11 == 5 {
                _ = try await store.register(.delete(id), of: RegisterJob(app: .default, sequence: 2))
                continue
            }
            let stored = try #require(try await store.registration(id, app: .default))
            known.append(
                Known(row: stored.row, handle: row.handle.text, pns: row.pns, user: "u\(owners[number])")
            )
        }
        return known.sorted { $0.row < $1.row }
    }

    private static func names(_ count: Int, of users: Int, _ random: inout SeededGenerator) -> [String] {
        Array((0..<(users + users / 4)).shuffled(using: &random).prefix(count)).map { "u\($0)" }
    }

    private static func audience(_ names: [String]) throws -> TagExpression {
        .any(try names.map { Tag(user: try UserName($0, .folded)) })
    }

    /// The same, where the devices of every other user are named by a tag that they claimed: `t7` are those of `u7`.
    private static func mixedAudience(_ names: [String]) throws -> TagExpression {
        .any(
            try names.enumerated().map { index, name in
                index.isMultiple(of: 2)
                    ? Tag(user: try UserName(name, .folded)) : try Tag("t\(name.dropFirst())", .folded)
            }
        )
    }

    @Test(arguments: [(1, nil), (2, 1), (3, 300)] as [(UInt64, Int?)])
    func exactlyTheUsersRegistrationsAreRead(seed: UInt64, maximumCost: Int?) async throws {
        var random = SeededGenerator(seed: seed)
        let keep = try Self.store(maximumCost: maximumCost)
        let store = keep.store
        let users = 400
        let known = try await Self.populate(store, users: users, &random)
        let last = try #require(known.last?.row)
        for _ in 0..<12 {
            let count = Int.random(in: ManyTags.threshold...users, using: &random)
            let names = Self.names(count, of: users, &random)
            let expression = try Bool.random(using: &random) ? Self.audience(names) : Self.mixedAudience(names)
            let wanted = Set(names)
            let memory: AudienceMemory? = Bool.random(using: &random) ? AudienceMemory() : nil
            let limit = Int.random(in: 1...250, using: &random)
            let from = Int64.random(in: 0...last, using: &random) * Int64.random(in: 0...1, using: &random)
            let through = Bool.random(using: &random) ? .max : Int64.random(in: from...(last + 5), using: &random)
            for pns in [PushService.apns, .fcm, .wns] {
                let meant = known.filter {
                    $0.pns == pns && wanted.contains($0.user) && $0.row > from && $0.row <= through
                }
                var rows: [Int64] = []
                var handles: [String] = []
                var after = from
                while after < through {
                    let page = try await store.audience(
                        AudienceQuery(
                            .expression(expression),
                            app: .default,
                            pns: pns,
                            after: after,
                            through: through,
                            limit: limit,
                            memory: memory
                        )
                    )
                    try #require(page.rows.count <= limit && page.scannedThrough > after)
                    rows += page.rows
                    handles += page.rows.indices.map { page.handles.handle(at: $0).text }
                    after = page.scannedThrough
                }
                #expect(after == max(from, through))
                #expect(rows == meant.map(\.row))
                #expect(handles == meant.map(\.handle))

                let counted = try await store.count(
                    AudienceQuery(.expression(expression), app: .default, pns: pns, after: from, through: through)
                )
                #expect(counted.count == meant.count)

                let asked = (0..<40).map { _ in Int64.random(in: 1...(last + 5), using: &random) }
                let found = try await store.audience(
                    AudienceQuery(.expression(expression), app: .default, pns: pns, rows: asked, memory: memory)
                ).addresses
                let isMeant = known.filter {
                    asked.contains($0.row) && $0.pns == pns && wanted.contains($0.user)
                }
                #expect(found.keys.sorted() == isMeant.map(\.row))
            }
        }
    }

    /// More rows than are found at once: the first are kept, the others come with the next pages.
    @Test func aLongAudienceIsSearchedInSteps() async throws {
        let keep = try Self.store(maximumCost: 100)
        var search = RowSearch(
            tags: (1...100).map { .number($0) },
            slot: PushService.apns.number,
            after: 0,
            through: .max,
            most: 7
        )
        try await keep.store.pool.writeWithoutTransaction { database in
            try database.execute(
                sql: """
                    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
                    INSERT INTO tagged SELECT 1 + (i * 7) % 100, 1, i FROM n
                        UNION SELECT 1 + (i * 13) % 100, 1, i FROM n
                    """
            )
        }
        var found: [Int64] = []
        var pieces = 0
        while found.count < 1000 {
            while !search.isDone {
                let (rows, tags) = try await keep.store.rows(for: search)
                search.add(rows, of: tags)
            }
            try #require(!search.rows.isEmpty && search.rows.count <= 7)
            found += search.rows
            pieces += 1
            search = RowSearch(
                tags: (1...100).map { .number($0) },
                slot: PushService.apns.number,
                after: search.end,
                through: .max,
                most: 7
            )
        }
        // A row of two tags comes once.
        #expect(found == (1...1000).map(Int64.init))
        #expect(pieces == 143)
    }

    /// What is remembered says where to look, not whom to send to.
    @Test func registrationsEndedMeanwhileAreNotReturned() async throws {
        let keep = try Self.store()
        let scenario = keep.scenario
        var ids: [RegistrationID] = []
        for number in 0..<6 { ids.append(try await scenario.register(user: "u\(number)", handle: "h\(number)")) }
        let expression = try Self.audience((0..<100).map { "u\($0)" })
        let memory = AudienceMemory()
        func page(after: Int64) async throws -> AudiencePage {
            try await keep.store.audience(
                AudienceQuery(
                    .expression(expression),
                    app: .default,
                    pns: .apns,
                    after: after,
                    through: 100,
                    limit: 2,
                    memory: memory
                )
            )
        }
        #expect(try await page(after: 0).rows == [1, 2])
        // One is deleted, one becomes a stranger's, one another listed user's.
        let sequence = try await scenario.sequence()
        _ = try await keep.store.register(.delete(ids[2]), of: RegisterJob(app: .default, sequence: sequence))
        #expect(try await scenario.upsert(ids[3], user: "stranger", handle: "h3") == .done)
        #expect(try await scenario.upsert(ids[4], user: "u0", handle: "h4") == .done)
        // On a busy machine what was found may be forgotten by now; then the pages are others, and their rows the same.
        var (after, rest) = (Int64(2), [Int64]())
        while after < 100 {
            let next = try await page(after: after)
            rest += next.rows
            after = next.scannedThrough
        }
        #expect(rest == [5, 6])
        let found = try await keep.store.audience(
            AudienceQuery(.expression(expression), app: .default, pns: .apns, rows: Array(1...6), memory: memory)
        ).addresses
        #expect(found.keys.sorted() == [1, 2, 5, 6])
        // A look without that memory, as another job's send worker has it, sees who has joined.
        #expect(try await scenario.upsert(ids[3], user: "u50", handle: "h3") == .done)
        #expect(
            try await keep.store.count(AudienceQuery(.expression(expression), app: .default, pns: .apns)).count == 5
        )
    }

    // MARK: Jobs

    private static func manyUsers(_ count: Int = 20_000) throws -> TagExpression {
        try Self.audience((0..<count).map { "u\($0)" })
    }

    @Test func aJobListsItsFirstUsersAndReachesAll() async throws {
        let keep = try Self.store()
        let scenario = keep.scenario
        try await scenario.register(user: "u19999", handle: "h")
        let everybody = try Self.manyUsers()
        let accepted = try await scenario.accept(scenario.send(to: everybody), lifetime: .seconds(60))
        let listed = try #require(try await keep.store.jobs(JobQuery(app: .default, kind: .send)).items.first)
        for job in [accepted, listed, try await scenario.job(accepted.id)] {
            guard case .send(let told) = job.work else { throw Unexpected("no send") }
            #expect(told.audience.alternatives?.map(\.name) == (0..<100).map { "username:u\($0)" })
            #expect(told.truncatedTags == 19_900)
        }
        let claim = try #require(try await scenario.claimCampaign(accepted))
        // While it waits for its turn nobody keeps them all.
        #expect(claim.campaign.request.truncatedTags == 19_900)
        let all = AudienceQuery(.expression(everybody), app: .default, pns: .apns)
        var whole = AudienceQuery(claim.campaign.request, job: accepted.sequence, app: .default, pns: .apns)
        #expect(try await keep.store.audience(whole).rows == [1])
        #expect(try await keep.store.audience(all).rows == [1])
        // Fanned out to the very last of them, retried with it and published again.
        let key = try #require(try await scenario.fanOut(accepted).first)
        let message = try scenario.message(of: key)
        let first = try #require(try await keep.store.batches(of: message.id).first)
        #expect(first.key == key && first.request == claim.campaign.request)
        let retry = RetryDevice(row: 1, tries: 1, wait: .zero)
        #expect(try await scenario.record(BatchOutcome(key: key, retries: [retry], at: keep.time.wall)))
        let second = try #require(try await scenario.takeDueBatches().first)
        #expect(second.key.attempt == 1 && second.retries.map(\.row) == [1])
        whole.rows = [1]
        whole.memory = AudienceMemory()
        #expect(try await keep.store.audience(whole).rows == [1])
    }
}
