import GRDB
import PushModel
import SeededRandom
import Store
import StoreContract
import StoreKit
import StoreSQL
import Testing

@testable import StoreSQLite

/// How an import is divided into transactions, and that what comes of it does not depend on that.
struct ImportChunkTests {
    let keep: TemporaryStore
    let scenario: Scenario

    init() throws {
        self.keep = try TemporaryStore()
        self.scenario = self.keep.scenario
    }

    private func row(_ handle: String, id: String? = nil, user: String = "u") throws -> ImportedRegistration {
        ImportedRegistration(
            id: id.flatMap { RegistrationID($0) },
            pns: .apns,
            handle: Handle(stored: handle),
            user: try UserName(user, .folded)
        )
    }

    private func bring(_ rows: [ImportedRegistration]) async throws -> [ImportResult] {
        let sequence = try await self.keep.store.beginImport()
        return try await self.keep.store.importRegistrations(rows, app: .default, sequence: sequence, lifetime: nil)
            .results
    }

    /// What an import gives while another process waits all the time, and in how many transactions.
    private func bringAwaited(_ rows: [ImportedRegistration]) async throws -> (results: [ImportResult], commits: Int) {
        let sequence = try await self.keep.store.beginImport()
        let other = try FileLock(path: self.keep.store.configuration.path + ".waiting")
        #expect(other.tryLockShared())
        defer { other.unlock() }
        let before = self.keep.store.writer.commits
        let results = try await self.keep.store.importRegistrations(
            rows,
            app: .default,
            sequence: sequence,
            lifetime: nil
        ).results
        return (results, self.keep.store.writer.commits - before)
    }

    @Test func knownRowsAmongNewOnesDoNotShrinkTransactions() async throws {
        #expect(try await self.bring((0..<5000).map { try self.row("h\($0)") }).allSatisfy { $0 == .created })
        // Every other row is known.
        let rows = try (0..<10_000).map { try self.row("h\($0 % 2 == 0 ? $0 / 2 : 5000 + $0)", user: "v") }
        let (results, commits) = try await self.bringAwaited(rows)
        #expect(results == (0..<10_000).map { $0 % 2 == 0 ? .updated : .created })
        // Eight or so, and more where the machine is slow.
        #expect((2...100).contains(commits), "\(commits)")
        #expect(try await self.keep.store.checkFile() == [])
    }

    @Test func aRepeatedIDDoesNotShrinkTransactions() async throws {
        let rows = try (0..<1000).map { try self.row("h\($0)", id: "one") }
        let (results, commits) = try await self.bringAwaited(rows)
        #expect(results == [.created] + Array(repeating: .updated, count: 999))
        #expect((2...50).contains(commits), "\(commits)")
        let one = try #require(RegistrationID("one"))
        #expect(try await self.keep.store.registration(one, app: .default)?.handle?.text == "h999")
    }

    /// Tags are more work than the row that has them: whoever waits does not wait for all of them.
    @Test(arguments: [(2000, 60), (100, 1000)])
    func tagsAreWorkToo(count: Int, tags: Int) async throws {
        let bare = try (0..<count).map { try self.row("h\($0)") }
        let tagged = try self.tagged(bare, tags)
        // A row is a work of 1, and of 4 where it is known; four tags are a work of 1. A transaction ends after the piece that
        // reaches the least, which may be nearly twice as much.
        let work = count * tags / ImportChunk.tags
        for (rows, result) in [(tagged, ImportResult.created), (tagged, .updated), (bare, .updated)] {
            let (results, commits) = try await self.bringAwaited(rows)
            #expect(results.allSatisfy { $0 == result })
            #expect(commits >= work / (2 * ImportChunk.least), "\(commits)")
        }
        #expect(try await self.keep.store.checkFile() == [])
    }

    private func tagged(_ rows: [ImportedRegistration], _ count: Int) throws -> [ImportedRegistration] {
        let tags = try (0..<count).map { try PushModel.Tag("t\($0)", .folded) }
        return rows.map { row in
            var row = row
            row.tags = tags
            return row
        }
    }

    /// The tags of new rows are written behind these: who begins to wait in the meantime does not wait for those of all rows.
    @Test func theTagsOfNewRowsAreWrittenInPieces() async throws {
        let rows = try self.tagged((0..<200).map { try self.row("h\($0)") }, 1000)
        let sequence = try await self.keep.store.beginImport()
        let progress = try await self.keep.store.write { context in
            var importing = try RegistrationImport(rows, context: context, app: .default, sequence: sequence)
            var progress = importing.start()
            let database = context.database
            var chunk = ImportChunk(longest: .seconds(1000)) {
                (try? database.value("SELECT count(*) FROM tagged") as Int64?) ?? 0 > 0
            }
            try importing.write(&progress, &chunk)
            return progress
        }
        // 66 rows, as many pieces as reach that, and one more.
        #expect((66...150).contains(progress.results.count { $0 == .created }))
    }

    /// Looking at rows takes long where their pages are not in memory.
    @Test func theLookupOfRowsEndsWithItsTurn() async throws {
        let rows = try (0..<10_000).map { try self.row("h\($0)") }
        let sequence = try await self.keep.store.beginImport()
        for (longest, isAwaited, expected) in [
            (Duration.zero, false, ImportChunk.step), (.seconds(1000), true, ImportChunk.least),
            (.seconds(1000), false, rows.count),
        ] {
            let progress = try await self.keep.store.write { context in
                var importing = try RegistrationImport(rows, context: context, app: .default, sequence: sequence)
                var progress = importing.start()
                var chunk = ImportChunk(longest: longest) { isAwaited }
                try importing.write(&progress, &chunk)
                try context.database.execute(
                    sql: "DELETE FROM registration; DELETE FROM handle_index; DELETE FROM tagged"
                )
                return progress
            }
            #expect(progress.results.count { $0 == .created } == expected)
            #expect(progress.stretches.reduce(0) { $0 + $1.unseen.count } == rows.count - expected)
        }
    }

    /// A row moves a registration to another handle, and another one means it by the handle that it has until then.
    @Test(arguments: [false, true])
    func knownRowsAreWrittenInOrder(movesFirst: Bool) async throws {
        let numbers = 0..<20
        #expect(
            try await self.bring(numbers.map { try self.row("old\($0)", id: "id\($0)") }).allSatisfy { $0 == .created }
        )
        let moves = try numbers.map { try self.row("new\($0)", id: "id\($0)", user: "moved") }
        let renewals = try numbers.map { try self.row("old\($0)", user: "renewed") }
        let results = try await self.bring(movesFirst ? moves + renewals : renewals + moves)
        let last: ImportResult = movesFirst ? .created : .updated
        #expect(results == Array(repeating: .updated, count: 20) + Array(repeating: last, count: 20))
        for number in numbers {
            let id = try #require(RegistrationID("id\(number)"))
            #expect(try await self.keep.store.registration(id, app: .default)?.handle?.text == "new\(number)")
        }
        let query = RegistrationQuery(app: .default, user: try UserName("renewed", .folded), state: .live, limit: 100)
        #expect(try await self.keep.store.registrations(query).items.count == (movesFirst ? 20 : 0))
    }

    /// Whatever stands in a group, it is as if its rows were imported one by one.
    @Test(arguments: [1, 2, 3, 4, 5, 6] as [UInt64])
    func aGroupEqualsItsRowsOneByOne(seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        let single = try TemporaryStore()
        for _ in 0..<20 {
            let rows = try (0..<Int.random(in: 1...20, using: &random)).map { _ in
                let id = Bool.random(using: &random) ? "id-\(Int.random(in: 0..<8, using: &random))" : nil
                return try self.row(
                    "h\(Int.random(in: 0..<15, using: &random))",
                    id: id,
                    user: "u\(Int.random(in: 0..<3, using: &random))"
                )
            }
            let together = try await self.bring(rows)
            let sequence = try await single.store.beginImport()
            var oneByOne: [ImportResult] = []
            for row in rows {
                oneByOne += try await single.store.importRegistrations(
                    [row],
                    app: .default,
                    sequence: sequence,
                    lifetime: nil
                ).results
            }
            #expect(together == oneByOne)
        }
        var all: [[String]] = []
        for store in [self.keep.store, single.store] {
            #expect(try await store.checkFile() == [])
            let items = try await store.registrations(RegistrationQuery(app: .default, limit: 1000)).items
            all.append(
                items.map { item in
                    let id = item.id.text.hasPrefix("id-") ? item.id.text : ""
                    return "\(id) \(item.handle?.text ?? "") \(item.user?.name ?? "") \(item.state)"
                }.sorted()
            )
        }
        #expect(all[0] == all[1])
        #expect(!all[0].isEmpty)
    }
}
