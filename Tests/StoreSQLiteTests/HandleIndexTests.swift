import Foundation
import GRDB
import PushModel
import SeededRandom
import Store
import StoreContract
import StoreSQL
import Testing

@testable import StoreSQLite

/// Which registration has a handle: found by a number that other handles may share.
struct HandleIndexTests {
    // MARK: The numbers

    @Test func everyStoreHasItsOwnDigestKey() async throws {
        let (one, two) = (try TemporaryStore(), try TemporaryStore())
        let key = { (store: SQLiteStore) in
            try await store.pool.read { try Data.fetchAll($0, sql: "SELECT key FROM handle_key") }
        }
        #expect(try await key(one.store) == key(one.another()))
        #expect(try await key(one.store) != key(two.store))
    }

    // MARK: Handles that share a number

    private func positions(_ keep: TemporaryStore) async throws -> [Int] {
        try await keep.store.pool.read {
            try Int.fetchAll($0, sql: "SELECT position FROM handle_index ORDER BY position")
        }
    }

    @Test func handlesMayShareADigest() async throws {
        let keep = try TemporaryStore(digestMask: 0)
        let scenario = keep.scenario
        var ids: [RegistrationID] = []
        for number in 0..<5 { ids.append(try await scenario.register(user: "u", handle: "h\(number)")) }
        #expect(Set(ids).count == 5)
        // The first and one in the middle leave: no position is left open.
        for index in [0, 2] {
            let sequence = try await scenario.sequence()
            let deletion = RegisterRequest.delete(ids[index])
            #expect(
                try await keep.store.register(deletion, of: RegisterJob(app: .default, sequence: sequence))
                    == .done
            )
        }
        #expect(try await self.positions(keep) == [0, 1, 2])
        // Those that stay are found, and a handle that is free is nobody's.
        for index in [1, 3, 4] {
            #expect(try await scenario.register(user: "u", handle: "h\(index)") == ids[index])
        }
        #expect(try await scenario.register(user: "u", handle: "h0") != ids[0])
        // A handle moves to another registration.
        #expect(try await scenario.upsert(ids[1], user: "u", handle: "h3") == .done)
        #expect(try await keep.store.registration(ids[3], app: .default)?.state == .replaced)
        #expect(try await self.positions(keep) == [0, 1, 2])
        #expect(try await keep.store.checkFile() == [])
    }

    @Test(arguments: [0, 7] as [UInt64])
    func importsWorkWithSharedDigests(digestMask: UInt64) async throws {
        let keep = try TemporaryStore(digestMask: digestMask)
        let scenario = keep.scenario
        let known = try await scenario.register(user: "ann", handle: "h7")
        let rows = try (0..<300).map {
            ImportedRegistration(
                pns: .apns,
                handle: Handle(stored: "h\($0 % 200)"),
                user: try UserName("u\($0)", .folded)
            )
        }
        let results = try await keep.store.importRegistrations(
            rows,
            app: .default,
            sequence: try await keep.store.beginImport(),
            lifetime: nil
        ).results
        #expect(results == (0..<300).map { $0 == 7 || $0 >= 200 ? .updated : .created })
        #expect(try await keep.store.registration(known, app: .default)?.user?.name == "u207")
        let live = try await keep.store.registrations(RegistrationQuery(app: .default, state: .live, limit: 1000)).items
        #expect(live.count == 200)
        #expect(try await keep.store.checkFile() == [])
    }

    /// Whatever is done, a store whose handles share numbers is as one whose handles do not.
    @Test(arguments: [1, 2, 3, 4, 5] as [UInt64], [0, 3] as [UInt64])
    func sharedDigestsChangeNoResult(seed: UInt64, digestMask: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        let stores = [try TemporaryStore(), try TemporaryStore(digestMask: digestMask)]
        for _ in 0..<50 {
            let rows = try (0..<Int.random(in: 1...12, using: &random)).map { _ in
                ImportedRegistration(
                    pns: Bool.random(using: &random) ? .apns : .fcm,
                    handle: Handle(stored: "h\(Int.random(in: 0..<15, using: &random))"),
                    user: try UserName("u\(Int.random(in: 0..<3, using: &random))", .folded)
                )
            }
            let id = try #require(RegistrationID("id-\(Int.random(in: 0..<8, using: &random))"))
            let action = Int.random(in: 0..<5, using: &random)
            // Sometimes one that comes too late.
            let age = Int64.random(in: 0..<4, using: &random)
            var results: [[String]] = []
            for keep in stores {
                let scenario = keep.scenario
                let sequence = max(1, try await scenario.sequence() - age)
                switch action {
                case 0: results.append(try await Self.bring(rows, sequence, keep))
                case 1:
                    var named = rows[0]
                    named.id = id
                    results.append(try await Self.bring([named], sequence, keep))
                case 2, 3:
                    let (user, handle) = (rows[0].user?.name ?? "", rows[0].handle.text)
                    let pns = rows[0].pns
                    let result = try await scenario.upsert(id, user: user, handle: handle, pns: pns, sequence: sequence)
                    results.append([String(describing: result)])
                default:
                    let end = RegisterRequest.delete(id)
                    let result = try await keep.store.register(
                        end,
                        of: RegisterJob(app: .default, sequence: sequence)
                    )
                    results.append([String(describing: result)])
                }
            }
            #expect(results[0] == results[1])
        }
        var all: [[String]] = []
        for keep in stores {
            #expect(try await keep.store.checkFile() == [])
            let items = try await keep.store.registrations(RegistrationQuery(app: .default, limit: 1000)).items
            all.append(
                items.map {
                    "\($0.pns?.rawValue ?? "") \($0.handle?.text ?? "") \($0.user?.name ?? "") \($0.state)"
                }.sorted()
            )
        }
        #expect(all[0] == all[1])
        #expect(!all[0].isEmpty)
    }

    private static func bring(
        _ rows: [ImportedRegistration],
        _ sequence: Int64,
        _ keep: TemporaryStore
    ) async throws -> [String] {
        try await keep.store.importRegistrations(rows, app: .default, sequence: sequence, lifetime: nil).results.map {
            "\($0)"
        }
    }

    // MARK: Handles of one device

    /// A browser's two handles share a number by what they are, and another's here by chance: which is whose, the texts decide.
    @Test(arguments: [0, .max] as [UInt64])
    func aDeviceOfTwoHandlesIsOne(digestMask: UInt64) async throws {
        let keep = try TemporaryStore(digestMask: digestMask)
        let scenario = keep.scenario
        let (old, new) = (try scenario.browser("a"), try scenario.browser("a"))
        let id = try await scenario.register(user: "ann", handle: old, pns: .web)
        let other = try await scenario.register(user: "ann", handle: try scenario.browser("ab"), pns: .web)
        #expect(try await scenario.register(user: "ann", handle: new, pns: .web) == id)
        #expect(id != other)
        #expect(try await self.positions(keep).count == 2)
        #expect(try await keep.store.checkFile() == [])
        // What no change of the store's does: the other gets a handle of the first's device.
        try await keep.store.pool.writeWithoutTransaction {
            try $0.execute(sql: "UPDATE registration SET handle = ? WHERE id = ?", arguments: [old, other.text])
            try $0.execute(
                sql: """
                    UPDATE handle_index SET position = 1, digest = (SELECT digest FROM handle_index WHERE row = 1) WHERE row = 2
                    """
            )
        }
        let faults = try await keep.store.checkFile()
        #expect(faults == ["registration \(other): it has the same handle as \(id)"])
    }

    // MARK: The check

    struct Damage: Sendable, CustomTestStringConvertible {
        let sql: String
        let word: String
        var testDescription: String { self.sql }
    }

    static let damages: [Damage] = [
        Damage(
            sql: "DELETE FROM handle_index WHERE row = 1",
            word: "registration id-1: it is live, and not found by its handle"
        ),
        Damage(sql: "UPDATE handle_index SET digest = digest + 1 WHERE row = 1", word: "registration id-1: it is live"),
        Damage(sql: "UPDATE registration SET handle = 'zz' WHERE row = 1", word: "registration id-1: it is live"),
        Damage(sql: "UPDATE registration SET app = 2 WHERE row = 1", word: "registration id-1: it is live"),
        Damage(
            sql: "INSERT INTO handle_index VALUES (5, 0, 77)",
            word: "1 entries of handles belong to no live registration"
        ),
        Damage(sql: "UPDATE registration SET state = 2 WHERE row = 1", word: "1 entries of handles belong to no live"),
        Damage(
            sql: "UPDATE handle_index SET position = 1 WHERE row = 1",
            word: "1 numbers of handles have positions without"
        ),
        Damage(
            sql: "UPDATE handle_index SET position = -1 WHERE row = 1",
            word: "1 numbers of handles have positions without"
        ),
        Damage(
            sql: """
                INSERT INTO registration(row, app, id, pns, handle, state, version, updated)
                    SELECT 3, app, 'id-3', pns, handle, state, 1, 1 FROM registration WHERE row = 1;
                INSERT INTO handle_index SELECT digest, -1, 3 FROM handle_index WHERE row = 1;
                """,
            word: "registration id-3: it has the same handle as id-1"
        ),
        Damage(
            sql: """
                INSERT INTO registration(row, app, id, pns, handle, state, version, updated)
                    SELECT 3, app, 'id-3', pns, handle, state, 1, 1 FROM registration WHERE row = 1;
                INSERT INTO handle_index SELECT digest, 1, 3 FROM handle_index WHERE row = 1;
                """,
            word: "registration id-3: it has the same handle as id-1"
        ),
    ]

    @Test(arguments: damages)
    func aCheckFindsDamagedDigests(damage: Damage) async throws {
        let keep = try TemporaryStore()
        let rows = try ["1", "2"].map {
            ImportedRegistration(
                id: RegistrationID("id-" + $0),
                pns: .apns,
                handle: Handle(stored: "h" + $0),
                user: try UserName("u", .folded)
            )
        }
        _ = try await keep.store.importRegistrations(
            rows,
            app: .default,
            sequence: try await keep.store.beginImport(),
            lifetime: nil
        )
        #expect(try await keep.store.checkFile() == [])
        try await keep.store.pool.writeWithoutTransaction {
            try $0.execute(sql: "INSERT INTO app(number, name) VALUES (2, 'other')")
            try $0.execute(sql: damage.sql)
        }
        let faults = try await keep.store.checkFile()
        #expect(faults.contains { $0.contains(damage.word) }, "\(faults)")
    }
}
